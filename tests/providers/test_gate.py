"""Each rule of the gate refuses something that no other rule refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ledgerkit.errors import PayloadRefusedError, ProtocolError
from ledgerkit.protocol import names as p
from ledgerkit.protocol.capabilities import ProviderCapabilities
from ledgerkit.providers import Origin, ProviderPayload, RuleName, ToolAliases, alias_tools, check_payload, map_request
from tests.providers import made

RESPONSES, CHAT, ANTHROPIC, GEMINI, LOCAL = p.ProviderInterface
Body = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A sound payload, and what breaks it."""

    rule: RuleName
    interface: p.ProviderInterface
    spoil: Callable[[Body], object]
    beside: Callable[[ProviderPayload], ProviderPayload] = lambda payload: payload
    """What else is changed beside the body, for the rule to be the only one."""


def sound(interface: p.ProviderInterface) -> ProviderPayload:
    """A payload with instructions, texts, two exchanges, tools, a choice and an enforced schema."""
    request = made.request(
        made.said("user", "Fix it."),
        made.said("assistant", "I look.", made.call(path="a.py"), **_signature(interface)),
        made.gave(),
        made.said("assistant", made.call("c2", "write")),
        made.gave("c2"),
        made.said("assistant", "Done."),
        made.said("user", "Thanks."),
        instructions=(made.instruction("Be safe."),),
        tools=(made.READ, made.WRITE),
        response_contract=p.ResponseContract(name="answer", answer_schema={"type": "object", "properties": {"a": {}}}),
        options={"tool_choice": {"mode": "required", "allowed": ("write",)}, "stop_sequences": ("END",)},
    )
    capabilities = p.PROVIDERS[interface]
    if interface is LOCAL:
        enforcing = {"structured_output": True, "sources": capabilities.sources | {"structured_output": "test"}}
        capabilities = capabilities.model_copy(update=enforcing)
    return map_request(request, interface, capabilities=capabilities)


def _signature(interface: p.ProviderInterface) -> Body:
    return {"gemini": [{"at": 1, "item": {"thoughtSignature": "s"}}]} if interface is GEMINI else {}


def put(*keys: str | int, value: Any) -> Callable[[Body], object]:
    """Sets one thing in a body."""

    def spoil(body: Body) -> None:
        at: Any = body
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    return spoil


def cut(*keys: str | int) -> Callable[[Body], object]:
    """Takes one thing out of a body."""

    def spoil(body: Body) -> None:
        at: Any = body
        for key in keys[:-1]:
            at = at[key]
        del at[keys[-1]]

    return spoil


def swap(field: str, first: int, second: int) -> Callable[[Body], object]:
    """Exchanges two messages."""

    def spoil(body: Body) -> None:
        items = body[field]
        items[first], items[second] = items[second], items[first]

    return spoil


def all_of(*spoils: Callable[[Body], object]) -> Callable[[Body], object]:
    """One thing after another."""

    def spoil(body: Body) -> None:
        for one in spoils:
            one(body)

    return spoil


def nested(levels: int) -> Body:
    """A schema of so many levels."""
    schema: Body = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def whose(path: str, trust: p.TrustLevel, words: str) -> Callable[[ProviderPayload], ProviderPayload]:
    """Says who says the text at a path."""

    def change(payload: ProviderPayload) -> ProviderPayload:
        others = tuple(one for one in payload.origins if one.path != path)
        return replace(payload, origins=(*others, Origin(path, trust, None, 0, len(words))))

    return change


def able(**capabilities: Any) -> Callable[[ProviderPayload], ProviderPayload]:
    """Changes what the interface can do."""
    return lambda payload: replace(payload, capabilities=payload.capabilities.model_copy(update=capabilities))


def spare(alias: str) -> Callable[[ProviderPayload], ProviderPayload]:
    """Adds an alias to the table."""
    return lambda payload: replace(payload, aliases=ToolAliases((*payload.aliases.pairs, ("spare", alias))))


def repeat(field: str, at: int, value: Any = None) -> Callable[[Body], object]:
    """Puts a copy of an item, or something else, before the item after it."""
    return lambda body: body[field].insert(at + 1, copy.deepcopy(body[field][at] if value is None else value))


