"""What a shell line does to the working tree, as far as its words say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ledgerkit.extract.shell import SimpleCommand, read_shell
from ledgerkit.extract.verifiers import recognise
from ledgerkit.extract.words import words

_READING: Final = frozenset(
    words(
        "ls cat head tail less more grep egrep fgrep rg ag ack find fd wc echo printf pwd cd pushd popd which "
        "type command "
        "date env printenv tree stat file du df diff cmp sort uniq cut tr awk jq yq sed git gh sleep true false "
        "test [ [[ "
        "export set unset source . ps kill pkill clear basename dirname realpath readlink md5sum sha256sum "
        "whoami id uname "
        "hostname nl column xxd od strings time wait jobs exit return read history man help for if while do done "
        "fi then "
        "else elif case esac { } ( ) ! rm mv cp touch mkdir rmdir chmod chown ln tee truncate"
    )
)
"""Programs that change no file, or only the ones that their words name."""
_TREE_CHANGING: Final = frozenset(
    words("checkout switch stash merge pull rebase reset restore cherry-pick revert apply am")
)
_NO_FILES: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "-"))
_IN_PLACE: Final = re.compile(r"-[a-zA-Z]*i.*|--in-place.*")
_SEARCHES: Final = frozenset(words("grep egrep fgrep rg ag ack"))
_RECURSIVE: Final = frozenset(words("rg ag ack"))
"""Searches that look through the whole tree without being told."""
_IS_RECURSIVE: Final = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive")
_SEARCH_VALUES: Final = frozenset(
    words("-e -f -g -t -T -A -B -C -m --include --exclude --exclude-dir --glob --type --type-not --max-count")
)
_NARROWING: Final = re.compile(r"--include.*|--glob.*|-g|-t|--type.*|-m|--max-count.*|-l?m\d+|-[a-zA-Z]*L[a-zA-Z]*")
_SETTING: Final = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES: Final = frozenset(words("sudo time nohup command then do else !"))
_WHOLE_TREE: Final = re.compile(r"(?:\.|\./|\*|\./\*|\$PWD|\$\(pwd\)|/)+")


@dataclass(frozen=True, slots=True)
class Search:
    """A search: what for, and whether it left out a part of the tree or of what it found."""

    pattern: str
    is_narrow: bool


@dataclass(frozen=True, slots=True)
class ShellWork:
    """What a shell line does."""

    writes: tuple[tuple[str, str], ...] = ()
    """Files that it writes, and how: ``create``, ``modify`` or ``delete``."""
    changes_tree: bool = False
    """Whether git puts other content into the working tree."""
    is_opaque: bool = False
    """Whether it runs a program that may write files that its words do not name."""
    git: tuple[str, ...] = ()
    """The git commands that it runs."""
    searches: tuple[Search, ...] = ()
    is_single: bool = True
    """Whether it is one command, so that its outcome is that command's."""


@lru_cache(maxsize=16_384)
def shell_work(line: str) -> ShellWork:
    r"""What a shell line does.

    Example:
        >>> work = shell_work("cat > a.py <<'E'\nx\nE\nrm b.py; sed -i s/a/b/ c.py")
        >>> work.writes, work.is_opaque
        ((('a.py', 'create'), ('b.py', 'delete'), ('c.py', 'modify')), False)
        >>> shell_work("rg -n old_name src | head").searches
        (Search(pattern='old_name', is_narrow=True),)
    """
    commands = [one for one in read_shell(line) if one.words or one.redirections]
    run = [_without_prefixes([word.value for word in one.words]) for one in commands]
    named = [(values[0].rsplit("/", 1)[-1] if values else "", values) for values in run]
    writes: list[tuple[str, str]] = []
    base = ""
    for one, (name, values) in zip(commands, named, strict=True):
        if name == "cd" and len(values) > 1:
            base = _joined(base, values[-1])
        writes += [(_joined(base, path), change) for path, change in _writes(one, name, values)]
    git = [(verb, rest) for name, values in named if name == "git" for verb, rest in [_git(values)]]
    opaque = any(name and name not in _READING for name, _ in named) and not recognise(line)
    cut = any(name in ("head", "tail") for name, _ in named)
    searches = [
        _search(values, is_recursive=name in _RECURSIVE and not one.is_piped, is_cut=cut)
        for one, (name, values) in zip(commands, named, strict=True)
        if name in _SEARCHES
    ]
    searches += [_search([verb, *rest], is_recursive=True, is_cut=cut) for verb, rest in git if verb == "grep"]
    return ShellWork(
        tuple(dict.fromkeys(writes)),
        any(_changes_tree(verb, rest) for verb, rest in git),
        opaque,
        tuple(verb for verb, _ in git),
        tuple(one for one in searches if one.pattern),
        len([name for name, _ in named if name not in ("cd", "echo", "export", "")]) <= 1,
    )


