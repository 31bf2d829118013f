"""Untrusted content has no way into an instruction position."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from tests.protocol import strategies

DATA = [trust for trust in p.TrustLevel if trust.rank > p.TrustLevel.USER_TRUSTED.rank]


@pytest.mark.parametrize("trust", DATA)
def test_an_instruction_that_may_only_inform_is_refused(trust: p.TrustLevel) -> None:
    with pytest.raises(ValidationError, match="may inform, not instruct"):
        p.LlmInstruction(priority=p.InstructionPriority.LOW, trust_level=trust, name="readme", content="a")


@pytest.mark.parametrize("role", [p.LlmRole.SYSTEM, p.LlmRole.DEVELOPER])
@pytest.mark.parametrize("trust", DATA)
def test_a_block_that_may_only_inform_is_refused_in_an_instructing_role(role: p.LlmRole, trust: p.TrustLevel) -> None:
    block = p.LlmTextBlock(text="a", trust_level=trust)
    with pytest.raises(ValidationError, match="may inform, not instruct"):
        p.LlmMessage(role=role, content=(block,))
    assert p.LlmMessage(role=p.LlmRole.USER, content=(block,)).content == (block,)


CALL = p.LlmToolCallBlock(tool_call_id="c", tool_name="t", arguments={}, trust_level=p.TrustLevel.MODEL_GENERATED)
RESULT = p.LlmToolResultBlock(
    tool_call_id="c", status=p.ToolStatus.SUCCEEDED, text="", trust_level=p.TrustLevel.TOOL_TRUSTED
)
TEXT = p.LlmTextBlock(text="a", trust_level=p.TrustLevel.USER_TRUSTED)


@pytest.mark.parametrize(
    ("role", "block"),
    [
        (p.LlmRole.USER, CALL),
        (p.LlmRole.TOOL, CALL),
        (p.LlmRole.USER, RESULT),
        (p.LlmRole.ASSISTANT, RESULT),
        (p.LlmRole.TOOL, TEXT),
    ],
)
def test_calls_are_the_assistants_and_results_the_tools(role: p.LlmRole, block: p.LlmContentBlock) -> None:
    with pytest.raises(ValidationError):
        p.LlmMessage(role=role, content=(block,))


def request(**fields: object) -> p.LlmRequest:
    return p.LlmRequest.model_validate({"request_id": "q", "model": "m"} | fields)


TOOL = p.ToolDefinition(name="read", description="", parameters={"type": "object"})


def test_a_tool_is_declared_once_and_only_declared_tools_are_allowed() -> None:
    with pytest.raises(ValidationError, match="declared more than once"):
        request(tools=(TOOL, TOOL))
    choice = p.LlmRequestOptions(tool_choice=p.ToolChoice(allowed=("write",)))
    with pytest.raises(ValidationError, match="allows what is not declared: write"):
        request(tools=(TOOL,), options=choice)


def test_a_tool_takes_an_object() -> None:
    with pytest.raises(ValidationError, match="at their root"):
        p.ToolDefinition(name="read", description="", parameters={"type": "array"})


@strategies.patient
@given(strategies.next_actions)
def test_a_next_action_keeps_the_schema_that_the_model_was_shown(action: p.NextActionResponse) -> None:
    schema: Any = Draft202012Validator(p.NEXT_ACTION_SCHEMA)
    schema.validate(json.loads(action.model_dump_json()))
    assert p.parse_next_action(action.model_dump_json()) == action


def test_the_example_of_the_specification_is_read() -> None:
    action = p.parse_next_action('{"nextAction": "CALL_TOOL", "rationaleSummary": "r", "toolName": "repo.search"}')
    assert action.next_action is p.NextAction.CALL_TOOL
    assert action.tool_name == "repo.search"


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ({"nextAction": "CALL_TOOLS", "rationaleSummary": "r"}, "Did you mean 'CALL_TOOL'"),
        ({"nextAction": "CALL_TOOL", "rationaleSummary": "r"}, "CALL_TOOL needs a toolName"),
        ({"nextAction": "FINISH_BLOCKED", "rationaleSummary": "r", "toolName": "t"}, "takes no tool"),
        ({"nextAction": "FINISH_BLOCKED"}, "rationaleSummary is missing"),
    ],
)
def test_an_answer_that_breaks_the_contract_is_refused(answer: dict[str, Any], hint: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        p.parse_next_action(answer)
    assert hint in str(caught.value)


def test_every_kind_has_a_role() -> None:
    assert set(p.ROLE_OF_KIND) == set(p.MessageKind)


@pytest.mark.parametrize(
    ("kind", "role", "fallback"),
    [
        ("SYSTEM_INSTRUCTION", "system", None),
        ("ORG_POLICY", "system", None),
        ("DEVELOPER_INSTRUCTION", "developer", "system"),
        ("REPOSITORY_INSTRUCTION", "user", None),
        ("USER_TASK", "user", None),
        ("AGENT_THOUGHT_SUMMARY", "assistant", None),
        ("ASSISTANT_RESPONSE", "assistant", None),
        ("TOOL_CALL_REQUEST", "assistant", None),
        ("TOOL_CALL_RESULT", "tool", "user"),
        ("FILE_OBSERVATION", "tool", "user"),
        ("DIFF_OBSERVATION", "tool", "user"),
        ("VERIFIER_RESULT", "tool", "user"),
        ("APPROVAL_DECISION", "developer", "system"),
    ],
)
def test_the_table_is_that_of_the_design(kind: str, role: str, fallback: str | None) -> None:
    row = p.ROLE_OF_KIND[p.MessageKind(kind)]
    assert (row.role, row.fallback) == (role, fallback)


def test_what_is_not_sent_unless_selected() -> None:
    waiting = {kind.value for kind, row in p.ROLE_OF_KIND.items() if row.only_if_selected}
    assert waiting == {"JUDGE_RESULT", "APPROVAL_REQUEST", "ERROR_EVENT"}


@strategies.patient
@given(
    st.sampled_from(p.MessageKind),
    st.sampled_from(p.TrustLevel),
    st.sampled_from([one.roles for one in p.PROVIDERS.values()]),
    st.booleans(),
)
def test_a_part_is_spoken_by_a_role_that_the_provider_has_and_that_it_may_use(
    kind: p.MessageKind, trust: p.TrustLevel, roles: tuple[p.LlmRole, ...], call_is_open: bool
) -> None:
    role = p.provider_role(kind, trust, roles, call_is_open=call_is_open)
    assert role in roles
    assert role is not p.LlmRole.TOOL or call_is_open
    if role in (p.LlmRole.SYSTEM, p.LlmRole.DEVELOPER):
        assert p.may_instruct(trust)