CALL: Body = {"type": "function_call", "call_id": "c1", "name": "repo_read", "arguments": "{}"}
GAVE: Body = {"type": "function_call_output", "call_id": "c1", "output": "again"}
SAID: Body = {"type": "message", "role": "user", "content": "Wait."}
BOTH: Body = {"functionCall": {"name": "write", "args": {}, "id": "c9"}}
SCHEMA = ("generationConfig", "responseJsonSchema", "properties")
CASES = [
    Case(RuleName.NOT_JSON, CHAT, put("messages", 1, "content", value="lone \ud800")),
    Case(RuleName.REQUIRED_KEY, ANTHROPIC, cut("max_tokens")),
    Case(RuleName.REQUIRED_KEY, RESPONSES, cut("input", 3, "call_id")),
    Case(RuleName.UNKNOWN_KEY, CHAT, put("messages", 1, "cache_control", value={})),
    Case(RuleName.UNKNOWN_KEY, GEMINI, put("contents", 0, "name", value="user")),
    Case(RuleName.WRONG_TYPE, RESPONSES, put("store", value=0)),
    Case(RuleName.WRONG_TYPE, CHAT, put("messages", 3, "content", value=[{"type": "text", "text": "a"}])),
    Case(RuleName.UNKNOWN_VALUE, ANTHROPIC, put("messages", 0, "role", value="system")),
    Case(RuleName.UNKNOWN_VALUE, GEMINI, put("contents", 1, "role", value="assistant")),
    Case(RuleName.UNKNOWN_VALUE, CHAT, put("tool_choice", value="write")),
    Case(RuleName.EMPTY_LIST, ANTHROPIC, put("messages", 0, "content", value=[])),
    Case(RuleName.EMPTY_LIST, CHAT, put("tool_choice", "allowed_tools", "tools", value=[])),
    Case(RuleName.ONE_FIELD, GEMINI, put("contents", 0, "parts", 0, value={"text": "a", **BOTH})),
    Case(RuleName.ONE_FIELD, GEMINI, put("contents", 0, "parts", 0, value={})),
    Case(RuleName.ARGUMENTS_FORM, CHAT, put("messages", 2, "tool_calls", 0, "function", "arguments", value={})),
    Case(RuleName.ARGUMENTS_FORM, RESPONSES, put("input", 2, "arguments", value="[]")),
    Case(RuleName.ARGUMENTS_FORM, ANTHROPIC, put("messages", 1, "content", 1, "input", value="{}")),
    Case(RuleName.CALL_WITHOUT_RESULT, RESPONSES, cut("input", 3)),
    Case(
        RuleName.CALL_WITHOUT_RESULT, ANTHROPIC, put("messages", 4, "content", 0, value={"type": "text", "text": "a"})
    ),
    Case(RuleName.CALL_WITHOUT_RESULT, GEMINI, put("contents", 4, "parts", 0, value={"text": "a"})),
    Case(RuleName.CALL_WITHOUT_RESULT, CHAT, cut("messages", 3)),
    Case(RuleName.RESULT_WITHOUT_CALL, RESPONSES, put("input", 0, value={**GAVE, "call_id": "c0"})),
    Case(
        RuleName.RESULT_WITHOUT_CALL,
        CHAT,
        repeat("messages", 1, {"role": "tool", "tool_call_id": "c0", "content": "a"}),
    ),
    Case(RuleName.NOT_ADJACENT, RESPONSES, repeat("input", 2, SAID)),
    Case(RuleName.NOT_ADJACENT, CHAT, repeat("messages", 2, {"role": "user", "content": "Wait."})),
    Case(
        RuleName.NOT_ADJACENT,
        ANTHROPIC,
        lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "first"}),
    ),
    Case(RuleName.DUPLICATE_CALL_ID, RESPONSES, repeat("input", 2, CALL)),
    Case(RuleName.DUPLICATE_RESULT, RESPONSES, repeat("input", 3, GAVE)),
    Case(
        RuleName.DUPLICATE_RESULT,
        ANTHROPIC,
        lambda body: body["messages"][2]["content"].append(copy.deepcopy(body["messages"][2]["content"][0])),
    ),
    Case(RuleName.RESULT_NAME, GEMINI, put("contents", 2, "parts", 0, "functionResponse", "name", value="write")),
    Case(
        RuleName.ONE_CALL_PER_MESSAGE,
        LOCAL,
        all_of(
            lambda body: body["messages"][2]["tool_calls"].append({**body["messages"][4]["tool_calls"][0], "id": "c9"}),
            repeat("messages", 3, {"role": "tool", "tool_call_id": "c9", "content": "a"}),
        ),
    ),
    Case(
        RuleName.CALL_ID_FORM,
        RESPONSES,
        all_of(put("input", 2, "call_id", value="c|1"), put("input", 3, "call_id", value="c|1")),
    ),
    Case(RuleName.ITEM_ID_FORM, RESPONSES, put("input", 2, "id", value="call_1")),
    Case(
        RuleName.REASONING_ALONE,
        RESPONSES,
        lambda body: body["input"].append({"type": "reasoning", "id": "rs_1", "summary": []}),
    ),
    Case(
        RuleName.REASONING_ALONE,
        ANTHROPIC,
        lambda body: body["messages"][5]["content"].append({"type": "redacted_thinking", "data": "d"}),
    ),
    Case(
        RuleName.SIGNATURE_FIRST,
        GEMINI,
        all_of(
            lambda body: body["contents"][3]["parts"].append(
                {"functionCall": {"name": "write", "args": {}, "id": "c9"}, "thoughtSignature": "s"}
            ),
            lambda body: body["contents"][4]["parts"].append(
                {"functionResponse": {"name": "write", "response": {"output": "a"}, "id": "c9"}}
            ),
        ),
    ),
    Case(RuleName.SAYS_NOTHING, CHAT, repeat("messages", 5, {"role": "assistant"})),
    Case(RuleName.EMPTY_TEXT, ANTHROPIC, put("messages", 0, "content", 0, "text", value=" \n")),
    Case(RuleName.EMPTY_TEXT, GEMINI, put("contents", 0, "parts", 0, "text", value="")),
    Case(RuleName.EMPTY_TEXT, LOCAL, put("messages", 3, "content", value="")),
    Case(RuleName.BEGINS_WITH_USER, ANTHROPIC, cut("messages", 0)),
    Case(RuleName.BEGINS_WITH_USER, GEMINI, cut("contents", 0)),
    Case(RuleName.BEGINS_WITH_USER, LOCAL, cut("messages", 1)),
    Case(RuleName.ENDS_WITH_USER, ANTHROPIC, cut("messages", -1)),
    Case(RuleName.ENDS_WITH_USER, GEMINI, cut("contents", -1)),
    Case(RuleName.ENDS_WITH_USER, LOCAL, cut("messages", -1)),
    Case(RuleName.ROLES_ALTERNATE, ANTHROPIC, repeat("messages", 0)),
    Case(RuleName.ROLES_ALTERNATE, GEMINI, repeat("contents", 0)),
    Case(RuleName.ROLES_ALTERNATE, LOCAL, repeat("messages", 1)),
    Case(RuleName.ROLES_ALTERNATE, LOCAL, repeat("messages", 5, {"role": "user", "content": "Wait."})),
    Case(
        RuleName.INSTRUCTION_PLACE,
        LOCAL,
        swap("messages", 0, 1),
        whose("messages[1].content", p.TrustLevel.PLATFORM_TRUSTED, "Be safe."),
    ),
    Case(
        RuleName.INSTRUCTION_ROLES,
        CHAT,
        put("messages", 0, "role", value="developer"),
        able(roles=tuple(role for role in p.LlmRole if role is not p.LlmRole.DEVELOPER)),
    ),
    Case(
        RuleName.INSTRUCTION_ROLES,
        CHAT,
        lambda body: body["messages"].insert(1, {"role": "system", "content": "Be safe."}),
        whose("messages[1].content", p.TrustLevel.ORG_TRUSTED, "Be safe."),
    ),
    Case(RuleName.INSTRUCTION_TRUST, ANTHROPIC, lambda body: body["system"].append({"type": "text", "text": "Obey."})),
    Case(RuleName.INSTRUCTION_TRUST, RESPONSES, put("instructions", value="Be safe.\n\nObey.")),
    Case(RuleName.INSTRUCTION_TRUST, GEMINI, put("systemInstruction", "parts", 0, "text", value="Be safe. Obey.")),
    Case(
        RuleName.INSTRUCTION_TRUST,
        CHAT,
        put("messages", 1, "role", value="developer"),
        whose("messages[1].content", made.MODEL, "Fix it."),
    ),
    Case(RuleName.TOOL_NAME_FORM, RESPONSES, put("tools", 0, "name", value="repo.read"), spare("repo.read")),
    Case(RuleName.UNALIASED_NAME, CHAT, put("messages", 2, "tool_calls", 0, "function", "name", value="other")),
    Case(RuleName.DUPLICATE_TOOL, ANTHROPIC, repeat("tools", 0)),
    Case(RuleName.TOOLS_MISSING, ANTHROPIC, all_of(cut("tools"), cut("tool_choice"))),
    Case(RuleName.TOOLS_NOT_SUPPORTED, CHAT, lambda _: None, able(tool_use=False)),
    Case(RuleName.TOOL_SCHEMA, RESPONSES, put("tools", 0, "parameters", "anyOf", value=[])),
    Case(RuleName.TOOL_SCHEMA, ANTHROPIC, put("tools", 0, "input_schema", "type", value="string")),
    Case(RuleName.CHOICE_WITHOUT_TOOLS, CHAT, cut("tools")),
    Case(RuleName.CHOICE_WITHOUT_TOOLS, GEMINI, cut("tools")),
    Case(RuleName.UNDECLARED_CHOICE, CHAT, cut("tools", 1)),
    Case(RuleName.UNDECLARED_CHOICE, RESPONSES, cut("tools", 1)),
    Case(RuleName.UNDECLARED_CHOICE, ANTHROPIC, cut("tools", 1)),
    Case(RuleName.UNDECLARED_CHOICE, GEMINI, cut("tools", 0, "functionDeclarations", 1)),
    Case(RuleName.UNDECLARED_CHOICE, LOCAL, cut("tools", 1)),
    Case(RuleName.ALLOWED_NAMES_MODE, GEMINI, put("toolConfig", "functionCallingConfig", "mode", value="AUTO")),
    Case(RuleName.CACHE_MARKS, ANTHROPIC, lambda body: [_mark(message["content"][0]) for message in body["messages"]]),
    Case(
        RuleName.SCHEMA_SUBSET,
        CHAT,
        put("response_format", "json_schema", "schema", "properties", "a", "minLength", value=1),
    ),
    Case(RuleName.SCHEMA_SUBSET, ANTHROPIC, cut("output_config", "format", "schema", "additionalProperties")),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put("generationConfig", "responseJsonSchema", "required", value=[])),
    Case(
        RuleName.SCHEMA_SUBSET,
        RESPONSES,
        put("text", "format", "schema", value={"type": "array", "items": {"type": "string"}}),
    ),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put(*SCHEMA, "a", value={"type": "array"})),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put(*SCHEMA, "a", value={"description": "anything"})),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put(*SCHEMA, "a", value=True)),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put(*SCHEMA, "a", value=nested(5))),
    Case(RuleName.SCHEMA_SUBSET, GEMINI, put(*SCHEMA, "a", value={"anyOf": [{"type": "string", "format": "date"}]})),
    Case(RuleName.OPTION_RANGE, CHAT, put("temperature", value=2.5)),
    Case(RuleName.TOO_MANY_MESSAGES, ANTHROPIC, lambda body: body["messages"].extend(body["messages"][5:] * 50_000)),
    Case(RuleName.OPTION_RANGE, GEMINI, put("generationConfig", "stopSequences", value=["a"] * 6)),
    Case(RuleName.OPTION_RANGE, ANTHROPIC, put("max_tokens", value=0)),
]


def _mark(block: Body) -> None:
    block["cache_control"] = {"type": "ephemeral"}


def spoilt(case: Case) -> ProviderPayload:
    payload = sound(case.interface)
    assert check_payload(payload) == ()
    body = copy.deepcopy(payload.body)
    case.spoil(body)
    return case.beside(replace(payload, body=body))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule.value}-{case.interface.value}")
def test_a_payload_that_breaks_one_rule_is_refused_by_that_rule_alone(case: Case) -> None:
    violations = check_payload(spoilt(case))
    assert {violation.rule for violation in violations} == {case.rule}
    assert all(violation.sentence.endswith(".") for violation in violations)


def test_every_rule_has_a_payload_that_only_it_refuses() -> None:
    assert {case.rule for case in CASES} == set(RuleName)


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_a_sound_payload_passes(interface: p.ProviderInterface) -> None:
    assert check_payload(sound(interface)) == ()


def test_a_violation_says_where_and_what() -> None:
    body: Body = {"model": "m", "messages": [{"role": "tool", "tool_call_id": "c", "content": "4"}]}
    (found,) = check_payload(ProviderPayload(CHAT, "m", body, p.PROVIDERS[CHAT]))
    assert (found.path, found.sentence) == ("messages[0].content", "No call stands before this result.")


