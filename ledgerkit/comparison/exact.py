"""Pairs of yes and no: the exact test of McNemar, its exact power, and an interval that stays honest for few pairs.

One trial of a task on each side is a pair. Of n pairs, ``worse`` were yes before and no now (b), ``better`` the other
way round (c); pairs that agree say nothing about which side is better.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from ledgerkit.comparison.libraries import library

POWER: Final = 0.8
"""Chance of finding a difference as large as the minimum detectable one."""
Floats = npt.NDArray[np.float64]


def mcnemar(worse: int, better: int) -> float:
    """Exact two-sided p-value: the binomial test of one kind of disagreeing pairs among both.

    Args:
        worse: Pairs that were yes before and are no now (b).
        better: Pairs that were no before and are yes now (c).

    Example:
        >>> mcnemar(1, 8)
        0.0390625
        >>> mcnemar(0, 0)
        1.0
    """
    if worse + better == 0:
        return 1.0
    return float(library("scipy.stats").binomtest(worse, worse + better, 0.5).pvalue)


def mcnemar_power(pairs: int, worse: float, better: float, alpha: float) -> float:
    """Exact chance that :func:`mcnemar` rejects, in the true direction, before anything is known of the pairs.

    Args:
        pairs: Number of pairs.
        worse: Chance that a pair gets worse.
        better: Chance that a pair gets better.
        alpha: Level of the test.

    Example:
        >>> round(mcnemar_power(100, 0.05, 0.15, 0.05), 3)
        0.544
    """
    binomial = library("scipy.stats").binom
    differing = worse + better
    if differing <= 0:
        return 0.0
    count = np.arange(pairs + 1)
    most = _most_of_the_rarer(pairs, alpha)
    share = max(worse, better) / differing
    rejects = np.where(most < 0, 0.0, binomial.sf(count - most - 1, count, share))
    return float(np.sum(binomial.pmf(count, pairs, min(1.0, differing)) * rejects))


@lru_cache(maxsize=256)
def _most_of_the_rarer(pairs: int, alpha: float) -> npt.NDArray[np.int64]:
    """For each number of disagreeing pairs: how many may be of the rarer kind so that the test rejects; -1: none."""
    binomial = library("scipy.stats").binom
    count = np.arange(pairs + 1)
    most = np.asarray(binomial.ppf(alpha / 2, count, 0.5), np.int64)
    # ppf gives the smallest count whose tail reaches alpha / 2; the tail of a rejection must not exceed it.
    return np.where(2 * binomial.cdf(most, count, 0.5) <= alpha, most, most - 1)


@lru_cache(maxsize=4096)
def mcnemar_mde(pairs: int, differing: float, alpha: float, power: float = POWER) -> float | None:
    """The smallest difference of two shares that :func:`mcnemar` finds with a chance of ``power``.

    Args:
        pairs: Number of pairs.
        differing: Share of pairs that disagree, as it was found. A difference cannot be larger than this share; where
            that is too little to find anything, more pairs are taken to disagree, all of them in one direction.
        alpha: Level of the test.
        power: The chance.

    Returns:
        A difference between 0 and 1; ``None`` where so few pairs find nothing at all.

    Example:
        >>> round(mcnemar_mde(100, 0.2, 0.05), 3)
        0.128
        >>> mcnemar_mde(5, 0.2, 0.05) is None
        True
    """

    def lacking(difference: float) -> float:
        both = max(differing, difference)
        return mcnemar_power(pairs, (both - difference) / 2, (both + difference) / 2, alpha) - power

    if pairs < 1 or lacking(1.0) < 0:
        return None
    return float(library("scipy.optimize").brentq(lacking, 1e-9, 1.0, xtol=1e-6))


def share_interval(differences: Floats, weight: float, confidence: float) -> tuple[float, float]:
    """Interval for the mean difference of shares over tasks.

    The adjusted Wald interval of Bonett and Price (2012, Journal of Educational and Behavioral Statistics 37): one task
    that got better and one that got worse are added before mean and variance are taken, so that no disagreement at all
    is not taken for certainty. With several trials a task the two weigh less, as a task's own differences do.

    Args:
        differences: Difference of each task, between -1 and 1.
        weight: Size of the two added differences: 1 for one trial a side, 1 / sqrt(k) for k.
        confidence: Such as 0.95.

    Example:
        >>> low, high = share_interval(np.array([0.0] * 85 + [1.0] * 10 + [-1.0] * 5), 1.0, 0.95)
        >>> round(low, 3), round(high, 3)
        (-0.03, 0.128)
    """
    normal = library("scipy.stats").norm.ppf((1 + confidence) / 2)
    tasks = differences.size + 2
    mean = float(differences.sum()) / tasks
    variance = (float((differences**2).sum()) + 2 * weight**2) / tasks - mean**2
    half = float(normal) * sqrt(variance / tasks)
    return max(-1.0, mean - half), min(1.0, mean + half)
