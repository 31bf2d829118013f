"""Intervals of steps in bulk: what stands when, whether it stands at a step, and how much of it stands at every step.

One rule: no table of parts × steps is ever made. An interval holds for the steps from its start up to, not including,
its end; ``key`` says what it is an interval of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ledgerkit.strategies.grid import Ints, StepGrid, counting

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
STRIDE: Final = 1 << 31
"""More than any step."""


@dataclass(frozen=True)
class Spans:
    """Intervals of steps, shape (n,) each.

    Attributes:
        key: What each is an interval of: a number below 2**32.
        start: Its first step.
        end: The step after its last.
    """

    key: Ints
    start: Ints
    end: Ints

    def union(self) -> Spans:
        """The same steps as intervals that neither overlap nor touch, by key and start.

        Example:
            >>> def numbers(*values): return np.array(values, np.int64)
            >>> one = Spans(numbers(7, 7, 7), numbers(0, 2, 5), numbers(3, 4, 6)).union()
            >>> one.start.tolist(), one.end.tolist()
            ([0, 5], [4, 6])
        """
        there = self.start < self.end
        begins = (self.key * STRIDE + self.start)[there]
        order = np.argsort(begins, kind="stable")
        begins = begins[order]
        ends = np.maximum.accumulate((self.key * STRIDE + self.end)[there][order])
        if not begins.size:
            return Spans(begins, begins, ends)
        first = np.flatnonzero(np.concatenate(([True], begins[1:] > ends[:-1])))
        last = np.concatenate((first[1:] - 1, [begins.size - 1]))
        return Spans(begins[first] // STRIDE, begins[first] % STRIDE, ends[last] % STRIDE)

    def cover(self, key: Ints, step: Ints) -> Flags:
        """Whether some interval of a key holds for a step, shape of the question.

        Example:
            >>> def numbers(*values): return np.array(values, np.int64)
            >>> spans = Spans(numbers(1, 1, 2), numbers(0, 4, 1), numbers(2, 6, 3))
            >>> spans.cover(numbers(1, 1, 1, 2), numbers(1, 2, 5, 0)).tolist()
            [True, False, True, False]
        """
        if not self.key.size:
            return np.zeros(key.size, np.bool_)
        begins = self.key * STRIDE + self.start
        order = np.argsort(begins, kind="stable")
        begins = begins[order]
        ends = np.maximum.accumulate((self.key * STRIDE + self.end)[order])
        asked = key * STRIDE + step
        found = np.searchsorted(begins, asked, side="right") - 1
        # An end of a lower key lies below every question about this one.
        return (found >= 0) & (ends[np.maximum(found, 0)] > asked)

    def within(self, start: Ints, end: Ints) -> Spans:
        """Cut to a window of steps for each key, given by key."""
        return Spans(
            self.key, np.maximum(self.start, start[self.key]), np.maximum(np.minimum(self.end, end[self.key]), 0)
        )


def standing(grid: StepGrid, run: Ints, start: Ints, end: Ints, amount: Ints) -> Ints:
    """Sum of the amounts of intervals that stand at each slot of the grid; empty intervals count nothing."""
    there = start < end
    run, start, end, amount = run[there], start[there], end[there], amount[there]
    change = grid.sums(grid.slots(run, start), amount) - grid.sums(grid.slots(run, end), amount)
    return np.cumsum(change)


def matching(sorted_keys: Ints, asked: Ints) -> tuple[Ints, Ints]:
    """All pairs of a question and a row of its key.

    Args:
        sorted_keys: Keys of rows, rising.
        asked: Keys that are looked up.

    Returns:
        Index into ``asked`` and index into ``sorted_keys`` of each pair.

    Example:
        >>> pairs = matching(np.array([3, 5, 5]), np.array([5, 4]))
        >>> [one.tolist() for one in pairs]
        [[0, 0], [1, 2]]
    """
    first = np.searchsorted(sorted_keys, asked, side="left")
    count = np.searchsorted(sorted_keys, asked, side="right") - first
    return np.repeat(np.arange(asked.size, dtype=np.int64), count), np.repeat(first, count) + counting(count)


def ratio(part: Ints | Floats, whole: Ints | Floats) -> Floats:
    """Shares, NaN where there is nothing to have a share of."""
    shares = np.full(whole.size, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares
