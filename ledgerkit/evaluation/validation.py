"""Does retention say anything about success? Held against outcomes of runs of one task, with n and interval."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.presence import Floats

FEWEST: Final = 3
"""Runs below which no correlation is given."""
_LEVEL: Final = (0.025, 0.975)
_SCHEMA: Final = pl.Schema(
    {
        "strategy": pl.String(),
        "metric": pl.String(),
        "tasks": pl.Int64(),
        "runs": pl.Int64(),
        "passed": pl.Int64(),
        "rho": pl.Float64(),
        "rho_low": pl.Float64(),
        "rho_high": pl.Float64(),
    }
)
_METRICS: Final = ("evidence_retention", "source_retention", "lift", "edit_support")


def correlate_outcomes(runs: pl.DataFrame, *, resamples: int = 1_000, seed: int = 0) -> pl.DataFrame:
    """Spearman's rank correlation of retention with outcome (1 passed, 0 failed).

    Ranks are taken within each task, so that a hard task does not count as a bad strategy, and runs are drawn again
    within tasks. Only tasks with runs that passed and runs that failed say anything.

    Args:
        runs: ``Evaluation.runs``.
        resamples: Bootstrap samples.
        seed: Draws them.

    Returns:
        ``strategy``, ``metric``, ``tasks``, ``runs`` (n), ``passed``, ``rho`` and its 95 % interval; null with fewer
        than three runs, or where nothing varies.
    """
    known = runs.filter(pl.col("outcome").is_in(["passed", "failed"]), pl.col("task_id").is_not_null())
    random = np.random.default_rng(seed)
    rows = [
        _row(group, metric, resamples, random)
        for group in known.partition_by("strategy", maintain_order=True)
        for metric in _METRICS
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _row(group: pl.DataFrame, metric: str, resamples: int, random: np.random.Generator) -> tuple[object, ...]:
    mixed = pl.col("passes").n_unique().over("task_id") > 1
    used = group.drop_nulls(metric).with_columns(passes=(pl.col("outcome") == "passed").cast(pl.Float64)).filter(mixed)
    tasks = used["task_id"].n_unique()
    about = (group["strategy"][0], metric, tasks, used.height, int(used["passes"].sum()))
    if used.height < FEWEST:
        return (*about, None, None, None)
    samples = [
        (one[metric].cast(pl.Float64).to_numpy(), one["passes"].to_numpy())
        for one in used.sort("task_id", "session_id", "run_id").partition_by("task_id", maintain_order=True)
    ]
    rho = _within(samples)
    drawn = np.array([_within([_again(one, random) for one in samples]) for _ in range(resamples)])
    drawn = drawn[~np.isnan(drawn)]
    if np.isnan(rho) or not drawn.size:
        return (*about, None, None, None)
    return (*about, rho, *(float(np.quantile(drawn, level)) for level in _LEVEL))


def _again(sample: tuple[Floats, Floats], random: np.random.Generator) -> tuple[Floats, Floats]:
    rows = random.integers(0, sample[0].size, sample[0].size)
    return sample[0][rows], sample[1][rows]


def _within(samples: list[tuple[Floats, Floats]]) -> float:
    """Correlation of ranks, each less the mean of its task."""
    first = np.concatenate([(r := ranks(one)) - r.mean() for one, _ in samples])
    second = np.concatenate([(r := ranks(other)) - r.mean() for _, other in samples])
    spread = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum() / spread) if spread else float("nan")


def ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of theirs.

    Example:
        >>> ranks(np.array([3.0, 1.0, 3.0])).tolist()
        [2.5, 1.0, 2.5]
    """
    return pl.Series(values).rank("average").to_numpy()
