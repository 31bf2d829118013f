"""What the verdicts promise, held against many made-up experiments: a small number always, a large one where slow.

Every experiment goes through the same functions as a real comparison (measure, then judge by family); only the reading
of runs is left out. Each rate is held against what chance allows for so many experiments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from ledgerkit.comparison.deciding import judge_all
from ledgerkit.comparison.exact import Floats, mcnemar, mcnemar_mde, share_interval
from ledgerkit.comparison.gates import Gates
from ledgerkit.comparison.metrics import METRICS
from ledgerkit.comparison.pairing import Pairs
from ledgerkit.comparison.resampling import bootstrap_interval, mean_mde, sign_flip_test
from ledgerkit.comparison.schema import TASKS
from ledgerkit.comparison.verdicts import Settings, measure

stats: Any = pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
GATES = Gates()
SETTINGS = Settings(draws=999)


def _pairs(metric: str, before: Floats, after: Floats, trials: int) -> Pairs:
    """Values by task as a metric of a comparison."""
    count = before.size
    table = {
        "metric": [metric] * count,
        "pair": [f"{n:05d}" for n in range(count)],
        "baseline_trials": [trials] * count,
        "candidate_trials": [trials] * count,
        "baseline": before,
        "candidate": after,
        "difference": after - before,
    }
    return Pairs(pl.DataFrame(table, schema=TASKS), 0)


def _family(random: np.random.Generator, tasks: int, trials: int, harm: float = 0.0) -> dict[str, str]:
    """Verdicts of the usual four gates, where the candidate is worse by so much (0: by nothing, A/A)."""
    difficulty = random.normal(0, 1.5, tasks)
    pairs: dict[str, Pairs] = {}
    for metric, level in (("success", 0.8), ("contradicted_claims", -2.5), ("injection_exposure", -1.0)):
        chance = 1 / (1 + np.exp(-(level + difficulty)))
        worse = np.clip(chance + (-harm if METRICS[metric].better == "higher" else harm), 0, 1)
        before, after = (random.binomial(trials, one) / trials for one in (chance, worse))
        pairs[metric] = _pairs(metric, before, after, trials)
    spread = 0.5 / trials**0.5
    before, after = (difficulty * 0.3 + spread * random.standard_normal(tasks) + shift for shift in (0.0, harm))
    pairs["cost"] = _pairs("cost", before, after, trials)
    effects = {name: measure(METRICS[name], one, SETTINGS, tests=4) for name, one in pairs.items()}
    return {name: judged.verdict for name, judged in judge_all(effects, GATES).items()}


def _regressed(seed: int, experiments: int, tasks: int, trials: int) -> int:
    """Experiments without a difference in which some gate of the family regressed."""
    random = np.random.default_rng(seed)
    return sum("regressed" in _family(random, tasks, trials).values() for _ in range(experiments))


def test_few_families_without_a_difference_regress() -> None:
    found = _regressed(1, 60, 60, 1)
    assert found <= stats.binom.ppf(0.999, 60, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "trials"), [(20, 1), (60, 1), (250, 1), (50, 4)])
def test_at_most_one_family_in_twenty_without_a_difference_regresses(tasks: int, trials: int) -> None:
    experiments = 600
    found = _regressed(tasks, experiments, tasks, trials)
    assert found <= stats.binom.ppf(0.99, experiments, 0.05), found / experiments


def test_a_large_harm_is_found_in_every_gate() -> None:
    random = np.random.default_rng(5)
    found = [_family(random, 120, 2, harm=0.35) for _ in range(4)]
    assert all(set(one.values()) == {"regressed"} for one in found)


@pytest.mark.parametrize("tasks", [1, 5, 12, 29])
def test_small_numbers_of_tasks_never_claim_equivalence(tasks: int) -> None:
    random = np.random.default_rng(tasks)
    assert all("equivalent" not in _family(random, tasks, 1).values() for _ in range(8))
    same = _pairs("cost", np.zeros(tasks), np.zeros(tasks), 1)
    judged = judge_all({"cost": measure(METRICS["cost"], same, SETTINGS)}, Gates({"cost": 1.1}))
    assert (judged["cost"].verdict, judged["cost"].non_inferior) == ("inconclusive", None)


# Coverage. Regimes: shares of tasks whose difficulty varies (log-odds with a standard deviation of 1 to 3), from 100
# tasks up; log-ratios of log-normal amounts from 20 tasks up, and of skewed ones from 100.


def _covers_share(random: np.random.Generator, tasks: int, trials: int, levels: tuple[float, float, float]) -> bool:
    before, after, spread = levels
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    true = float(sum(w / np.sqrt(2 * np.pi) * (_odds(after + spread * x) - _odds(before + spread * x))
                     for x, w in zip(nodes, weights, strict=True)))  # fmt: skip
    difficulty = random.normal(0, spread, tasks)
    shares: list[Floats] = [random.binomial(trials, _odds(level + difficulty)) / trials for level in (before, after)]
    low, high = share_interval(shares[1] - shares[0], trials**-0.5, 0.95)
    return low <= true <= high


def _odds(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def _covers_ratio(random: np.random.Generator, tasks: int, skew: float) -> bool:
    if skew:
        values, true = random.lognormal(0, skew, tasks), float(np.exp(skew**2 / 2))
    else:
        values, true = random.normal(0.1, 0.6, tasks), 0.1
    ends = bootstrap_interval(values, confidence=0.95, draws=1_999, seed=int(random.integers(1 << 31)))
    return ends is not None and ends[0] <= true <= ends[1]


def test_intervals_cover_about_as_often_as_they_say() -> None:
    random = np.random.default_rng(11)
    shares = sum(_covers_share(random, 100, 1, (1.4, 0.9, 1.5)) for _ in range(400))
    ratios = sum(_covers_ratio(random, 50, 0.0) for _ in range(400))
    low, high = stats.binom.ppf([0.001, 0.999], 400, 0.95)
    assert low <= shares <= high + 4
    assert low <= ratios <= high


EXPERIMENTS = 4_000
ALLOWED = 2.6 * (0.95 * 0.05 / EXPERIMENTS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("tasks", [100, 300])
@pytest.mark.parametrize("levels", [(1.4, 1.4, 1.5), (1.4, 0.8, 1.5), (0.0, 0.4, 1.0), (0.0, 0.0, 3.0)])
def test_intervals_of_shares_cover_95_in_100(tasks: int, trials: int, levels: tuple[float, float, float]) -> None:
    random = np.random.default_rng([tasks, trials, 3])
    covered = sum(_covers_share(random, tasks, trials, levels) for _ in range(EXPERIMENTS)) / EXPERIMENTS
    assert 0.94 - ALLOWED <= covered <= 0.96 + ALLOWED, covered


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "skew"), [(20, 0.0), (50, 0.0), (200, 0.0), (100, 0.6), (300, 0.8)])
def test_intervals_of_ratios_cover_95_in_100(tasks: int, skew: float) -> None:
    random = np.random.default_rng([tasks, round(10 * skew)])
    covered = sum(_covers_ratio(random, tasks, skew) for _ in range(EXPERIMENTS)) / EXPERIMENTS
    assert 0.94 - ALLOWED <= covered <= 0.96 + ALLOWED, covered


def _power_of_mcnemar(seed: int, experiments: int, pairs: int, differing: float) -> float:
    """How often the exact test finds a difference that is as large as the minimum detectable one."""
    found = mcnemar_mde(pairs, differing, 0.05)
    assert found is not None
    both = max(differing, found)
    random = np.random.default_rng(seed)
    tables = random.multinomial(pairs, [(both + found) / 2, (both - found) / 2, 1 - both], experiments)
    cases, counts = np.unique(tables[:, :2], axis=0, return_counts=True)
    hits = sum(n for (up, down), n in zip(cases, counts, strict=True) if up > down and mcnemar(down, up) <= 0.05)
    return float(hits) / experiments


@pytest.mark.parametrize(("pairs", "differing"), [(25, 0.3), (100, 0.2)])
def test_the_detectable_effect_of_pairs_is_found_four_times_in_five(pairs: int, differing: float) -> None:
    assert _power_of_mcnemar(pairs, 20_000, pairs, differing) == pytest.approx(0.8, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("differing", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("pairs", [12, 40, 150, 600])
def test_the_detectable_effect_of_pairs_has_its_power_everywhere(pairs: int, differing: float) -> None:
    assert _power_of_mcnemar(pairs, 50_000, pairs, differing) == pytest.approx(0.8, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [15, 40, 150])
def test_the_detectable_ratio_is_found_four_times_in_five(tasks: int) -> None:
    random = np.random.default_rng(tasks)
    spread, experiments = 0.5, 1_500
    known = mean_mde(np.array([-spread, spread] * 500) * 0.9995, 0.05)  # the spread itself, not one that was found
    assert known is not None
    true = known * (1000 / tasks) ** 0.5 * _t_factor(tasks)
    found = sum(
        sign_flip_test(random.normal(true, spread, tasks), draws=999, seed=n) <= 0.05 for n in range(experiments)
    )
    assert found / experiments == pytest.approx(0.8, abs=0.03)


def _t_factor(tasks: int) -> float:
    """How much larger the detectable difference of few tasks is than that of a thousand, in standard errors."""
    power: Any = pytest.importorskip("statsmodels.stats.power")
    sizes = [power.TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * n**0.5 for n in (tasks, 1000)]
    return float(sizes[0] / sizes[1])
