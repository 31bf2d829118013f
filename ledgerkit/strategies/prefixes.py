"""What a prompt shares with the one before: where it first changes, and how many tokens stand before that.

Without rendering: a step that only appends shares all of the step before; a change after which nothing before it ever
changes again is a prefix sum over what stays to the end; any other is one sum over a range of starts and ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.strategies.grid import NOWHERE, Ints, StepGrid, sums_before
from ledgerkit.strategies.ranges import sums_below
from ledgerkit.strategies.standing import Standing

_STRIDE = NOWHERE + 2


@dataclass(frozen=True)
class Prefixes:
    """Of every slot of a grid, shape (slots,) each; entries behind the last step of a run mean nothing.

    Attributes:
        tokens: Tokens of the context.
        change: Lowest position at which it differs from the step before; ``NOWHERE`` where it does not.
        shared: Tokens before that: what both have in common at their beginning; 0 at step 0.
        appends: Whether it only adds behind all that stood in the step before.
    """

    tokens: Ints
    change: Ints
    shared: Ints
    appends: npt.NDArray[np.bool_]


def prefixes(grid: StepGrid, placements: pl.DataFrame) -> Prefixes:
    """Compares every context with that of the step before.

    Args:
        grid: The steps.
        placements: What stands where.
    """
    rows = Standing.of(grid, placements)
    tokens = np.cumsum(grid.sums(rows.start, rows.tokens) - grid.sums(rows.end, rows.tokens))
    change = np.minimum(grid.lowest(rows.start, rows.position), grid.lowest(rows.end, rows.position))
    highest = np.full(grid.size, -1, np.int64)
    np.maximum.at(highest, rows.start, rows.position)
    first = grid.first[:-1]
    used = np.concatenate((np.full(1, -1, np.int64), grid.running_maximum(highest)[:-1]))
    used[first] = -1
    appends = change > used
    before = np.concatenate((np.zeros(1, np.int64), tokens[:-1]))
    shared = np.where(appends, before, 0)
    changed = np.flatnonzero(~appends & grid.is_step)
    final = change <= grid.suffix_minimum(np.where(grid.is_step, change, NOWHERE))
    shared[changed] = _before_change(rows, rows.tokens, change, changed, final)
    # Behind all that stands now, if not behind all that ever stood: what comes there is appended too.
    whole = changed[shared[changed] == before[changed]]
    ones = np.ones(rows.tokens.size, np.int64)
    entries = np.cumsum(grid.sums(rows.start, ones) - grid.sums(rows.end, ones))
    appends[whole] = _before_change(rows, ones, change, whole, final) == entries[whole - 1]
    shared[first] = 0
    return Prefixes(tokens, change, shared, appends)


def _before_change(rows: Standing, weights: Ints, change: Ints, slots: Ints, final: npt.NDArray[np.bool_]) -> Ints:
    """Sums of the weights of what stands at some steps before the positions at which they change."""
    sums = np.zeros(slots.size, np.int64)
    stays = final[slots]
    sums[stays] = _sum_final(rows, weights, change, slots[stays])
    sums[~stays] = _sum_ranges(rows, weights, change, slots[~stays])
    return sums


def _sum_final(rows: Standing, weights: Ints, change: Ints, slots: Ints) -> Ints:
    """Steps before whose change nothing changes any more: what stands there stays to the end of the run."""
    grid = rows.grid
    if not slots.size:
        return slots
    stays = np.flatnonzero(rows.end == grid.first[rows.run + 1] - 1)
    key = rows.run[stays] * _STRIDE + rows.position[stays]
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        key, stays = key[order], stays[order]
    totals = sums_before(weights[stays])
    run = grid.run[slots]
    upto = np.searchsorted(key, run * _STRIDE + change[slots], side="left")
    return totals[upto] - totals[np.searchsorted(key, run * _STRIDE, side="left")]


def _sum_ranges(rows: Standing, weights: Ints, change: Ints, slots: Ints) -> Ints:
    """All other steps: starts less ends, up to the step, of what lies before the change."""
    grid = rows.grid
    if not slots.size:
        return slots
    concerned = np.zeros(grid.steps.size, np.bool_)
    concerned[grid.run[slots]] = True
    mine = concerned[rows.run]
    when = np.concatenate((rows.start[mine], rows.end[mine]))
    order = np.argsort(when, kind="stable")
    when = when[order]
    position = np.tile(rows.position[mine], 2)[order]
    signed = np.concatenate((weights[mine], -weights[mine]))[order]
    left = np.searchsorted(when, grid.first[grid.run[slots]], side="left")
    right = np.searchsorted(when, slots, side="right")
    return sums_below(position, signed, left, right, change[slots])
