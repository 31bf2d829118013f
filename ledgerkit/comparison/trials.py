"""From runs to trials: one attempt at one task, with a value for every metric or null.

The runs of one session on one task are one trial (a run and its rewinds, retries and compactions): their amounts are
summed, and the last verdict among them counts.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.comparison import outcomes
from ledgerkit.comparison.schema import OBSERVATIONS, TRIALS

PAIR_COLUMNS: Final = ("task_id", "title", "task", "repository", "branch", "run_id", "session_id")
"""Columns by which trials may be paired."""
_SUMMED: Final = ("cost", "input_tokens", "output_tokens", "steps")
_COUNTED: Final = ("unsupported_claims", "contradicted_claims", "injection_markers")


def trials_of(runs: pl.DataFrame, side: str, pair_by: str) -> pl.DataFrame:
    """The trials of one side.

    Args:
        runs: Observed runs, columns ``OBSERVATIONS``.
        side: Its name.
        pair_by: The column that says which task a run is about.

    Returns:
        Columns ``TRIALS``, by task and session. Trials without a task have a null ``pair``.
    """
    known = pl.col("state") != outcomes.UNKNOWN
    last = {
        name: pl.coalesce(pl.col(name).filter(known).last(), pl.col(name).last()) for name in ("state", "state_reason")
    }
    sums = {name: _sum(name) for name in (*_SUMMED, *_COUNTED)}
    seconds = (pl.col("finished_at").max() - pl.col("started_at").min()).dt.total_microseconds() / 1e6
    folded = (
        runs.select(list(OBSERVATIONS))
        .with_columns(pair=pl.col(pair_by).cast(pl.String))
        .sort("started_at", "run_id", nulls_last=False)
        .group_by("pair", "session_id", maintain_order=True)
        .agg(
            pl.col("run_id").last(),
            runs=pl.len(),
            time=pl.when(pl.col("started_at").null_count() == 0, pl.col("finished_at").null_count() == 0).then(seconds),
            verified=pl.col("is_verified").last().cast(pl.Float64),
            **last,
            **sums,
        )
    )
    success = pl.col("state").replace_strict(
        {outcomes.PASSED: 1.0, outcomes.FAILED: 0.0, outcomes.TIMED_OUT: 0.0}, default=None, return_dtype=pl.Float64
    )
    made = folded.with_columns(
        side=pl.lit(side),
        success=success,
        injection_exposure=_any("injection_markers"),
        **{name: _any(name) for name in ("unsupported_claims", "contradicted_claims")},
    )
    return made.select(pl.col(name).cast(dtype) for name, dtype in TRIALS.items()).sort("pair", "session_id")


def is_usable(trials: pl.DataFrame) -> pl.DataFrame:
    """Trials that count: those that no infrastructure error spoiled."""
    return trials.filter(pl.col("state") != outcomes.INFRASTRUCTURE)


def _sum(name: str) -> pl.Expr:
    """A sum that is unknown as soon as one of its addends is."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum())


def _any(name: str) -> pl.Expr:
    return (pl.col(name) > 0).cast(pl.Float64)
