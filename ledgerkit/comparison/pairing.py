"""Which tasks can be compared, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import polars as pl

from ledgerkit.comparison.exact import Floats
from ledgerkit.comparison.metrics import Metric
from ledgerkit.comparison.schema import TASKS, UNMATCHED
from ledgerkit.comparison.trials import is_usable

BASELINE = "baseline"
CANDIDATE = "candidate"


@dataclass(frozen=True)
class Pairs:
    """One metric of the tasks that both sides tried, in order of the tasks' names.

    Attributes:
        table: Columns ``TASKS``.
        missing: Matched tasks of which a side has no value.
    """

    table: pl.DataFrame
    missing: int

    @property
    def differences(self) -> Floats:
        """Difference of each task."""
        return self.table["difference"].to_numpy()

    @property
    def is_single(self) -> bool:
        """Whether every task has one trial on each side."""
        return bool((self.table.select("baseline_trials", "candidate_trials").to_numpy() == 1).all())

    @property
    def weight(self) -> float:
        """1 / sqrt(k) for k trials a side (their harmonic mean)."""
        trials = self.table.select("baseline_trials", "candidate_trials").to_numpy()
        return sqrt(float(np.mean(1.0 / trials))) if trials.size else 1.0


def matched_tasks(trials: pl.DataFrame) -> list[str]:
    """Tasks with a usable trial on both sides."""
    sides = is_usable(trials).drop_nulls("pair").group_by("pair").agg(pl.col("side").n_unique())
    return sides.filter(pl.col("side") == 2)["pair"].sort().to_list()


def unmatched(trials: pl.DataFrame, pair_by: str) -> pl.DataFrame:
    """Tasks without a pair, by side, and why; columns ``UNMATCHED``."""
    matched = matched_tasks(trials)
    left = trials.filter(pl.col("pair").is_null() | ~pl.col("pair").is_in(matched))
    usable = is_usable(left).drop_nulls("pair").select("pair", "side").unique()
    usable = usable.group_by("pair").agg(usable=pl.col("side"))
    there = left.drop_nulls("pair").group_by("pair").agg(there=pl.col("side").unique())
    rows = left.group_by("pair", "side").agg(trials=pl.len())
    rows = rows.join(usable, on="pair", how="left").join(there, on="pair", how="left")
    other = pl.when(pl.col("side") == BASELINE).then(pl.lit(CANDIDATE)).otherwise(pl.lit(BASELINE))
    mine = pl.col("usable").list.contains(pl.col("side")).fill_null(value=False)
    reason = (
        pl.when(pl.col("pair").is_null())
        .then(pl.lit(f"no {pair_by} recorded"))
        .when(~mine)
        .then(pl.lit("infrastructure errors only"))
        .when(pl.col("there").list.contains(other))
        .then(pl.format("infrastructure errors only in the {}", other))
        .otherwise(pl.format("not in the {}", other))
    )
    return (
        rows.with_columns(reason=reason)
        .select(pl.col(n).cast(t) for n, t in UNMATCHED.items())
        .sort("reason", "pair", "side")
    )


def pairs_of(trials: pl.DataFrame, metric: Metric, tasks: list[str]) -> Pairs:
    """One metric of matched tasks: the mean of a task's trials on each side, of logarithms for amounts.

    An amount of zero or less has no logarithm and counts as missing.
    """
    value = pl.col(metric.name)
    known = is_usable(trials).filter(pl.col("pair").is_in(tasks), value.is_not_null())
    if metric.kind == "ratio":
        known = known.filter(value > 0).with_columns(value.log())
    grouped = known.group_by("pair", "side").agg(value.sort().mean(), trials=pl.len())
    sides = [
        grouped.filter(pl.col("side") == side).select(
            "pair", pl.col(metric.name).alias(side), pl.col("trials").alias(f"{side}_trials")
        )
        for side in (BASELINE, CANDIDATE)
    ]
    table = (
        sides[0]
        .join(sides[1], on="pair")
        .with_columns(metric=pl.lit(metric.name), difference=pl.col(CANDIDATE) - pl.col(BASELINE))
    )
    table = table.select(pl.col(name).cast(dtype) for name, dtype in TASKS.items()).sort("pair")
    return Pairs(table, len(tasks) - table.height)
