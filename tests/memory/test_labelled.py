"""The labelled claims: contradictions are right and found, rules decide as labelled, honest texts hold no claims."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from ledgerkit.extract.claims import ClaimClass
from ledgerkit.memory import RULES
from tests.memory.labelled import (
    SETS,
    cases,
    checked,
    cited_rulings,
    cited_verdicts,
    compared,
    precision_and_recall,
    set_rulings,
    written,
    written_rulings,
)


@pytest.mark.parametrize("half", SETS)
def test_contradictions_are_precise_and_found(half: str) -> None:
    precision, recall = precision_and_recall(compared(cases(half)))
    assert precision >= 0.98
    assert recall >= 0.85


@pytest.mark.parametrize("half", SETS)
def test_verdicts_are_those_of_the_labels(half: str) -> None:
    pairs = compared(cases(half))
    wrong = [pair for pair in pairs if pair[1] != pair[2]]
    assert len(wrong) <= 0.03 * len(pairs), wrong


def test_a_claim_that_cites_is_decided_by_the_rule_that_is_labelled() -> None:
    found = cited_verdicts()
    wrong = found.filter((pl.col("want") != pl.col("verdict")) | (pl.col("by") != pl.col("rule")))
    assert wrong.is_empty(), wrong.select("claim_id", "want", "by", "verdict", "rule").rows()


def test_summaries_and_memories_are_judged_as_labelled() -> None:
    found = set_rulings()
    assert found.filter(pl.col("want") != pl.col("verdict")).is_empty()


def test_the_set_is_large_and_covers_classes_verdicts_and_hard_negatives() -> None:
    labelled: list[dict[str, Any]] = [case for name in SETS for case in cases(name)]
    claims = [claim for case in labelled for claim in case["claims"]]
    negatives = [case for case in labelled if not case["claims"]]
    assert len(claims) >= 150
    assert len(negatives) >= 50
    assert {claim[0] for claim in claims} == {one.value for one in ClaimClass}
    for name in ("supported", "contradicted", "unsupported", "stale", "unverified"):
        assert sum(claim[1] == name for claim in claims) >= 8, name


def test_every_rule_both_supports_and_fails_a_labelled_claim() -> None:
    found = pl.concat([written_rulings(), cited_rulings()[1]]).select("rule", "outcome").unique()
    sets = set_rulings().select("rule", outcome="verdict").unique()
    told = {(rule, outcome == "supported") for rule, outcome in pl.concat([found, sets]).iter_rows()}
    assert told == {(rule, is_kept) for rule in RULES for is_kept in (True, False)}


def test_a_claim_does_not_depend_on_what_else_is_checked_with_it() -> None:
    labelled = cases("tuning")
    together = checked(written(labelled))
    for case in labelled[::18]:
        alone = checked(written([case]))
        assert alone.equals(together.filter(pl.col("run_id") == case["id"])), case["id"]


def test_checking_twice_gives_the_same() -> None:
    labelled = cases("held_out")
    assert checked(written(labelled)).equals(checked(written(labelled)))


def test_every_verdict_says_why_and_where_and_shows_its_evidence() -> None:
    found = checked(written(cases("tuning")))
    assert found.filter(~pl.col("why").str.contains(r"^\S.*\.$")).is_empty()
    assert found.filter(pl.col("place").is_null()).is_empty()
    proven = found.filter(
        pl.col("verdict").is_in(["supported", "contradicted"]), pl.col("rule").is_in(["R10", "R8", "R13", "R14"])
    )
    assert proven.filter(
        pl.col("evidence").list.len() == 0, pl.col("claim_class").is_in(["verdict", "absence"])
    ).is_empty()
