"""Several trials of a task: chance that one of k passes, chance that all k do, and how often the same task differs."""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.comparison.exact import Floats, share_interval
from ledgerkit.comparison.libraries import library
from ledgerkit.comparison.pairing import BASELINE, CANDIDATE
from ledgerkit.comparison.resampling import FEWEST, Indices
from ledgerkit.comparison.schema import FLAKINESS, PASS_K
from ledgerkit.comparison.trials import is_usable
from ledgerkit.comparison.verdicts import Settings

_MEASURES: Final = ("pass@k", "pass^k")
_MOST: Final = 16
"""The largest k that is listed."""


def pass_at_k(trials: Indices, passed: Indices, k: int) -> Floats:
    """Chance that at least one of k trials passes: 1 - C(n - c, k) / C(n, k), unbiased (Chen et al. 2021).

    Args:
        trials: Trials of each task (n), at least k.
        passed: Of these, passed (c).
        k: Trials that one may take.

    Example:
        >>> pass_at_k(np.array([4]), np.array([2]), 2)
        array([0.83333333])
    """
    combinations = library("scipy.special").comb
    return 1.0 - combinations(trials - passed, k) / combinations(trials, k)


def pass_hat_k(trials: Indices, passed: Indices, k: int) -> Floats:
    """Chance that all of k trials pass: C(c, k) / C(n, k), unbiased (Yao et al. 2024).

    Example:
        >>> pass_hat_k(np.array([4]), np.array([2]), 2)
        array([0.16666667])
    """
    combinations = library("scipy.special").comb
    return combinations(passed, k) / combinations(trials, k)


def flakiness(trials: pl.DataFrame) -> pl.DataFrame:
    """How far trials of the same task differ; columns ``FLAKINESS``. Tasks with one known outcome say nothing."""
    counted = _counted(trials).filter(pl.col("trials") > 1)
    share = pl.col("passed") / pl.col("trials")
    made = counted.with_columns(
        is_flaky=(pl.col("passed") > 0) & (pl.col("passed") < pl.col("trials")),
        variance=share * (1 - share) * pl.col("trials") / (pl.col("trials") - 1),
    )
    return made.select(pl.col(name).cast(dtype) for name, dtype in FLAKINESS.items()).sort("side", "pair")


def pass_k(trials: pl.DataFrame, tasks: list[str], settings: Settings) -> pl.DataFrame:
    """``pass@k`` and ``pass^k`` of both sides for every k that matched tasks have trials for; columns ``PASS_K``."""
    counted = _counted(trials).filter(pl.col("pair").is_in(tasks))
    both = counted.filter(pl.col("side") == BASELINE).join(
        counted.filter(pl.col("side") == CANDIDATE), on="pair", suffix="_after"
    )
    both = both.with_columns(least=pl.min_horizontal("trials", "trials_after")).sort("pair")
    most = min(_MOST, int(both["least"].max() or 0))  # pyright: ignore[reportArgumentType]
    rows = [
        _row(measure, k, both.filter(pl.col("least") >= k), settings)
        for k in range(1, most + 1)
        for measure in _MEASURES
    ]
    return pl.DataFrame(rows, schema=PASS_K, orient="row").sort("measure", "k")


def _row(measure: str, k: int, both: pl.DataFrame, settings: Settings) -> tuple[object, ...]:
    estimate = pass_at_k if measure == "pass@k" else pass_hat_k
    trials = both.select("trials", "trials_after").to_numpy()
    before, after = (
        estimate(both[f"trials{end}"].to_numpy(), both[f"passed{end}"].to_numpy(), k) for end in ("", "_after")
    )
    # As many independent groups of k as the trials hold; for k = 1 it is the interval of the metric ``success``.
    weight = sqrt(min(1.0, k * float(np.mean(1.0 / trials))))
    enough = both.height >= FEWEST
    ends = share_interval(after - before, weight, 1 - settings.alpha) if enough else (None, None)
    means = float(before.mean()), float(after.mean())
    return (measure, k, both.height, *means, float(np.mean(after - before)), *ends)


def _counted(trials: pl.DataFrame) -> pl.DataFrame:
    known = is_usable(trials).drop_nulls(["pair", "success"])
    return known.group_by("side", "pair").agg(
        trials=pl.len().cast(pl.Int64), passed=pl.col("success").sum().cast(pl.Int64)
    )
