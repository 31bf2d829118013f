"""Unified diffs, ready to be coloured.

One rule: the text of the diff stays as it is; neighbouring lines of one sort become one run of lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from typing import Literal

from ledgerkit.reports.excerpts import excerpt

Sort = Literal["head", "hunk", "added", "removed", "same"]


@dataclass(frozen=True, slots=True)
class Lines:
    """Neighbouring lines of one sort, their line feeds kept."""

    sort: Sort
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """A diff in runs of lines, and the bytes of it left out."""

    lines: Sequence[Lines]
    left_out: int


def diff_lines(diff: str | None, limit: int) -> Diff:
    r"""The beginning of a unified diff, by sort of line.

    Example:
        >>> [(part.sort, part.text) for part in diff_lines("@@ -1 +1 @@\n-a\n+b\n", 100).lines]
        [('hunk', '@@ -1 +1 @@\n'), ('removed', '-a\n'), ('added', '+b\n')]
    """
    head = excerpt(diff, limit)
    started = False
    sorted_rows: list[tuple[Sort, str]] = []
    for row in StringIO(head.text, newline="\n"):
        started = started or row.startswith("@@")
        sorted_rows.append((_sort(row, started=started), row))
    groups = groupby(sorted_rows, key=_first)
    return Diff([Lines(sort, "".join(row for _, row in pairs)) for sort, pairs in groups], head.left_out)


def _first(pair: tuple[Sort, str]) -> Sort:
    return pair[0]


def _sort(row: str, *, started: bool) -> Sort:
    if row.startswith("@@"):
        return "hunk"
    if not started and row.startswith(("---", "+++", "diff ", "index ")):
        return "head"
    if row.startswith("+"):
        return "added"
    return "removed" if row.startswith("-") else "same"
