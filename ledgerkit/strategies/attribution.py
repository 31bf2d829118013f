"""What each placement cost over its life: its tokens at every step in which it stood, at the rate charged there.

No table of parts × steps is made: prefix sums over steps give what a placement would cost if nothing were read from a
cache, and what it saves is a sum over the steps that read past it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.strategies.grid import NOWHERE, Ints, sums_before
from ledgerkit.strategies.measures import Measures
from ledgerkit.strategies.ranges import sums_below
from ledgerkit.strategies.standing import Standing

_STRIDE: Final = NOWHERE + 2

ROUNDING: Final = "cache_blocks"
"""Name of the line for what cache blocks leave unread of a shared beginning: it belongs to no placement."""


def attribute(measures: Measures) -> pl.DataFrame:
    """Costs of placements.

    Args:
        measures: A strategy's measures, with the rates that count.

    Returns:
        The placements with ``cost_pico``. With :func:`unattributed` they sum to the cost of the steps, in every run.
    """
    grid, placements, charges = measures.frames.grid, measures.projection.placements, measures.charges
    rates = measures.rates
    # Of a token that is not read, what it is charged; of one that is read, how much less.
    is_cached = charges.written + charges.read > 0
    full = np.where(is_cached, rates.write, rates.fresh)
    less = np.where(charges.read > 0, full - rates.read, 0)
    rows = Standing.of(grid, placements)
    charged = sums_before(np.where(grid.is_step, full, 0))
    saved = sums_before(np.where(grid.is_step, less, 0))
    rate = charged[rows.end] - charged[rows.start] - (saved[rows.end] - saved[rows.start + 1])
    rate += _not_read(charges.before, less, measures.prefixes.appends, rows)
    return placements.with_columns(cost_pico=pl.Series(rows.tokens * rate))


def unattributed(measures: Measures) -> pl.DataFrame:
    """What no placement costs, by run: ``session_id``, ``run_id``, ``reason``, ``cost_pico``."""
    grid, charges = measures.frames.grid, measures.charges
    less = measures.rates.write - measures.rates.read
    left = np.where(charges.read > 0, (measures.prefixes.shared - charges.read) * less, 0)
    sums = np.add.reduceat(np.where(grid.is_step, left, 0), grid.first[:-1]) if grid.steps.size else left
    return measures.frames.runs.select(
        "session_id", "run_id", reason=pl.lit(ROUNDING), cost_pico=pl.Series(sums, dtype=pl.Int64)
    ).filter(pl.col("cost_pico") != 0)


def _not_read(before: Ints, less: Ints, appends: npt.NDArray[np.bool_], rows: Standing) -> Ints:
    """What steps after a placement's first save on what lies before their change, and the placement does not."""
    grid, run, start, end, position = rows.grid, rows.run, rows.start, rows.end, rows.position
    slots = np.flatnonzero(~appends & (less != 0) & grid.is_step)
    missed = np.zeros(run.size, np.int64)
    if not slots.size:
        return missed
    change, amount, owner = before[slots], less[slots], grid.run[slots]
    marks = np.zeros(grid.size, np.bool_)
    marks[slots] = True
    number = sums_before(marks)  # how many of these steps lie before each slot
    left, right = number[start + 1], number[end]
    asks = np.flatnonzero(left < right)
    falls = np.zeros(grid.steps.size, np.bool_)
    falls[owner[1:][(owner[1:] == owner[:-1]) & (change[1:] < change[:-1])]] = True
    plain, other = asks[~falls[run[asks]]], asks[falls[run[asks]]]
    # Where changes only move up, those at or before a position are the run's first ones.
    upto = np.searchsorted(owner * _STRIDE + change, run[plain] * _STRIDE + position[plain], side="right")
    totals = sums_before(amount)
    low, high = left[plain], np.minimum(right[plain], upto)
    missed[plain] = np.where(high > low, totals[np.maximum(high, low)] - totals[low], 0)
    missed[other] = sums_below(change, amount, left[other], right[other], position[other] + 1)
    return missed
