"""All steps of all runs as one array: slot ``first[run] + step``, with one slot more per run for what ends with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

NOWHERE: int = 1 << 40
"""A position behind every other."""


@dataclass(frozen=True)
class StepGrid:
    """The steps of some runs side by side.

    Attributes:
        steps: Number of steps of each run, shape (runs,).
    """

    steps: Ints

    @cached_property
    def first(self) -> Ints:
        """Slot of each run's step 0; the last entry is the number of slots. Shape (runs + 1,)."""
        first = np.zeros(self.steps.size + 1, np.int64)
        np.cumsum(self.steps + 1, out=first[1:])
        return first

    @property
    def size(self) -> int:
        """Number of slots: every step of every run, and one slot per run after its last step."""
        return int(self.first[-1])

    @cached_property
    def run(self) -> Ints:
        """Run of each slot."""
        return np.repeat(np.arange(self.steps.size, dtype=np.int64), self.steps + 1)

    @cached_property
    def is_step(self) -> npt.NDArray[np.bool_]:
        """Whether a slot is a step (the others stand after the last step of their run)."""
        steps = np.ones(self.size, np.bool_)
        steps[self.first[1:] - 1] = False
        return steps

    def slots(self, run: Ints, step: Ints) -> Ints:
        """Slots of some steps."""
        return self.first[run] + step

    def sums(self, slots: Ints, amounts: Ints) -> Ints:
        """Sum of the amounts that fall on each slot."""
        # float64 holds whole numbers up to 2**53 exactly; more tokens than that are refused with the frames.
        return np.bincount(slots, weights=amounts, minlength=self.size).astype(np.int64)

    def lowest(self, slots: Ints, amounts: Ints) -> Ints:
        """Lowest amount that falls on each slot; ``NOWHERE`` where none does."""
        lowest = np.full(self.size, NOWHERE, np.int64)
        np.minimum.at(lowest, slots, amounts)
        return lowest

    def running_maximum(self, amounts: Ints) -> Ints:
        """Highest amount of the run up to and including each slot. Amounts lie between -1 and ``NOWHERE``."""
        stride = NOWHERE + 2
        return np.maximum.accumulate(amounts + 1 + self.run * stride) - self.run * stride - 1

    def suffix_minimum(self, amounts: Ints) -> Ints:
        """Lowest amount of the run from each slot on. Amounts lie between 0 and ``NOWHERE``."""
        stride = NOWHERE + 2
        turned = (amounts + self.run * stride)[::-1]
        return np.minimum.accumulate(turned)[::-1] - self.run * stride

    def running_sum(self, amounts: Ints) -> Ints:
        """Sum of the run's amounts up to and including each slot, shape as given."""
        total = np.cumsum(amounts)
        before = np.concatenate((np.zeros(1, np.int64), total))[self.first[:-1]]
        return total - before[self.run]


def ints(column: pl.Series) -> Ints:
    """A column without nulls as 64-bit numbers."""
    return column.cast(pl.Int64).rechunk().to_numpy()


def sums_before(amounts: Ints | npt.NDArray[np.bool_]) -> Ints:
    """Sums of all amounts before each place, and of all.

    Example:
        >>> sums_before(np.array([3, 1, 2])).tolist()
        [0, 3, 4, 6]
    """
    sums = np.zeros(amounts.size + 1, np.int64)
    np.cumsum(amounts, out=sums[1:])
    return sums


def tokens_by_step(grid: StepGrid, placements: pl.DataFrame) -> Ints:
    """Tokens of the context of each step, by slot; 0 after the last step of a run."""
    run, tokens = ints(placements["run"]), ints(placements["tokens"])
    enters = grid.sums(grid.slots(run, ints(placements["from_step"])), tokens)
    return np.cumsum(enters - grid.sums(grid.slots(run, ints(placements["to_step"])), tokens))


def counting(numbers: Ints) -> Ints:
    """0, 1, … within each of some groups of given sizes."""
    ends = np.cumsum(numbers)
    return np.arange(ends[-1] if ends.size else 0, dtype=np.int64) - np.repeat(ends - numbers, numbers)
