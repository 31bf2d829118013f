"""Calibration: figures against reference values, what they are bound to, and what abstains."""

from __future__ import annotations

import random

import polars as pl
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit import judges
from ledgerkit.cli import main
from ledgerkit.errors import QueryError, UnknownNameError
from ledgerkit.judges.calibration import calibrate, check_positions, corrected_prevalence, kappa, proportion
from tests.absent import run_without

JUDGE = {"judge_id": "j", "judge_version": "1", "rubric_hash": "sha256:0", "kind": "run", "session_id": "s"}


def frames(*pairs: tuple[str, str | None], by: str = "ada") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgements and labels: what the judge says and what a person says of one run after the other."""
    names = [f"r{number}" for number in range(len(pairs))]
    said = [{**JUDGE, "run_id": name, "reference": None, "label": label, "agreement": None}
            for name, (label, _) in zip(names, pairs, strict=True)]  # fmt: skip
    labels = [{"kind": "run", "session_id": "s", "run_id": name, "reference": None, "label": label, "by": by}
              for name, (_, label) in zip(names, pairs, strict=True) if label is not None]  # fmt: skip
    texts = {"reference": pl.String, "agreement": pl.Float64}
    return (
        pl.DataFrame(said, schema_overrides=texts),
        pl.DataFrame(labels, schema_overrides={"reference": pl.String, "label": pl.String}),
    )


P, F, U = "passed", "failed", "unverified"


def test_the_figures_are_those_of_the_table() -> None:
    """A table of 2 by 2 with known figures: 45 and 40 right, 10 and 5 wrong."""
    found = calibrate(*frames(*[(P, P)] * 45, *[(F, P)] * 5, *[(F, F)] * 40, *[(P, F)] * 10))
    assert found.table == ((45, 10), (5, 40))
    assert found.agreement.value == pytest.approx(0.85)
    assert found.kappa.value == pytest.approx(0.70)  # (0.85 - 0.5) / (1 - 0.5)
    assert found.sensitivity.value == pytest.approx(0.90)
    assert found.specificity.value == pytest.approx(0.80)
    # Clopper and Pearson 1934, 45 of 50 and 40 of 50; Wilson 1927, 85 of 100
    assert (found.sensitivity.low, found.sensitivity.high) == (
        pytest.approx(0.7819, abs=1e-4),
        pytest.approx(0.9667, abs=1e-4),
    )
    assert (found.specificity.low, found.specificity.high) == (
        pytest.approx(0.6628, abs=1e-4),
        pytest.approx(0.8997, abs=1e-4),
    )
    assert (found.agreement.low, found.agreement.high) == (
        pytest.approx(0.7672, abs=1e-4),
        pytest.approx(0.9069, abs=1e-4),
    )
    # (0.55 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.5: the correction gives back what people said
    assert found.corrected_prevalence.value == pytest.approx(0.5)


def test_kappa_has_the_asymptotic_interval_of_fleiss_cohen_and_everitt() -> None:
    """Their standard error for this table is 0.0715 by hand."""
    found = kappa(((45, 10), (5, 40)))
    assert found.value == pytest.approx(0.7)
    assert found.low == pytest.approx(0.7 - 1.96 * 0.0715, abs=2e-3)
    assert kappa(((9, 0), (0, 0))).value is None  # both say one thing throughout: chance explains all
    assert kappa(((5, 0), (0, 5))).low is None  # no width where all agree


def test_a_corrected_share_beyond_the_possible_is_cut_and_chance_tells_nothing() -> None:
    assert corrected_prevalence(1, 100, 45, 50, 40, 50).value == 0.0
    assert corrected_prevalence(99, 100, 45, 50, 40, 50).value == 1.0
    assert corrected_prevalence(50, 100, 25, 50, 25, 50).value is None
    assert corrected_prevalence(50, 100, 0, 0, 25, 50).value is None


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_the_corrected_interval_covers_the_truth_as_often_as_it_says(share: float) -> None:
    """95 % of 4,000 draws, with sensitivity and specificity known from 60 cases each."""
    rng = random.Random(7)
    trials, hits = 4_000, 0
    for _ in range(trials):
        true_positive = sum(rng.random() < 0.85 for _ in range(60))
        true_negative = sum(rng.random() < 0.9 for _ in range(60))
        positive = sum(rng.random() < (0.85 if rng.random() < share else 0.1) for _ in range(200))
        found = corrected_prevalence(positive, 200, true_positive, 60, true_negative, 60)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= share <= found.high
    assert 0.94 <= hits / trials <= 0.975


def test_what_abstains_and_what_people_disagree_on_is_counted_and_in_no_figure() -> None:
    judged, labels = frames((P, P), (U, P), (F, F), (F, None), (P, P))
    other = labels.filter(pl.col("run_id") == "r4").with_columns(label=pl.lit(F), by=pl.lit("bob"))
    found = calibrate(judged, pl.concat([labels, other]))
    assert (found.labelled, found.abstained, found.disputed) == (3, 1, 1)
    assert found.table == ((1, 0), (0, 1))
    assert found.observed_prevalence.n == 4
    assert "without a decision" in str(found)


def test_a_calibration_is_about_one_judge_and_somebody_must_have_said_something() -> None:
    judged, labels = frames((P, P), (F, F))
    with pytest.raises(QueryError, match="one judge"):
        calibrate(pl.concat([judged, judged.with_columns(rubric_hash=pl.lit("sha256:1"))]), labels)
    with pytest.raises(QueryError, match="Annotate some"):
        calibrate(judged, labels.clear())


def test_positions_are_told_apart_from_preference() -> None:
    pairs = pl.DataFrame({"forward": ["first"] * 10, "swapped": ["first"] * 8 + ["second"] * 2})
    check = check_positions(pairs)
    assert (check.consistent.value, check.first_both, check.second_both) == (0.2, 8, 0)
    assert check.p_value == pytest.approx(2 / 2**8)
    with pytest.raises(QueryError, match="left"):
        check_positions(pl.DataFrame({"forward": ["left"], "swapped": ["first"]}))


def test_a_share_of_nothing_is_not_known() -> None:
    assert str(proportion(0, 0)) == "not known"


@pytest.mark.long
def test_people_annotate_and_judges_are_held_against_it(judged: lk.Ledger) -> None:
    judged.judge(judges.RuleJudge(), runs=["good", "liar", "steered"])
    with pytest.raises(QueryError, match="Annotate"):
        judged.calibrate("rules")
    first = judged.annotate("good", label="passed", tags=["easy", "easy"], note="As asked.", by="ada")
    assert first is not None
    assert judged.annotate("good", label="passed", tags=["easy"], note="As asked.", by="ada") is None
    judged.annotate("liar", label="failed", by="ada")
    judged.annotate("steered", label="passed", by="ada")
    judged.annotate("steered", label="failed", by="ada")  # a second thought: the last word counts
    place = f"message:{judged.run('liar').messages()[-1].message_id}#c0-18"
    judged.annotate(place, tags=["untrue"], by="bob")
    found = judged.annotations()
    assert found.filter(pl.col("run_id") == "steered").select("label", "is_current").rows() == [
        ("passed", False),
        ("failed", True),
    ]
    assert found.filter(pl.col("by") == "bob").select("kind", "reference", "tags").row(0) == (
        "claim",
        place,
        ["untrue"],
    )
    assert first.actor == "ada"
    made = judged.calibrate("rules")
    assert made.table == ((1, 0), (0, 2))
    assert judged.calibrations().select("judge_id", "kind", "labelled").rows() == [("rules", "run", 3)]
    there = judged.sql("select count(*) from messages").item()
    assert judged.calibrate("rules") == made
    assert judged.sql("select count(*) from messages").item() == there


@pytest.mark.long
def test_a_calibration_is_of_one_rubric_alone(judged: lk.Ledger) -> None:
    judged.judge(judges.RuleJudge(), runs=["good", "liar"])
    judged.annotate("good", label="passed", by="ada")
    judged.annotate("liar", label="failed", by="ada")
    judged.calibrate("rules")
    listing = ["judgements", "--ledger", str(judged.path)]
    assert "rules is not calibrated" not in CliRunner().invoke(main, listing).output
    judged.judge(judges.RuleJudge.with_budget(3.5), runs=["good"])
    assert "rules is not calibrated on run by" in CliRunner().invoke(main, listing).output


def test_annotations_need_a_target_words_and_somebody(judged: lk.Ledger) -> None:
    for target in ("no-such-run", "message:no-such", "file:a.py"):
        with pytest.raises(UnknownNameError):
            judged.annotate(target, label="passed", by="ada")
    with pytest.raises(ValueError, match="says something"):
        judged.annotate("good", by="ada")
    with pytest.raises(ValueError, match="somebody"):
        judged.annotate("good", label="x", by=" ")
    with pytest.raises(UnknownNameError, match="nobody"):
        judged.calibrate("nobody")


@pytest.mark.long
def test_without_the_extra_the_command_that_installs_it_is_named() -> None:
    program = """
from ledgerkit.errors import MissingExtraError
from ledgerkit.judges import RuleJudge
from ledgerkit.judges.calibration import proportion
try:
    proportion(1, 2)
except MissingExtraError as error:
    print(error)
"""
    done = run_without("statsmodels,scipy", program)
    assert done.returncode == 0, done.stderr
    assert "agent-ledgerkit[stats]" in done.stdout
