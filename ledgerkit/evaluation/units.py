"""Validity: whether every context could be sent, without a result that lost its call or a call that lost a result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.presence import Flags, Spans
from ledgerkit.strategies.grid import Ints


@dataclass(frozen=True)
class Units:
    """Units of more than one part, shape (parts,) each.

    Attributes:
        unit: The unit of each part: the number of its first part.
        in_unit: Whether the part belongs to a unit of several eligible parts.
    """

    unit: Ints
    in_unit: Flags

    @classmethod
    def of(cls, material: Material) -> Units:
        """Finds the units."""
        frames = material.frames
        unit = frames.first_part[frames.column("run")] + frames.column("unit")
        eligible = frames.column("is_eligible") == 1
        size = np.bincount(unit[eligible], minlength=unit.size)
        return cls(unit, eligible & (size[unit] > 1))

    def steps(self, placed: Placed) -> dict[str, Ints]:
        """By slot: ``broken_units``, of which some parts stand and others that could do not, or that are torn apart."""
        frames = placed.material.frames
        rows = np.flatnonzero(placed.part >= 0)
        rows = rows[self.in_unit[placed.part[rows]]]
        there = Spans(placed.part[rows], placed.start[rows], placed.end[rows]).union()
        doubtful = self._changing(placed, there) | self._moved(placed, rows)
        grid = frames.grid
        total = np.zeros(grid.size + 1, np.int64)
        if doubtful.any():
            broken = self._broken(placed, there, doubtful)
            run = frames.column("run")[broken.key]
            np.add.at(total, grid.first[run] + broken.start, 1)
            np.add.at(total, grid.first[run] + broken.end, -1)
        return {"broken_units": np.cumsum(total)[:-1]}

    def _changing(self, placed: Placed, there: Spans) -> Flags:
        """Units whose parts do not all stand from when they are visible to one and the same step; by unit."""
        frames = placed.material.frames
        parts = np.flatnonzero(self.in_unit)
        count = np.bincount(there.key, minlength=self.unit.size)
        start, end = np.zeros(self.unit.size, np.int64), np.zeros(self.unit.size, np.int64)
        start[there.key], end[there.key] = there.start, there.end
        usual = (count[parts] == 1) & (start[parts] == frames.column("visible_from")[parts])
        low, high = np.full(self.unit.size, 1 << 40, np.int64), np.zeros(self.unit.size, np.int64)
        np.minimum.at(low, self.unit[parts], np.where(count[parts] == 0, 0, end[parts]))
        np.maximum.at(high, self.unit[parts], np.where(count[parts] == 0, 0, end[parts]))
        odd = np.zeros(self.unit.size, np.bool_)
        np.logical_or.at(odd, self.unit[parts], ~usual & (count[parts] > 0))
        return (odd | (low != high)) & (high > 0)

    def _moved(self, placed: Placed, rows: Ints) -> Flags:
        """Units whose parts moved by different distances; by unit."""
        frames = placed.material.frames
        part = placed.part[rows]
        position = np.asarray(placed.table["position"].to_numpy(), np.int64)[rows]
        moved = position - frames.column("position")[part]
        low, high = np.full(self.unit.size, 1 << 40, np.int64), np.full(self.unit.size, -(1 << 40), np.int64)
        np.minimum.at(low, self.unit[part], moved)
        np.maximum.at(high, self.unit[part], moved)
        return low < high

    def _broken(self, placed: Placed, there: Spans, doubtful: Flags) -> Spans:
        """Steps at which a doubtful unit is broken, by unit; if it is torn apart, where two parts of it stand."""
        frames = placed.material.frames
        mine = np.flatnonzero(doubtful[self.unit[there.key]])
        parts = np.flatnonzero(self.in_unit & doubtful[self.unit])
        ends = frames.grid.steps[frames.column("run")[parts]]
        visible = np.minimum(frames.column("visible_from")[parts], ends)
        unit = np.concatenate((self.unit[there.key[mine]],) * 2 + (self.unit[parts],) * 2)
        step = np.concatenate((there.start[mine], there.end[mine], visible, ends))
        stands = np.concatenate((np.ones(mine.size), -np.ones(mine.size), np.zeros(2 * parts.size))).astype(np.int64)
        could = np.concatenate((np.zeros(2 * mine.size), np.ones(parts.size), -np.ones(parts.size))).astype(np.int64)
        order = np.lexsort((step, unit))
        unit, step = unit[order], step[order]
        live, most = np.cumsum(stands[order]), np.cumsum(could[order])
        following = np.concatenate((step[1:], [0]))
        same = np.concatenate((unit[1:] == unit[:-1], [False]))
        torn = self._moved(placed, np.flatnonzero(placed.part >= 0))[unit]
        rows = same & (following > step) & (live > 0) & ((live < most) | (torn & (live >= 2)))
        return Spans(unit[rows], step[rows], following[rows])
