"""The structure of a shell line: which programs stand in a pipeline, a chain, a group, one after another.

The reader of ``ledgerkit.extract.shell`` gives the commands with the places of their words. What stands between the
words (operators, parentheses) gives the structure; nothing else is read again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from ledgerkit.extract.shell import MAX_CHARACTERS, SimpleCommand, Word, read_shell

MAX_GROUPS: Final = 16
"""Groups nested deeper are not read."""

_BETWEEN: Final = re.compile(
    r"""
      (?P<skip>\\\n|(?<!\S)\#[^\n]*|&>>?|[<>]&|>>|>\||<<<|<<-?|<>|[<>](?!\())
    | (?P<operator>&&|\|\||\|&|\||;+|&|\n)
    | (?P<open>\$\(|[<>]\(|\()
    | (?P<close>\))
    | (?P<tick>`)
    """,
    re.VERBOSE,
)
_FILLED: Final = "x"


@dataclass(slots=True)
class Pipeline:
    """Programs and groups that a pipe joins."""

    stages: list[SimpleCommand | Line] = field(default_factory=list["SimpleCommand | Line"])


@dataclass(slots=True)
class Chain:
    """Pipelines joined by ``&&`` and ``||``, and what ends the chain."""

    pipelines: list[Pipeline] = field(default_factory=list[Pipeline])
    joints: list[str] = field(default_factory=list[str])
    """The operator before each pipeline but the first."""
    end: str = ""


@dataclass(slots=True)
class Line:
    """Chains that follow each other."""

    chains: list[Chain] = field(default_factory=list[Chain])
    substituted: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    """Commands whose output is a word of another one."""


def read_line(text: str) -> Line:
    """The structure of a shell text.

    Example:
        >>> [chain.joints for chain in read_line("cd a && make | tail; echo").chains]
        [['&&'], []]
    """
    text = text[:MAX_CHARACTERS]
    commands = read_shell(text)
    masked = _mask(text, commands)
    inside = _inside(commands)
    pieces = [(_start(one), one) for one in commands if id(one) not in inside]
    operators = ((found.start(), found) for found in _BETWEEN.finditer(masked) if found.lastgroup != "skip")
    builder = _Builder()
    for _, piece in sorted([*pieces, *operators], key=lambda piece: piece[0]):
        builder.add(piece)
    line = builder.finish()
    line.substituted += [one for one in commands if id(one) in inside]
    return line


def commands_of(line: Line) -> Iterator[SimpleCommand]:
    """All commands of a line, in order, without those of substitutions."""
    for chain in line.chains:
        for pipeline in chain.pipelines:
            for stage in pipeline.stages:
                if isinstance(stage, Line):
                    yield from commands_of(stage)
                else:
                    yield stage


def _words(command: SimpleCommand) -> Iterator[Word]:
    yield from command.words
    for redirection in command.redirections:
        yield redirection.target


def _start(command: SimpleCommand) -> int:
    return min(word.start for word in _words(command))


def _mask(text: str, commands: list[SimpleCommand]) -> str:
    """The text with its words and documents filled in, so that only what joins them is left."""
    spans = [(word.start, word.end) for one in commands for word in _words(one)]
    spans += [(place, place + len(document)) for one in commands for document, place in one.documents]
    pieces: list[str] = []
    place = 0
    for start, end in sorted(spans):
        if end > place:
            pieces += [text[place : max(start, place)], _FILLED * (end - max(start, place))]
            place = end
    return "".join([*pieces, text[place:]])


def _inside(commands: list[SimpleCommand]) -> set[int]:
    """Which commands (by identity) stand inside a word of another one, in double quotes."""
    spans = sorted((word.start, word.end) for one in commands for word in _words(one))
    starts = [start for start, _ in spans]
    reach = list(accumulate((end for _, end in spans), max))
    found: set[int] = set()
    for one in commands:
        before = bisect_left(starts, _start(one))
        if before and reach[before - 1] > _start(one):
            found.add(id(one))
    return found


class _Builder:
    """Puts commands and operators together; what does not fit is passed over."""

    def __init__(self) -> None:
        self.root = Line()
        self.stack: list[tuple[Line, bool]] = [(self.root, False)]
        self.skipped = 0
        self.in_ticks = False
        self.after_pipe = False

    @property
    def line(self) -> Line:
        return self.stack[-1][0]

    def add(self, piece: SimpleCommand | re.Match[str]) -> None:
        if isinstance(piece, SimpleCommand):
            self._place(piece)
        elif piece.lastgroup == "operator":
            self._join(piece[0])
        elif piece.lastgroup == "open":
            self._open(is_substitution=len(piece[0]) > 1)
        elif piece.lastgroup == "close":
            self._close()
        else:
            self.in_ticks = not self.in_ticks
            if self.in_ticks:
                self._open(is_substitution=True)
            else:
                self._close()

    def finish(self) -> Line:
        while len(self.stack) > 1:
            self._close()
        return self.root

    def _place(self, stage: SimpleCommand | Line) -> None:
        if isinstance(stage, SimpleCommand) and not stage.words:
            return  # the redirections of a group
        self.after_pipe = False
        if not self.line.chains or self.line.chains[-1].end:
            self.line.chains.append(Chain([Pipeline()]))
        self.line.chains[-1].pipelines[-1].stages.append(stage)

    def _join(self, operator: str) -> None:
        if not self.line.chains or self.line.chains[-1].end or not self.line.chains[-1].pipelines[-1].stages:
            return
        if operator == "\n" and self.after_pipe:
            return
        chain = self.line.chains[-1]
        if operator in ("&&", "||"):
            chain.joints.append(operator)
            chain.pipelines.append(Pipeline())
        elif operator in ("|", "|&"):
            self.after_pipe = True
        else:
            chain.end = operator

    def _open(self, *, is_substitution: bool) -> None:
        if len(self.stack) > MAX_GROUPS:
            self.skipped += 1
            return
        self.stack.append((Line(), is_substitution))

    def _close(self) -> None:
        if self.skipped:
            self.skipped -= 1
        elif len(self.stack) > 1:
            group, is_substitution = self.stack.pop()
            self.line.substituted += group.substituted
            if is_substitution:
                self.line.substituted += commands_of(group)
            elif group.chains:
                group.substituted = []
                self._place(group)
