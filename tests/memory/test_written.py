"""Summaries that a writer drafts: what the record carries is kept, the rest is named, what is kept quiet is put in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.memory.summaries import (
    Summarizer,
    SummaryDraft,
    SummaryRequest,
    WritingSummarizer,
    WrittenSummary,
    check_summary,
    write_summary,
)
from ledgerkit.memory.working import RunRecord
from ledgerkit.protocol.memory import Summary
from ledgerkit.protocol.vocabulary import TrustLevel
from tests.memory.test_working import imported, worked


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("written")
    return imported(lk.open(folder / "runs.ledger", key=bytes(32)), folder, worked())


@pytest.fixture(scope="module")
def record(ledger: lk.Ledger) -> RunRecord:
    return ledger._record_of(*ledger._resolve(run_of(ledger)))  # pyright: ignore[reportPrivateUsage]


def run_of(ledger: lk.Ledger) -> str:
    return ledger.runs()["run_id"].item()


class Scripted:
    """A writer that answers what it was told to, and keeps what it was asked."""

    def __init__(self, draft: SummaryDraft) -> None:
        self.draft = draft
        self.asked: list[SummaryRequest] = []

    def __call__(self, request: SummaryRequest, /) -> SummaryDraft:
        self.asked.append(request)
        return self.draft


def failing_call(ledger: lk.Ledger) -> str:
    asked = "select tool_call_id from tool_calls where result_text like '%2 failed%'"
    return f"tool-call:{ledger.sql(asked)['tool_call_id'][0]}"


def draft_of(ledger: lk.Ledger, **more: Any) -> dict[str, Any]:
    ref = failing_call(ledger)
    facts = [
        {"fact": "2 tests failed and 3 passed in tests/test_a.py", "evidence_refs": [ref]},
        {"fact": "417 tests passed", "evidence_refs": [ref]},
        {"fact": "The moon is round"},
        {"fact": "nothing", "evidence_refs": ["message:nowhere"], "trust_level": "PLATFORM_TRUSTED"},
        "not even an object",
    ]
    return {"facts": facts, "changed_files": [{"path": "ghost.py", "evidence_refs": [ref]}], **more}


def test_a_draft_is_validated_item_by_item(ledger: lk.Ledger) -> None:
    writer = Scripted(draft_of(ledger, discarded_details=["the answers"]))
    written = ledger.write_summary(run_of(ledger), writer)
    assert written.outcome == "repaired"
    assert [fact.fact for fact in written.summary.facts] == ["2 tests failed and 3 passed in tests/test_a.py"]
    assert written.summary.facts[0].trust_level not in (TrustLevel.USER_TRUSTED, TrustLevel.PLATFORM_TRUSTED)
    assert {(one.item, one.rule) for one in written.discarded} == {
        ("417 tests passed", "R10"),
        ("The moon is round", "R1"),
        ("nothing", "R1"),
        ("not even an object", "form"),
        ("ghost.py", "R17"),
    }
    details = "\n".join(written.summary.discarded_details)
    assert "the answers" in details
    for one in written.discarded:  # what was discarded is named in the summary, with the rule
        assert f"Left out, {one.rule}: {one.kind.replace('_', ' ')}: {one.item}" in details


def test_what_a_draft_keeps_quiet_about_is_put_in_from_the_record(ledger: lk.Ledger, record: RunRecord) -> None:
    written = ledger.write_summary(run_of(ledger), Scripted(draft_of(ledger)))
    fresh = ledger.summarise(run_of(ledger))
    assert written.summary.open_problems == fresh.open_problems != ()
    assert written.summary.changed_files == fresh.changed_files != ()
    assert {"hidden", "invented", "lost", "silent"} == set(written.findings["problem"])
    assert check_summary(record, written.summary).is_empty()


def test_the_writer_is_given_what_it_may_cite_and_nothing_else(ledger: lk.Ledger) -> None:
    writer = Scripted({})
    ledger.write_summary(run_of(ledger), writer, step=2)
    (request,) = writer.asked
    assert request.memory == ledger.memory(run_of(ledger), step=2)
    ids = ledger.sql("select message_id from messages where visible_from <= 2")["message_id"]
    assert {one.ref for one in request.material} <= {f"message:{one}" for one in ids}
    assert request.covers.first == 0
    assert request.schema["title"] == "Summary"


@pytest.mark.parametrize("draft", ["I cannot do that.", "[]", "", '{"facts": [1, null]}', {"facts": "all fine"}, {}])
def test_a_draft_of_which_nothing_can_be_taken_is_rejected(draft: SummaryDraft, ledger: lk.Ledger) -> None:
    written = ledger.write_summary(run_of(ledger), Scripted(draft))
    fresh = ledger.summarise(run_of(ledger))
    assert written.outcome == "rejected"
    assert written.summary.open_problems == fresh.open_problems
    assert (written.summary.facts, written.summary.changed_files) == ((), fresh.changed_files)


def test_a_draft_that_the_record_carries_whole_is_accepted(ledger: lk.Ledger) -> None:
    fresh = ledger.summarise(run_of(ledger))
    text = f"```json\n{fresh.model_dump_json()}\n```"
    written = ledger.write_summary(run_of(ledger), Scripted(text))
    assert (written.outcome, written.discarded, written.findings.height) == ("accepted", (), 0)
    assert written.summary == fresh


def test_a_summarizer_with_a_writer_stands_where_the_deterministic_one_does(
    ledger: lk.Ledger, record: RunRecord
) -> None:
    summarizer: Summarizer = WritingSummarizer(Scripted(draft_of(ledger)))
    assert summarizer.summarise(record) == ledger.write_summary(run_of(ledger), Scripted(draft_of(ledger))).summary


def test_nothing_can_be_written_of_nothing(record: RunRecord) -> None:
    empty = RunRecord(record.run_id, record.parts.clear(), record.tool_calls.clear(), record.verifier_results.clear(),
                      record.file_changes.clear())  # fmt: skip
    with pytest.raises(ValueError, match="nothing to sum up"):
        write_summary(empty, Scripted({}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ITEM = JSON | st.fixed_dictionaries(
    {"fact": st.text(max_size=30), "evidence_refs": st.lists(st.sampled_from(["message:x", "tool-call:y", "?"]))}
)


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*Summary.model_fields, "more"]), st.lists(ITEM, max_size=3) | JSON))
def test_whatever_a_model_answers_no_failure_is_hidden_and_no_fact_is_made_up(
    record: RunRecord, draft: Mapping[str, object]
) -> None:
    written: WrittenSummary = write_summary(record, Scripted(json.dumps(draft)))
    assert check_summary(record, written.summary).is_empty()
    assert written.summary.facts == ()


@pytest.mark.parametrize("depth", [100, 900, 5_000, 100_000])
def test_an_answer_that_is_nested_without_end_is_discarded_with_the_reason(ledger: lk.Ledger, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for answer in (deep, f'{{"facts": {deep}}}', f'{{"facts": [{{"fact": {deep}}}]}}', f'{{"facts": [{deep}]}}'):
        written = ledger.write_summary(run_of(ledger), Scripted(answer))
        assert written.summary.facts == ()
        assert len(written.discarded) == 1
