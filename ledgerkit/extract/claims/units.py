"""Sentences of a Markdown text, with what stands around them: headings, lists, table rows, ticks, quotes, code.

Positions never move: marks of emphasis, code spans and quotations are covered with fillers of the same length, so that
a pattern cannot find its words in them and every offset counts in the text as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CODE: Final = "\ue000"
"""Stands for each character of a code span."""
QUOTED: Final = "\ue001"
"""Stands for each character of a quotation."""
MAX_CHARACTERS: Final = 200_000
_MAX_LINE: Final = 4_000

_FENCE: Final = re.compile(r" {0,12}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}#{1,6}\s+")
_BULLET: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_TASK: Final = re.compile(r"\[([ xX✓✔~-])\]\s+")
_RULE_ROW: Final = re.compile(r"[\s:|+-]+")
_TREE: Final = re.compile(r"\s*[│├└┌┐┘┤─]")
_CODE_SPAN: Final = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]{1,1000})\1(?!`)")
_QUOTATION: Final = re.compile(
    r"\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|«[^»\n]{2,400}»|(?<!\w)'(?=\w)[^'\n]{6,200}(?<=[\w.!])'(?!\w)"
)
_EMPHASIS: Final = re.compile(r"[*]{1,3}|(?<!\w)_{1,2}|_{1,2}(?!\w)|~~")
_END: Final = re.compile(r"(?<![.\s])[.!?…]+[\"”’)*_]*(?=\s|$)|[!?]+(?=\s|$)")
_NO_END: Final = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|fig)|\b[A-Z])\.$", re.IGNORECASE)
_NEW_THOUGHT: Final = re.compile(r"\n(?=\s*(?:[A-Z✅✓✔❌⚠🎉🎯🚀`*]|\d+\s))")
_PLANNED: Final = re.compile(
    r"\b(?:plan(?:s|ned)?|next(?: steps?)?|to-?dos?|to do|steps? to|acceptance|criteria|requirements?|how to|usage|"
    r"expected|proposed|proposal|remaining|instructions?|options?|approach(?:es)?|recommend\w*|suggest\w*|future|pending|"
    r"example|verification plan|test plan|goals?|strategy|will|'ll|’ll|should|would|could|need(?:s|ed)? to|must|let me|"
    r"let's|going to|want(?:s|ed)?|if|when|before|open questions?|missing|not yet|in progress|please|you can|"
    r"(?:can|may) you|"
    r"asked|request(?:ed|s)?|files to|tasks?:? *$|design|scenario|problem|bugs?|issues? found|to implement)\b",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    r"\b(?:summar\w+|what (?:i|we) (?:did|changed|fixed|added)|accomplish\w*|what was \w+ed)\b", re.IGNORECASE
)
_PLANNED_HEADING: Final = re.compile(
    r"\b(?:plan|next|to-?dos?|to do|acceptance|criteria|requirements?|how to|usage|expected|proposed|proposal|"
    r"remaining|"
    r"instructions?|options?|approach(?:es)?|recommend\w*|suggest\w*|future|pending|examples?|goals?|design|scenarios?|"
    r"open questions?|missing|user (?:messages?|requests?)|primary request|verification|"
    r"troubleshooting|prerequisites|background|problem)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, heading or table row."""

    start: int
    end: int
    text: str
    """As it was written."""
    masked: str
    """The same length, with code spans, quotations and marks of emphasis covered."""
    kind: str
    """``sentence``, ``bullet``, ``row`` or ``heading``."""
    is_ticked: bool
    """Whether it is a task that is ticked off, or carries a tick."""
    is_planned: bool
    """Whether it stands in a list of what is to be done, or under a heading of that kind."""
    lead: str
    """The line that introduces the list that it stands in; else the heading above it."""