def test_a_request_that_no_mapping_can_mend_is_an_error_that_names_the_place() -> None:
    too_many = made.request(made.said("user", "a"), options={"max_output_tokens": 2**40})
    with pytest.raises(
        PayloadRefusedError, match=r"Not a request for openai_chat. max_completion_tokens: From 1"
    ) as caught:
        map_request(too_many, CHAT)
    assert isinstance(caught.value, ProtocolError)
    assert caught.value.violations[0][0] == "max_completion_tokens"


def test_an_unknown_interface_is_named_with_the_nearest_one() -> None:
    with pytest.raises(ProtocolError, match="Did you mean 'anthropic'"):
        map_request(made.EVERYTHING, "antropic")


def test_capabilities_of_another_interface_are_refused() -> None:
    with pytest.raises(ProtocolError, match="Give its own"):
        map_request(made.EVERYTHING, CHAT, capabilities=p.PROVIDERS[GEMINI])


def test_instructions_of_mixed_origin_are_checked_to_the_last_character() -> None:
    request = made.request(made.said("user", "a"), instructions=(made.instruction("Be safe."), made.instruction("Be.")))
    payload = map_request(request, RESPONSES)
    assert payload.body["instructions"] == "Be safe.\n\nBe."
    first, second, *others = payload.origins
    for origins in ((first, *others), (second, *others), (first, replace(second, end=12), *others)):
        assert [one.rule for one in check_payload(replace(payload, origins=origins))] == [RuleName.INSTRUCTION_TRUST]


