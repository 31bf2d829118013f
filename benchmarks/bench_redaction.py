"""Redaction of texts that all differ, against one scan of the same bytes by the engine alone, with the same rules.

The scan finds patterns in the texts as they stand. It reads them in no other way, judges nothing, looks for no value
elsewhere, and does not look at the result again. Texts come in runs, as an import has them. Set ``LEDGERKIT_CORPUS`` to
time the distinct texts of real logs as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kingfisher_sdk import Rules, Scanner

from ledgerkit.safety.redaction import RedactionKey, SecretMemory, standard_redactor
from ledgerkit.safety.redaction.engine import BUFFER_SIZE, SEPARATOR, own_rules
from ledgerkit.safety.redaction.strings import strings_of

ROUNDS: Final = 5
_RUN: Final = 500
_SECRET_EVERY: Final = 2_000
_SHORTEST: Final = 8
_MEGABYTE: Final = 1e6
_HARMLESS: Final = (
    "2026-03-01T09:{a:02d}:{b:02d}Z INFO  [worker-{a}] batch {n} finished in {m} ms, {b} rows",
    '{{"type":"tool_use","id":"toolu_{x}","name":"Bash","input":{{"command":"pytest -q tests/test_{w}.py"}}}}',
    '{{"path":"src/{w}/{v}.py","content":"def {w}(name, size={a}):\\n    return cache[name][:{b}]\\n"}}',
    'src/{w}/{v}.py:{n}: error: Argument "{w}" has incompatible type "int"',
    "commit {x}{x} (HEAD -> {w}-{v})",
    "-    total = sum({w}.price for {w} in {v}[:{a}])",
    "+    total = sum({w}.price * {w}.quantity for {w} in {v})  # {n}",
    "GET https://{w}.example/api/v2/{v}?page={a}&size={b}&q=%22{w}%22 200 {m} ms",
    "    if len({w}) > {n}: raise ValueError('too many: %d' % {v})",
    "The {w} of the {v} is checked in line {n}; the rest stays as it is.",
    "requests==2.{a}.{b} --hash=sha256:{x}{x}{x}",
    "<li id='{w}-{n}' class='{v}'>{w} &amp; {v}</li>",
)
# Each gives the rules something to judge, and is no secret. Real logs have some 30 such places in a megabyte.
_NEARLY: Final = (
    "+    password = get_password({w}, prompt=True)",
    "<li key='{w}-{n}' class='{v}'>",
    "export {w}_token={v}-{n}",
    '{{"sort_key":"{w}_{n}","max_tokens":{n}}}',
)
_NEARLY_EVERY: Final = 300
_WORDS: Final = (
    *("order", "report", "total", "basket", "country", "page", "render", "filter", "schema", "parser", "loader"),
    *("tokens", "session", "cookies", "header", "account", "worker", "queue", "index", "column", "vector", "value"),
)
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def some_texts(megabytes: float) -> list[str]:
    """Texts like those of logs, of 100 to 4,000 bytes, no two alike; one in two thousand holds a secret."""
    draw = random.Random(4)  # noqa: S311 - the same texts in every round
    texts: list[str] = []
    size = 0
    while size < megabytes * _MEGABYTE:
        lines = [_line(draw) for _ in range(draw.choice((1, 3, 10, 40)))]
        if len(texts) % _SECRET_EVERY == _SECRET_EVERY // 2:
            lines.append("export DB_PASSWORD=" + "".join(draw.choices(_LETTERS, k=24)))
        texts.append("\n".join(lines))
        size += len(texts[-1])
    return list(dict.fromkeys(texts))


def _line(draw: random.Random) -> str:
    kinds = _HARMLESS if draw.randrange(_NEARLY_EVERY) else _NEARLY
    return draw.choice(kinds).format(
        a=draw.randint(1, 59),
        b=draw.randint(1, 59),
        m=draw.randint(1, 9_999),
        n=draw.randint(1, 999_999),
        w=draw.choice(_WORDS),
        v=draw.choice(_WORDS),
        x="".join(draw.choices("0123456789abcdef", k=20)),
    )


def corpus_texts(folder: Path) -> list[str]:
    """The distinct strings of the JSON and JSON Lines files of a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in {".json", ".jsonl", ".traj"})
    found = dict.fromkeys(text for path in files if path.name != "expected.json" for text in _strings(path))
    return [text.encode("utf-8", "replace").decode() for text in found if len(text) >= _SHORTEST]


