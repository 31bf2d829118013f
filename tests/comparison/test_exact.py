"""The statistics, each against a reference: a library, an enumeration, or a published value."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.comparison.exact import Floats, mcnemar, mcnemar_mde, mcnemar_power, share_interval
from ledgerkit.comparison.repeats import pass_at_k, pass_hat_k
from ledgerkit.comparison.resampling import bootstrap_interval, mean_mde, sign_flip_test, task_differences
from ledgerkit.comparison.verdicts import benjamini_hochberg, holm

stats: Any = pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
tables: Any = pytest.importorskip("statsmodels.stats.contingency_tables", reason="the extra `stats` is not installed")

multitest: Any = pytest.importorskip("statsmodels.stats.multitest", reason="the extra `stats` is not installed")


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_that_of_statsmodels(worse: int, better: int) -> None:
    reference = tables.mcnemar([[3, worse], [better, 5]], exact=True).pvalue
    assert mcnemar(worse, better) == pytest.approx(min(1.0, float(reference)))


def _power(pairs: int, worse: float, better: float, alpha: float) -> float:
    """Every table of pairs, one by one, with its chance."""
    total = 0.0
    for down in range(pairs + 1):
        for up in range(pairs - down + 1):
            if mcnemar(down, up) <= alpha and (up > down) == (better > worse):
                chances = [down, up, pairs - down - up], [worse, better, 1 - worse - better]
                total += float(stats.multinomial.pmf(chances[0], pairs, chances[1]))
    return total


@pytest.mark.parametrize(("worse", "better"), [(0.02, 0.3), (0.2, 0.25), (0.4, 0.1)])
@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_power_is_the_sum_over_all_tables(worse: float, better: float, alpha: float) -> None:
    assert mcnemar_power(24, worse, better, alpha) == pytest.approx(_power(24, worse, better, alpha), abs=1e-9)


def test_the_minimum_detectable_effect_has_the_power_that_it_promises() -> None:
    for pairs, differing in product((20, 60, 250), (0.05, 0.2, 0.5)):
        found = mcnemar_mde(pairs, differing, 0.05)
        assert found is not None
        both = max(differing, found)
        assert mcnemar_power(pairs, (both - found) / 2, (both + found) / 2, 0.05) == pytest.approx(0.8, abs=1e-3)


def test_the_minimum_detectable_effect_is_near_the_normal_approximation_for_many_pairs() -> None:
    for pairs, differing in product((500, 1000), (0.1, 0.2, 0.3)):
        found = mcnemar_mde(pairs, differing, 0.05)
        normal = (1.96 + 0.8416) * (differing / pairs) ** 0.5
        assert found == pytest.approx(normal, rel=0.06)


def test_too_few_pairs_have_no_detectable_effect() -> None:
    assert [mcnemar_mde(pairs, 0.2, 0.05) is None for pairs in (0, 1, 5, 6, 30)] == [True, True, True, False, False]


def test_the_interval_for_shares_is_that_of_bonett_and_price() -> None:
    worse, better, pairs = 12, 30, 100
    low, high = share_interval(np.array([-1.0] * worse + [1.0] * better + [0.0] * (pairs - worse - better)), 1.0, 0.95)
    first, second = (better + 1) / (pairs + 2), (worse + 1) / (pairs + 2)
    half = 1.959964 * ((first + second - (first - second) ** 2) / (pairs + 2)) ** 0.5
    assert (low, high) == (pytest.approx(first - second - half), pytest.approx(first - second + half))


def test_no_disagreement_is_not_taken_for_certainty() -> None:
    low, high = share_interval(np.zeros(100), 1.0, 0.95)
    assert low == pytest.approx(-high)
    assert 0.02 < high < 0.03  # the rule of three says 0.03


def _studentised_exactly(values: Floats, confidence: float) -> tuple[float, float]:
    """All samples of the tasks, one by one."""
    count = values.size
    mean, error = values.mean(), values.std(ddof=1) / count**0.5
    found: list[float] = []
    for sample in product(values, repeat=count):
        one = np.array(sample)
        spread = one.std(ddof=1) / count**0.5
        off = one.mean() - mean
        found.append(off / spread if spread > 1e-12 else float(np.copysign(np.inf, off) if abs(off) > 1e-12 else 0.0))
    ends = np.quantile(np.array(found), [(1 - confidence) / 2, (1 + confidence) / 2], method="closest_observation")
    return float(mean - ends[1] * error), float(mean - ends[0] * error)


def test_the_bootstrap_approaches_the_enumeration_of_all_samples() -> None:
    values = np.array([0.11, 0.32, -0.05, 0.47, 0.21, 0.18])
    exact = _studentised_exactly(values, 0.8)
    found = bootstrap_interval(values, confidence=0.8, draws=60_000, seed=1)
    assert found == pytest.approx(exact, abs=0.01)


def test_the_bootstrap_is_near_that_of_scipy_where_samples_are_large() -> None:
    values = np.random.default_rng(7).lognormal(0, 0.5, 400)
    reference = stats.bootstrap((values,), np.mean, method="BCa", rng=np.random.default_rng(0)).confidence_interval
    found = bootstrap_interval(values, confidence=0.95, draws=9_999, seed=0)
    assert found is not None
    assert found == pytest.approx((reference.low, reference.high), rel=0.01)


def test_trials_of_a_task_stay_together() -> None:
    before, after = np.array([1.0, 3.0, 10.0]), np.array([4.0, 8.0, 12.0])
    found = task_differences(before, np.array([0, 0, 1]), after, np.array([0, 1, 1]))
    assert found.tolist() == [2.0, 0.0]
    # The same trials copied a hundred times are no more tasks, and say no more.
    few = np.array([0.1, -0.2, 0.3, 0.4, 0.0, 0.5])
    task = np.arange(6)
    zero = np.zeros(600)
    copied = task_differences(zero, np.repeat(task, 100), np.repeat(few, 100), np.repeat(task, 100))
    assert copied == pytest.approx(few)


def test_fewer_than_five_tasks_have_no_interval() -> None:
    assert bootstrap_interval(np.array([0.1, 0.2, 0.3, 0.4]), confidence=0.95, draws=999, seed=0) is None


@given(st.integers(0, 7), st.integers(0, 6))
def test_the_sign_flip_test_of_single_trials_is_mcnemar(worse: int, better: int) -> None:
    values = np.array([-1.0] * worse + [1.0] * better + [0.0] * 5)
    assert sign_flip_test(values, draws=20_000, seed=0) == pytest.approx(mcnemar(worse, better))


def test_the_detectable_mean_difference_is_that_of_the_t_test() -> None:
    values = np.random.default_rng(3).normal(0, 2, 60)
    found = mean_mde(values, 0.05)
    assert found is not None
    power = stats.nct.sf(stats.t.ppf(0.975, 59), 59, found / values.std(ddof=1) * 60**0.5)
    assert float(power) == pytest.approx(0.8, abs=0.001)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_chances_over_k_trials_are_those_over_all_choices_of_k(case: tuple[int, int, int]) -> None:
    trials, passed, k = case
    outcomes = [True] * passed + [False] * (trials - passed)
    chosen = list(combinations(outcomes, k))
    numbers = np.array([trials]), np.array([passed]), k
    assert pass_at_k(*numbers)[0] == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(*numbers)[0] == pytest.approx(sum(map(all, chosen)) / len(chosen))


@pytest.mark.parametrize("p_values", [[0.2], [0.01, 0.04, 0.03, 0.03], [0.9, 0.0, 0.001, 1.0, 0.02]])
def test_corrections_are_those_of_statsmodels(p_values: list[float]) -> None:
    for ours, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        reference = multitest.multipletests(p_values, method=name)[1]
        assert ours(p_values) == pytest.approx(list(reference), abs=1e-9)
