"""What holds of every memory: references resolve, nothing is without evidence, no failure can be hidden."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.memory.working import RunRecord, judge_update
from ledgerkit.protocol.memory import Fact, OpenProblem, Summary
from ledgerkit.protocol.references import EvidenceRef
from tests.builders import text, uid
from tests.conftest import NOW
from tests.memory.test_working import FAILED, PASSED, Work, entries, unresolved

RUNS = 6
COMMANDS = ("pytest", "pytest tests/test_a.py", "ruff check .", "npm run build", "go test ./...")
OUTPUT = {
    "pytest": (PASSED, FAILED),
    "pytest tests/test_a.py": (PASSED, FAILED),
    "ruff check .": ("All checks passed!", "a.py:1:1: F401 unused\nFound 1 error."),
    "npm run build": ("built in 1.2s", "error TS2304: Cannot find name 'x'.\nFound 1 error."),
    "go test ./...": ("ok  \texample.org/a\t0.1s", "--- FAIL: TestSum (0.00s)\nFAIL\nFAIL\texample.org/a\t0.1s"),
}


def drawn(number: int) -> Work:
    """A run of checks, edits and readings in an order that is drawn; it ends in a compaction that says nothing."""
    draw = random.Random(number)
    log = Work(f"drawn{number}")
    log.asks(f"Do task {number}.")
    for _ in range(draw.randint(2, 7)):
        act = draw.random()
        if act < 0.6:
            command = draw.choice(COMMANDS)
            failed = draw.random() < 0.6
            log.shell(command, OUTPUT[command][failed], code=int(failed))
        elif act < 0.8:
            log.edit(f"/home/dev/shop/{draw.choice('abc')}.py")
        else:
            log.read(f"/home/dev/shop/{draw.choice('abc')}.py", "x = 1")
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=log.last, compactMetadata={})
    log.asks("The work goes on.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.answers(text("Going on."))
    return log


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("drawn")
    for number in range(RUNS):
        log = drawn(number)
        log.write(folder / "logs" / f"{log.session}.jsonl")
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(folder / "logs", now=NOW)
    return made


@pytest.fixture(scope="module")
def records(ledger: lk.Ledger) -> list[RunRecord]:
    keys = [ledger._resolve(uid(f"drawn{number}")) for number in range(RUNS)]  # pyright: ignore[reportPrivateUsage]
    return [ledger._record_of(*one) for one in keys]  # pyright: ignore[reportPrivateUsage]


@pytest.mark.slow
def test_every_reference_resolves_and_nothing_is_without_evidence(ledger: lk.Ledger) -> None:
    for number in range(RUNS):
        (run,) = ledger.sql("select run_id from runs where session_id = ?", [uid(f"drawn{number}")])["run_id"]
        assert unresolved(ledger, uid(f"drawn{number}"), run) == []
        assert all(entry.evidence_refs for entry in entries(ledger.memory(run)))


@pytest.mark.slow
def test_whichever_failure_is_hidden_it_is_found(ledger: lk.Ledger) -> None:
    hidden = 0
    for number in range(RUNS):
        run = uid(f"drawn{number}")
        summary = ledger.summarise(run)
        assert ledger.check_summary(run, summary).filter(problem="hidden").is_empty()
        by_check: dict[tuple[EvidenceRef, ...], list[OpenProblem]] = {}
        for problem in summary.open_problems:
            by_check.setdefault(problem.evidence_refs, []).append(problem)
        for dropped in by_check.values():
            left = tuple(one for one in summary.open_problems if one not in dropped)
            found = ledger.check_summary(run, summary.model_copy(update={"open_problems": left}))
            assert found.filter(problem="hidden").height == 1
            hidden += 1
    assert hidden > RUNS / 2


@pytest.mark.slow
def test_a_recorded_summary_that_says_nothing_hides_every_failure(ledger: lk.Ledger) -> None:
    found = ledger.check_compactions()
    for number in range(RUNS):
        session = uid(f"drawn{number}")
        (run,) = ledger.sql("select run_id from runs where session_id = ?", [session])["run_id"]
        at = int(found.filter(session_id=session)["step"][0])
        failing = {one.evidence_refs for one in ledger.memory(run, step=at).open_problems}
        hidden = found.filter(session_id=session, verdict="hidden")
        assert {tuple(refs) for refs in hidden["evidence"]} == {tuple(str(ref) for ref in refs) for refs in failing}


REFS = st.sampled_from(["message:nowhere", "tool-call:toolu_x", "task:goal", "file:a.py", "CALL", "ANSWER"])
TEXTS = st.sampled_from(
    ["All tests pass", "2 tests failed", "5 tests passed", "The build failed", "It must be fast", 'It says "x = 12345"',
     "`a.py` was read", "Nothing"]
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([("5 tests passed", ["task:goal", "CALL"])], 5)
@given(
    st.lists(st.tuples(TEXTS, st.lists(REFS, min_size=1, max_size=3)), min_size=1, max_size=4), st.integers(0, RUNS - 1)
)
def test_no_proposal_is_accepted_without_evidence_that_is_there_and_says_so(
    records: list[RunRecord], given_items: list[tuple[str, list[str]]], number: int
) -> None:
    record = records[number]
    calls = record.tool_calls.filter(pl.col("result_text").is_not_null())
    answers = record.parts.filter(kind="ASSISTANT_RESPONSE")["message_id"]
    real = {"CALL": f"tool-call:{calls['tool_call_id'][0]}", "ANSWER": f"message:{answers[0]}"}
    facts = tuple(
        Fact(fact=said, evidence_refs=tuple(EvidenceRef.parse(real.get(ref, ref)) for ref in refs))
        for said, refs in given_items
    )
    output = str(calls["result_text"][0])
    for verdict, (said, refs) in zip(
        judge_update(record, Summary(facts=facts, discarded_details=())), given_items, strict=True
    ):
        if verdict.is_accepted:
            assert set(refs) <= {"CALL", "task:goal"}
            assert said != "Nothing"
            assert said != "All tests pass" or "passed" in output or "ok  " in output
            assert not said.startswith("2 tests") or "2 failed" in output
            assert not said.startswith("5 tests") or "5 passed" in output
