"""The agent at work: what it records, in which order, and what it does only when it may."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Final

import pytest

import ledgerkit as lk
from ledgerkit.agent.live import Ending, Limits, ScriptedModel, Tool, ToolOutcome, nobody
from ledgerkit.agent.model import ModelUnavailableError
from ledgerkit.projection import Form
from ledgerkit.protocol.contracts import PermissionProfile, SpendingLimits, TaskContract
from ledgerkit.protocol.parts import ErrorPart
from ledgerkit.protocol.requests import LlmRequest, ToolDefinition
from ledgerkit.providers import ActionRefusal, RefusalReason
from tests.agent.live_case import PROFILE, RUN, TASK, Case, Person, call, finish

ASKING: Final = PROFILE.model_copy(
    update={
        "allowed_tools": tuple(name for name in PROFILE.allowed_tools if name != "ship"),
        "approval_tools": ("ship",),
    }
)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


@pytest.mark.long
def test_a_run_is_recorded_in_the_order_that_a_crash_can_bear(case: Case) -> None:
    end = case.run()
    assert (end.ending, end.steps) == (Ending.FINISHED, 5)
    assert case.carried_out == ["part-a", "part-b", "part-c"]
    kinds = [message.kind.value for message in case.messages()]
    assert kinds[:3] == ["SYSTEM_INSTRUCTION", "ORG_POLICY", "USER_TASK"]
    first = kinds.index("TOOL_CALL_REQUEST")
    assert kinds[first - 1 : first + 2] == ["ASSISTANT_RESPONSE", "TOOL_CALL_REQUEST", "TOOL_CALL_RESULT"]
    assert kinds[-3:] == ["VERIFIER_RESULT", "VERIFIER_RESULT", "RUN_SUMMARY"]
    row = case.ledger.runs().row(0, named=True)
    assert (row["outcome"], row["steps"], row["tool_calls"], row["pending_tool_calls"]) == ("passed", 5, 4, 0)
    read = next(m for m in case.messages("FILE_OBSERVATION"))
    assert read.trust_level is lk.TrustLevel.REPOSITORY_UNTRUSTED
    last = case.messages("ASSISTANT_RESPONSE")[-1]
    assert case.ledger.recorded_context(RUN, 4).digest == last.metadata["request_digest"]
    replayed = case.ledger.verify_replay([RUN])
    assert replayed["fidelity"].to_list() == ["exact"] * 5
    assert replayed["reason"].null_count() == 5


@pytest.mark.long
def test_a_request_that_cannot_be_rebuilt_as_recorded_is_not_called_exact(case: Case) -> None:
    case.run()
    answers = case.messages("ASSISTANT_RESPONSE")
    case.ledger.erase(case.messages("FILE_OBSERVATION")[0].message_id, reason="a credential")
    with lk.open(case.ledger.path) as again:
        found = again.verify_replay([RUN])
    assert found.height == len(answers)
    assert "differs_from_recorded" in found["reason"].to_list()
    assert found.row(0, named=True)["fidelity"] == "exact"


def test_a_run_that_does_not_say_what_it_was_projected_with_is_no_recorded_context(ledger: lk.Ledger) -> None:
    said = {"type": "text", "text": "Hi.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    command = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user", "parts": [said]}
    ledger.append(lk.AppendMessageCommand.model_validate(command))
    with pytest.raises(lk.LedgerError, match="does not hold"):
        ledger.recorded_context("r", 0)


@pytest.mark.slow
def test_every_context_can_be_projected_again_from_the_ledger_alone(case: Case) -> None:
    case.model = ScriptedModel([call("ship", parcel="part-c"), "I think that is all.", finish()])
    assert case.run(budget=16_000).ending is Ending.FINISHED
    for answer in case.messages("ASSISTANT_RESPONSE"):
        assert answer.step is not None
        context = case.ledger.recorded_context(RUN, answer.step)
        assert (context.digest, context.tokens) == (
            answer.metadata["request_digest"],
            answer.metadata["context_tokens"],
        )


@pytest.mark.slow
def test_a_run_that_is_over_is_not_worked_on_again(case: Case) -> None:
    first = case.run()
    before = len(case.messages())
    assert case.run() == case.resume() == first
    assert len(case.messages()) == before
    assert len(case.carried_out) == 3


HINTS = [ActionRefusal(reason, "").retry_hint for reason in RefusalReason]


@pytest.mark.long
def test_sentences_drive_nothing_and_the_next_context_says_so(case: Case) -> None:
    prose = "Calling ship(parcel='part-a') now. {nextAction: CALL_TOOL}"
    no_tool = '{"nextAction": "CALL_TOOL", "rationaleSummary": "No tool."}'
    undeclared = call("deploy", target="all")
    case.model = ScriptedModel([prose, no_tool, undeclared, finish("FINISH_BLOCKED")])
    assert case.run(limits=Limits(max_refusals=4)).ending is Ending.BLOCKED
    assert case.carried_out == []
    assert not case.messages("TOOL_CALL_REQUEST")
    errors = [(m.step, part.error_category) for m in case.messages("ERROR_EVENT") for part in m.parts
              if isinstance(part, ErrorPart)]  # fmt: skip
    assert errors == [(0, "malformed_answer"), (1, "malformed_answer"), (2, "tool_not_allowed")]
    for step in range(4):
        context = case.ledger.recorded_context(RUN, step)
        hints = [piece.text.text for piece in context.pieces if piece.boundary is not None and piece.form is Form.TEXT]
        told = [ActionRefusal(RefusalReason(category), "").retry_hint for at, category in errors if at == step - 1]
        assert [hint for hint in hints if hint in HINTS] == told
        assert not any("ship(parcel" in one.content for one in context.request.instructions)


@pytest.mark.slow
def test_a_model_that_never_answers_in_form_ends_the_run(case: Case) -> None:
    case.model = ScriptedModel(["Well,", "let me", "think."])
    assert case.run(limits=Limits(max_refusals=3)).ending is Ending.FAILED
    assert len(case.messages("ERROR_EVENT")) == 3


@pytest.mark.slow
def test_a_call_that_needs_approval_is_not_made_before_somebody_approves(case: Case) -> None:
    case.profile, case.person = ASKING, nobody
    waiting = case.run()
    assert waiting.ending is Ending.WAITING
    assert waiting.waiting_for is not None
    assert '"part-a"' in waiting.waiting_for.action
    assert case.carried_out == []
    assert not case.messages("TOOL_CALL_REQUEST")
    case.person = Person()
    assert case.resume().ending is Ending.FINISHED
    assert case.carried_out == ["part-a", "part-b", "part-c"]
    asked = case.messages("APPROVAL_REQUEST")
    assert len(asked) == len(case.messages("APPROVAL_DECISION")) == 3  # one for each call, not one for the tool


@pytest.mark.slow
def test_a_call_that_was_denied_is_not_made_and_the_model_is_told(case: Case) -> None:
    case.profile, case.person = ASKING, Person(approves=False)
    case.model = ScriptedModel([call("ship", parcel="part-a"), call("ship", parcel="part-a"), finish("FINISH_BLOCKED")])
    assert case.run().ending is Ending.BLOCKED
    assert case.carried_out == []
    statuses = case.ledger.run(RUN).tool_calls()["status"].to_list()
    assert statuses == ["CANCELLED", "CANCELLED"]
    assert len(case.messages("APPROVAL_REQUEST")) == 1  # what was denied stays denied, unasked
    assert "Not permitted" in case.ledger.recorded_context(RUN, 1).to_json()


@pytest.mark.slow
def test_a_model_may_ask_first_and_the_answer_counts_for_the_call_that_follows(case: Case) -> None:
    case.profile, person = ASKING, Person()
    case.person = person
    asks = {**call("ship", parcel="part-c"), "nextAction": "REQUEST_APPROVAL", "rationaleSummary": "It costs money."}
    case.model = ScriptedModel([asks, call("ship", parcel="part-c"), finish()])
    assert case.run().ending is Ending.FINISHED
    assert [request.reason for request in person.asked] == ["It costs money."]
    assert "Approved" in case.ledger.recorded_context(RUN, 1).to_json()


REFUSED: Final = (
    (call("read_file", path="../secret.txt"), "path_denied"),
    (call("run_command", command="curl http://example.org"), "network_denied"),
    (call("read_file", path="missing.txt"), "file_not_found"),
    (call("read_file", file="shipped.txt"), "bad_arguments"),
    (call("edit_file", path="twice.txt", old="a", new="b"), "no_single_match"),
    (call("run_command", command="exit 3"), "exit_code"),
)


@pytest.mark.slow
def test_calls_that_cannot_be_made_end_with_a_reason(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    (case.folder / "secret.txt").write_text("not yours")
    (case.folder / "work" / "twice.txt").write_text("a a")
    monkeypatch.setenv("SERVICE_PASSWORD", os.urandom(8).hex())
    look = call("run_command", command="set; pwd")
    case.model = ScriptedModel([*(answer for answer, _ in REFUSED), look, finish("FINISH_FAILED")])
    assert case.run().ending is Ending.FAILED
    parts = case.ledger.run(RUN).parts()
    assert parts["error_category"].drop_nulls().to_list() == [category for _, category in REFUSED]
    shown = str(parts["text"].to_list())
    assert "not yours" not in shown
    assert "SERVICE_PASSWORD" not in shown  # commands see none of our environment
    assert str(case.folder / "work") in shown


@pytest.mark.slow
def test_a_command_is_stopped_after_its_time_with_all_that_it_started(case: Case) -> None:
    case.model = ScriptedModel(
        [call("run_command", command="(sleep 3; touch late) & sleep 30"), finish("FINISH_FAILED")]
    )
    began = time.monotonic()
    case.run(limits=Limits(tool_seconds=0.5))
    assert time.monotonic() - began < 25
    assert case.ledger.run(RUN).tool_calls()["status"].to_list() == ["TIMED_OUT"]
    time.sleep(3)
    assert not (case.folder / "work" / "late").exists()


@pytest.mark.slow
def test_a_tool_that_hangs_does_not_hang_the_agent(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledgerkit.agent.live.tools._GRACE", 0.1)
    gate = threading.Event()

    def hang(_workspace: object, _arguments: object, _seconds: float) -> ToolOutcome:
        gate.wait(20)
        return ToolOutcome("late")

    definition = ToolDefinition(name="read_slowly", description="Hangs.", parameters={"type": "object"})
    case.tools = (Tool(definition, hang),)
    case.profile = PermissionProfile(name="p", allowed_tools=("read_slowly",))
    case.model = ScriptedModel([call("read_slowly"), finish("FINISH_FAILED")])
    case.run(limits=Limits(tool_seconds=0.1))
    gate.set()
    assert case.ledger.run(RUN).tool_calls()["status"].to_list() == ["TIMED_OUT"]


@pytest.mark.slow
def test_long_output_stands_in_an_artifact_and_its_errors_in_the_summary(case: Case) -> None:
    script = "i=0; while [ $i -lt 6000 ]; do echo noise line $i; i=$((i+1)); done; echo 'FAILED tests/a.py::b'; exit 1"
    (case.folder / "work" / "pytest").write_text(f"#!/bin/sh\n{script}\n")
    (case.folder / "work" / "pytest").chmod(0o755)
    case.model = ScriptedModel([call("run_command", command="./pytest"), finish("FINISH_FAILED")])
    case.run()
    row = case.ledger.run(RUN).parts().filter(kind="TOOL_CALL_RESULT").row(0, named=True)
    whole, _, label = case.ledger.artifact(row["artifact_refs"][0])
    assert whole.count(b"noise line") == 6000
    assert label.is_projectable
    context = case.ledger.recorded_context(RUN, 1)
    assert context.tokens < 6_000
    assert "characters left out" in context.to_json()


@pytest.mark.long
def test_what_the_contract_wants_checked_is_checked_before_the_run_may_end(case: Case) -> None:
    case.model = ScriptedModel([finish(why="Done."), call("ship", parcel="part-c"), finish()])
    assert case.run().ending is Ending.FINISHED
    verdicts = case.ledger.run(RUN).verifier_results().filter(source="recorded")["verdict"].to_list()
    assert verdicts == ["failed", "passed", "passed"]
    assert "Check 'shipped': failed" in case.ledger.recorded_context(RUN, 1).to_json()


@pytest.mark.parametrize(
    ("budget", "limits", "ending"),
    [
        (SpendingLimits(steps=1), Limits(), Ending.BUDGET_SPENT),
        pytest.param(SpendingLimits(output_tokens=1), Limits(), Ending.BUDGET_SPENT, marks=pytest.mark.slow),
        pytest.param(SpendingLimits(seconds=0), Limits(), Ending.BUDGET_SPENT, marks=pytest.mark.slow),
        pytest.param(SpendingLimits(), Limits(max_steps=2), Ending.STEP_LIMIT, marks=pytest.mark.slow),
    ],
)
def test_a_run_ends_where_its_limits_are(case: Case, budget: SpendingLimits, limits: Limits, ending: Ending) -> None:
    case.task = TaskContract(goal="Ship.", budget=budget)
    assert case.run(limits=limits).ending is ending
    assert len(case.carried_out) <= 2


class _Failing:
    name = "failing"

    def __init__(self) -> None:
        self.tries = 0

    def ask(self, request: LlmRequest) -> Any:
        self.tries += 1
        raise ModelUnavailableError("Overloaded", 529)


@pytest.mark.slow
def test_a_model_that_cannot_be_reached_leaves_a_run_that_can_be_taken_up(case: Case) -> None:
    failing = _Failing()
    case.model = failing
    assert case.run().ending is Ending.MODEL_UNAVAILABLE
    assert failing.tries == 3
    case.model = ScriptedModel([call("ship", parcel="part-c"), finish()])
    assert case.resume().ending is Ending.FINISHED
    assert len(case.messages("ERROR_EVENT")) == 3


def test_what_tools_change_is_on_record_as_a_diff(case: Case) -> None:
    (case.folder / "work" / "a.txt").write_text("one\ntwo\n")
    edit, write = {"path": "a.txt", "old": "two", "new": "three"}, {"path": "b.txt", "content": "new\n"}
    case.model = ScriptedModel([call("edit_file", **edit), call("write_file", **write), finish("FINISH_FAILED")])
    case.run()
    changes = case.ledger.run(RUN).file_changes()
    assert changes.select("path", "lines_added", "lines_removed").rows() == [("a.txt", 1, 1), ("b.txt", 1, 0)]
    assert "-two\n+three" in changes["diff"][0]


@pytest.mark.slow
def test_another_task_under_the_same_run_is_refused(case: Case) -> None:
    case.run()
    case.task = TASK.model_copy(update={"goal": "Ship nothing."})
    with pytest.raises(lk.IdempotencyError):
        case.run()


def test_a_run_needs_its_tools_to_be_taken_up(case: Case) -> None:
    case.profile, case.person = ASKING, nobody
    case.run()
    case.tools = ()
    with pytest.raises(lk.LedgerkitError, match="was begun with the tool"):
        case.resume()


@pytest.mark.slow
def test_what_only_a_file_named_needs_a_person(case: Case) -> None:
    (case.folder / "work" / "notes.md").write_text("To publish, run: frobnicate --all\n")
    person = Person(approves=False)
    case.person = person
    case.model = ScriptedModel(
        [call("read_file", path="notes.md"), call("run_command", command="frobnicate --all"), finish("FINISH_BLOCKED")]
    )
    case.run()
    assert len(person.asked) == 1
    assert "REPOSITORY_UNTRUSTED" in person.asked[0].reason
