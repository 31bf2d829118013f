"""What secrets stand in: the texts of real sessions, each with a few dozen lines of harmless surroundings."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from tests.redaction.kinds import SHORTEST, Kind, Made, draw

Spell = Callable[[str], str]

PIECE: Final = 12
_HARMLESS: Final = (
    "{t} INFO  [worker-{a}] batch {n} finished in {m} ms, {b} rows written",
    "{t} DEBUG [worker-{a}] queue depth {b}, next poll in {m} ms",
    "{t} WARN  [scheduler] job nightly-report took {n} ms (limit {m} ms)",
    "{t} INFO  [http] GET /api/v2/items?page={a} 200 {m} ms",
    "{t} INFO  [http] POST /api/v2/orders 201 {m} ms, {b} bytes",
    "{t} INFO  [db] pool size {a}, idle {b}, waited {m} ms",
    "{t} INFO  [cache] {n} hits, {m} misses, {b} evictions",
    "src/orders/report.py:{b}: note: 'total' is defined on line {m}",
    "    total = sum(line.quantity * line.price for line in order.lines[:{a}])",
    "    if len(rows) > {n}:",
    "        logger.info('wrote %d rows in %.1f s', {n}, {a}.{b})",
    "def page_{a}(items: list[int], size: int = {b}) -> list[int]:",
    "    return items[{a} * size : ({a} + 1) * size]",
    "for index in range({a}, {n}):",
    "tests/test_report.py::test_rounding_{a} PASSED                              [ {b}%]",
    "tests/test_orders.py::test_empty_basket_{a} PASSED                          [ {b}%]",
    "========================= {n} passed, {a} skipped in {m}.{b}s =========================",
    "Collecting numpy==1.2{a}.{b}",
    "  Downloading numpy-1.2{a}.{b}-cp311-cp311-manylinux_2_17_x86_64.whl ({m} kB)",
    "added {n} packages, changed {a} packages, and audited {m} packages in {b}s",
    "drwxr-xr-x  {a} dev dev  4096 Feb {b} 09:{b} src",
    "-rw-r--r--  1 dev dev {n} Feb {b} 10:{b} README.md",
    "[{a}/{b}] Building CXX object src/CMakeFiles/core.dir/page_{a}.cpp.o",
    "On branch main, your branch is ahead of 'origin/main' by {a} commits.",
    " {a} files changed, {m} insertions(+), {b} deletions(-)",
    "The second report groups lines by country; see chapter {a}, page {b}.",
    "Next I run the tests of the report module and look at line {m}.",
    "export function formatTotal(value: number): string {{ return value.toFixed({a}); }}",
    "  width: {m}px; height: {n}px; margin: 0 {a}px {b}px;",
    "SELECT country, count(*) FROM orders WHERE id > {n} GROUP BY 1 LIMIT {b};",
    "Step {a}/{b} : RUN apt-get install -y build-essential",
    "2 warnings generated, {a} notes, {m} functions inlined.",
)


@dataclass(frozen=True)
class Carried:
    """A text in which secrets stand, and the spellings of theirs none of which may be left."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Carrier:
    """A way in which a secret comes into a text; `has_context` where its name stands beside it."""

    name: str
    has_context: bool
    wrap: Callable[[Kind, Made, random.Random], Carried]


# --- Surroundings ----------------------------------------------------------------------------------------------------


def _moment(rng: random.Random) -> str:
    return f"2026-0{rng.randint(1, 6)}-{rng.randint(10, 28)}T{rng.randint(10, 23)}:{rng.randint(10, 59)}:07Z"


def harmless(rng: random.Random, count: int) -> list[str]:
    """Lines of logs and code in which no secret stands, nor a word that announces one."""
    return [
        rng.choice(_HARMLESS).format(
            t=_moment(rng),
            a=rng.randint(1, 9),
            b=rng.randint(10, 99),
            m=rng.randint(100, 999),
            n=rng.randint(1000, 9999),
        )
        for _ in range(count)
    ]


def _amid(rng: random.Random, lines: Iterable[str]) -> str:
    before, after = harmless(rng, rng.randint(8, 16)), harmless(rng, rng.randint(8, 16))
    return "\n".join([*before, *lines, *after]) + "\n"


def _spellings(name: str, rng: random.Random) -> str:
    words = name.lower().split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    return rng.choice([name, name.lower(), camel])


