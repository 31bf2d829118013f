"""What tokens of a prompt are charged at each step, as whole pico-dollars per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import Ints, ints

RATE_COLUMNS: Final = ("rate_input", "rate_cache_read", "rate_cache_write")
PER_DOLLAR: Final = 10**12
"""Pico-dollars in a US dollar; a price of 3 dollars per million tokens is 3,000,000 of them per token."""

FREE: Final = pl.DataFrame({name: [0] for name in RATE_COLUMNS})
"""Rates that charge nothing: tokens only."""

_KEYS: Final = ("session_id", "run_id", "step", "model", "provider", "service_tier")


@dataclass(frozen=True)
class StepRates:
    """Rates of every slot of a grid, shape (slots,) each.

    Attributes:
        fresh: What a token of input costs that is neither read from a cache nor written to one.
        read: What one costs that is read.
        write: What one costs that is written.
        known: Whether the step has rates; if not, the others are 0.
    """

    fresh: Ints
    read: Ints
    write: Ints
    known: npt.NDArray[np.bool_]


def rates_by_step(frames: RunFrames, rates: pl.DataFrame) -> StepRates:
    """Looks up the rates of every step.

    Args:
        frames: The steps.
        rates: ``rate_input``, ``rate_cache_read`` and ``rate_cache_write`` in pico-dollars per token, null where
            unknown; and those of ``session_id``, ``run_id``, ``step``, ``model``, ``provider``, ``service_tier`` by
            which they differ. A single row without them holds for all steps.

    Raises:
        StrategyError: If a column is missing, or a step would have several rates.
    """
    if missing := [name for name in RATE_COLUMNS if name not in rates.columns]:
        raise StrategyError(f"Rates have no column {missing[0]!r}; needed are {', '.join(RATE_COLUMNS)}.")
    keys = [name for name in _KEYS if name in rates.columns]
    typed = rates.select(*keys, pl.col(RATE_COLUMNS).cast(pl.Int64))
    if typed.height > 1 and (not keys or typed.select(pl.struct(keys).is_duplicated().any()).item()):
        raise StrategyError("Rates are one row for all steps, or one row for each value of their other columns.")
    steps = frames.steps.join(frames.runs.select("run", "session_id", "run_id"), on="run", maintain_order="left")
    if keys:
        found = steps.join(typed, on=keys, how="left", nulls_equal=True, maintain_order="left")
    else:
        found = steps.join(typed, how="cross") if typed.height else steps.with_columns(_UNKNOWN)
    known = found.select(pl.all_horizontal(pl.col(RATE_COLUMNS).is_not_null())).to_series()
    there, size = frames.grid.is_step, frames.grid.size
    arrays = [np.zeros(size, np.int64) for _ in RATE_COLUMNS]
    for array, name in zip(arrays, RATE_COLUMNS, strict=True):
        array[there] = np.where(known.to_numpy(), ints(found[name].fill_null(0)), 0)
    mask = np.ones(size, np.bool_)
    mask[there] = known.to_numpy()
    return StepRates(arrays[0], arrays[1], arrays[2], mask)


_UNKNOWN: Final = [pl.lit(None, pl.Int64).alias(name) for name in RATE_COLUMNS]
