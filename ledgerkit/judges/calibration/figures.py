"""The figures of a calibration, each with an interval and the name of the method that made it."""

from __future__ import annotations

import math
from importlib import import_module
from statistics import NormalDist
from typing import Any, Final, Literal

from ledgerkit.errors import MissingExtraError
from ledgerkit.protocol.model import Model, Text

WILSON: Final = "Wilson"
CLOPPER_PEARSON: Final = "Clopper-Pearson"
LANG_REICZIGEL: Final = "Lang-Reiczigel"
ASYMPTOTIC: Final = "asymptotic (Fleiss, Cohen, Everitt)"
_METHODS: Final = {WILSON: "wilson", CLOPPER_PEARSON: "beta"}
LEVEL: Final = 0.95
"""Confidence of all intervals."""


class Estimate(Model):
    """A figure with its interval; ``None`` where there is nothing to estimate it from."""

    value: float | None
    """The figure."""
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    """Upper end."""
    method: Text
    """How the interval was made."""
    n: int
    """Cases that it rests on."""

    def __str__(self) -> str:
        """The figure, its interval, and what it rests on."""
        if self.value is None:
            return "not known"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{interval} (n = {self.n})"


def statistics_of(module: str, what: str = "Calibrating a judge") -> Any:  # noqa: ANN401 - the packages have no types
    """A module of the packages that the extra brings.

    Raises:
        MissingExtraError: If the extra is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError.for_extra("stats", what) from error


def proportion(successes: int, n: int, method: Literal["Wilson", "Clopper-Pearson"] = WILSON) -> Estimate:
    """A share with its interval.

    Example:
        >>> str(proportion(8, 10))
        '0.800 [0.490, 0.943] (n = 10)'
    """
    if n == 0:
        return Estimate(value=None, low=None, high=None, method=method, n=0)
    confint = statistics_of("statsmodels.stats.proportion").proportion_confint
    low, high = confint(successes, n, alpha=1 - LEVEL, method=_METHODS[method])
    return Estimate(value=successes / n, low=float(low), high=float(high), method=method, n=n)


def kappa(table: tuple[tuple[int, int], tuple[int, int]]) -> Estimate:
    """Cohen's kappa of a two by two table, with an asymptotic interval.

    Not known where there is no case, or where both agree on one label throughout: agreement by chance is then total.
    """
    n = sum(map(sum, table))
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    if n == 0 or any(row * column == n * n for row, column in zip(rows, columns, strict=True)):
        return Estimate(value=None, low=None, high=None, method=ASYMPTOTIC, n=n)
    found = statistics_of("statsmodels.stats.inter_rater").cohens_kappa(table, return_results=True)
    has_width = math.isfinite(found.var_kappa) and found.var_kappa > 0  # none where all cases agree
    low, high = (float(one) if has_width else None for one in (found.kappa_low, found.kappa_upp))
    return Estimate(value=float(found.kappa), low=low, high=high, method=ASYMPTOTIC, n=n)


def corrected_prevalence(
    positive: int, judged: int, true_positive: int, actual_positive: int, true_negative: int, actual_negative: int
) -> Estimate:
    """What share is truly positive, where a judge with known errors calls some positive (Rogan and Gladen 1978).

    The interval (Lang and Reiczigel 2014) counts the uncertainty of sensitivity and specificity too.

    Args:
        positive: Subjects that the judge called positive.
        judged: Subjects that it judged.
        true_positive: Of the labelled ones: positive, and called so.
        actual_positive: Positive.
        true_negative: Negative, and called so.
        actual_negative: Negative.

    Returns:
        The share, cut to 0 and 1. Not known where the judge is no better than chance: then its answers say nothing.

    Example:
        >>> str(corrected_prevalence(30, 100, 45, 50, 40, 50))
        '0.143 [0.000, 0.318] (n = 100)'
    """
    unknown = Estimate(value=None, low=None, high=None, method=LANG_REICZIGEL, n=judged)
    if 0 in (judged, actual_positive, actual_negative):
        return unknown
    sensitivity, specificity = true_positive / actual_positive, true_negative / actual_negative
    if sensitivity + specificity <= 1:
        return unknown
    share = positive / judged
    value = (share + specificity - 1) / (sensitivity + specificity - 1)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    n = judged + z**2
    p = (positive + z**2 / 2) / n
    se, n_se = (true_positive + 1) / (actual_positive + 2), actual_positive + 2
    sp, n_sp = (true_negative + 1) / (actual_negative + 2), actual_negative + 2
    if se + sp <= 1:
        return unknown
    middle = (p + sp - 1) / (se + sp - 1)
    shift = 2 * z**2 * (middle * se * (1 - se) / n_se - (1 - middle) * sp * (1 - sp) / n_sp)
    spread = p * (1 - p) / n + middle**2 * se * (1 - se) / n_se + (1 - middle) ** 2 * sp * (1 - sp) / n_sp
    half = z * math.sqrt(spread) / (se + sp - 1)
    low, high = (_within(middle + shift + sign * half) for sign in (-1, 1))
    return Estimate(value=_within(value), low=low, high=high, method=LANG_REICZIGEL, n=judged)


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)
