"""The next action is read from fields; free text drives nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from ledgerkit.providers import (
    ActionRefusal,
    Answer,
    RefusalReason,
    alias_tools,
    contract_value,
    next_action,
    read_answer,
)
from tests.protocol import strategies
from tests.providers.answers_given import ANSWERS

ALIASES = alias_tools(["repo.read"])
CALL = {"nextAction": "CALL_TOOL", "rationaleSummary": "r", "toolName": "repo_read", "toolArguments": {"path": "a.py"}}


def said(text: str | None, *calls: tuple[str, str], stop: str = "stop", **more: Any) -> Answer:
    asked = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"content": text, "tool_calls": asked} | more
    return read_answer("local", {"choices": [{"message": message, "finish_reason": stop}]}, aliases=ALIASES)


def refused(answer: Answer) -> ActionRefusal:
    action = next_action(answer)
    assert isinstance(action, ActionRefusal)
    return action


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CALL),
        json.dumps(CALL | {"toolArguments": json.dumps(CALL["toolArguments"])}),
        f"  {json.dumps(CALL)}\n",
        f"```json\n{json.dumps(CALL)}\n```",
        f"```\n{json.dumps(CALL, indent=2)}\n```",
    ],
)
def test_one_json_object_of_the_contract_is_an_action(text: str) -> None:
    action = next_action(said(text))
    assert action == p.NextActionResponse(
        next_action=p.NextAction.CALL_TOOL,
        rationale_summary="r",
        tool_name="repo.read",
        tool_arguments={"path": "a.py"},
    )


def test_one_native_call_is_an_action() -> None:
    action = next_action(said("I look.", ("repo_read", '{"path": "a.py"}')))
    assert action == p.NextActionResponse(
        next_action=p.NextAction.CALL_TOOL,
        rationale_summary="I look.",
        tool_name="repo.read",
        tool_arguments={"path": "a.py"},
    )


def test_null_is_as_good_as_absent() -> None:
    text = '{"nextAction": "FINISH_BLOCKED", "rationaleSummary": "r", "toolName": null, "toolArguments": null}'
    action = next_action(said(text))
    assert isinstance(action, p.NextActionResponse)
    assert action.next_action is p.NextAction.FINISH_BLOCKED


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (said("I will now call repo_read on a.py."), RefusalReason.MALFORMED),
        (said(f"Here it is: {json.dumps(CALL)}"), RefusalReason.MALFORMED),
        (said(f"{json.dumps(CALL)} {json.dumps(CALL)}"), RefusalReason.MALFORMED),
        (said(f"```json\n{json.dumps(CALL)}\n```\n```json\n{json.dumps(CALL)}\n```"), RefusalReason.MALFORMED),
        (said(json.dumps([CALL])), RefusalReason.MALFORMED),
        (said('{"nextAction": "FINISH_BLOCKED", "nextAction": "CALL_TOOL"}'), RefusalReason.MALFORMED),
        (said(json.dumps(CALL | {"nextAction": "CALL_TOOLS"})), RefusalReason.MALFORMED),
        (said(json.dumps(CALL | {"toolArguments": "not JSON"})), RefusalReason.MALFORMED),
        (said(json.dumps(CALL | {"toolArguments": "[1]"})), RefusalReason.MALFORMED),
        (said(json.dumps(CALL | {"toolName": None})), RefusalReason.MALFORMED),
        (said(json.dumps(CALL | {"more": 1})), RefusalReason.MALFORMED),
        (said(None), RefusalReason.EMPTY),
        (said(""), RefusalReason.EMPTY),
        (said(json.dumps(CALL)[:40], stop="length"), RefusalReason.CUT_OFF),
        (said(None, ("repo_read", '{"path": '), stop="length"), RefusalReason.CUT_OFF),
        (said(None, ("repo_read", '{"path": ')), RefusalReason.BROKEN_ARGUMENTS),
        (said(None, ("repo_read", "{}"), ("repo_read", "{}")), RefusalReason.SEVERAL_CALLS),
        (said(json.dumps(CALL), ("repo_read", "{}")), RefusalReason.TWO_ACTIONS),
        (said(None, refusal="I cannot."), RefusalReason.DECLINED),
        (said("half", stop="content_filter"), RefusalReason.DECLINED),
    ],
)
def test_anything_else_is_refused_with_a_hint_in_our_own_words(answer: Answer, reason: RefusalReason) -> None:
    refusal = refused(answer)
    assert refusal.reason is reason
    assert refusal.problem
    part = refusal.part()
    assert (part.text, part.error_category) == (refusal.retry_hint, reason.value)
    assert part.data == {"problem": refusal.problem, "retry_hint": refusal.retry_hint}
    assert part.trust_level is p.TrustLevel.MODEL_GENERATED


def test_every_refusal_has_a_hint() -> None:
    assert all(ActionRefusal(reason, "x").retry_hint.endswith(".") for reason in RefusalReason)


@pytest.mark.parametrize("answer", [said(json.dumps(CALL)), said(None, ("repo_read", "{}"))])
def test_a_tool_that_may_not_be_called_at_this_step_is_refused(answer: Answer) -> None:
    action = next_action(answer, allowed=["write"])
    assert isinstance(action, ActionRefusal)
    assert (action.reason, action.problem) == (RefusalReason.TOOL_NOT_ALLOWED, "repo.read")
    assert isinstance(next_action(answer, allowed=["repo.read"]), p.NextActionResponse)


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_the_answers_of_all_interfaces_ask_for_the_same_action(interface: p.ProviderInterface) -> None:
    action = next_action(read_answer(interface, ANSWERS[interface], aliases=ALIASES))
    assert isinstance(action, p.NextActionResponse)
    assert (action.tool_name, action.tool_arguments) == ("repo.read", {"path": "a.py"})


@strategies.patient
@given(st.text())
def test_no_free_text_is_an_action(text: str) -> None:
    assert isinstance(next_action(said(text)), ActionRefusal)


@strategies.patient
@given(strategies.next_actions)
def test_every_action_is_read_as_it_was_written_strictly_or_not(action: p.NextActionResponse) -> None:
    plain = json.loads(action.model_dump_json())
    arguments = plain["toolArguments"]
    strict = plain | {"toolArguments": None if arguments is None else json.dumps(arguments)}
    for written in (plain, strict):
        answer = read_answer("local", {"choices": [{"message": {"content": json.dumps(written)}}]})
        assert next_action(answer) == action


def test_the_value_of_another_contract_is_read_the_same_way() -> None:
    verdicts = p.ResponseContract(
        name="verdicts", answer_schema={"type": "array", "items": {"type": "string", "enum": ["pass", "fail"]}}
    )
    assert contract_value(said('{"answer": ["pass"]}'), verdicts) == ["pass"]
    for answer, problem in ((said(None), "holds no text"), (said("pass"), "not one JSON value")):
        with pytest.raises(ProtocolError, match=problem):
            contract_value(answer, verdicts)