def test_gemini_pairs_calls_without_ids_by_name_and_order() -> None:
    payload = sound(GEMINI)
    body = copy.deepcopy(payload.body)
    contents: Any = body["contents"]
    for at, key in ((1, "functionCall"), (2, "functionResponse"), (3, "functionCall"), (4, "functionResponse")):
        for part in contents[at]["parts"]:
            part.get(key, {}).pop("id", None)
    assert check_payload(replace(payload, body=body)) == ()
    contents[4]["parts"][0]["functionResponse"]["name"] = "repo_read"
    rules = {one.rule for one in check_payload(replace(payload, body=body))}
    assert RuleName.CALL_WITHOUT_RESULT in rules


def test_a_table_that_names_an_alias_twice_is_refused() -> None:
    with pytest.raises(ProtocolError, match="names something twice"):
        ToolAliases((("a", "x"), ("b", "x")))
    assert alias_tools(["a"]).pairs == (("a", "a"),)


def unsourced(capabilities: ProviderCapabilities) -> set[str]:
    return {name for name in capabilities.sources if getattr(capabilities, name) is None}


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_capabilities_are_those_of_the_protocol_unless_given(interface: p.ProviderInterface) -> None:
    assert map_request(made.EVERYTHING, interface).capabilities is p.PROVIDERS[interface]
    assert unsourced(p.PROVIDERS[interface]) == set()
