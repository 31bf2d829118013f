"""Measures of every step and run, from placements alone: tokens, overflow, shared prefix, cache, cost.

Nothing is rendered and no part is looked at; amounts are whole numbers, so that what belongs together sums exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ledgerkit.strategies.caching import NO_CACHE, CacheRules, Charges, rates_by_step, simulate
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import NOWHERE, Ints, ints
from ledgerkit.strategies.placements import Projection
from ledgerkit.strategies.prefixes import Prefixes, prefixes

FREE = pl.DataFrame({"rate_input": [0], "rate_cache_read": [0], "rate_cache_write": [0]})
"""Rates that charge nothing: tokens only."""


@dataclass(frozen=True)
class Measures:
    """Measures of a strategy on some runs. Get them from :func:`measure`.

    Attributes:
        frames: Steps and parts.
        projection: The strategy's answer.
        rates: Fresh input, cache reads and cache writes of every slot.
    """

    frames: RunFrames
    projection: Projection
    prefixes: Prefixes
    charges: Charges
    rates: tuple[Ints, Ints, Ints]
    context_window: int | None

    @cached_property
    def cost(self) -> Ints:
        """Cost of the prompt of every slot, in pico-dollars."""
        fresh, read, write = self.rates
        charges, tokens = self.charges, self.prefixes.tokens
        rest = tokens - charges.read - charges.written
        return rest * fresh + charges.read * read + charges.written * write

    @cached_property
    def extra_cost(self) -> Ints:
        """Cost of each of the strategy's own calls, without what they write, in pico-dollars.

        They are charged as fresh input: how much of their prompt a cache holds is not known.
        """
        calls = self.projection.calls
        slots = self.frames.grid.slots(ints(calls["run"]), ints(calls["step"]))
        return ints(calls["input_tokens"]) * self.rates[0][slots]

    def steps(self) -> pl.DataFrame:
        """One row per step, in order.

        Returns:
            ``session_id``, ``run_id``, ``step``, ``tokens``, ``overflow_tokens`` (above the context window; null if
            none was given), ``change_position`` (null where the context is that of the step before),
            ``shared_prefix_tokens``, ``cache_read_tokens``, ``cache_write_tokens``, ``fresh_tokens`` (they sum to
            ``tokens``), ``cost`` in pico-dollars, ``gap_unknown`` (the cache's lifetime needed a time that is not
            recorded).
        """
        there = self.frames.grid.is_step
        found, charges = self.prefixes, self.charges
        change = pl.Series(found.change[there])
        table = self.frames.steps.select("run", "step").with_columns(
            tokens=pl.Series(found.tokens[there]),
            overflow_tokens=self._overflow(found.tokens[there]),
            change_position=pl.when(change < NOWHERE).then(change),
            shared_prefix_tokens=pl.Series(found.shared[there]),
            cache_read_tokens=pl.Series(charges.read[there]),
            cache_write_tokens=pl.Series(charges.written[there]),
            fresh_tokens=pl.Series((found.tokens - charges.read - charges.written)[there]),
            cost=pl.Series(self.cost[there]),
            gap_unknown=pl.Series(charges.time_unknown[there]),
        )
        return self._with_ids(table)

    def extra_calls(self) -> pl.DataFrame:
        """One row per model call that the strategy makes itself, with the ``cost`` of its input in pico-dollars."""
        return self._with_ids(self.projection.calls.with_columns(cost=pl.Series(self.extra_cost, dtype=pl.Int64)))

    def runs(self) -> pl.DataFrame:
        """One row per run, in order.

        Returns:
            ``session_id``, ``run_id``, ``strategy``, ``steps``, ``input_tokens`` (of all steps), ``peak_tokens``,
            ``overflowing_steps`` (null without a context window), ``rewrites`` (steps that do not only append),
            ``shared_prefix_tokens``, ``cache_read_tokens``, ``cache_write_tokens``, ``fresh_tokens``, ``cost`` of the
            steps in pico-dollars, and of the strategy's own calls ``extra_calls``, ``extra_input_tokens``,
            ``extra_output_tokens`` and ``extra_cost``; ``uncounted_parts`` (eligible parts whose tokens are unknown and
            count as 0) and ``unknown_gaps``.
        """
        grid, found, charges = self.frames.grid, self.prefixes, self.charges
        there = grid.is_step
        sums = {
            "input_tokens": found.tokens,
            "rewrites": ~found.appends,
            "shared_prefix_tokens": found.shared,
            "cache_read_tokens": charges.read,
            "cache_write_tokens": charges.written,
            "fresh_tokens": found.tokens - charges.read - charges.written,
            "cost": self.cost,
            "unknown_gaps": charges.time_unknown,
        }
        first = grid.first[:-1]
        totals = {name: np.add.reduceat(np.where(there, a, 0).astype(np.int64), first) for name, a in sums.items()}
        peak = np.maximum.reduceat(np.where(there, found.tokens, 0), first) if first.size else first
        over = self._overflow(found.tokens)
        table = self.frames.runs.with_columns(
            strategy=pl.lit(self.projection.strategy),
            **{name: pl.Series(values, dtype=pl.Int64) for name, values in totals.items()},
            peak_tokens=pl.Series(peak, dtype=pl.Int64),
            overflowing_steps=pl.Series(np.add.reduceat(((ints(over) > 0) & there).astype(np.int64), first))
            if self.context_window is not None
            else pl.lit(None, pl.Int64),
        )
        return self._with_extras(table).select(_RUN_COLUMNS)

    def _with_extras(self, table: pl.DataFrame) -> pl.DataFrame:
        calls = self.projection.calls.with_columns(cost=pl.Series(self.extra_cost, dtype=pl.Int64))
        extras = calls.group_by("run").agg(
            extra_calls=pl.len().cast(pl.Int64),
            extra_input_tokens=pl.col("input_tokens").sum(),
            extra_output_tokens=pl.col("output_tokens").sum(),
            extra_cost=pl.col("cost").sum(),
        )
        uncounted = (
            self.frames.parts.filter("is_eligible", ~pl.col("is_counted"))
            .group_by("run")
            .agg(uncounted_parts=pl.len().cast(pl.Int64))
        )
        joined = table.join(extras, on="run", how="left", maintain_order="left")
        joined = joined.join(uncounted, on="run", how="left", maintain_order="left")
        return joined.with_columns(pl.col("^extra_.*$", "uncounted_parts").fill_null(0))

    def _overflow(self, tokens: Ints) -> pl.Series:
        if self.context_window is None:
            return pl.repeat(None, tokens.size, dtype=pl.Int64, eager=True)
        return pl.Series(np.maximum(tokens - self.context_window, 0), dtype=pl.Int64)

    def _with_ids(self, table: pl.DataFrame) -> pl.DataFrame:
        ids = self.frames.runs.select("run", "session_id", "run_id")
        joined = table.join(ids, on="run", how="left", maintain_order="left")
        return joined.select("session_id", "run_id", *(name for name in table.columns if name != "run"))


_RUN_COLUMNS = (
    "session_id",
    "run_id",
    "strategy",
    "steps",
    "input_tokens",
    "peak_tokens",
    "overflowing_steps",
    "rewrites",
    "shared_prefix_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "fresh_tokens",
    "cost",
    "extra_calls",
    "extra_input_tokens",
    "extra_output_tokens",
    "extra_cost",
    "uncounted_parts",
    "unknown_gaps",
)


def measure(
    frames: RunFrames,
    projection: Projection,
    *,
    cache: CacheRules = NO_CACHE,
    rates: pl.DataFrame = FREE,
    context_window: int | None = None,
) -> Measures:
    """Measures a strategy's answer, without rendering anything.

    Args:
        frames: Steps and parts.
        projection: The answer.
        cache: Rules of the provider's prompt cache; without them there is none.
        rates: ``rate_input``, ``rate_cache_read`` and ``rate_cache_write`` in pico-dollars (1e-12 US dollars) per
            token, for all steps or by ``model`` and the like; without them nothing costs anything.
        context_window: Tokens above which a context overflows.
    """
    found = prefixes(frames.grid, projection.placements)
    return Measures(
        frames, projection, found, simulate(frames, found, cache), rates_by_step(frames, rates), context_window
    )