# --- Spellings -------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """As it is."""
    return text


def json_once(text: str) -> str:
    """As it stands in a JSON string."""
    return json.dumps(text)[1:-1]


def json_twice(text: str) -> str:
    """As it stands in a JSON document inside a JSON string."""
    return json_once(json_once(text))


def percent_encoded(text: str) -> str:
    """As it stands in a URL."""
    return quote(text, safe="")


def in_single_quotes(text: str) -> str:
    """As it stands between single quotes in a shell."""
    return text.replace("'", "'\"'\"'")


def in_double_quotes(text: str) -> str:
    """As it stands between double quotes in a shell."""
    return re.sub(r'(["$`\\])', r"\\\1", text)


def in_python(text: str) -> str:
    """As it stands between single quotes in Python."""
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")


def in_yaml(text: str) -> str:
    """As it stands between single quotes in YAML."""
    return text.replace("'", "''")


def _halves(form: str, least: int) -> tuple[str, ...]:
    """What would be left if a secret were found in part only."""
    middle = len(form) // 2
    return (form[:middle], form[-middle:]) if middle >= least else ()


def _carried(text: str, made: Made, spell: Spell) -> Carried:
    forms: dict[str, None] = {}
    for secret in made.secrets:
        for form in (spell(secret), secret):
            if form in text:
                forms |= dict.fromkeys((form, *_halves(form, SHORTEST)))
    return Carried(text, tuple(forms))


# --- Carriers --------------------------------------------------------------------------------------------------------


def _env(kind: Kind, made: Made, rng: random.Random) -> Carried:
    is_declared = rng.random() < 0.3
    spell = in_double_quotes if is_declared and kind.role != "assignment" else plain
    if kind.role == "assignment":
        line = made.text
    elif is_declared:
        line = f'declare -x {kind.context_name}="{spell(made.text)}"'
    else:
        line = f"{kind.context_name}={made.text}"
    others = [
        "LANG=en_GB.UTF-8",
        "HOME=/home/dev",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        f"PORT={rng.randint(3000, 9000)}",
        "TERM=xterm-256color",
        f"SHLVL={rng.randint(1, 4)}",
        "EDITOR=vim",
        "LOG_LEVEL=info",
        f"COLUMNS={rng.randint(80, 200)}",
        "NODE_ENV=production",
    ]
    rng.shuffle(others)
    at = rng.randint(1, len(others) - 1)
    return _carried(_amid(rng, [*others[:at], line, *others[at:]]), made, spell)


def _document(kind: Kind, made: Made, rng: random.Random) -> dict[str, object]:
    """A JSON document in which the fragment is a string value."""
    content: dict[str, object]
    if kind.role == "value":
        content = {"region": "eu-west-1", _spellings(kind.context_name, rng): made.text, "retries": rng.randint(1, 5)}
    elif kind.role == "assignment":
        content = {"Image": "shop:1.4", "Env": ["LANG=C.UTF-8", made.text, "PORT=8080"]}
    else:
        place = {"command": "command", "header": "header", "file": "content"}[kind.role]
        content = {"type": "tool", place: made.text, "took_ms": rng.randint(10, 900)}
    return {"at": _moment(rng), "log": harmless(rng, 4), "data": content, "lines": "\n".join(harmless(rng, 4))}


def _json(kind: Kind, made: Made, rng: random.Random) -> Carried:
    text = json.dumps(_document(kind, made, rng), indent=rng.choice([None, 2]))
    return _carried(_amid(rng, [text]), made, json_once)


def _json_in_json(kind: Kind, made: Made, rng: random.Random) -> Carried:
    inner = json.dumps(_document(kind, made, rng), indent=rng.choice([None, 2]))
    outer = json.dumps({"type": "tool_result", "seq": rng.randint(1, 999), "content": inner, "is_error": False})
    return _carried(_amid(rng, [outer]), made, json_twice)


