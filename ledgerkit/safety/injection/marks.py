"""What detectors are, and how their patterns are written once for two engines.

A pattern is written in the words that Polars (Rust) and Python share.  Polars tells which texts hold it, at the speed
of a scan; Python then finds the places in those texts alone.  Python's engine backtracks, so every stretch of a pattern
that could be tried from many beginnings has a bound; Polars' does not, and is given the pattern without large bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = r"[\s>#*/|+\u21920-9:-]+"
"""Between two words of a phrase: blanks, and what lines begin with (numbers, quotes, comments, diffs)."""

_BLANK: Final = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]| (?:[*?+]|\{)?")
"""Escapes and sets of characters, blanks that are counted, and (alone) a blank between words."""
_LARGE_BOUND: Final = re.compile(r"\{0,[0-9]{3,}\}")

MAX_MARKS: Final = 100
"""Markers of one rule that one text gives; what comes behind them in the same text is not listed."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text, in characters, and what it hides if that can be read."""

    start: int
    end: int
    decoded: str | None = None


Finder = Callable[[str], Iterable[Mark]]
Accept = Callable[[re.Match[str]], bool]
Judge = Callable[[Sequence[str]], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to find one rule's markers.

    Attributes:
        rule_id: The rule.
        pattern: What a text must match, in the words that both engines share.
        find: Finds the places.
        judge: Says which of some places count, from what stands in them; all at once, at the speed of a scan.
    """

    rule_id: str
    pattern: str
    find: Finder
    judge: Judge | None = None


def phrase(text: str) -> str:
    r"""A pattern whose blanks are gaps between words.

    Example:
        >>> re.search(phrase("read this"), "read\n > this") is not None
        True
    """
    return _BLANK.sub(lambda found: GAP if found[0] == " " else found[0], text)


def for_polars(pattern: str) -> str:
    r"""The pattern for Polars: bounds only Python needs are gone, and word boundaries are ASCII's (no slow engine)."""
    return _LARGE_BOUND.sub("*", pattern).replace(r"\b", r"(?-u:\b)")


def detector(rule_id: str, pattern: str, accept: Accept | None = None) -> Detector:
    """A detector that marks whatever its pattern matches and ``accept`` agrees to."""
    expression = re.compile(pattern)

    def find(text: str) -> Iterable[Mark]:
        for found in expression.finditer(text):
            if accept is None or accept(found):
                yield Mark(found.start(), found.end())

    return Detector(rule_id, pattern, find)


def joined(marks: Iterable[Mark]) -> list[Mark]:
    """The marks by place, each overlap made one; at most ``MAX_MARKS``.

    Example:
        >>> joined([Mark(4, 9), Mark(0, 5), Mark(12, 13)])
        [Mark(start=0, end=9, decoded=None), Mark(start=12, end=13, decoded=None)]
    """
    whole: list[Mark] = []
    for mark in sorted(marks, key=lambda one: (one.start, one.end)):
        if whole and mark.start < whole[-1].end:
            last = whole[-1]
            whole[-1] = Mark(last.start, max(last.end, mark.end), last.decoded or mark.decoded)
        else:
            whole.append(mark)
    return whole[:MAX_MARKS]
