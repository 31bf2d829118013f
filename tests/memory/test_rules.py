"""Every rule has a case that it lets pass and one that it does not, and says in a sentence why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.memory import RULES, RULING_SCHEMA, decide, rules
from ledgerkit.protocol.vocabulary import ClaimOutcome

Row = dict[str, Any]
Given = Callable[[pl.DataFrame], pl.DataFrame]

CITED: Row = {"claim_id": "c", "ref": "message:m", "is_found": True, "is_linked": True}
CHECK: Row = {
    "claim_id": "c", "polarity": "positive", "verdict": "passed", "reason": "exit code 0", "command": "pytest",
    "seen_at": 3, "is_hidden": False, "number_stands": False, "is_doubtful": False, "number": None, "said": [],
    "derived": [], "is_exact": True, "passed": 5, "claim_scope": "all", "reach": "all", "check_scope": "",
    "changes_since": 0, "changed_path": None, "may_have_run_again": False,
    "may_have_run_since": False, "earlier_verdict": None,
}  # fmt: skip
SEARCH: Row = {
    "claim_id": "c", "has_search": True, "is_empty": True, "is_narrow": False, "says_other": False, "changes_since": 0,
    "pattern": "f", "search_at": 3, "may_exist": False,
}  # fmt: skip
DONE: Row = {
    "claim_id": "c", "subject": "work", "open_tasks": None, "verdict": "passed", "changes_since": 0, "discloses": False,
    "kind": "test", "command": "pytest", "seen_at": 3,
}  # fmt: skip
TYPES: dict[str, Any] = {
    "number": pl.Int64, "said": pl.List(pl.Int64), "derived": pl.List(pl.Int64), "changed_path": pl.String,
    "earlier_verdict": pl.String, "open_tasks": pl.Int64, "ref": pl.String, "ref_verdict": pl.String,
    "polarity": pl.String, "range_unit": pl.String, "said_hash": pl.String, "claim_trust_level": pl.String,
    "verdict": pl.String,
}  # fmt: skip


def frame(row: Row, **changed: Any) -> pl.DataFrame:
    whole = row | changed
    return pl.DataFrame([whole], schema_overrides={name: TYPES[name] for name in whole if name in TYPES})


def outcome(rule: Given, row: Row, **changed: Any) -> str | None:
    """What a rule says; ``None`` where it does not apply."""
    found = rule(frame(row, **changed))
    assert found.schema == pl.Schema(RULING_SCHEMA)
    assert found.filter(~pl.col("why").str.ends_with(".")).is_empty(), "a ruling is explained in a sentence"
    return found["outcome"][0] if found.height else None


def test_r1_a_reference_exists_in_the_run() -> None:
    assert outcome(rules.r1_ref_exists, CITED) == "supported"
    assert outcome(rules.r1_ref_exists, CITED, is_found=False) == "unsupported"
    assert outcome(rules.r1_ref_exists, CITED, is_linked=False) == "unsupported"
    assert outcome(rules.r1_ref_exists, CITED, ref=None) == "unsupported"


def test_r2_what_is_cited_came_before() -> None:
    place = CITED | {"ref_sequence_no": 4, "sequence_no": 5}
    assert outcome(rules.r2_ref_before, place) == "supported"
    assert outcome(rules.r2_ref_before, place, ref_sequence_no=5) == "unsupported"


def test_r3_what_is_cited_stood_in_the_context() -> None:
    placements = pl.DataFrame({"run_id": ["r"], "part_id": ["p"], "from_step": [2], "to_step": [5]})
    cited = CITED | {"run_id": "r", "ref_part_id": "p", "step": 4}
    seen = outcome(lambda rows: rules.r3_ref_visible(rows, placements), cited)
    late = outcome(lambda rows: rules.r3_ref_visible(rows, placements), cited, step=5)
    assert (seen, late) == ("supported", "unverified")


def test_r4_a_range_lies_in_the_text() -> None:
    cited = CITED | {"range_unit": "lines", "range_first": 2, "range_end": 3, "whole_text": "a\nb\nc\n"}
    assert outcome(rules.r4_span_in_range, cited) == "supported"
    assert outcome(rules.r4_span_in_range, cited, range_end=4) == "unsupported"
    characters = cited | {"range_unit": "characters", "range_first": 0, "range_end": 6}
    assert outcome(rules.r4_span_in_range, characters) == "supported"
    assert outcome(rules.r4_span_in_range, characters, range_end=7) == "unsupported"
    assert outcome(rules.r4_span_in_range, cited, range_unit=None) is None


def test_r5_the_cited_text_is_unchanged() -> None:
    assert outcome(rules.r5_hash_match, CITED, said_hash="a", content_hash="a") == "supported"
    assert outcome(rules.r5_hash_match, CITED, said_hash="a", content_hash="b") == "unsupported"
    assert outcome(rules.r5_hash_match, CITED, said_hash=None, content_hash="b") is None


@pytest.mark.parametrize(
    ("kind", "ref_kind", "expected"),
    [
        ("test_result", "verifier", "supported"),
        ("test_result", "file", "unsupported"),
        ("file_changed", "change", "supported"),
        ("file_changed", "verifier", "unsupported"),
        ("user_requirement", "user", "supported"),
        ("user_requirement", "tool", "unsupported"),
        ("decision", "assistant", "supported"),
        ("fact", "assistant", "unsupported"),
        ("something new", "user", "unsupported"),
    ],
)
def test_r6_only_some_kinds_of_evidence_can_support_a_claim(kind: str, ref_kind: str, expected: str) -> None:
    assert outcome(rules.r6_ref_kind_ok, CITED, claim_kind=kind, ref_kind=ref_kind) == expected


def test_r7_quotes_stand_word_for_word_whatever_the_white_space() -> None:
    said = CITED | {"text": 'it says "open  the pool"', "ref_text": "so: open\nthe pool."}
    assert outcome(rules.r7_quote_match, said) == "supported"
    assert outcome(rules.r7_quote_match, said, ref_text="open a pool") == "unsupported"
    assert outcome(rules.r7_quote_match, said, text="no quote") is None


def test_r8_numbers_stand_or_follow() -> None:
    said = CITED | {"text": "1,204 rows", "ref_text": "1204 rows", "polarity": None, "ref_verdict": None}
    assert outcome(rules.r8_number_match, said) == "supported"
    assert outcome(rules.r8_number_match, said, ref_text="1000 and 204") == "supported"
    assert outcome(rules.r8_number_match, said, ref_text="120 rows") == "unsupported"


def test_r8_the_number_of_an_outcome_stands_in_a_check_and_not_elsewhere() -> None:
    said = CITED | {"text": "5 tests passed", "polarity": "positive"}
    task = said | {"ref": "task:goal", "ref_text": "Do task 5.", "ref_verdict": None}
    for output, expected in (("5 passed", "supported"), ("3 passed, 1 skipped", "unverified"), ("clean", "unverified")):
        check = said | {"ref": "tool-call:t", "ref_text": output, "ref_verdict": "passed"}
        found = rules.r8_number_match(pl.concat([frame(task), frame(check)], how="vertical_relaxed"))
        assert found["outcome"].to_list() == [expected], output


def test_r8_counts_of_checks() -> None:
    counted = CHECK | {"number": 5, "said": [5, 7]}
    assert outcome(rules.r8_counts_agree, counted) == "supported"
    assert outcome(rules.r8_counts_agree, counted, number=6) == "contradicted"
    assert outcome(rules.r8_counts_agree, counted, number=12, derived=[12]) == "unverified"
    assert outcome(rules.r8_counts_agree, counted, number=6, is_exact=False) == "unverified"
    assert outcome(rules.r8_counts_agree, counted, verdict="inconclusive", is_hidden=True) == "supported"


def test_r9_names_stand() -> None:
    said = CITED | {"text": "src/a.py calls pool.open()", "ref_text": "src/a.py: pool.open(3)"}
    assert outcome(rules.r9_ident_match, said) == "supported"
    assert outcome(rules.r9_ident_match, said, ref_text="src/b.py: pool.open(3)") == "unsupported"


def test_r10_outcomes_agree() -> None:
    assert outcome(rules.r10_verdict_consistent, CHECK) == "supported"
    assert outcome(rules.r10_verdict_consistent, CHECK, verdict="failed") == "contradicted"
    assert outcome(rules.r10_verdict_consistent, CHECK, verdict="failed", is_doubtful=True) == "unverified"
    assert outcome(rules.r10_verdict_consistent, CHECK, verdict="inconclusive") == "unverified"
    assert outcome(rules.r10_verdict_consistent, CHECK, verdict="inconclusive", is_hidden=True) == "unverified"
    assert outcome(rules.r10_verdict_consistent, CHECK, polarity="negative") == "contradicted"
    cited = CITED | {"polarity": "positive", "ref_verdict": "passed"}
    assert outcome(rules.r10_cited_verdict, cited) == "supported"
    assert outcome(rules.r10_cited_verdict, cited, ref_verdict="failed") == "contradicted"
    assert outcome(rules.r10_cited_verdict, cited, ref_verdict=None) == "unverified"
    assert outcome(rules.r10_cited_verdict, cited, ref_verdict=None, polarity=None) is None


def test_r11_all_needs_a_check_of_all() -> None:
    assert outcome(rules.r11_scope, CHECK) == "supported"
    assert outcome(rules.r11_scope, CHECK, reach="part") == "unsupported"
    assert outcome(rules.r11_scope, CHECK, reach="part", may_have_run_again=True) == "unverified"
    assert outcome(rules.r11_scope, CHECK, reach="part", number=5) is None
    assert outcome(rules.r11_scope, CHECK, reach="part", claim_scope="unsaid") is None


def test_r12_nothing_changed_since() -> None:
    assert outcome(rules.r12_not_stale, CHECK) == "supported"
    assert outcome(rules.r12_not_stale, CHECK, changes_since=1, changed_path="a.py") == "stale"
    assert outcome(rules.r12_not_stale, CHECK, changes_since=1, may_have_run_since=True) == "unverified"


def test_r13_the_later_run_counts() -> None:
    assert outcome(rules.r13_not_superseded, CHECK, earlier_verdict="failed") is None
    assert outcome(rules.r13_not_superseded, CHECK, verdict="failed", earlier_verdict="passed") == "contradicted"
    assert (
        outcome(rules.r13_not_superseded, CHECK, verdict="failed", earlier_verdict="passed", is_doubtful=True) is None
    )


def test_r14_absence_needs_a_whole_search_that_found_nothing() -> None:
    assert outcome(rules.r14_negative, SEARCH) == "supported"
    assert outcome(rules.r14_negative, SEARCH, is_narrow=True) == "unverified"
    assert outcome(rules.r14_negative, SEARCH, is_empty=False) == "contradicted"
    assert outcome(rules.r14_negative, SEARCH, is_empty=False, says_other=True) == "unverified"
    assert outcome(rules.r14_negative, SEARCH, is_empty=False, changes_since=1) == "stale"
    assert outcome(rules.r14_negative, SEARCH, has_search=False) == "unsupported"
    assert outcome(rules.r14_negative, SEARCH, has_search=False, may_exist=True) == "unverified"


def test_r15_requirements_come_from_users_and_contracts() -> None:
    said = CITED | {"claim_kind": "user_requirement", "text": "Exports must use UTF-8 encoding", "ref_kind": "user"}
    assert outcome(rules.r15_no_invented_requirement, said, ref_text="exports must use UTF-8 encoding") == "supported"
    assert (
        outcome(rules.r15_no_invented_requirement, said, ref_text="exports must not use UTF-8 encoding")
        == "contradicted"
    )
    assert outcome(rules.r15_no_invented_requirement, said, ref_text="make it faster") == "unsupported"
    from_file = said | {"ref_kind": "file", "ref_text": "exports must use UTF-8 encoding"}
    assert outcome(rules.r15_no_invented_requirement, from_file) == "unsupported"
    assert outcome(rules.r15_no_invented_requirement, said, claim_kind="fact", text="It is UTF-8", ref_text="x") is None


def test_r16_every_failure_is_told() -> None:
    failures = pl.DataFrame(
        {"claim_id": ["c", "c"], "check_key": ["pytest", "ruff"], "evidence": [["tool-call:1"], ["tool-call:2"]]}
    )
    told = pl.DataFrame({"claim_id": ["c"], "check_key": ["ruff"]})
    found = rules.r16_failure_completeness(failures, told)
    assert found.select("outcome", "evidence").rows() == [
        ("contradicted", ["tool-call:1"]),
        ("supported", ["tool-call:2"]),
    ]


def test_r16_done_hides_no_failure() -> None:
    assert outcome(rules.r16_finished_without_failure, DONE) == "supported"
    assert outcome(rules.r16_finished_without_failure, DONE, verdict="failed") == "contradicted"
    assert outcome(rules.r16_finished_without_failure, DONE, verdict="failed", discloses=True) == "unverified"
    assert outcome(rules.r16_finished_without_failure, DONE, verdict="failed", changes_since=1) == "stale"
    assert outcome(rules.r16_finished_without_failure, DONE, verdict=None) == "unverified"
    assert outcome(rules.r16_finished_without_failure, DONE, subject="tasks", open_tasks=1) == "contradicted"


def test_r17_told_and_changed_files_are_the_same() -> None:
    told = pl.DataFrame({"claim_id": ["c", "c"], "path": ["a.py", "extra.py"]})
    changed = pl.DataFrame(
        {"claim_id": ["c", "c"], "path": ["a.py", "missing.py"], "evidence": [["tool-call:1"], ["tool-call:2"]]}
    )
    found = rules.r17_changed_files(told, changed)
    assert found["outcome"].to_list() == ["supported", "unsupported", "contradicted"]


def test_r17_numbers_of_files() -> None:
    row = {
        "claim_id": "c",
        "number": 3,
        "changed": 3,
        "created": 1,
        "verb": "changed",
        "stands": False,
        "is_complete": True,
    }
    assert outcome(rules.r17_number_of_files, row) == "supported"
    assert outcome(rules.r17_number_of_files, row, number=9) == "contradicted"
    assert outcome(rules.r17_number_of_files, row, number=9, is_complete=False) == "unverified"
    assert outcome(rules.r17_number_of_files, row, number=2) == "unverified"
    assert outcome(rules.r17_number_of_files, row, number=9, stands=True) == "supported"


def ranges(*pairs: tuple[int, int]) -> pl.DataFrame:
    rows = [
        {"claim_id": f"v{n}", "chain": "s", "run_id": "r", "version": n, "from_sequence_no": a, "to_sequence_no": b}
        for n, (a, b) in enumerate(pairs)
    ]
    return pl.DataFrame(rows)


def test_r18_ranges_tile() -> None:
    assert rules.r18_coverage(ranges((0, 4), (5, 9)))["outcome"].to_list() == ["supported", "supported"]
    assert rules.r18_coverage(ranges((0, 4), (6, 9)))["outcome"].to_list() == ["supported", "unsupported"]
    assert rules.r18_coverage(ranges((0, 4), (4, 9)))["outcome"].to_list() == ["supported", "unsupported"]
    assert rules.r18_coverage(ranges((1, 4)))["outcome"].to_list() == ["unsupported"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.data())
def test_r18_finds_any_gap(lengths: list[int], data: st.DataObject) -> None:
    edges = [0, *(sum(lengths[: n + 1]) for n in range(len(lengths)))]
    pairs = [(first, last - 1) for first, last in pairwise(edges)]
    assert set(rules.r18_coverage(ranges(*pairs))["outcome"]) == {"supported"}
    place = data.draw(st.integers(0, len(pairs) - 1))
    pairs[place] = (pairs[place][0] + 1, pairs[place][1] + 1)
    assert "unsupported" in set(rules.r18_coverage(ranges(*pairs))["outcome"])


def test_r19_trust_is_never_raised() -> None:
    cited = CITED | {"claim_trust_level": None, "is_authority": False, "ref_trust_level": "REPOSITORY_UNTRUSTED"}
    assert outcome(rules.r19_taint, cited, claim_trust_level="REPOSITORY_UNTRUSTED") == "supported"
    assert outcome(rules.r19_taint, cited, claim_trust_level="TOOL_TRUSTED") == "unsupported"
    assert outcome(rules.r19_taint, cited, is_authority=True) == "unsupported"
    assert outcome(rules.r19_taint, cited, is_authority=True, ref_trust_level="ORG_TRUSTED") == "supported"


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_r16_hiding_any_failure_is_caught(failing: set[int], hidden: set[int]) -> None:
    keys = [str(n) for n in sorted(failing)]
    failures = pl.DataFrame(
        {"claim_id": ["c"] * len(keys), "check_key": keys, "evidence": [[f"tool-call:{key}"] for key in keys]},
        schema={"claim_id": pl.String, "check_key": pl.String, "evidence": pl.List(pl.String)},
    )
    told = failures.filter(~pl.col("check_key").is_in([str(n) for n in hidden])).select("claim_id", "check_key")
    caught = rules.r16_failure_completeness(failures, told).filter(pl.col("outcome") == "contradicted")
    assert caught["evidence"].to_list() == [[f"tool-call:{n}"] for n in sorted(failing & hidden)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(RULES)), st.sampled_from([one.value for one in ClaimOutcome])), min_size=1
    )
)
def test_a_claim_is_supported_only_if_every_ruling_is(found: list[tuple[str, str]]) -> None:
    rows = [("c", rule, said, "Because.", ["tool-call:t"]) for rule, said in found]
    verdict = decide(pl.DataFrame(rows, schema=RULING_SCHEMA, orient="row"))["verdict"].item()
    assert (verdict == "supported") == all(said == "supported" for _, said in found)
    assert verdict in {said for _, said in found}
