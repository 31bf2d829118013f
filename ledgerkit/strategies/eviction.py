"""Who has to leave when a budget is full: the one with the lowest key first, whole units, and none comes back.

Windows, section budgets, random drops and evidence-first differ in their keys alone. Where nothing ends of itself and
keys rise in order of entry, one search finds every unit's last step; in any other order of keys the last step still
falls with the key, and one walk down per group finds all of them, groups side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ledgerkit.strategies.grid import NOWHERE, Ints, StepGrid, counting


@dataclass(frozen=True)
class Candidates:
    """What competes for a budget: rows of units, shape (n,) each, sorted by group, then by falling key.

    Attributes:
        group: Number of the group (a run, or a section of a run): one budget each.
        key: The key of its unit; rows of one key leave together.
        enters: Step at which the row enters.
        ends: Step at which it ends of itself; the number of the group's steps if it does not.
        tokens: Its tokens.
    """

    group: Ints
    key: Ints
    enters: Ints
    ends: Ints
    tokens: Ints


def leaving_steps(rows: Candidates, grid: StepGrid, limits: Ints) -> Ints:
    """The step at which each row has to leave.

    Each group has a floor that never falls: at every step it rises to the lowest key for which all that stands above it
    fits. A row leaves when the floor reaches its key.

    Args:
        rows: The rows.
        grid: Steps of the groups.
        limits: Tokens allowed at each slot of the grid.

    Returns:
        Steps, shape (n,): the number of the group's steps where a row never has to leave, less than or equal to
        ``enters`` where it never stands in a context. Rows of a unit have the same step.
    """
    if not rows.group.size:
        return np.zeros(0, np.int64)
    leaves = _by_search(rows, grid, limits)
    count = np.bincount(rows.group, minlength=grid.steps.size)
    end = np.cumsum(count)
    shrinking = _marked(rows.group[rows.ends < grid.steps[rows.group]], grid)
    disordered = _marked(rows.group[1:][_is_disordered(rows)], grid) & ~shrinking
    rising = _marked(grid.run[1:][(limits[1:] > limits[:-1]) & grid.is_step[1:] & grid.is_step[:-1]], grid)
    no_room = _marked(grid.run[(limits < 0) & grid.is_step], grid)  # what has not entered cannot be pushed out
    by_steps = shrinking | (disordered & rising) | no_room
    walked = disordered & ~by_steps
    if walked.any():
        walk = _Walk(rows, grid, limits, end - count, np.where(walked, end, end - count), leaves)
        while walk.groups.size:
            walk.advance()
    leaves = _over_units(rows, leaves)
    for group in np.flatnonzero(by_steps & (count > 0)):
        there = slice(end[group] - count[group], end[group])
        leaves[there] = _by_steps(rows, there, limits[grid.first[group] : grid.first[group + 1] - 1])
    return leaves


def _marked(groups: Ints, grid: StepGrid) -> npt.NDArray[np.bool_]:
    marks = np.zeros(grid.steps.size, np.bool_)
    marks[groups] = True
    return marks


def _by_steps(rows: Candidates, there: slice, limits: Ints) -> Ints:
    """Step by step, for a group in which rows end of themselves or limits rise: a strategy before has made room."""
    keys, unit = np.unique(rows.key[there], return_inverse=True)
    entering, ending = rows.enters[there], rows.ends[there]
    in_order, out_order = np.argsort(entering, kind="stable"), np.argsort(ending, kind="stable")
    starts = np.searchsorted(entering[in_order], np.arange(limits.size + 1))
    stops = np.searchsorted(ending[out_order], np.arange(limits.size + 1))
    held, standing, tokens = np.zeros(keys.size, np.int64), np.zeros(keys.size, np.int64), rows.tokens[there]
    leaves = np.full(keys.size, limits.size, np.int64)
    floor = total = 0
    for step, limit in enumerate(limits.tolist()):
        coming = in_order[starts[step] : starts[step + 1]]
        going = out_order[stops[step] : stops[step + 1]]
        np.add.at(held, unit[coming], tokens[coming])
        np.subtract.at(held, unit[going], tokens[going])
        np.add.at(standing, unit[coming], 1)
        np.subtract.at(standing, unit[going], 1)
        total += int(tokens[coming][unit[coming] >= floor].sum() - tokens[going][unit[going] >= floor].sum())
        while total > limit and (present := np.flatnonzero(standing[floor:])).size:
            lowest = floor + int(present[0])
            total -= int(held[lowest])
            leaves[floor : lowest + 1] = step
            floor = lowest + 1
    return leaves[unit]


def _is_disordered(rows: Candidates) -> npt.NDArray[np.bool_]:
    """Which rows but the first of all break the usual order of their group: a higher key never entered earlier."""
    same = rows.group[1:] == rows.group[:-1]
    later = rows.enters[1:] > rows.enters[:-1]
    split = (rows.key[1:] == rows.key[:-1]) & (rows.enters[1:] != rows.enters[:-1])
    return same & (later | split)


def _by_search(rows: Candidates, grid: StepGrid, limits: Ints) -> Ints:
    """Where keys fall in order of entry: what entered after a row is all that can push it out."""
    held = grid.running_sum(grid.sums(grid.slots(rows.group, rows.enters), rows.tokens))
    excess = grid.running_maximum(np.clip(held - limits, -1, NOWHERE - 1))
    below = np.cumsum(rows.tokens[::-1])[::-1] - rows.tokens  # tokens of all rows behind, other groups included
    last = np.cumsum(np.bincount(rows.group, minlength=grid.steps.size)) - 1
    behind = below - below[last[rows.group]]
    stride = NOWHERE + 2
    found = np.searchsorted(excess + grid.run * stride, behind + rows.group * stride, side="right")
    return np.minimum(found - grid.first[rows.group], grid.steps[rows.group])


def _over_units(rows: Candidates, leaves: Ints) -> Ints:
    """The earliest step of each unit's rows for all of them."""
    new = np.flatnonzero((np.diff(rows.key) != 0) | (np.diff(rows.group) != 0)) + 1
    starts = np.concatenate((np.zeros(1, np.int64), new))
    sizes = np.diff(np.append(starts, leaves.size))
    return np.repeat(np.minimum.reduceat(leaves, starts), sizes)


