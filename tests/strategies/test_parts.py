"""Which parts a context may hold, where they stand, and what recorded compactions took out."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit import strategies
from ledgerkit.protocol.vocabulary import ContextSection, MessageKind, TrustLevel, Visibility
from ledgerkit.strategies import Absence, reference_text
from ledgerkit.strategies.conformance import check_strategy
from ledgerkit.tokens import TokenCounter
from tests.strategies.test_naive import CACHES, STRATEGIES, check, pairs

PART: dict[str, Any] = {
    "session_id": "s", "run_id": "r", "part_index": 0, "kind": "ASSISTANT_RESPONSE", "part_type": "text",
    "part_trust_level": "MODEL_GENERATED", "part_visibility": "MODEL_VISIBLE", "tool_call_id": None, "tool_name": None,
    "step": 0, "visible_from": 1, "token_count": 10, "text": "words", "data": None, "erased": None,
    "is_restricted": False, "source_record": None, "compaction": None,
}  # fmt: skip


def parts_of(*changes: dict[str, Any], steps: int = 9) -> pl.DataFrame:
    """Rows of ``RunFrames.parts`` of one run, by position."""
    rows = [{**PART, "message_id": f"m{n}", "sequence_no": n, **change} for n, change in enumerate(changes)]
    calls = pl.DataFrame([{"session_id": "s", "run_id": "r", "step": step} for step in range(steps)])
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"compaction": pl.String, "text": pl.String})
    return strategies.run_frames(frame, calls).parts


INSTRUCTING = [
    one.value for one in (ContextSection.PLATFORM_POLICY, ContextSection.ORG_POLICY, ContextSection.TASK_CONTRACT)
]
UNTRUSTED = ["MODEL_GENERATED", "REPOSITORY_UNTRUSTED", "NETWORK_UNTRUSTED", "UNKNOWN"]
ABSENT: list[tuple[dict[str, Any], Absence | None]] = [
    ({}, None),
    ({"kind": "SOMETHING_NEW"}, Absence.UNKNOWN_KIND),
    ({"kind": "JUDGE_RESULT"}, Absence.NOT_SELECTED),
    ({"kind": "APPROVAL_REQUEST"}, Absence.NOT_SELECTED),
    ({"kind": "ERROR_EVENT"}, Absence.NOT_SELECTED),
    ({"part_visibility": "HUMAN_VISIBLE"}, Absence.NOT_VISIBLE),
    ({"part_visibility": "AUDIT_ONLY"}, Absence.NOT_VISIBLE),
    ({"part_visibility": "INTERNAL_ONLY"}, Absence.NOT_VISIBLE),
    ({"part_visibility": "SOMETHING_NEW"}, Absence.NOT_VISIBLE),
    ({"part_visibility": None}, Absence.NOT_VISIBLE),
    ({"part_visibility": "REDACTED"}, None),
    ({"part_trust_level": "SOMETHING_NEW"}, Absence.UNKNOWN_TRUST),
    ({"is_restricted": True}, Absence.RESTRICTED),
    ({"erased": "m9"}, Absence.ERASED),
    ({"text": None, "token_count": 0}, Absence.EMPTY),
    ({"text": None, "data": "{}", "token_count": 0}, None),
    ({"visible_from": 9}, Absence.AFTER_LAST_STEP),
    ({"visible_from": None}, Absence.AFTER_LAST_STEP),
]


@pytest.mark.parametrize(("change", "absence"), ABSENT)
def test_a_part_is_eligible_or_says_why_not(change: dict[str, Any], absence: Absence | None) -> None:
    (row,) = parts_of(change).to_dicts()
    assert row["absence"] == absence
    assert row["is_eligible"] is (absence is None)


def test_what_may_not_instruct_stands_in_no_instructing_section() -> None:
    every = [
        {"kind": kind, "part_trust_level": trust, "part_visibility": visibility, "visible_from": step}
        for kind, trust, visibility, step in product(MessageKind, TrustLevel, Visibility, (0, 1))
    ]
    rows = parts_of(*every).filter(pl.col("section").cast(pl.String).is_in(INSTRUCTING))
    assert rows.height
    assert not rows.filter(pl.col("trust_level").is_in(UNTRUSTED)).height


def test_a_unit_is_a_call_with_its_results_in_the_section_of_the_result() -> None:
    call = {"tool_call_id": "c", "kind": "TOOL_CALL_REQUEST", "part_type": "tool_call"}
    result = {"tool_call_id": "c", "kind": "FILE_OBSERVATION", "part_type": "tool_result"}
    rows = parts_of({}, call, {}, result, {**result, "kind": "TOOL_CALL_RESULT"})
    assert rows["unit"].to_list() == [0, 1, 2, 1, 1]
    assert rows["is_result"].to_list() == [False, False, False, True, True]
    sections = ["recent_messages", "repository_data", "recent_messages", "repository_data", "repository_data"]
    assert rows["section"].to_list() == sections


def test_instructions_and_the_first_task_are_pinned() -> None:
    first = {"visible_from": 0}
    rows = parts_of(
        {"kind": "SYSTEM_INSTRUCTION", **first}, {"kind": "USER_TASK", **first}, {"kind": "USER_TASK"},
        {"kind": "ORG_POLICY"}, {"kind": "DEVELOPER_INSTRUCTION"}, {"kind": "ASSISTANT_RESPONSE", **first},
    )  # fmt: skip
    assert rows["is_pinned"].to_list() == [True, True, False, True, False, False]


def test_parts_of_the_run_before_a_branch_come_first_and_are_there_from_the_start() -> None:
    rows = parts_of({"inherited": 0}, {"inherited": 1, "visible_from": 4}, {"inherited": 2, "visible_from": 7})
    assert rows["message_id"].to_list() == ["m2", "m1", "m0"]
    assert rows["visible_from"].to_list() == [0, 0, 1]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 300)), min_size=1, max_size=20))
def test_the_tokens_of_a_reference_are_those_of_its_text(given: list[tuple[int, int]]) -> None:
    changes = [{"sequence_no": n, "text": "\n" * lines, "token_count": 10**6} for n, lines in given]
    rows = parts_of(*changes)
    texts = [reference_text(n, lines + 1) for n, lines in sorted(given, key=lambda one: one[0])]
    assert sorted(rows["reference_tokens"]) == sorted(TokenCounter().count_many(texts))


def test_a_reference_is_never_longer_than_the_part() -> None:
    (row,) = parts_of({"token_count": 3}).to_dicts()
    assert row["reference_tokens"] == 3


def test_tokens_that_nobody_counted_are_0_and_marked() -> None:
    (row,) = parts_of({"token_count": None}).to_dicts()
    assert (row["tokens"], row["is_counted"], row["is_eligible"]) == (0, False, True)


COMPACTED: list[dict[str, Any]] = [
    {"kind": "SYSTEM_INSTRUCTION", "visible_from": 0},
    {"kind": "USER_TASK", "visible_from": 1, "token_count": 30, "source_record": "u1"},
    {"visible_from": 1, "source_record": "a1"},
    {"kind": "USER_TASK", "visible_from": 2, "token_count": 30, "source_record": "u2"},
    {"visible_from": 2, "source_record": "a2"},
]
RULES = [
    ('{"keeps":"nothing"}', [None, 3, 3, 3, 3, None, None]),
    ('{"keeps":"records","records":["a1","u2"]}', [None, 3, None, None, 3, None, None]),
    ('{"keeps":"from_record","record":"u2"}', [None, 3, 3, None, None, None, None]),
    ('{"keeps":"user_messages","tokens":40}', [None, 3, 3, None, 3, None, None]),
    ('{"keeps":"user_messages","tokens":60}', [None, None, 3, None, 3, None, None]),
    ('{"forgets":["a1"]}', [None, None, 3, None, None, None, None]),
]


@pytest.mark.parametrize(("rule", "ends"), RULES)
def test_a_recorded_compaction_ends_what_it_did_not_keep(rule: str, ends: list[int | None]) -> None:
    summary = {"kind": "RUN_SUMMARY", "visible_from": 3, "compaction": rule}
    rows = parts_of(*COMPACTED, summary, {"visible_from": 3})
    assert rows["ends_at"].to_list() == ends


def test_the_next_compaction_ends_what_the_one_before_kept_and_its_summary() -> None:
    kept = {"kind": "RUN_SUMMARY", "visible_from": 3, "compaction": '{"keeps":"records","records":["a1"]}'}
    last = {"kind": "RUN_SUMMARY", "visible_from": 5, "compaction": '{"keeps":"nothing"}'}
    rows = parts_of(*COMPACTED, kept, {"visible_from": 4}, last)
    assert rows["ends_at"].to_list() == [None, 3, 5, 3, 3, 5, 5, None]


def test_a_note_and_its_summary_are_one_compaction() -> None:
    note = {"kind": "RUN_SUMMARY", "visible_from": 3, "part_visibility": "AUDIT_ONLY",
            "compaction": '{"keeps":"records","records":["a2"]}'}  # fmt: skip
    summary = {"kind": "RUN_SUMMARY", "visible_from": 3, "compaction": '{"keeps":"nothing"}'}
    rows = parts_of(*COMPACTED, note, summary)
    assert rows["ends_at"].to_list() == [None, 3, 3, 3, None, None, None]


def test_a_unit_of_which_a_part_is_kept_is_kept_whole() -> None:
    call = {"tool_call_id": "c", "kind": "TOOL_CALL_REQUEST", "part_type": "tool_call", "source_record": "x"}
    result = {"tool_call_id": "c", "kind": "TOOL_CALL_RESULT", "part_type": "tool_result", "source_record": "y"}
    summary = {"kind": "RUN_SUMMARY", "visible_from": 3, "compaction": '{"keeps":"records","records":["y"]}'}
    assert parts_of(call, result, summary)["ends_at"].to_list() == [None, None, None]


@pytest.mark.long
def test_a_demo_ledger_is_simulated_run_by_run(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        chosen = [strategies.FullHistory(), strategies.ClearAt(2_000, keep=1), strategies.HeadTail(400, 200)]
        table = ledger.simulate(chosen, context_window=8_000)
        batched = pl.concat([frames.runs for frames in ledger.frame_batches(parts=200)])
        assert table.height == batched.height * 3
        assert table["strategy"].unique(maintain_order=True).to_list() == [one.label for one in chosen]
        full = table.filter(strategy="FullHistory()")
        cut = table.filter(strategy=chosen[2].label)
        assert cut["input_tokens"].sum() < full["input_tokens"].sum()
        assert table.equals(ledger.simulate(chosen, context_window=8_000))
        with pytest.raises(lk.UnknownNameError, match="No run 'nobody'"):
            ledger.frames(["nobody"])


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_real_run_agrees_with_a_rebuild(name: str, corpus_frames: strategies.RunFrames) -> None:
    check(corpus_frames, name, CACHES["anthropic"])
    check_strategy(pairs(corpus_frames)[name][0], corpus_frames)
