"""Each interface in its own form: shapes, choices, schemas, options, cached prefixes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ledgerkit.protocol import names as p
from ledgerkit.providers import STABLE_HEAD, alias_tools, map_request
from tests.conftest import ROOT
from tests.providers import made
from tests.providers.made import call, gave, kinds, mapped, said

MARK = {"type": "ephemeral"}
TASK = (said("user", "a"), said("assistant", call(path="a.py")), gave())


def test_responses() -> None:
    body: dict[str, Any] = map_request(made.EVERYTHING, "openai_responses").body
    assert body["instructions"] == "Be safe.\n\nBe brief."
    assert [item["type"] for item in body["input"]] == [
        *("message", "message", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "message"),
    ]
    assert body["input"][2] == {
        "type": "function_call",
        "call_id": "c1",
        "name": "repo_read",
        "arguments": '{"path":"a.py"}',
    }
    assert body["tools"][0]["strict"] is False
    assert body["tool_choice"] == {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "repo_read"}, {"type": "function", "name": "write"}],
    }
    assert body["text"]["format"]["strict"] is True
    assert body["text"]["format"]["name"] == "next_action"
    assert (body["store"], body["prompt_cache_key"], body["max_output_tokens"]) == (False, "run-1", 100)
    assert (body["reasoning"], body["include"]) == ({"effort": "low"}, ["reasoning.encrypted_content"])
    assert not body.keys() & {"seed", "stop"}


def test_chat() -> None:
    body: dict[str, Any] = map_request(made.EVERYTHING, "openai_chat").body
    assert [one["role"] for one in body["messages"]] == [
        *("developer", "developer", "user", "assistant", "tool", "tool", "user")
    ]
    assert body["messages"][3]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "repo_read", "arguments": '{"path":"a.py"}'},
    }
    assert body["tool_choice"]["allowed_tools"]["mode"] == "required"
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["max_completion_tokens"], body["seed"], body["stop"]) == (100, 7, ["END"])
    assert (body["reasoning_effort"], body["parallel_tool_calls"]) == ("low", False)


def test_anthropic() -> None:
    payload = map_request(made.EVERYTHING, "anthropic")
    body: dict[str, Any] = payload.body
    assert list(body)[:5] == ["model", "max_tokens", "tools", "tool_choice", "system"]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
        {"type": "text", "text": "Go on.", "cache_control": MARK},
    ]
    assert body["messages"][1]["content"][1]["input"] == {"path": "a.py"}
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert body["output_config"]["effort"] == "low"
    assert "choice_not_expressed" in kinds(payload)
    left_out = {note.where for note in payload.notes if note.kind.value == "option_left_out"}
    assert left_out == {"options.temperature", "options.top_p", "options.seed"}


def test_gemini() -> None:
    payload = map_request(made.EVERYTHING, "gemini")
    body: dict[str, Any] = payload.body
    assert payload.model == "m"
    assert "model" not in body
    assert body["contents"][2]["parts"] == [
        {"functionResponse": {"id": "c1", "name": "repo_read", "response": {"error": "one"}}},
        {"functionResponse": {"id": "c2", "name": "repo_read", "response": {"output": "two"}}},
        {"text": "Go on."},
    ]
    assert body["toolConfig"]["functionCallingConfig"] == {
        "mode": "ANY",
        "allowedFunctionNames": ["repo_read", "write"],
    }
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "LOW"}
    assert body["generationConfig"]["responseMimeType"] == "application/json"


def test_local() -> None:
    payload = map_request(made.EVERYTHING, "local")
    body: dict[str, Any] = payload.body
    assert body["messages"][0] == {"role": "system", "content": "Be safe.\n\nBe brief."}
    assert (body["max_tokens"], body["tool_choice"]) == (100, "required")
    assert not body.keys() & {"response_format", "reasoning_effort", "parallel_tool_calls", "prompt_cache_key"}
    assert {"contract_not_enforced", "choice_not_expressed"} <= set(kinds(payload))


CHOICES = [
    ("auto", None, None, None, None, None, None),
    ("auto", ("write",), "allowed", "allowed", None, None, None),
    ("auto", (), "none", "none", {"type": "none"}, "NONE", "none"),
    ("none", None, "none", "none", {"type": "none"}, "NONE", "none"),
    ("required", None, "required", "required", {"type": "any"}, "ANY", "required"),
    ("required", ("write",), "allowed", "allowed", {"type": "tool", "name": "write"}, "ANY", "named"),
    ("required", ("write", "run"), "allowed", "allowed", {"type": "any"}, "ANY", "required"),
]


@pytest.mark.parametrize(("mode", "allowed", "responses", "chat", "anthropic", "gemini", "local"), CHOICES)
def test_what_may_be_called_is_said_as_each_interface_can(
    mode: str,
    allowed: tuple[str, ...] | None,
    responses: object,
    chat: object,
    anthropic: object,
    gemini: object,
    local: object,
) -> None:
    request = made.request(
        *TASK, tools=(made.READ, made.WRITE, made.BARE), options={"tool_choice": {"mode": mode, "allowed": allowed}}
    )
    said_by: dict[str, object] = {}
    for interface in p.ProviderInterface:
        body: dict[str, Any] = map_request(request, interface).body
        choice = body.get("tool_choice")
        if interface is p.ProviderInterface.GEMINI:
            calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
            said_by["gemini"] = calling.get("mode")
            wanted = None if allowed is None or mode != "required" else list(allowed)
            assert calling.get("allowedFunctionNames") == wanted
        elif interface is p.ProviderInterface.ANTHROPIC or not isinstance(choice, dict):
            said_by[interface] = choice
        else:
            said_by[interface] = {"allowed_tools": "allowed", "function": "named"}[choice["type"]]
    assert said_by == {
        "openai_responses": responses,
        "openai_chat": chat,
        "anthropic": anthropic,
        "gemini": gemini,
        "local": local,
    }


@pytest.mark.parametrize("interface", ["anthropic", "gemini", "local"])
def test_a_choice_that_cannot_be_said_is_noted(interface: str) -> None:
    options = {"tool_choice": {"allowed": ("write",)}}
    payload = mapped(interface, *TASK, tools=(made.READ, made.WRITE), options=options)
    (note,) = [note for note in payload.notes if note.kind.value == "choice_not_expressed"]
    assert note.original == "write"
    tools: Any = payload.body["tools"]
    assert len(str(tools).split("repo_read")) == 2  # still declared


def test_called_tools_stay_declared_for_anthropic_and_cannot_be_called() -> None:
    payload = map_request(made.request(*TASK), "anthropic", cache_breakpoints=False)
    assert payload.body["tools"] == [
        {
            "name": "repo_read",
            "description": "Was called earlier. It is not available now.",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]
    assert payload.body["tool_choice"] == {"type": "none"}
    assert "synthesised_tool" in kinds(payload)


@pytest.mark.parametrize("interface", ["openai_responses", "openai_chat", "gemini", "local"])
def test_other_interfaces_need_no_declarations_of_called_tools(interface: str) -> None:
    assert "tools" not in mapped(interface, *TASK).body


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_a_choice_without_tools_is_noted_and_left_out(interface: p.ProviderInterface) -> None:
    payload = mapped(interface, said("user", "a"), options={"tool_choice": {"mode": "required"}})
    assert "choice_without_tools" in kinds(payload)
    assert not payload.body.keys() & {"tools", "tool_choice", "toolConfig"}


def test_a_tool_schema_has_a_plain_object_at_its_root() -> None:
    odd = p.ToolDefinition(
        name="odd", description="", parameters={"type": "object", "oneOf": [{}], "properties": 3, "required": "a"}
    )
    payload = mapped("openai_chat", said("user", "a"), tools=(odd,))
    body: dict[str, Any] = payload.body
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
    taken = [note.original for note in payload.notes]
    assert taken == ["oneOf: [{}]", "properties: 3", 'required: "a"']


def test_names_have_aliases_everywhere_and_keep_them() -> None:
    table = alias_tools(["repo.read", "repo_read", "mcp/read", "mcp.read", "x" * 70])
    assert table.alias_of("repo_read") == "repo_read"
    assert table.alias_of("repo.read").startswith("repo_read_")
    assert table.alias_of("mcp/read") != table.alias_of("mcp.read")
    payload = map_request(made.request(*TASK, tools=(made.READ,)), "openai_chat", aliases=table)
    assert payload.aliases == table
    body: dict[str, Any] = payload.body
    assert body["tools"][0]["function"]["name"] == table.alias_of("repo.read")
    assert body["messages"][1]["tool_calls"][0]["function"]["name"] == table.alias_of("repo.read")


def marked(payload_body: dict[str, Any]) -> list[str]:
    """Texts and ids of the blocks that carry a mark, in order."""
    blocks = [*payload_body.get("tools", ()), *payload_body.get("system", ())]
    blocks += [block for message in payload_body["messages"] for block in message["content"]]
    return [
        block.get("text", block.get("tool_use_id", block.get("name"))) for block in blocks if "cache_control" in block
    ]


def test_marks_stand_at_the_instructions_the_stable_head_and_the_last_message() -> None:
    messages = (
        said("user", "task"),
        said("user", "map", **{STABLE_HEAD: True}),
        said("user", "memory"),
        said("assistant", call()),
        gave(),
    )
    request = made.request(*messages, tools=(made.READ,), instructions=(made.instruction("Be safe."),))
    assert marked(map_request(request, "anthropic").body) == ["Be safe.", "map", "c1"]
    assert marked(map_request(request, "anthropic", cache_breakpoints=False).body) == []


def test_without_instructions_the_tools_end_the_first_prefix() -> None:
    assert marked(mapped("anthropic", said("user", "task"), tools=(made.READ,)).body) == [
        "repo.read".replace(".", "_"),
        "task",
    ]


def test_a_fourth_mark_stands_where_a_provider_would_not_look_back_to() -> None:
    many = [call(f"c{number}") for number in range(12)]
    messages = [said("user", "task"), said("assistant", call("c99")), gave("c99"), said("assistant", *many)]
    messages += [gave(f"c{number}") for number in range(12)]
    assert marked(mapped("anthropic", *messages, tools=(made.READ,)).body) == ["repo_read", "task", "c99", "c11"]


def test_the_capabilities_say_how_many_marks_there_may_be() -> None:
    capabilities = p.PROVIDERS[p.ProviderInterface.ANTHROPIC]
    (rule,) = capabilities.cache_rules
    two = capabilities.model_copy(update={"cache_rules": (rule.model_copy(update={"max_breakpoints": 1}),)})
    none = capabilities.model_copy(update={"cache_rules": ()})
    request = made.request(*TASK, tools=(made.READ,))
    assert marked(map_request(request, "anthropic", capabilities=two).body) == ["repo_read"]
    assert marked(map_request(request, "anthropic", capabilities=none).body) == []


def test_a_run_id_that_is_no_cache_key_is_hashed() -> None:
    trace = {"session_id": "s", "run_id": "a run, with words", "step": 0}
    payload = mapped("openai_chat", said("user", "a"), trace=trace)
    assert len(str(payload.body["prompt_cache_key"])) == 32
    assert kinds(payload) == ["cache_key_hashed"]


def test_options_that_an_interface_does_not_take_are_noted() -> None:
    options = {
        "temperature": 3.0,
        "seed": 2**40,
        "stop_sequences": ("a", " ", "b", "c", "d", "e"),
        "reasoning_effort": "vast",
    }
    payload = mapped("openai_chat", said("user", "a"), options=options)
    assert payload.body["stop"] == ["a", "b", "c", "d"]
    left_out = [(note.where, note.original) for note in payload.notes]
    assert left_out == [
        ("options.temperature", "3.0"),
        ("options.seed", str(2**40)),
        ("options.stop_sequences", '" "'),
        ("options.stop_sequences", '"e"'),
        ("options.reasoning_effort", '"vast"'),
    ]


def test_anthropic_gets_the_limit_that_it_requires() -> None:
    request = made.request(said("user", "a"))
    payload = map_request(request, "anthropic", default_output_tokens=77)
    assert payload.body["max_tokens"] == 77
    assert kinds(payload) == ["option_added"]


def test_a_contract_that_is_not_strict_is_passed_on_as_it_is() -> None:
    loose = p.ResponseContract(name="free form", answer_schema={"type": "object", "minProperties": 1}, is_strict=False)
    chat: dict[str, Any] = mapped("openai_chat", said("user", "a"), response_contract=loose).body
    assert chat["response_format"]["json_schema"] == {
        "name": "free_form",
        "schema": {"type": "object", "minProperties": 1},
        "strict": False,
    }
    anthropic: dict[str, Any] = mapped("anthropic", said("user", "a"), response_contract=loose).body
    assert anthropic["output_config"]["format"]["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("interface", "item", "expected"),
    [
        (
            "anthropic",
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            b'[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use"',
        ),
        (
            "openai_responses",
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            b'{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"function_call"',
        ),
        ("gemini", {"thoughtSignature": "c2ln"}, b'"args":{}},"thoughtSignature":"c2ln"}'),
    ],
)
def test_what_a_provider_wants_back_goes_back_to_it_and_to_no_other(
    interface: str, item: dict[str, Any], expected: bytes
) -> None:
    metadata: dict[str, Any] = {interface: [{"at": 0, "item": item}]}
    messages = (said("user", "a"), said("assistant", call(), **metadata), gave())
    for other in p.ProviderInterface:
        payload = mapped(other, *messages)
        assert (expected in payload.to_json()) is (other == interface)
        assert ("metadata_left_out" in kinds(payload)) is (other != interface)


@pytest.mark.parametrize("interface", ["anthropic", "openai_responses", "gemini"])
@pytest.mark.parametrize(
    "entry",
    [{"at": 0, "item": {"type": "text", "text": "obey"}}, {"at": 9, "item": {}}, {"item": {}}, "obey", None],
)
def test_what_is_not_in_the_form_of_something_to_give_back_is_left_out(interface: str, entry: Any) -> None:
    payload = mapped(interface, said("user", "a"), said("assistant", call(), **{interface: [entry]}), gave())
    assert "metadata_left_out" in kinds(payload)
    assert b"obey" not in payload.to_json()


def test_a_signature_that_only_a_later_call_has_is_left_out() -> None:
    metadata: dict[str, Any] = {"gemini": [{"at": 1, "item": {"thoughtSignature": "s"}}]}
    messages = (said("user", "a"), said("assistant", call("c1"), call("c2"), **metadata), gave("c1"), gave("c2"))
    payload = mapped("gemini", *messages)
    assert b"thoughtSignature" not in payload.to_json()
    assert {"metadata_left_out", "no_signature"} <= set(kinds(payload))


def test_the_bytes_are_the_same_in_another_process() -> None:
    program = (
        "import sys; from tests.providers.made import EVERYTHING; from ledgerkit.providers import map_request\n"
        "for name in sys.argv[1:]: print(map_request(EVERYTHING, name).to_json().decode())"
    )
    names = [interface.value for interface in p.ProviderInterface]
    done = subprocess.run(
        [sys.executable, "-c", program, *names],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    here = [map_request(made.EVERYTHING, name).to_json() for name in names]
    assert done.stdout.splitlines() == here
    assert all(json.loads(line) for line in here)


def test_counts_of_notes_are_by_kind() -> None:
    payload = mapped("openai_chat", said("user", "a"), said("assistant", call("c1")), said("assistant", call("c2")))
    assert {kind.value: count for kind, count in payload.note_counts().items()} == {
        "aliased_tool": 1,
        "merged_messages": 1,
        "synthesised_result": 2,
    }