class _Walk:
    """For every group: add the next row; while the last step overflows, that step is lost to it and all after it."""

    _LOOK_BACK: Final = 16
    """Steps that can be lost in one move."""
    _SIFT_AFTER: Final = 64
    """Moves after which rows that can no longer matter are put aside."""

    def __init__(self, rows: Candidates, grid: StepGrid, limits: Ints, start: Ints, end: Ints, leaves: Ints) -> None:
        self._rows, self._grid, self._limits, self._leaves = rows, grid, limits, leaves
        self._entered = np.zeros(grid.size, np.int64)  # tokens of added rows by the slot at which they enter
        self._queue = np.arange(rows.group.size, dtype=np.int64)  # rows to add, group by group
        self.groups = np.flatnonzero(end > start)
        self._next, self._end = start[self.groups].copy(), end[self.groups].copy()
        self._added = np.full(self.groups.size, -1, np.int64)  # the row that was added last
        self._until = grid.steps[self.groups].copy()
        self._held = np.zeros(self.groups.size, np.int64)  # tokens of added rows that have entered before `until`
        self._moves = 0

    def advance(self) -> None:
        """One move of every group."""
        last = np.maximum(self._until - 1, 0)
        overflows = (self._until > 0) & (self._held > self._limits[self._grid.first[self.groups] + last])
        self._lose(np.flatnonzero(overflows))
        settled = np.flatnonzero(~overflows)
        begun = settled[self._added[settled] >= 0]
        self._leaves[self._added[begun]] = self._until[begun]
        more = settled[self._next[settled] < self._end[settled]]
        self._add(more)
        self._drop(np.setdiff1d(settled, more, assume_unique=True))
        self._moves += 1
        if self._moves % self._SIFT_AFTER == 0 and self.groups.size:
            self._sift()

    def _lose(self, lost: Ints) -> None:
        """Moves the end of some groups back to the last step that fits, or by as many steps as one move looks back."""
        if not lost.size:
            return
        until = self._until[lost][:, None]
        back = np.arange(1, self._LOOK_BACK + 1)[None, :]
        step = until - back  # the steps that are lost after 1, 2, … of them
        slot = self._grid.first[self.groups[lost]][:, None] + np.maximum(step, 0)
        held = self._held[lost][:, None] - np.cumsum(np.where(step >= 0, self._entered[slot], 0), axis=1)
        fits = (step <= 0) | (held <= self._limits[np.maximum(slot - 1, 0)])
        number = np.where(fits.any(axis=1), fits.argmax(axis=1), self._LOOK_BACK - 1)
        here = np.arange(lost.size)
        self._until[lost] = np.maximum(step[here, number], 0)
        self._held[lost] = held[here, number]

    def _add(self, more: Ints) -> None:
        row = self._queue[self._next[more]]
        enters, tokens = self._rows.enters[row], self._rows.tokens[row]
        self._entered[self._grid.first[self.groups[more]] + enters] += tokens
        self._held[more] += np.where(enters < self._until[more], tokens, 0)
        self._added[more] = row
        self._next[more] += 1

    def _sift(self) -> None:
        """Puts aside rows that enter when the last step is lost already: they never stand in a context."""
        number = self._end - self._next
        owner = np.repeat(np.arange(self.groups.size), number)
        row = self._queue[np.repeat(self._next, number) + counting(number)]
        late = self._rows.enters[row] >= self._until[owner]
        self._leaves[row[late]] = self._until[owner[late]]
        self._queue = row[~late]
        kept = np.bincount(owner[~late], minlength=self.groups.size)
        self._end = np.cumsum(kept)
        self._next = self._end - kept

    def _drop(self, done: Ints) -> None:
        if done.size:
            keep = np.ones(self.groups.size, np.bool_)
            keep[done] = False
            self.groups, self._added, self._end = self.groups[keep], self._added[keep], self._end[keep]
            self._next, self._until, self._held = self._next[keep], self._until[keep], self._held[keep]
