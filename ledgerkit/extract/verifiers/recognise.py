"""Checks in shell lines: which tool, on what, and whose exit code the line ends with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from ledgerkit.extract.commands import SHELLS
from ledgerkit.extract.shell import MAX_DEPTH
from ledgerkit.extract.verifiers.flow import Placed, place_commands
from ledgerkit.extract.verifiers.model import Check, CheckKind
from ledgerkit.extract.verifiers.program_table import PROGRAMS
from ledgerkit.extract.verifiers.programs import Program, is_refused, scope_of
from ledgerkit.extract.verifiers.structure import read_line
from ledgerkit.extract.verifiers.tasks import ALIASES, LAUNCHERS, RUNNERS, goal_check, task_check
from ledgerkit.extract.words import words

_BEFORE: Final = frozenset(
    words(
        "if then elif else while until do ! { sudo doas env nohup time timeout exec command nice ionice stdbuf setsid "
        "unbuffer chronic xargs caffeinate"
    )
)
_SKIPPED: Final = re.compile(r"[A-Za-z_]\w*\+?=.*|\d+(?:\.\d+)?[smhd]?", re.DOTALL)
_VALUE_OPTIONS: Final = re.compile(r"-[uUgnICSPdkso]|--(?:user|group|signal|kill-after|adjustment)")
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*|py")
_LAUNCHED_MODULE: Final = re.compile(r"(.+?)@[\w.^~-]+")
_MAX_LAUNCHERS: Final = 5


def recognise(command: str) -> tuple[Check, ...]:
    """The checks that a shell line runs, in order.

    Example:
        >>> [(one.tool, one.scope, one.owns_exit_code) for one in recognise("cd app && pytest -q tests | tail -3")]
        [('pytest', 'tests', False)]
    """
    found = list(_of_line(command, 0))
    times = Counter((check.tool, check.kind) for check in found)
    return tuple(replace(check, is_repeated=times[check.tool, check.kind] > 1) for check in found)


def _of_line(text: str, depth: int) -> Iterator[Check]:
    for placed in place_commands(read_line(text), text):
        arguments = _without_wrappers([word.value for word in placed.command.words])
        nested = _nested_line(arguments) if depth < MAX_DEPTH else None
        if nested is not None:
            yield from (_within(check, placed) for check in _of_line(nested, depth + 1))
            continue
        found = _of_program(arguments)
        if found is not None:
            kind, tool, scope = found
            is_from_input = any(word.value == "xargs" for word in placed.command.words)
            yield _within(Check(kind, tool, f"{scope} …".strip() if is_from_input else scope), placed)


def _within(check: Check, placed: Placed) -> Check:
    return replace(
        check,
        zero_is_own=check.zero_is_own and placed.zero_is_own,
        failure_is_own=check.failure_is_own and placed.failure_is_own,
        hidden_by=check.hidden_by or placed.hidden_by,
        shown=max(check.shown, placed.shown),
        printed_code=check.printed_code or (placed.printed_code if check.owns_exit_code else ""),
    )


def _without_wrappers(values: Sequence[str]) -> list[str]:
    """The words from the program on, behind keywords, assignments and programs that run another one."""
    index, is_wrapped = 0, False
    while index < len(values):
        value = values[index]
        if value in _BEFORE:
            is_wrapped = True
        elif is_wrapped and _VALUE_OPTIONS.fullmatch(value):
            index += 1
        elif not (_SKIPPED.fullmatch(value) or (is_wrapped and value.startswith("-"))):
            break
        index += 1
    return list(values[index:])


def _nested_line(arguments: Sequence[str]) -> str | None:
    if not arguments or arguments[0].rsplit("/", 1)[-1] not in SHELLS:
        return None
    return next((line for option, line in pairwise(arguments[1:]) if re.fullmatch(r"-[a-z]*c", option)), None)


def _of_program(arguments: Sequence[str], depth: int = 0) -> tuple[CheckKind, str, str] | None:
    if not arguments or depth > _MAX_LAUNCHERS:
        return None
    name, rest = _name(arguments[0]), list(arguments[1:])
    name = ALIASES.get(name, name)
    if _PYTHON.fullmatch(name) or name == "node":
        return _of_interpreter(name, rest, depth)
    launched = _launched(name, rest)
    if launched is not None:
        return _of_program(launched, depth + 1)
    if name in ("mvn", "gradle"):
        return goal_check(name, rest)
    found = _lookup(name, rest)
    if found is not None:
        program, targets = found
        return None if is_refused(program, (one for one in rest if one.startswith("-"))) else _check(program, targets)
    return task_check(name, rest) if name in RUNNERS else None


def _name(word: str) -> str:
    name = word.rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd").removesuffix(".js").removesuffix(".bat")
    versioned = _LAUNCHED_MODULE.fullmatch(name)
    return versioned[1] if versioned else name


def _of_interpreter(name: str, rest: Sequence[str], depth: int) -> tuple[CheckKind, str, str] | None:
    if name == "node":
        found = _lookup(name, rest)
        if found is not None:
            return _check(*found)
    for index, value in enumerate(rest):
        if value == "-m" and index + 1 < len(rest):
            module = f"-m {rest[index + 1]}"
            if module in PROGRAMS:
                return _check(PROGRAMS[module], rest[index + 2 :])
            return _of_program(rest[index + 1 :], depth + 1)
        if not value.startswith("-"):
            return _of_program(rest[index:], depth + 1)
    return None


def _launched(name: str, rest: Sequence[str]) -> list[str] | None:
    """The words of the program that a launcher runs."""
    for skipped, key in ((1, f"{name} {rest[0]}" if rest else ""), (0, name)):
        if key in LAUNCHERS:
            return _behind_options(list(rest[skipped:]), LAUNCHERS[key])
    return None


def _behind_options(rest: list[str], takes: frozenset[str]) -> list[str]:
    while rest and (rest[0].startswith("-") or _SKIPPED.fullmatch(rest[0])):
        option = rest.pop(0)
        if option == "-m" and option not in takes:
            break
        if option in takes and rest:
            rest.pop(0)
    return rest


def _lookup(name: str, rest: Sequence[str]) -> tuple[Program, Sequence[str]] | None:
    """The entry of a program, by its first word or two if it has subcommands, and the words that follow them."""
    for index, value in enumerate(rest[:8]):
        for size in (2, 1):
            key = " ".join((name, *rest[index : index + size]))
            if key in PROGRAMS:
                return PROGRAMS[key], [*rest[:index], *rest[index + size :]]
        if not value.startswith(("-", "+")) and (index == 0 or not rest[index - 1].startswith("-")):
            break
    return (PROGRAMS[name], rest) if name in PROGRAMS else None


def _check(program: Program, rest: Sequence[str]) -> tuple[CheckKind, str, str]:
    return program.kind, program.tool, scope_of(program, rest)
