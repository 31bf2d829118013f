"""Where a place of a text stands after secrets were replaced, and where it stood before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Change(NamedTuple):
    """A place that was replaced: its bounds in the text before, and in the text after."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Maps ranges of characters between a text before redaction and the same text after it.

    Attributes:
        changes: The places that were replaced, in their order.

    Example:
        >>> offsets = OffsetMap.of([(4, 10, 38)])
        >>> offsets.to_new(0, 4), offsets.to_new(12, 15), offsets.to_new(5, 8), offsets.to_old(44, 47)
        ((0, 4), (44, 47), (4, 42), (12, 15))
    """

    changes: tuple[Change, ...] = ()

    @classmethod
    def of(cls, replaced: Iterable[tuple[int, int, int]]) -> OffsetMap:
        """A map for replacements, in their order: start and end before, and the length of what stands there now."""
        changes: list[Change] = []
        shift = 0
        for start, end, length in replaced:
            changes.append(Change(start, end, start + shift, start + shift + length))
            shift += length - (end - start)
        return cls(tuple(changes))

    def to_new(self, start: int, end: int) -> tuple[int, int]:
        """Where a range stands in the redacted text. A range that cuts a secret is widened to its whole placeholder."""
        olds = [(change.old_start, change.old_end) for change in self.changes]
        news = [(change.new_start, change.new_end) for change in self.changes]
        return _mapped(start, olds, news)[0], _mapped(end, olds, news)[1]

    def to_old(self, start: int, end: int) -> tuple[int, int]:
        """Where a range of the redacted text stood before. A range that cuts a placeholder is widened to all of it."""
        olds = [(change.old_start, change.old_end) for change in self.changes]
        news = [(change.new_start, change.new_end) for change in self.changes]
        return _mapped(start, news, olds)[0], _mapped(end, news, olds)[1]


def _mapped(place: int, from_: list[tuple[int, int]], to: list[tuple[int, int]]) -> tuple[int, int]:
    """A place as the start and as the end of a range: they differ only inside a change."""
    index = bisect_right(from_, (place, float("inf"))) - 1
    if index < 0:
        return place, place
    start, end = from_[index]
    if start < place < end:
        return to[index]
    if place == start:
        return to[index][0], to[index][0]
    moved = to[index][1] + place - end
    return moved, moved