def _joined(base: str, path: str) -> str:
    """A path as it is meant behind a ``cd`` of the line."""
    return path if not base or path.startswith(("/", "~", "$")) else f"{base.rstrip('/')}/{path}"


def _without_prefixes(values: Sequence[str]) -> Sequence[str]:
    """The words of a command behind what only says how it is run: settings of variables, ``sudo``, ``then``."""
    begin = 0
    while begin < len(values) and (_SETTING.match(values[begin]) or values[begin] in _PREFIXES):
        begin += 1
    return values[begin:]


def _operands(values: Sequence[str]) -> list[str]:
    return [value for value in values[1:] if not value.startswith("-")]


def _writes(command: SimpleCommand, name: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from _by_program(name, values)
    for redirection in command.redirections:
        target = redirection.target.value
        if redirection.writes and target not in _NO_FILES and not target.isdigit():
            yield target, "modify" if redirection.operator.startswith(">>") else "create"


def _by_program(name: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    operands = _operands(values)
    if name == "git":
        verb, rest = _git(values)
        name, operands = {"rm": "rm", "mv": "mv"}.get(verb, ""), [one for one in rest if not one.startswith("-")]
    if name == "rm":
        yield from ((path, "delete") for path in operands)
    elif name in ("mv", "cp") and len(operands) >= 2:
        yield from ((path, "delete") for path in operands[:-1] if name == "mv")
        yield operands[-1], "create"
    elif name in ("touch", "tee", "truncate") or (name == "create" and len(operands) == 1):
        yield from ((path, "create") for path in operands)
    elif name == "sed" and any(_IN_PLACE.fullmatch(value) for value in values[1:]):
        yield from ((path, "modify") for path in _edited(values[1:]))


def _edited(words: Sequence[str]) -> Iterator[str]:
    """The files behind the script of a ``sed -i``; on a Mac an empty suffix stands before it."""
    has_script = False
    given = iter(words)
    for word in given:
        if word in ("-e", "-f", "--expression", "--file"):
            next(given, None)
            has_script = True
        elif word.startswith(("-e", "-f", "--expression=", "--file=")):
            has_script = True
        elif word and not word.startswith("-"):
            if has_script:
                yield word
            has_script = True


def _git(values: Sequence[str]) -> tuple[str, list[str]]:
    """The git command and its words, behind git's own options."""
    place = 1 + list(values).index("git") if "git" in values else 1
    while place < len(values) and values[place].startswith("-"):
        place += 2 if values[place] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return (values[place], list(values[place + 1 :])) if place < len(values) else ("", [])


def _changes_tree(verb: str, rest: Sequence[str]) -> bool:
    if verb == "stash" and rest[:1] and rest[0] in ("list", "show", "drop"):
        return False
    if verb in ("checkout", "switch") and any(value in ("-b", "-c", "-B", "-C") for value in rest):
        return False
    if verb == "reset" and "--hard" not in rest:
        return False
    return verb in _TREE_CHANGING


def _search(values: Sequence[str], *, is_recursive: bool, is_cut: bool) -> Search:
    """The search of a program; one that looks through a pipe or named files alone leaves out the rest of the tree."""
    pattern, targets, narrow, skip = "", list[str](), is_cut, False
    for place, value in enumerate(values[1:], 1):
        if skip:
            skip = False
            if values[place - 1] == "-e":
                pattern = pattern or value
        elif value.startswith("-") and len(value) > 1:
            narrow |= _NARROWING.fullmatch(value) is not None
            is_recursive |= _IS_RECURSIVE.fullmatch(value) is not None
            skip = value in _SEARCH_VALUES
        elif not pattern:
            pattern = value
        else:
            targets.append(value)
    is_part = any(not _WHOLE_TREE.fullmatch(target) for target in targets)
    return Search(pattern, narrow or is_part or not is_recursive)