def _yaml(kind: Kind, made: Made, rng: random.Random) -> Carried:
    name = {"command": "run", "header": "header", "file": "content", "assignment": ""}.get(kind.role)
    key = _spellings(kind.context_name, rng) + ":" if name is None else f"{name}:" if name else "-"
    spell: Spell = plain
    if "\n" in made.text:
        field = [f"    {key} |", *(f"      {line}".rstrip() for line in made.text.splitlines())]
    elif re.fullmatch(r"[A-Za-z0-9][\w/+=.~-]*", made.text, re.ASCII):
        field = [f"    {key} {made.text}"]
    else:
        spell, mark = rng.choice([(json_once, '"'), (in_yaml, "'")])
        field = [f"    {key} {mark}{spell(made.text)}{mark}"]
    head = ["services:", "  web:", "    image: shop:1.4", f"    replicas: {rng.randint(1, 9)}"]
    head += ["    environment:" if kind.role == "assignment" else "    restart: always"]
    return _carried(_amid(rng, [*head, *field, "    ports:", '      - "8080:8080"']), made, spell)


def _query(kind: Kind, made: Made, rng: random.Random) -> Carried:
    names = {"command": "cmd", "header": "header", "file": "body", "assignment": "line"}
    name = names.get(kind.role) or kind.context_name.lower()
    query = f"page={rng.randint(1, 9)}&{name}={percent_encoded(made.text)}&lang=en"
    line = rng.choice(
        [
            f'10.0.3.{rng.randint(2, 99)} - - [{_moment(rng)}] "GET /hooks/in?{query} HTTP/1.1" 200 17',
            f"fetching https://api.acme.org/v2/items?{query}",
        ]
    )
    return _carried(_amid(rng, [line]), made, percent_encoded)


def _diff(kind: Kind, made: Made, rng: random.Random) -> Carried:
    name = kind.context_name
    whole = made.text
    if kind.role == "value":
        options = [f"{name}={whole}", f"{name.lower()}: {whole}", f'export {name}="{whole}"']
        whole = rng.choice(options)
    sign = rng.choice("+-")
    lines = [
        "diff --git a/deploy/app.conf b/deploy/app.conf",
        f"index {draw(rng, '0123456789abcdef', 7)}..{draw(rng, '0123456789abcdef', 7)} 100644",
        "--- a/deploy/app.conf",
        "+++ b/deploy/app.conf",
        f"@@ -{rng.randint(1, 40)},6 +{rng.randint(1, 40)},7 @@",
        *(f" {line}" for line in harmless(rng, 2)),
        *(sign + line for line in whole.splitlines()),
        *(f" {line}" for line in harmless(rng, 2)),
    ]
    return _carried(_amid(rng, lines), made, plain)


def _shell(kind: Kind, made: Made, rng: random.Random) -> Carried:
    quoted = shlex.quote(made.text)
    spell = in_single_quotes
    match kind.role:
        case "command":
            line, spell = made.text, plain
        case "header":
            line = f"curl -sS -H {quoted} https://api.acme.org/v2/items"
        case "file":
            line, spell = f"cat > app.conf <<'EOF'\n{made.text.rstrip()}\nEOF", plain
        case "assignment":
            line = f"echo {quoted} >> settings.local"
        case "value":
            line = rng.choice([f"export {kind.context_name}={quoted}", f"{kind.context_name}={quoted} ./run.sh --once"])
    commands = ["git status", "make test", "ls -la src", "cd ../shop", "vim README.md", line, "git diff --stat", "htop"]
    start = rng.randint(100, 900)
    numbered = [f"{start + at:>5}  {command}" for at, command in enumerate(commands)]
    extended = [f": {1769000000 + start * at}:0;{command}" for at, command in enumerate(commands)]
    return _carried(_amid(rng, rng.choice([numbered, extended, commands])), made, spell)


def _trace(kind: Kind, made: Made, rng: random.Random) -> Carried:
    literal = f"'{in_python(made.text)}'"
    name = kind.context_name
    match kind.role:
        case "command":
            error = f"subprocess.CalledProcessError: Command {literal} returned non-zero exit status 1."
        case "header":
            error = f"requests.exceptions.HTTPError: 403 for url https://api.acme.org/v2/items, sent {literal}"
        case "file" | "assignment":
            error = f"configparser.ParsingError: bad credential file, [line {rng.randint(1, 9)}]: {literal}"
        case "value":
            error = rng.choice(
                [
                    f"PermissionError: credential {name}={literal} was refused",
                    f"ValueError: invalid credential {name.lower()}={literal} (type str)",
                ]
            )
    lines = [
        "Traceback (most recent call last):",
        f'  File "/srv/app/main.py", line {rng.randint(10, 99)}, in <module>',
        "    run(settings)",
        f'  File "/srv/app/shop/client.py", line {rng.randint(100, 400)}, in connect',
        "    raise refused from error",
        error,
    ]
    return _carried(_amid(rng, lines), made, in_python)