def units(text: str) -> list[Unit]:
    r"""The sentences of a text; code blocks, block quotes, drawn trees and open tasks are left out.

    Example:
        >>> [(one.kind, one.text) for one in units("Ok. It works!\n- [x] built\n- [ ] shipped\n> said")]
        [('sentence', 'Ok.'), ('sentence', 'It works!'), ('bullet', 'built')]
    """
    return list(_Reader(text[:MAX_CHARACTERS]).read())


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.heading = self.lead = ""
        self.fence = ""
        self.block_start = self.block_end = -1

    def read(self) -> Iterator[Unit]:
        place = 0
        for line in self.text.splitlines(keepends=True):
            yield from self._line(line, place)
            place += len(line)
        yield from self._flush()

    def _line(self, line: str, place: int) -> Iterator[Unit]:
        fence = _FENCE.match(line)
        if self.fence:
            if fence and fence[1].startswith(self.fence) and not line[fence.end() :].strip():
                self.fence = ""
            return
        stripped = line.strip()
        if fence:
            yield from self._flush()
            self.fence = fence[1]
        elif not stripped or len(line) > _MAX_LINE or stripped.startswith((">", "<!--")) or _TREE.match(line):
            yield from self._flush()
        elif found := _HEADING.match(line):
            yield from self._flush()
            self.heading, self.lead = stripped.lstrip("# "), ""
            yield from self._units(place + found.end(), place + len(line), "heading")
        elif len(stripped) > 1 and stripped.startswith("|") and stripped.endswith("|"):
            yield from self._flush()
            if not _RULE_ROW.fullmatch(stripped):
                yield from self._units(place, place + len(line), "row")
        elif found := _BULLET.match(line):
            yield from self._flush()
            yield from self._bullet(line, place, found.end())
        elif self.block_start < 0 and line.startswith(("    ", "\t")) and not self.lead:
            return
        else:
            self.block_start = place if self.block_start < 0 else self.block_start
            self.block_end = place + len(line)

    def _bullet(self, line: str, place: int, inner: int) -> Iterator[Unit]:
        task = _TASK.match(line, inner)
        if task and task[1] in " ~-":
            return
        kind = "task" if task else "bullet"
        yield from self._units(place + (task.end() if task else inner), place + len(line), kind)

    def _flush(self) -> Iterator[Unit]:
        if self.block_start >= 0:
            block = self.text[self.block_start : self.block_end].strip()
            last = block.rsplit("\n", 1)[-1].strip().rstrip("*_ ")
            yield from self._units(self.block_start, self.block_end, "sentence")
            self.lead = last if last.endswith(":") else ""
        self.block_start = self.block_end = -1

    def _units(self, start: int, end: int, kind: str) -> Iterator[Unit]:
        masked = mask(self.text[start:end])
        is_task = kind == "task"
        kind = "bullet" if is_task else kind
        around = self.lead if kind in ("bullet", "row") else ""
        planned = kind != "heading" and (
            bool(_PLANNED.search(around) and not _TOLD.search(around))
            or bool(_PLANNED_HEADING.search(self.heading.lower()))
        )
        for first, last in _sentences(masked, is_row=kind == "row"):
            piece = masked[first:last]
            ticked = is_task or any(mark in piece for mark in "✅✓✔☑")
            yield Unit(
                start + first,
                start + last,
                self.text[start + first : start + last],
                piece.replace("|", ":") if kind == "row" else piece,
                kind,
                ticked,
                planned and not ticked,
                self.lead or self.heading,
            )


def mask(text: str) -> str:
    """A text with its code spans, quotations and marks of emphasis covered, character for character.

    Example:
        >>> mask("run `ls` **now**").replace(CODE, "c")
        'run cccc   now  '
    """
    covered = _CODE_SPAN.sub(lambda found: CODE * len(found[0]), text)
    covered = _QUOTATION.sub(lambda found: QUOTED * len(found[0]), covered)
    return _EMPHASIS.sub(lambda found: " " * len(found[0]), covered)


def _sentences(masked: str, *, is_row: bool) -> Iterator[tuple[int, int]]:
    begin = 0
    ends = (
        []
        if is_row
        else [
            found.end()
            for found in _END.finditer(masked)
            if not _NO_END.search(masked, max(0, found.end() - 8), found.end())
        ]
    )
    ends += [found.start() for found in _NEW_THOUGHT.finditer(masked)]
    for end in [*sorted(set(ends)), len(masked)]:
        piece = masked[begin:end]
        if piece.strip():
            shift = len(piece) - len(piece.lstrip())
            yield begin + shift, begin + len(piece.rstrip())
        begin = end


def code_spans(unit: Unit) -> list[tuple[int, int, str]]:
    """The code spans of a unit: where each begins and ends in it, and what stands in it."""
    return [(found.start(), found.end(), found[2].strip()) for found in _CODE_SPAN.finditer(unit.text)]
