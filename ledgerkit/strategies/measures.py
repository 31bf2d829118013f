"""Measures of every step and run, from placements alone: tokens, overflow, shared prefix, cache, cost.

Nothing is rendered and no part is looked at; amounts are whole numbers, so that what belongs together sums exactly.
Costs are pico-dollars (1e-12 US dollars).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ledgerkit.strategies.caching import NO_CACHE, CacheRules, Charges, simulate
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import NOWHERE, Ints, ints
from ledgerkit.strategies.placements import Projection
from ledgerkit.strategies.prefixes import Prefixes, prefixes
from ledgerkit.strategies.rates import FREE, StepRates, rates_by_step


@dataclass(frozen=True)
class Measures:
    """Measures of a strategy on some runs. Get them from :func:`measure`.

    Attributes:
        frames: Steps and parts.
        projection: The strategy's answer.
        prefixes: What each context shares with the one before.
        charges: What the cache does at each step.
        rates: What is charged at each step.
        context_window: Tokens above which a context overflows.
    """

    frames: RunFrames
    projection: Projection
    prefixes: Prefixes
    charges: Charges
    rates: StepRates
    context_window: int | None

    @cached_property
    def cost(self) -> Ints:
        """Cost of the prompt of every slot, in pico-dollars; 0 where the rates are unknown."""
        charges, rates = self.charges, self.rates
        rest = self.prefixes.tokens - charges.read - charges.written
        return rest * rates.fresh + charges.read * rates.read + charges.written * rates.write

    @cached_property
    def extra_cost(self) -> Ints:
        """Cost of each of the strategy's own calls, without what they write, in pico-dollars.

        They are charged as fresh input: how much of their prompt a cache holds is not known.
        """
        calls = self.projection.calls
        slots = self.frames.grid.slots(ints(calls["run"]), ints(calls["step"]))
        return ints(calls["input_tokens"]) * self.rates.fresh[slots]

    def steps(self) -> pl.DataFrame:
        """One row per step, in order.

        Returns:
            ``session_id``, ``run_id``, ``step``, ``tokens``, ``overflow_tokens`` (above the context window; null if
            none was given), ``change_position`` (null where the context is that of the step before),
            ``shared_prefix_tokens``, ``cache_read_tokens``, ``cache_write_tokens``, ``fresh_tokens`` (they sum to
            ``tokens``), ``cost_pico`` (null where the rates are unknown), ``gap_unknown`` (the cache's lifetime needed
            a time that is not recorded).
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
            cost_pico=self._priced(self.cost).filter(pl.Series(there)),
            gap_unknown=pl.Series(charges.time_unknown[there]),
        )
        return self._with_ids(table)

    def extra_calls(self) -> pl.DataFrame:
        """One row per model call that the strategy makes itself, with the ``cost_pico`` of its input."""
        return self._with_ids(self.projection.calls.with_columns(cost_pico=pl.Series(self.extra_cost, dtype=pl.Int64)))

    def runs(self) -> pl.DataFrame:
        """One row per run, in order.

        Returns:
            ``session_id``, ``run_id``, ``strategy``, ``steps``, ``input_tokens`` (of all steps), ``peak_tokens``,
            ``overflowing_steps`` (null without a context window), ``rewrites`` (steps that do not only append),
            ``shared_prefix_tokens``, ``cache_read_tokens``, ``cache_write_tokens``, ``fresh_tokens``, ``cost_pico`` of
            the steps, but for ``unpriced_steps`` (their rates are unknown), and of the strategy's own calls
            ``extra_calls``, ``extra_input_tokens``, ``extra_output_tokens`` and ``extra_cost_pico``;
            ``uncounted_parts`` (eligible parts whose tokens are unknown and
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
            "cost_pico": self.cost,
            "unpriced_steps": ~self.rates.known,
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
        calls = self.projection.calls.with_columns(cost_pico=pl.Series(self.extra_cost, dtype=pl.Int64))
        extras = calls.group_by("run").agg(
            extra_calls=pl.len().cast(pl.Int64),
            extra_input_tokens=pl.col("input_tokens").sum(),
            extra_output_tokens=pl.col("output_tokens").sum(),
            extra_cost_pico=pl.col("cost_pico").sum(),
        )
        uncounted = (
            self.frames.parts.filter("is_eligible", ~pl.col("is_counted"))
            .group_by("run")
            .agg(uncounted_parts=pl.len().cast(pl.Int64))
        )
        joined = table.join(extras, on="run", how="left", maintain_order="left")
        joined = joined.join(uncounted, on="run", how="left", maintain_order="left")
        return joined.with_columns(pl.col("^extra_.*$", "uncounted_parts").fill_null(0))

    def _priced(self, cost: Ints) -> pl.Series:
        return pl.select(pl.when(pl.Series(self.rates.known)).then(pl.Series(cost))).to_series()

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
    "cost_pico",
    "unpriced_steps",
    "extra_calls",
    "extra_input_tokens",
    "extra_output_tokens",
    "extra_cost_pico",
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
