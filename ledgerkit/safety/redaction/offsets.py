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
        return self._to_new(start)[0], self._to_new(end)[1]

    def to_old(self, start: int, end: int) -> tuple[int, int]:
        """Where a range of the redacted text stood before. A range that cuts a placeholder is widened to all of it."""
        return self._to_old(start)[0], self._to_old(end)[1]

    def _to_new(self, place: int) -> tuple[int, int]:
        index = bisect_right(self.changes, place, key=lambda change: change.old_start) - 1
        if index < 0:
            return place, place
        change = self.changes[index]
        return _mapped(place, (change.old_start, change.old_end), (change.new_start, change.new_end))

    def _to_old(self, place: int) -> tuple[int, int]:
        index = bisect_right(self.changes, place, key=lambda change: change.new_start) - 1
        if index < 0:
            return place, place
        change = self.changes[index]
        return _mapped(place, (change.new_start, change.new_end), (change.old_start, change.old_end))


def _mapped(place: int, from_: tuple[int, int], to: tuple[int, int]) -> tuple[int, int]:
    """A place at or behind a change, as the start and as the end of a range: they differ only inside the change."""
    start, end = from_
    if start < place < end:
        return to
    if place == start:
        return to[0], to[0]
    moved = to[1] + place - end
    return moved, moved
