"""The paired bootstrap over tasks, and the test that goes with it.

Trials of one task are alike, so tasks are drawn again and each brings all its trials of both sides. A task's difference
is that of the means of its trials; every task counts the same, however many trials it has.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite
from typing import Final

import numpy as np
import numpy.typing as npt

from ledgerkit.comparison.exact import POWER, Floats
from ledgerkit.comparison.libraries import library

FEWEST: Final = 5
"""Tasks below which no bootstrap interval is given."""
_AT_ONCE: Final = 4_000_000
"""Drawn values that are in memory at once."""
Indices = npt.NDArray[np.int64]


def task_differences(baseline: Floats, baseline_task: Indices, candidate: Floats, candidate_task: Indices) -> Floats:
    """Difference of each task: mean of its candidate trials less mean of its baseline trials.

    Args:
        baseline: Values of the baseline's trials.
        baseline_task: Task of each, numbered from 0.
        candidate: Values of the candidate's trials.
        candidate_task: Task of each. Every task has trials on both sides.

    Example:
        >>> task_differences(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), np.array([4.0, 5.0]), np.array([0, 1]))
        array([2., 0.])
    """
    sides = ((baseline, baseline_task), (candidate, candidate_task))
    before, after = (np.bincount(task, values) / np.bincount(task) for values, task in sides)
    return after - before


def bootstrap_interval(differences: Floats, *, confidence: float, draws: int, seed: int) -> tuple[float, float] | None:
    """Studentised bootstrap interval for the mean difference over tasks.

    Each sample of tasks gives its mean in units of its own standard error; the quantiles of that take the place of
    Student's. It keeps its level for the skewed differences of few tasks, where percentiles of means are too narrow.

    Args:
        differences: Difference of each task.
        confidence: Such as 0.95.
        draws: Samples.
        seed: Draws them.

    Returns:
        The ends of the interval; ``None`` for fewer than five tasks, or where too many samples have no spread.

    Example:
        >>> bootstrap_interval(np.arange(40.0), confidence=0.95, draws=2000, seed=0) is not None
        True
    """
    count = differences.size
    if count < FEWEST:
        return None
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / count**0.5
    if error == 0:
        return mean, mean
    drawn = _studentised(differences, mean, draws, np.random.default_rng(seed))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], method="closest_observation")
    ends = mean - float(high) * error, mean - float(low) * error
    return ends if all(map(isfinite, ends)) else None


def _studentised(differences: Floats, mean: float, draws: int, random: np.random.Generator) -> Floats:
    count = differences.size
    parts: list[Floats] = []
    left = draws
    while left:
        some = min(left, max(1, _AT_ONCE // count))
        sample = differences[random.integers(0, count, (some, count))]
        distance = sample.mean(axis=1) - mean
        error = sample.std(axis=1, ddof=1) / count**0.5
        # A sample without spread is infinitely far off, unless it hits the mean.
        far = np.where(distance == 0, 0.0, np.copysign(inf, distance))
        flat = error == 0
        parts.append(np.where(flat, far, distance / np.where(flat, 1.0, error)))
        left -= some
    return np.concatenate(parts)


def sign_flip_test(differences: Floats, *, draws: int, seed: int) -> float:
    """Two-sided p-value of the permutation test that exchanges the two sides of each task.

    If the sides do not differ, each difference could as well have the other sign. For one yes or no a side this is the
    exact test of McNemar. All exchanges are counted where they are no more than ``draws``.

    Args:
        differences: Difference of each task.
        draws: Exchanges that are tried.
        seed: Draws them.

    Example:
        >>> sign_flip_test(np.ones(6), draws=9999, seed=0)
        0.03125
    """
    moved = differences[differences != 0]
    if moved.size == 0:
        return 1.0
    if moved.size == 1:
        return 1.0
    found = library("scipy.stats").permutation_test(
        (moved, np.zeros_like(moved)),
        _mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=draws,
        batch=max(1, _AT_ONCE // moved.size),
        rng=np.random.default_rng(seed),
    )
    return min(1.0, float(found.pvalue))


def _mean_difference(first: Floats, second: Floats, axis: int = -1) -> Floats:
    return np.sum(first - second, axis=axis)


def mean_mde(differences: Floats, alpha: float, power: float = POWER) -> float | None:
    """The smallest mean difference that a paired t-test finds with a chance of ``power``, given the spread found.

    The sign-flip test has the same power as the t-test for all but very few tasks.

    Returns:
        The difference, in units of the differences; ``None`` where there is no spread to go by.

    Example:
        >>> round(mean_mde(np.array([-1.0, 1.0] * 25), 0.05), 2)
        0.41
    """
    spread = float(differences.std(ddof=1)) if differences.size > 1 else 0.0
    if spread == 0 or differences.size < FEWEST:
        return None
    return _detectable(differences.size, alpha, power) * spread


@lru_cache(maxsize=4096)
def _detectable(count: int, alpha: float, power: float) -> float:
    """What a paired t-test of so many differences finds, in standard deviations."""
    solver = library("statsmodels.stats.power").TTestPower()
    return float(np.ravel(solver.solve_power(nobs=count, alpha=alpha, power=power, alternative="two-sided"))[0])