def _strings(path: Path) -> Iterator[str]:
    data = path.read_text(encoding="utf-8", errors="replace")
    for document in (data,) if path.suffix != ".jsonl" else data.splitlines():
        try:
            yield from strings_of(json.loads(document))
        except ValueError:
            continue


def alone() -> Scanner:
    """The engine, with the rules that redaction gives it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.yml"
        path.write_text(json.dumps(own_rules()), encoding="utf-8")
        return Scanner(Rules([path], builtins=True, cache=False, confidence="medium"), base64=True)


def buffers(texts: Sequence[str]) -> list[bytes]:
    """The texts in pieces of the size that redaction gives to the engine."""
    data = SEPARATOR.join(texts).encode()
    return [data[start : start + BUFFER_SIZE] for start in range(0, len(data), BUFFER_SIZE)]


def seconds(work: Callable[[], object]) -> float:
    """What some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak() -> float:
    """The most memory that this process has had, in megabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 if sys.platform != "darwin" else 1024**2)


def compare(name: str, texts: list[str], scanner: Scanner) -> None:
    """Times both in the same rounds, and prints the medians."""
    redactor = standard_redactor(RedactionKey.public())
    runs = [texts[start : start + _RUN] for start in range(0, len(texts), _RUN)]
    pieces = buffers(texts)
    size = sum(map(len, pieces)) / _MEGABYTE

    def redact() -> int:
        return sum(len(redactor.redact(run, SecretMemory()).replacements) for run in runs)

    def scan() -> int:
        return sum(len(scanner.scan(piece)) for piece in pieces)

    before = peak()
    print(f"{name}: {len(texts):,} texts, {size:.1f} MB; {redact()} replaced, {scan():,} patterns found")
    rounds = [(seconds(redact), seconds(scan)) for _ in range(ROUNDS)]
    mine, floor = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(ours / theirs for ours, theirs in rounds)
    print(f"  redact {mine:.2f} s ({size / mine:.1f} MB/s), scan {floor:.2f} s ({size / floor:.1f} MB/s), ", end="")
    print(f"ratio {ratio:.2f}; memory {before:.0f} -> {peak():.0f} MB")


def worst_cases() -> dict[str, str]:
    """Texts that give much to judge or to decode, 200 kB each."""
    token = "gh" + "p_" + "".join(random.Random(1).choices(_LETTERS, k=36))  # noqa: S311
    repeated = {
        "an assignment without a value": "password=",
        "the same in quotes": 'password="',
        "a Kubernetes secret without data": "kind: Secret\ndata:\n",
        "one token": f"{token} ",
        "escaped quotes": '\\"',
        "percent codes": "%41",
        "letters": "A",
    }
    texts = {name: one * (200_000 // len(one)) for name, one in repeated.items()}
    numbered = (f"key={number:06d}-{number * 7919 % 100_003:05d}" for number in range(11_500))
    texts["names with numbers, all different"] = "\n".join(numbered)
    different = ("password=" + "".join(random.Random(n).choices(_LETTERS, k=20)) for n in range(6_600))  # noqa: S311
    texts["passwords, all different"] = "\n".join(different)
    return texts


def main() -> None:
    """Times redaction of made and real texts, and of texts that are made to be slow."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=float, default=8.0)
    megabytes: float = options.parse_args().megabytes
    redactor = standard_redactor(RedactionKey.public())
    print(f"first call, rules from the cache: {seconds(lambda: redactor.redact(['a short text'])):.2f} s")
    scanner = alone()
    compare("made texts", some_texts(megabytes), scanner)
    if folder := os.environ.get("LEDGERKIT_CORPUS"):
        compare("texts of the corpus", corpus_texts(Path(folder)), scanner)
    for name, text in worst_cases().items():
        taken = seconds(lambda text=text: redactor.redact([text]))
        print(f"  {name}: {len(text) / _MEGABYTE:.2f} MB in {taken:.2f} s ({len(text) / _MEGABYTE / taken:.2f} MB/s)")
    print(f"memory: {peak():.0f} MB")


if __name__ == "__main__":
    main()
