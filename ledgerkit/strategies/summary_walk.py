"""When summaries are made and what they take in: from one to the next, all runs side by side; by steps where needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import NOWHERE, Ints, counting, ints, tokens_by_step

_STRIDE = NOWHERE + 2


@dataclass(frozen=True)
class Rule:
    """Settings of ``SummariseAt``."""

    trigger: int
    keep_last: int
    summary: int


@dataclass(frozen=True)
class Made:
    """Summaries: their run, the step that first sees them, their position, and the tokens read to write them."""

    run: Ints
    step: Ints
    position: Ints
    read: Ints

    @classmethod
    def of(cls, rows: list[tuple[Ints, Ints, Ints, Ints]]) -> Made:
        """From pieces."""
        return cls(*(np.concatenate(column) for column in zip(*rows, strict=True))) if rows else cls(*[_NONE] * 4)

    def joined(self, other: Made) -> Made:
        """Both."""
        mine, others = (
            (self.run, self.step, self.position, self.read),
            (other.run, other.step, other.position, other.read),
        )
        return Made(*(np.concatenate(pair) for pair in zip(mine, others, strict=True)))


_NONE = np.zeros(0, np.int64)


def summarise_all(
    frames: RunFrames,
    placements: pl.DataFrame,
    pinned: npt.NDArray[np.bool_],
    chosen: npt.NDArray[np.bool_],
    rule: Rule,
    ends: Ints,
) -> Made:
    """Runs whose contexts only grow and whose units enter whole: writes where placements end."""
    grid = frames.grid
    free = placements.filter(pl.Series(~pinned))
    run, enters = ints(free["run"]), ints(free["from_step"])
    everything = np.where(grid.is_step, tokens_by_step(grid, placements), NOWHERE - 1) + grid.run * _STRIDE
    held = grid.running_sum(grid.sums(grid.slots(run, enters), ints(free["tokens"])))  # not pinned, by each step
    bounded = np.where(grid.is_step, held, NOWHERE - 1) + grid.run * _STRIDE
    places = np.full(grid.size, -1, np.int64)
    np.maximum.at(places, grid.slots(run, enters), ints(free["position"]))
    step_of_slot = np.arange(grid.size) - grid.first[grid.run]
    newest = grid.running_maximum(np.where(places >= 0, step_of_slot, -1))  # last step at which something entered
    last_place = grid.running_maximum(places)
    runs = np.flatnonzero(chosen & (grid.steps > 0))
    covered, slot = np.zeros(runs.size, np.int64), grid.first[runs].copy()  # what entered before step `covered` is in
    found = list[tuple[Ints, Ints, Ints, Ints]]()
    spans = list[tuple[Ints, Ints, Ints, Ints]]()
    while runs.size:
        first = grid.first[runs]
        before = np.where(covered > 0, held[first + covered - 1], 0)
        summary = np.where(covered > 0, rule.summary, 0)
        slot = np.maximum(slot, np.searchsorted(everything, rule.trigger - summary + before + runs * _STRIDE, "right"))
        on = slot < grid.first[runs + 1] - 1
        runs, covered, slot, first, before, summary = (x[on] for x in (runs, covered, slot, first, before, summary))
        surplus = held[slot] - rule.keep_last
        cut = np.searchsorted(bounded, surplus + runs * _STRIDE, "left") - first + 1
        cut = np.maximum(np.minimum(np.where(surplus > 0, cut, 0), newest[slot]), covered)
        taken = np.where(cut > 0, held[first + np.maximum(cut, 1) - 1], 0) - before
        makes = (cut > covered) & (taken + summary > rule.summary)
        step = slot - first
        read = everything[slot] - runs * _STRIDE - before + summary
        found.append((runs[makes], step[makes], last_place[(first + cut - 1)[makes]], read[makes]))
        spans.append((runs[makes], covered[makes], cut[makes], step[makes]))
        covered = np.where(makes, cut, covered)
        slot = slot + 1
    _end_covered(placements, pinned, grid.first, spans, ends)
    return Made.of(found)


def _end_covered(
    placements: pl.DataFrame,
    pinned: npt.NDArray[np.bool_],
    first: Ints,
    spans: list[tuple[Ints, Ints, Ints, Ints]],
    ends: Ints,
) -> None:
    """Ends placements that entered in ``[from, until)`` at the step of the summary that took them in."""
    ends_by_slot = np.full(int(first[-1]), np.iinfo(np.int64).max, np.int64)
    for run, start, until, step in spans:
        number = until - start
        ends_by_slot[np.repeat(first[run] + start, number) + counting(number)] = np.repeat(step, number)
    slots = first[ints(placements["run"])] + ints(placements["from_step"])
    ends[:] = np.where(pinned, ends, np.minimum(ends, ends_by_slot[slots]))


def summarise_by_steps(
    frames: RunFrames,
    placements: pl.DataFrame,
    pinned: npt.NDArray[np.bool_],
    chosen: npt.NDArray[np.bool_],
    rule: Rule,
    ends: Ints,
) -> Made:
    """Runs in which something ends of itself or units enter in pieces: one step after the other."""
    rows = list[tuple[Ints, Ints, Ints, Ints]]()
    if not chosen.any():
        return Made.of(rows)
    run, unit = ints(placements["run"]), frames.of_rows("unit", placements)
    part = ints(placements["part"])
    unit = np.where(part >= 0, unit, part)  # a summary that another strategy made is a unit of its own
    for number in np.flatnonzero(chosen):
        mine = np.flatnonzero(run == number)
        one = _OneRun(placements[mine], pinned[mine], unit[mine], rule)
        for step in range(int(frames.grid.steps[number])):
            one.see(step)
        ends[mine] = one.ends
        step, position, read = (np.array(column, np.int64) for column in one.columns())
        rows.append((np.full(step.size, number, np.int64), step, position, read))
    return Made.of(rows)


class _OneRun:
    def __init__(self, rows: pl.DataFrame, pinned: npt.NDArray[np.bool_], unit: Ints, rule: Rule) -> None:
        self._enters, self.ends = ints(rows["from_step"]), ints(rows["to_step"]).copy()
        self._tokens, self._position, self._pinned, self._rule = (
            ints(rows["tokens"]),
            ints(rows["position"]),
            pinned,
            rule,
        )
        keys, index = np.unique(unit, return_inverse=True)
        last = np.full(keys.size, -1, np.int64)
        np.maximum.at(last, index, self._enters)
        self._complete = last[index]  # the step at which the last row of its unit enters
        self.made = list[tuple[int, int, int]]()

    def columns(self) -> tuple[list[int], list[int], list[int]]:
        steps, positions, reads = zip(*self.made, strict=True) if self.made else ((), (), ())
        return list(steps), list(positions), list(reads)

    def see(self, step: int) -> None:
        """Makes a summary at a step, if one is due."""
        stands = (self._enters <= step) & (self.ends > step)
        summary = self._rule.summary if self.made else 0
        size = int(self._tokens[stands].sum()) + summary
        free = stands & ~self._pinned
        if size <= self._rule.trigger or not free.any():
            return
        newest = int(self._enters[(self._enters <= step) & ~self._pinned].max())
        cut, left = 0, int(self._tokens[free].sum())
        for complete in np.unique(self._complete[free & (self._complete < newest)]).tolist():
            if left <= self._rule.keep_last:
                break
            cut = complete + 1
            left -= int(self._tokens[free & (self._complete == complete)].sum())
        taken = free & (self._complete < cut)
        if int(self._tokens[taken].sum()) + summary <= self._rule.summary or not taken.any():
            return
        place = max([int(self._position[taken].max()), *(made[1] for made in self.made[-1:])])
        self.made.append((step, place, size))
        gone = ~self._pinned & (self._complete < cut) & (self.ends > step)
        self.ends[gone] = step
