"""A budget that spares evidence: what the memory of a run rests on leaves last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import Ints, ints
from ledgerkit.strategies.placements import end_at
from ledgerkit.strategies.strategy import Strategy

_COLUMNS = ("run_id", "message_id", "from_step", "to_step")


@dataclass(frozen=True, eq=False)
class EvidenceFirst(Strategy):
    """Pinned parts, then units that hold evidence, then the newest units, as many as fit; what has left stays out.

    What is evidence is given step by step (``ledger.evidence``): the failures that are open, the checks that passed
    last, what accepted facts cite. A step knows nothing of later needs.

    Attributes:
        budget: Tokens of the whole context.
        evidence: ``run_id``, ``message_id``, ``from_step``, ``to_step`` (null: to the end of the run).
    """

    budget: int
    evidence: pl.DataFrame

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise StrategyError(f"A budget is at least 1 token, not {self.budget}.")
        if missing := [name for name in _COLUMNS if name not in self.evidence.columns]:
            raise StrategyError(f"Evidence has no column {missing[0]!r}; needed are {', '.join(_COLUMNS)}.")

    @property
    def label(self) -> str:
        """Its budget; the evidence belongs to the runs."""
        return f"EvidenceFirst(budget={self.budget})"

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Drops units when the budget is full: the oldest that hold no evidence, then the oldest that do."""
        needed = self._needed(frames)
        run, part = ints(placements["run"]), ints(placements["part"])
        unit = np.where(part >= 0, frames.of_rows("unit", placements), part)
        pinned = frames.of_rows("is_pinned", placements, summary=0) == 1
        leaves = np.full(placements.height, np.iinfo(np.int64).max, np.int64)
        for number in np.unique(run):
            mine = np.flatnonzero(run == number)
            one = _OneRun(placements[mine], unit[mine], pinned[mine], self.budget)
            spans = needed.filter(pl.col("run") == number)
            columns = (ints(spans[name]) for name in ("unit", "start", "end"))
            leaves[mine] = one.leaving(int(frames.grid.steps[number]), *columns)
        return end_at(placements, leaves)

    def _needed(self, frames: RunFrames) -> pl.DataFrame:
        """Units that hold evidence, by run, with the steps at which it is needed."""
        rows = self.evidence.select(_COLUMNS).join(frames.runs.select("run", "run_id", "steps"), on="run_id")
        parts = frames.parts.select("run", "message_id", "unit").unique()
        return rows.join(parts, on=["run", "message_id"]).select(
            "run", "unit", start="from_step", end=pl.col("to_step").fill_null(pl.col("steps"))
        )


class _OneRun:
    def __init__(self, rows: pl.DataFrame, unit: Ints, pinned: npt.NDArray[np.bool_], budget: int) -> None:
        self._enters, self._ends, self._tokens = (ints(rows[name]) for name in ("from_step", "to_step", "tokens"))
        self._keys, self._index = np.unique(unit, return_inverse=True)
        self._pinned, self._budget = pinned, budget

    def leaving(self, steps: int, unit: Ints, start: Ints, end: Ints) -> Ints:
        """The step at which each row leaves."""
        needed = np.searchsorted(self._keys, unit)
        known = (needed < self._keys.size) & (self._keys[np.minimum(needed, self._keys.size - 1)] == unit)
        needed, start, end = needed[known], start[known], end[known]
        leaves = np.full(self._keys.size, np.iinfo(np.int64).max, np.int64)
        for step in range(steps):
            stands = (self._enters <= step) & (self._ends > step) & (self._pinned | (leaves[self._index] > step))
            size = int(self._tokens[stands].sum())
            if size <= self._budget:
                continue
            free = stands & ~self._pinned
            held = np.zeros(self._keys.size, np.int64)
            np.add.at(held, self._index[free], self._tokens[free])
            spared = np.zeros(self._keys.size, np.bool_)
            spared[needed[(start <= step) & (end > step)]] = True
            present = np.unique(self._index[free])
            order = present[np.lexsort((present, spared[present]))]  # units are numbered by place: the oldest first
            gone = np.searchsorted(np.cumsum(held[order]), size - self._budget, side="left") + 1
            leaves[order[:gone]] = step
        return np.where(self._pinned, np.iinfo(np.int64).max, leaves[self._index])
