"""What the words of a shell line mean: its programs, the packages that it installs, the paths and hosts that it names.

Data first: the tables at the top say what is known about programs; everything else is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ledgerkit.extract.patterns import HOST_NAME, PATH_WORD, is_file_name
from ledgerkit.extract.shell import MAX_DEPTH, SimpleCommand, Word, read_shell
from ledgerkit.extract.words import words

SHELLS: Final = frozenset(words("sh bash zsh dash ksh ash fish"))
"""Programs that run a command line."""
INTERPRETERS: Final = SHELLS | frozenset(
    words("python python3 python2 node deno bun ruby perl php lua Rscript pwsh powershell java source .")
)
"""Programs that run the file that they are given."""
NETWORK_PROGRAMS: Final = frozenset(
    words(
        "curl wget http https httpie aria2c nc ncat netcat socat telnet ssh scp sftp rsync ftp ping "
        "traceroute dig host nslookup whois openssl smbclient ssh-copy-id autossh mosh"
    )
)
"""Programs whose arguments may be bare host names."""
_WRAPPERS: Final = frozenset(
    words("sudo doas env nohup time timeout xargs exec command builtin nice ionice stdbuf setsid unbuffer chronic")
)
_REPORTED_WRAPPERS: Final = frozenset({"sudo", "doas"})
_WRAPPER_VALUES: Final = re.compile(r"-[uUgnICSPdkso]|--(?:user|group|signal|adjustment)")
_KEYWORDS: Final = frozenset(words("if then elif else fi while until do done for case esac in select ! { } [[ ]] ["))
_NO_PROGRAM: Final = frozenset(["for", "case", "select", "function"])
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_PROGRAM: Final = re.compile(r"(?!-)[\w.+@~/$-]*[A-Za-z][\w.+@/-]*|[.\[]")
_FOUR_NUMBERS: Final = re.compile(r"[0-9.]+")
_DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smhd]?")

_INSTALLS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    **dict.fromkeys(("pip", "pip3", "pipx"), ("pip", frozenset({"install", "download", "run", "inject"}))),
    **dict.fromkeys(("poetry", "pdm", "rye"), ("pip", frozenset({"add"}))),
    "uv": ("pip", frozenset({"add"})),
    "conda": ("pip", frozenset({"install"})),
    "npm": ("npm", frozenset({"install", "i", "add", "ci", "exec"})),
    **dict.fromkeys(("pnpm", "yarn", "bun"), ("npm", frozenset({"install", "i", "add", "dlx"}))),
    "cargo": ("cargo", frozenset({"install", "add"})),
    "go": ("go", frozenset({"install", "get"})),
    "gem": ("gem", frozenset({"install"})),
    "brew": ("brew", frozenset({"install"})),
    **dict.fromkeys(("apt", "apt-get", "apk", "dnf", "yum"), ("system", frozenset({"install", "add"}))),
}
_RUNS_A_PACKAGE: Final = {"npx": "npm", "uvx": "pip", "bunx": "npm"}
_VALUE_OPTIONS: Final = frozenset(
    words(
        "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target -e "
        "--editable --prefix --registry --python --tag --branch --git --path --version --features --group "
        "--root --source"
    )
)
_SPECIFIER: Final = re.compile(
    r"(?P<name>@?[A-Za-z0-9][\w./-]*?)(?:\[[\w,.-]*\])?(?:(?:[=<>!~]=?|@|;|\s).*)?", re.DOTALL
)
_MAX_ARGUMENTS: Final = 512


class Found(NamedTuple):
    """One thing that a shell line names."""

    kind: str
    raw: str
    start: int
    end: int
    role: str
    program: str
    base: str
    """Folder that an earlier ``cd`` of the line went to; empty if none did."""


def read_commands(text: str, depth: int = 0, offset: int = 0) -> list[Found]:
    """Programs, packages, paths and bare hosts of a shell text.

    Example:
        >>> [(one.kind, one.raw, one.role) for one in read_commands("sudo pip install evil==1 > /tmp/log")]
        [('command', 'sudo', 'wrapper'), ('command', 'pip', 'program'), ('package', 'evil==1', 'pip'),
         ('path', '/tmp/log', 'target')]
    """
    found: list[Found] = []
    base = ""
    for command in read_shell(text, offset, depth):
        start = _program_index(command.words)
        here = list(_read_one(command, start, base, depth))
        found += here
        if start < len(command.words) - 1 and command.words[start].value == "cd":
            base = command.words[start + 1].value
    return found


def _program_index(words: Sequence[Word]) -> int:
    """Where the program stands behind keywords, assignments and wrappers; the number of words if there is none."""
    index, wrapper = 0, -1
    while index < len(words):
        value = words[index].value
        if value in _NO_PROGRAM:
            return len(words)
        if value in _WRAPPERS:
            wrapper = index
        elif wrapper >= 0 and _WRAPPER_VALUES.fullmatch(value):
            index += 1
        elif not (
            value in _KEYWORDS
            or _ASSIGNMENT.match(value)
            or (wrapper >= 0 and (value.startswith("-") or _DURATION.fullmatch(value)))
        ):
            return index
        index += 1
    return wrapper if wrapper >= 0 else len(words)


def _read_one(command: SimpleCommand, start: int, base: str, depth: int) -> Iterator[Found]:
    words = command.words
    name = _name_of(words[start].value) if start < len(words) else ""
    for word in words[:start]:
        if word.value in _REPORTED_WRAPPERS:
            yield _found("command", word, "wrapper", name, base)
    if name and _PROGRAM.fullmatch(words[start].value):
        yield _found("command", words[start], "program", name, base)
        if "/" in words[start].value:
            yield _found("path", words[start], "program", name, base)
    arguments = words[start + 1 : start + 1 + _MAX_ARGUMENTS]
    yield from _nested(name, command, arguments, depth)
    yield from _packages(name, arguments, base)
    yield from _arguments(name, arguments, base)
    for redirection in command.redirections:
        if not redirection.operator.endswith("&") and _is_path(redirection.target.value, redirected=True):
            yield _found("path", redirection.target, "target" if redirection.writes else "source", name, base)


def _name_of(value: str) -> str:
    return value.rsplit("/", 1)[-1]


def _found(kind: str, word: Word, role: str, program: str, base: str) -> Found:
    return Found(kind, word.value, word.inner, word.inner + len(word.value), role, program, base)


def _nested(name: str, command: SimpleCommand, arguments: Sequence[Word], depth: int) -> Iterator[Found]:
    if depth >= MAX_DEPTH:
        return
    if name in SHELLS:
        for option, line in pairwise(arguments):
            if re.fullmatch(r"-[a-z]*c", option.value):
                yield from read_commands(line.value, depth + 1, line.inner)
                break
        for document, place in command.documents:
            yield from read_commands(document, depth + 1, place)
    elif name == "eval" and arguments:
        yield from read_commands(arguments[0].value, depth + 1, arguments[0].inner)


def _packages(name: str, arguments: Sequence[Word], base: str) -> Iterator[Found]:
    if name in _RUNS_A_PACKAGE:
        for word in arguments:
            if not word.value.startswith("-"):
                yield from _package(word, _RUNS_A_PACKAGE[name], name, base)
                return
        return
    rest, manager = _install_arguments(name, arguments)
    skip = False
    for word in rest:
        if skip or word.value.startswith("-"):
            skip = not skip and word.value in _VALUE_OPTIONS
            continue
        yield from _package(word, manager, name, base)


def _install_arguments(name: str, arguments: Sequence[Word]) -> tuple[Sequence[Word], str]:
    values = [word.value for word in arguments[:4]]
    if re.fullmatch(r"python[\d.]*", name) and values[:2] == ["-m", "pip"]:
        name, arguments, values = "pip", arguments[2:], values[2:]
    if name == "uv" and values[:1] == ["pip"]:
        name, arguments, values = "pip", arguments[1:], values[1:]
    manager, verbs = _INSTALLS.get(name, ("", frozenset[str]()))
    for place, value in enumerate(values[:3]):
        if value in verbs:
            return arguments[place + 1 :], manager
    return (), ""


def _package(word: Word, manager: str, program: str, base: str) -> Iterator[Found]:
    value = word.value
    is_local = value.startswith((".", "/", "~", "$")) or "://" in value or value.endswith((".whl", ".tar.gz", ".txt"))
    if not is_local and package_name(value, manager):
        yield _found("package", word, manager, program, base)


def package_name(raw: str, manager: str) -> str:
    """The name in a package specifier, as its manager compares names; empty if there is none.

    Example:
        >>> package_name("Some_Thing[extra]>=2", "pip"), package_name("@scope/name@1.2", "npm")
        ('some-thing', '@scope/name')
    """
    found = _SPECIFIER.fullmatch(raw)
    name = found["name"].rstrip(".-/") if found else ""
    return re.sub(r"[-_.]+", "-", name).lower() if manager == "pip" else name


def _arguments(name: str, arguments: Sequence[Word], base: str) -> Iterator[Found]:
    role = "script" if name in INTERPRETERS else "argument"
    for word in arguments:
        value, shift = _operand(word.value)
        if not value:
            continue
        part = Word(value, word.start, word.end, word.inner + shift)
        if _is_path(value):
            yield _found("path", part, role if shift == 0 else "argument", name, base)
            role = "argument"
        if name in NETWORK_PROGRAMS:
            yield from _hosts(part, name, base)


def _operand(value: str) -> tuple[str, int]:
    """The part of a word that may name something, and how far in it begins: the value of an option, a file behind @."""
    shift = 0
    if value.startswith("-"):
        shift = value.find("=") + 1
        if not shift:
            return "", 0
    elif re.match(r"(?:if|of)=", value):
        shift = 3
    if value[shift : shift + 1] == "@":
        shift += 1
    return value[shift:], shift


def _is_path(value: str, *, redirected: bool = False) -> bool:
    if "://" in value or not PATH_WORD.fullmatch(value):
        return False
    if value.startswith(("/", "~", "./", "../", "$HOME", "${HOME}")) or value in (".", ".."):
        return not (value.startswith("/") and value.count("/") > 1 and re.fullmatch(r"/.*/[gipI]+", value) is not None)
    return redirected or is_file_name(value)


def _hosts(word: Word, program: str, base: str) -> Iterator[Found]:
    if "://" in word.value:
        return
    found = HOST_NAME.match(word.value)
    if found is not None and not is_file_name(word.value.partition(":")[0], only_known=True):
        start = word.inner + found.start("host")
        kind = "ip" if _FOUR_NUMBERS.fullmatch(found["host"]) else "host"
        yield Found(kind, found["host"], start, start + len(found["host"]), "argument", program, base)
