"""Many runs over time: trends, reasons of failures, claims by version. Frames in, frames out.

A period is that in which a run began; runs without a time have a row of their own, never one of some period.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from ledgerkit.comparison import outcomes
from ledgerkit.comparison.libraries import library

PERIODS: Final = {"day": "1d", "week": "1w", "month": "1mo"}
"""Lengths of periods; weeks begin on Monday."""
FAILURES: Final = pl.Schema(
    {
        "kind": pl.String(),
        "reason": pl.String(),
        "runs": pl.Int64(),
        "share": pl.Float64(),
        "first_at": pl.Datetime("us", "UTC"),
        "last_at": pl.Datetime("us", "UTC"),
        "run_id": pl.String(),
    }
)
"""A row per reason: runs that did not pass and have it, their share of all that did not pass, and the last of them."""
_BAD: Final = (outcomes.FAILED, outcomes.TIMED_OUT, outcomes.INFRASTRUCTURE)


def trends(runs: pl.DataFrame, by: str) -> pl.DataFrame:
    """Runs, success, cost and steps by period.

    Args:
        runs: Observed runs, columns ``OBSERVATIONS``.
        by: ``day``, ``week`` or ``month``.

    Returns:
        ``period`` (its first day; null: no time recorded), ``runs``, ``tasks``, how they ended (``passed``, …),
        ``success`` (passed among passed, failed and timed out) with its 95 % Wilson interval ``low`` and ``high``,
        ``cost`` (US dollars), ``priced_runs``, ``median_cost``, ``median_steps``, ``input_tokens``,
        ``contradicted_runs``, ``exposed_runs``; periods ascending.
    """
    counts = [(pl.col("state") == state).sum().cast(pl.Int64).alias(state) for state in outcomes.STATES]
    table = (
        runs.with_columns(period=pl.col("started_at").dt.truncate(PERIODS[by]).dt.date())
        .group_by("period")
        .agg(
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("task_id").drop_nulls().n_unique().cast(pl.Int64).alias("tasks"),
            *counts,
            pl.when(pl.col("cost").count() > 0).then(pl.col("cost").sort().sum()).alias("cost"),
            pl.col("cost").count().cast(pl.Int64).alias("priced_runs"),
            pl.col("cost").median().alias("median_cost"),
            pl.col("steps").median().alias("median_steps"),
            pl.when(pl.col("input_tokens").count() > 0).then(pl.col("input_tokens").sum()).alias("input_tokens"),
            (pl.col("contradicted_claims") > 0).sum().cast(pl.Int64).alias("contradicted_runs"),
            (pl.col("injection_markers") > 0).sum().cast(pl.Int64).alias("exposed_runs"),
        )
        .sort("period", nulls_last=True)
    )
    known = table[outcomes.PASSED] + table[outcomes.FAILED] + table[outcomes.TIMED_OUT]
    return _with_share(table, table[outcomes.PASSED], known, "success")


def claims_by_version(runs: pl.DataFrame) -> pl.DataFrame:
    """What each version of an agent said, and what the record says of it.

    Returns:
        ``agent``, ``agent_version``, ``runs``, ``claims``, ``contradicted_claims``, ``unsupported_claims``,
        ``contradicted_runs`` and their ``share`` of runs with its 95 % Wilson interval, by agent and version.
    """
    table = (
        runs.group_by("agent", "agent_version")
        .agg(
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("claims", "contradicted_claims", "unsupported_claims").sum(),
            (pl.col("contradicted_claims") > 0).sum().cast(pl.Int64).alias("contradicted_runs"),
        )
        .sort("agent", "agent_version", nulls_last=True)
    )
    return _with_share(table, table["contradicted_runs"], table["runs"], "share")


def failure_reasons(runs: pl.DataFrame, reasons: pl.DataFrame, top: int) -> pl.DataFrame:
    """Why runs did not pass, the most frequent reason of each kind first.

    A run may have several reasons, so shares do not add up to one.

    Args:
        runs: Observed runs, columns ``OBSERVATIONS``.
        reasons: ``run_id``, ``kind`` and ``reason``: what the record of a run shows.
        top: Reasons of each kind.

    Returns:
        Columns ``FAILURES``.
    """
    bad = runs.filter(pl.col("state").is_in(_BAD))
    own = bad.filter(pl.col("state") != outcomes.FAILED)
    ended = own.select("run_id", kind=pl.lit("ended"), reason=pl.col("state") + ": " + pl.col("state_reason"))
    every = pl.concat([ended, reasons.select("run_id", "kind", "reason")]).unique()
    told = every.join(bad.select("run_id", "started_at"), on="run_id").sort("started_at", "run_id", nulls_last=False)
    table = told.group_by("kind", "reason").agg(
        pl.len().alias("runs"),
        (pl.len() / max(1, bad.height)).alias("share"),
        pl.col("started_at").min().alias("first_at"),
        pl.col("started_at").max().alias("last_at"),
        pl.col("run_id").last(),
    )
    ordered = table.sort("kind", "runs", "reason", descending=[False, True, False])
    return (
        ordered.group_by("kind", maintain_order=True)
        .head(top)
        .select(pl.col(name).cast(dtype) for name, dtype in FAILURES.items())
    )


def _with_share(table: pl.DataFrame, part: pl.Series, whole: pl.Series, name: str) -> pl.DataFrame:
    """Adds a share with its 95 % Wilson interval; null where there is nothing to take a share of."""
    interval = library("statsmodels.stats.proportion").proportion_confint
    count, total = part.to_numpy(), whole.to_numpy()
    known = total > 0
    low, high = interval(count, np.where(known, total, 1), alpha=0.05, method="wilson")
    values = {name: count / np.where(known, total, 1), "low": np.asarray(low), "high": np.asarray(high)}
    series = [pl.Series(column, np.where(known, value, np.nan), nan_to_null=True) for column, value in values.items()]
    return table.with_columns(series)
