"""Comparing sets of runs: what is paired, what is missing, what a verdict rests on, and where every number stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ledgerkit.comparison import METRICS, Compared, Gates, compare_runs
from ledgerkit.errors import ComparisonError, UnknownNameError
from tests.comparison.made import drawn, observed

pytest.importorskip("scipy.stats", reason="the extra `stats` is not installed")
QUICK = Gates(draws=999, slices=())


def _row(found: Compared, metric: str) -> dict[str, Any]:
    return found.frame("metrics", metric=metric).row(0, named=True)


@pytest.fixture(scope="module")
def regression() -> Compared:
    """A hundred tasks: ten got worse, one better; cost half as much again."""
    before = ["passed"] * 80 + ["failed"] * 20
    after = ["failed"] * 10 + ["passed"] * 71 + ["failed"] * 19
    costs = np.random.default_rng(0).lognormal(-2, 0.3, 100)
    dearer = costs * 1.5 * np.random.default_rng(1).lognormal(0, 0.1, 100)
    return compare_runs(
        observed(before, name="old", cost=costs.tolist()),
        observed(after, name="new", cost=dearer.tolist()),
        Gates(draws=1_999, slices=("repository", "length")),
    )


def test_b_and_c_are_counted_and_tested_exactly(regression: Compared) -> None:
    row = _row(regression, "success")
    assert (row["worse"], row["better_tasks"]) == (10, 1)
    assert row["p_value"] == pytest.approx(0.01171875)  # 2 * (C(11, 0) + C(11, 1)) / 2**11
    assert row["test"] == "exact McNemar"
    assert (row["baseline"], row["candidate"], row["effect"]) == (0.8, 0.71, pytest.approx(-0.09))


def test_holm_is_over_the_gates_and_the_verdicts_follow(regression: Compared) -> None:
    gated = regression.frame("metrics").filter(pl.col("family") == "gate")
    assert gated["metric"].to_list() == ["success", "contradicted_claims", "injection_exposure", "cost"]
    # Of four p-values the smallest is that of cost, so success is taken times three.
    assert _row(regression, "success")["p_adjusted"] == pytest.approx(3 * 0.01171875)
    assert regression.verdicts["success"] == regression.verdicts["cost"] == "regressed"
    assert regression.verdicts["steps"] == regression.verdicts["contradicted_claims"] == "equivalent"
    assert (regression.status, regression.exit_code) == ("regressed", 1)


def test_a_ratio_is_that_of_geometric_means(regression: Compared) -> None:
    trials = regression.frame("trials")
    means = [trials.filter(pl.col("side") == side)["cost"].log().mean() for side in ("baseline", "candidate")]
    row = _row(regression, "cost")
    assert row["effect"] == pytest.approx(np.exp(float(str(means[1])) - float(str(means[0]))))
    low, high = float(str(row["low"])), float(str(row["high"]))
    assert 1.45 < low < 1.5 < high < 1.55


def test_flips_name_the_runs_that_show_them(regression: Compared) -> None:
    flips = regression.frame("flips")
    assert flips["direction"].to_list() == ["worse"] * 10 + ["better"]
    first = flips.row(0, named=True)
    assert (first["baseline_run"], first["candidate_run"]) == ("old-0000", "new-0000")
    assert first["candidate_replay"] == "ledgerkit replay new-0000"


def test_every_number_of_the_metrics_comes_from_the_tasks_and_those_from_the_trials(regression: Compared) -> None:
    for name, metric in METRICS.items():
        row, tasks = _row(regression, name), regression.frame("tasks", metric=name)

        def natural(column: str, table: pl.DataFrame = tasks, kind: str = metric.kind) -> float:
            mean = float(table[column].to_numpy().mean())
            return float(np.exp(mean)) if kind == "ratio" else mean

        assert row["tasks"] == tasks.height
        assert row["baseline"] == pytest.approx(natural("baseline"))
        assert row["candidate"] == pytest.approx(natural("candidate"))
        assert row["effect"] == pytest.approx(natural("difference"))
        values = regression.frame("trials").drop_nulls(name)
        means = values.group_by("pair", "side").agg(
            (pl.col(name).log() if metric.kind == "ratio" else pl.col(name)).mean().alias("mean")
        )
        wide = means.pivot("side", index="pair", values="mean").sort("pair")
        assert_frame_equal(wide.select("pair", "baseline", "candidate"), tasks.select("pair", "baseline", "candidate"))
    sums = regression.frame("runs").group_by("side").agg(pl.col("cost").sum()).sort("side")
    totals = regression.frame("amounts", metric="cost").select("side", pl.col("total").alias("cost"))
    assert_frame_equal(sums, totals)


def test_the_same_runs_give_the_same_frames_in_any_order(regression: Compared) -> None:
    runs = {
        side: regression.frame("runs").filter(pl.col("side") == side).drop("side") for side in ("baseline", "candidate")
    }
    again = compare_runs(
        runs["baseline"].sample(fraction=1, shuffle=True, seed=5),
        runs["candidate"].sample(fraction=1, shuffle=True, seed=6),
        regression.gates,
    )
    for name, table in regression.frames.items():
        assert_frame_equal(table, again.frames[name], check_exact=True)


def test_identical_sets_regress_in_nothing() -> None:
    runs = drawn(np.full(60, 0.6), np.random.default_rng(2), trials=2)
    found = compare_runs(runs, runs, QUICK)
    assert "regressed" not in found.verdicts.values()
    assert set(found.frame("metrics")["effect"]) == {0.0, 1.0}
    assert found.frame("sets")["shared"].to_list() == [120, 120]


def test_exchanged_sides_exchange_the_verdicts(regression: Compared) -> None:
    runs = regression.frame("runs")
    before, after = (runs.filter(pl.col("side") == side).drop("side") for side in ("candidate", "baseline"))
    found = compare_runs(before, after, regression.gates)
    assert (found.verdicts["success"], found.verdicts["cost"]) == ("improved", "improved")
    assert found.status == "passed"


def test_tasks_without_a_pair_are_listed_with_the_reason() -> None:
    before = observed(
        ["passed", "failed", "infrastructure", "passed", "passed"], tasks=["a", "b", "c", "d", None], name="old"
    )
    after = observed(["passed", "infrastructure", "passed", "passed"], tasks=["a", "b", "c", "e"], name="new")
    found = compare_runs(before, after, QUICK)
    reasons = {(row["pair"], row["side"]): row["reason"] for row in found.frame("unmatched").to_dicts()}
    assert reasons == {
        ("b", "baseline"): "infrastructure errors only in the candidate",
        ("b", "candidate"): "infrastructure errors only",
        ("c", "baseline"): "infrastructure errors only",
        ("c", "candidate"): "infrastructure errors only in the baseline",
        ("d", "baseline"): "not in the candidate",
        ("e", "candidate"): "not in the baseline",
        (None, "baseline"): "no task_id recorded",
    }
    assert _row(found, "success")["tasks"] == 1


def test_time_outs_fail_and_infrastructure_errors_are_counted_apart() -> None:
    before = observed(["passed"] * 8, name="old")
    after = observed(["timed_out"] * 7 + ["infrastructure"], name="new", cost=[0.1] * 7 + [99.0])
    found = compare_runs(before, after, QUICK)
    row = _row(found, "success")
    assert (row["tasks"], row["candidate"], row["worse"]) == (7, 0.0, 7)
    counts = found.frame("missing").filter(pl.col("side") == "candidate").row(0, named=True)
    assert (counts["timed_out"], counts["infrastructure"], counts["failed"]) == (7, 1, 0)
    assert _row(found, "cost")["candidate"] == pytest.approx(0.1)


def test_unknown_outcomes_are_bounded_and_take_away_what_depends_on_them() -> None:
    before = observed(["passed"] * 60, name="old")
    hidden = observed(["failed"] * 2 + ["unknown"] * 8 + ["passed"] * 50, name="new")
    found = compare_runs(before, hidden, QUICK)
    row = _row(found, "success")
    assert (row["worst_case"], row["best_case"]) == (pytest.approx(-10 / 60), pytest.approx(-2 / 60))
    assert row["verdict"] == "inconclusive"
    assert "not known" in str(row["reason"])
    told = observed(["failed"] * 20 + ["unknown"] * 2 + ["passed"] * 38, name="new")
    assert compare_runs(before, told, QUICK).verdicts["success"] == "regressed"


def test_an_unknown_cost_is_missing_and_never_zero() -> None:
    before = observed(["passed"] * 12, name="old")
    after = observed(["passed"] * 12, name="new", cost=[None] * 5 + [0.0] + [0.1] * 6)
    row = _row(compare_runs(before, after, QUICK), "cost")
    assert (row["tasks"], row["missing_tasks"]) == (6, 6)


def test_runs_of_one_session_on_one_task_are_one_trial() -> None:
    before = observed(["passed", "passed"], tasks=["a", "b"], name="old")
    after = observed(
        ["unknown", "failed", "passed"],
        tasks=["a", "a", "b"],
        name="new",
        session_id=["s", "s", "t"],
        cost=[0.1, 0.3, 0.1],
    )
    found = compare_runs(before, after, QUICK)
    trial = found.frame("trials").filter(pl.col("side") == "candidate", pl.col("pair") == "a").row(0, named=True)
    assert (trial["runs"], trial["state"], trial["run_id"]) == (2, "failed", "new-0001")
    assert trial["cost"] == pytest.approx(0.4)


def test_several_trials_give_chances_over_k_and_flakiness() -> None:
    states = {"a": ["passed"] * 4, "b": ["passed", "failed"] * 2, "c": ["failed"] * 4}
    rows = [(task, state) for task, several in states.items() for state in several]
    runs = observed([state for _, state in rows], tasks=[task for task, _ in rows])
    found = compare_runs(runs, runs.with_columns(pl.col("run_id") + "x", pl.col("session_id") + "x"), QUICK)
    chances = {(m, k): b for m, k, b in found.frame("pass_k").select("measure", "k", "baseline").iter_rows()}
    assert chances["pass@k", 2] == pytest.approx((1 + 5 / 6 + 0) / 3)
    assert chances["pass^k", 2] == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert chances["pass@k", 1] == chances["pass^k", 1] == pytest.approx(0.5)
    flaky = found.frame("flakiness").filter("is_flaky")
    assert flaky.select("side", "pair").rows() == [("baseline", "b"), ("candidate", "b")]
    assert flaky["variance"].to_list() == [pytest.approx(1 / 3)] * 2


def test_slices_are_corrected_together_and_only_made_of_what_both_sides_share() -> None:
    random = np.random.default_rng(4)
    before = drawn(np.full(80, 0.9), random, name="old").with_columns(
        repository=pl.Series(["shop", "bank"] * 40), model=pl.lit("old")
    )
    after = drawn(np.array([0.9, 0.1] * 40), random, name="new").with_columns(
        repository=pl.Series(["shop", "bank"] * 40), model=pl.lit("new")
    )
    found = compare_runs(before, after, Gates(draws=999, slices=("repository", "model", "length")))
    slices = found.frame("slices")
    assert set(slices["slice"]) == {"repository", "length"}
    worst = slices.filter(pl.col("metric") == "success").row(0, named=True)
    assert (worst["slice"], worst["value"], worst["verdict"]) == ("repository", "bank", "regressed")
    assert (slices["p_adjusted"] >= slices["p_value"].fill_null(1)).all()


def test_what_cannot_be_compared_is_refused_with_what_to_do() -> None:
    runs = observed(["passed"])
    with pytest.raises(ComparisonError, match="The candidate has no runs: nothing fits label=after"):
        compare_runs(runs, runs.clear(), QUICK, names=("label=before", "label=after"))
    with pytest.raises(ComparisonError, match=r"no task_id recorded.*columns run_id and task_id"):
        compare_runs(runs.with_columns(task_id=None), runs.with_columns(task_id=None), QUICK)
    with pytest.raises(UnknownNameError, match=r"No column to pair by 'tusk'\. Did you mean 'task'"):
        compare_runs(runs, runs, Gates(pair_by="tusk"))
    with pytest.raises(UnknownNameError, match="No table of a comparison"):
        compare_runs(runs, runs, QUICK).frame("nothing")
    with pytest.raises(UnknownNameError, match="No column to slice by 'mood'"):
        compare_runs(runs, runs, Gates(slices=("mood",)))
    with pytest.raises(UnknownNameError, match="No metric 'speed'"):
        compare_runs(runs, runs, Gates(margins={"speed": 0.1}))


def test_rows_of_one_metric_are_those_of_tables_that_tell_metrics_apart(regression: Compared) -> None:
    assert set(regression.frame("metrics", metric="success")["metric"]) == {"success"}
    with pytest.raises(UnknownNameError, match="No metric 'speed'"):
        regression.frame("metrics", metric="speed")
    with pytest.raises(UnknownNameError, match="No table by metric 'runs'"):
        regression.frame("runs", metric="success")


@pytest.mark.long
@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["passed", "failed", "timed_out", "infrastructure", "unknown"]),
            st.sampled_from(["passed", "failed", "unknown"]),
            st.floats(0.01, 10),
        ),
        min_size=1,
        max_size=29,
    )
)
def test_fewer_than_thirty_tasks_never_claim_equivalence(pairs: list[tuple[str, str, float]]) -> None:
    before = observed(["passed", *(one for one, _, _ in pairs)], name="old", cost=[0.1, *(c for *_, c in pairs)])
    after = observed(["passed", *(two for _, two, _ in pairs)], name="new", cost=[0.1, *(c for *_, c in pairs)])
    found = compare_runs(before.head(29), after.head(29), Gates(draws=999, slices=()))
    assert "equivalent" not in found.verdicts.values()
    assert not found.frame("metrics")["non_inferior"].any()