def _bare(kind: Kind, made: Made, rng: random.Random) -> Carried:
    if "\n" in made.text or kind.role != "value":
        return _carried(_amid(rng, made.text.splitlines()), made, plain)
    line = rng.choice(
        [
            f"{_moment(rng)} INFO  [worker-{rng.randint(1, 9)}] handled {made.text} in {rng.randint(10, 99)} ms",
            f"It printed {made.text} and went on with the second page.",
            f"{made.text}",
            f"row {rng.randint(10, 99)} | {made.text} | {_moment(rng)}",
            f"the first column of line {rng.randint(2, 9)} reads {made.text}, the other ones are empty",
        ]
    )
    return _carried(_amid(rng, [line]), made, plain)


# --- Split over lines ------------------------------------------------------------------------------------------------


def _least(secret: str) -> int:
    return min(PIECE, max(SHORTEST, len(secret) - 1))


def _cut(secret: str, rng: random.Random) -> int:
    """Where a secret is cut: the longer piece is long enough to be looked for."""
    least = _least(secret)
    cuts = [at for at in range(1, len(secret)) if max(at, len(secret) - at) >= least]
    inner = [at for at in cuts if min(at, len(secret) - at) >= 4]
    return rng.choice(inner or cuts or [0])


def _parts(line: str, cuts: list[int], secret: str) -> list[str]:
    start = line.index(secret)
    end = start + len(secret)
    ends = [start, *(cut for cut in cuts if start < cut < end), end]
    return [line[left:right] for left, right in pairwise(ends)]


def _pieces(line: str, cuts: list[int], secrets: tuple[str, ...]) -> list[str]:
    """The parts of the secrets that are long enough to be looked for."""
    found: list[str] = []
    for secret in secrets:
        if secret in line:
            parts = _parts(line, cuts, secret)
            found += [part for part in parts if len(part) >= min(PIECE, max(map(len, parts)))]
    return found


def _widths(line: str, secret: str) -> list[int]:
    """The widths of a terminal at which a line is cut in a secret."""
    sizes = {width: [len(part) for part in _parts(line, _ends(line, width), secret)] for width in range(40, 77)}
    return [width for width, parts in sizes.items() if len(parts) > 1 and max(parts) >= _least(secret)]


def _ends(line: str, width: int) -> list[int]:
    return list(range(width, len(line), width))


def _prefix(rng: random.Random, length: int) -> str:
    text = " ".join(harmless(rng, 4))
    return (text[: length - 1] + " ") if length else ""


def _split(kind: Kind, made: Made, rng: random.Random) -> Carried:
    """Wrapped as a terminal wraps, or continued with a backslash; the cut goes through a secret."""
    whole = f"{kind.context_name}={made.text}" if kind.role == "value" else made.text
    lines = whole.splitlines()
    target = rng.choice(made.secrets)
    row = next(at for at, line in enumerate(lines) if target in line)
    cut = lines[row].index(target) + _cut(target, rng)
    widths = _widths(lines[row], target)
    width = rng.choice(widths or range(40, 77))
    is_wrapped = rng.random() < 0.6 and bool(widths or len(lines) == 1)
    if is_wrapped and not widths:
        lines[row] = _prefix(rng, -cut % width) + lines[row]
    written: list[str] = []
    pieces: list[str] = []
    for at, line in enumerate(lines):
        cuts = _ends(line, width) if is_wrapped else [cut] if at == row else []
        pieces += _pieces(line, cuts, made.secrets)
        parts = (line[left:right] for left, right in pairwise([0, *cuts, len(line)]))
        written.append(("\n" if is_wrapped else "\\\n").join(parts))
    forms = dict.fromkeys(form for piece in pieces for form in (piece, *_halves(piece, PIECE)))
    return Carried(_amid(rng, written), tuple(forms))


CARRIERS: Final[tuple[Carrier, ...]] = (
    Carrier("env", True, _env),
    Carrier("json", True, _json),
    Carrier("json-in-json", True, _json_in_json),
    Carrier("yaml", True, _yaml),
    Carrier("url", True, _query),
    Carrier("diff", True, _diff),
    Carrier("shell", True, _shell),
    Carrier("trace", True, _trace),
    Carrier("bare", False, _bare),
    Carrier("split", True, _split),
)
