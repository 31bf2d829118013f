"""From a measured effect to a verdict, and what many verdicts together may claim.

No difference found is not the same as no difference: ``equivalent`` needs the whole interval within the margin and
enough tasks. What can be said neither way is ``inconclusive``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final, Literal

import numpy as np

from ledgerkit.comparison.exact import mcnemar, mcnemar_mde, share_interval
from ledgerkit.comparison.libraries import library
from ledgerkit.comparison.metrics import Metric
from ledgerkit.comparison.pairing import Pairs
from ledgerkit.comparison.resampling import bootstrap_interval, mean_mde, sign_flip_test

Verdict = Literal["regressed", "improved", "equivalent", "inconclusive"]
FEWEST_FOR_EQUIVALENCE: Final = 30
"""Tasks below which no equivalence and no non-inferiority is claimed, however narrow the interval."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How effects are measured.

    Attributes:
        alpha: Level of every test; intervals have a confidence of 1 - alpha.
        draws: Samples of the bootstrap and exchanges of the permutation test.
        seed: Draws them.
    """

    alpha: float = 0.05
    draws: int = 9_999
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """One metric, measured, on the scale of differences (of shares, or of logarithms of amounts).

    Attributes:
        tasks: Matched tasks with a value on both sides.
        baseline: Mean over tasks.
        candidate: Likewise.
        difference: Candidate less baseline.
        low: Lower end of the interval of the difference; null where there is none.
        high: Upper end.
        down: Tasks whose value went down.
        up: Tasks whose value went up.
        test: The test.
        p_value: Its p-value, two-sided; null without tasks.
        mde: Minimum detectable difference; null where nothing can be said.
        mde_alpha: The level that it is for.
        mde_method: How it was computed.
    """

    tasks: int
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    down: int
    up: int
    test: str
    p_value: float | None
    mde: float | None
    mde_alpha: float
    mde_method: str


def measure(metric: Metric, pairs: Pairs, settings: Settings, *, tests: int = 1) -> Effect:
    """Measures one metric.

    Args:
        metric: The metric.
        pairs: Its values by task.
        settings: How.
        tests: Tests that share the level: the minimum detectable effect is for the strictest step of Holm's method.
    """
    values, alpha = pairs.differences, settings.alpha / tests
    exact = metric.kind == "share" and pairs.is_single
    test = "exact McNemar" if exact else "sign-flip permutation of tasks"
    method = "exact power of McNemar's test" if exact else "power of the paired t-test"
    if not values.size:
        return Effect(0, None, None, None, None, None, 0, 0, test, None, None, alpha, method)
    down, up = int((values < 0).sum()), int((values > 0).sum())
    if exact:
        p_value, mde = mcnemar(down, up), mcnemar_mde(values.size, (down + up) / values.size, alpha)
    else:
        p_value = sign_flip_test(values, draws=settings.draws, seed=settings.seed)
        mde = mean_mde(values, alpha)
    if metric.kind == "share":
        ends = share_interval(values, pairs.weight, 1 - settings.alpha)
    else:
        ends = bootstrap_interval(values, confidence=1 - settings.alpha, draws=settings.draws, seed=settings.seed)
    low, high = ends or (None, None)
    before, after = (float(pairs.table[name].mean()) for name in ("baseline", "candidate"))  # pyright: ignore[reportArgumentType]
    difference = float(values.mean())
    return Effect(values.size, before, after, difference, low, high, down, up, test, p_value, mde, alpha, method)


def is_non_inferior(metric: Metric, effect: Effect, margin: float) -> bool | None:
    """Whether the interval rules out that the candidate is worse by more than the margin.

    Returns:
        ``None`` where there are too few tasks, or no interval, to say so.
    """
    bad = _bad_end(metric, effect)
    if bad is None or effect.tasks < FEWEST_FOR_EQUIVALENCE:
        return None
    return bad < _allowed(metric, margin)


def judge(
    metric: Metric, effect: Effect, *, p_adjusted: float | None, margin: float, alpha: float
) -> tuple[Verdict, str]:
    """The verdict on one metric, and why.

    Args:
        metric: The metric.
        effect: What was measured.
        p_adjusted: Its p-value, corrected for the others of its family.
        margin: Up to which difference or ratio the sides count as alike.
        alpha: Level.
    """
    if effect.difference is None or p_adjusted is None:
        return "inconclusive", "no task has a value on both sides"
    harm = effect.difference if metric.better == "lower" else -effect.difference
    bad = _bad_end(metric, effect)
    good = (
        None
        if effect.low is None or effect.high is None
        else (-effect.low if metric.better == "lower" else effect.high)
    )
    allowed = _allowed(metric, margin)
    within = bad is not None and good is not None and bad < allowed and good < allowed
    if within and effect.tasks >= FEWEST_FOR_EQUIVALENCE:
        is_bare = metric.kind == "share" and effect.baseline == effect.candidate == 0
        return "equivalent", "none on either side" if is_bare else "the whole interval lies within the margin"
    if p_adjusted <= alpha and harm != 0:
        said = f"corrected p = {p_adjusted:.2g} is at most {alpha:g}"
        return ("regressed", said) if harm > 0 else ("improved", said)
    if within:
        return "inconclusive", f"fewer than {FEWEST_FOR_EQUIVALENCE} tasks: too few to claim equivalence"
    return "inconclusive", "neither a difference nor its absence is shown"


def holm(p_values: list[float]) -> list[float]:
    """Corrected p-values that bound the chance of any false rejection in the family.

    That of statsmodels, which runs the garbage collector at every call, is what the tests hold this against.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    left = np.arange(len(p_values), 0, -1)
    ordered = np.minimum(1.0, np.maximum.accumulate(np.array(p_values, np.float64)[order] * left))
    corrected = np.empty_like(ordered)
    corrected[order] = ordered
    return corrected.round(12).tolist()


def benjamini_hochberg(p_values: list[float]) -> list[float]:
    """Corrected p-values that bound the expected share of false rejections among all.

    Example:
        >>> benjamini_hochberg([0.01, 0.04, 0.03])
        [0.03, 0.04, 0.04]
    """
    if not p_values:
        return []
    return library("scipy.stats").false_discovery_control(np.array(p_values)).round(12).tolist()


def _bad_end(metric: Metric, effect: Effect) -> float | None:
    """How much worse the candidate may be, by the interval."""
    if effect.low is None or effect.high is None:
        return None
    return effect.high if metric.better == "lower" else -effect.low


def _allowed(metric: Metric, margin: float) -> float:
    return log(margin) if metric.kind == "ratio" else margin
