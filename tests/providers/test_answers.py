"""Answers of all interfaces, read into the same fields."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import names as p
from ledgerkit.providers import StopReason, alias_tools, check_payload, map_request, read_answer
from tests.protocol import strategies
from tests.providers import made
from tests.providers.answers_given import ANSWERS

RESPONSES, CHAT, ANTHROPIC, GEMINI, LOCAL = p.ProviderInterface
ALIASES = alias_tools(["repo.read"])


@pytest.mark.parametrize("interface", p.ProviderInterface)
@pytest.mark.parametrize("form", ["decoded", "text", "bytes"])
def test_the_same_answer_in_five_forms_is_the_same(interface: p.ProviderInterface, form: str) -> None:
    raw = ANSWERS[interface]
    written = json.dumps(raw)
    given_as: Any = {"decoded": raw, "text": written, "bytes": written.encode()}[form]
    answer = read_answer(interface.value, given_as, aliases=ALIASES)
    assert answer.text == "I look."
    (call,) = answer.tool_calls
    assert (call.tool_call_id, call.tool_name, call.arguments) == ("call_1", "repo.read", {"path": "a.py"})
    assert answer.stop is StopReason.TOOL_CALLS
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (1200, 1000)
    assert (usage.output_tokens, usage.reasoning_tokens) == (80, 30)
    assert usage.cache_write_5m_tokens == (None if interface is GEMINI else 100)
    assert answer.call is not None
    assert answer.call.call_id is not None
    assert answer.call.model is not None
    assert (answer.refusal, answer.usage_problem) == (None, None)


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_an_answer_goes_back_into_the_next_request_with_what_the_provider_wants(
    interface: p.ProviderInterface,
) -> None:
    answer = read_answer(interface, ANSWERS[interface], aliases=ALIASES)
    spoken = answer.message()
    assert spoken is not None
    payload = map_request(
        made.request(made.said("user", "a"), spoken, made.gave("call_1"), tools=(made.READ,)), interface
    )
    assert check_payload(payload) == ()
    wanted = {
        RESPONSES: b'{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"},{"type":"message",'
        b'"role":"assistant","content":"I look.","phase":"commentary"}',
        ANTHROPIC: b'[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"I look."}',
        GEMINI: b'"args":{"path":"a.py"}},"thoughtSignature":"c2lnbmVk"}',
    }
    assert wanted.get(interface, b"I look.") in payload.to_json()
    assert not [note for note in payload.notes if note.kind.value == "metadata_left_out"]


@pytest.mark.parametrize(
    ("interface", "word", "stop"),
    [
        (CHAT, "length", StopReason.LENGTH),
        (CHAT, "content_filter", StopReason.FILTERED),
        (CHAT, "stop", StopReason.TOOL_CALLS),
        (CHAT, "something new", StopReason.UNKNOWN),
        (ANTHROPIC, "max_tokens", StopReason.LENGTH),
        (ANTHROPIC, "model_context_window_exceeded", StopReason.LENGTH),
        (ANTHROPIC, "pause_turn", StopReason.PAUSED),
        (ANTHROPIC, "refusal", StopReason.REFUSED),
        (GEMINI, "MAX_TOKENS", StopReason.LENGTH),
        (GEMINI, "SAFETY", StopReason.FILTERED),
        (GEMINI, "MALFORMED_FUNCTION_CALL", StopReason.FAILED),
        (GEMINI, None, StopReason.UNKNOWN),
    ],
)
def test_why_an_answer_ends(interface: p.ProviderInterface, word: str | None, stop: StopReason) -> None:
    raw = copy.deepcopy(ANSWERS[interface])
    if interface is CHAT:
        raw["choices"][0]["finish_reason"] = word
    elif interface is ANTHROPIC:
        raw["stop_reason"] = word
    else:
        raw["candidates"][0]["finishReason"] = word
    answer = read_answer(interface, raw)
    assert (answer.stop, answer.stop_word) == (stop, word)


def test_an_incomplete_response_says_why() -> None:
    raw = ANSWERS[RESPONSES] | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert read_answer(RESPONSES, raw).stop is StopReason.LENGTH


@pytest.mark.parametrize(
    ("interface", "raw"),
    [
        (CHAT, {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}),
        (
            RESPONSES,
            {
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}],
            },
        ),
        (ANTHROPIC, {"content": [], "stop_reason": "refusal", "stop_details": {"explanation": "No."}}),
    ],
)
def test_a_refusal_is_no_text(interface: p.ProviderInterface, raw: dict[str, Any]) -> None:
    answer = read_answer(interface, raw)
    assert (answer.refusal, answer.stop, answer.text) == ("No.", StopReason.REFUSED, "")
    assert answer.message() is None


def test_a_blocked_prompt_of_gemini_is_an_answer_without_words() -> None:
    answer = read_answer(GEMINI, {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (answer.stop, answer.stop_word, answer.blocks, answer.call) == (StopReason.FILTERED, "SAFETY", (), None)


@pytest.mark.parametrize(
    ("interface", "raw", "message"),
    [
        (CHAT, "{", "no JSON"),
        (CHAT, "[]", "no JSON object"),
        (CHAT, '{"choices": [], "choices": []}', "stands twice"),
        (CHAT, '{"choices": []}', r"choices\[0\].message is missing"),
        (CHAT, {"error": {"message": "overloaded\x1b[31m"}}, r"reports an error: 'overloaded\\x1b"),
        (RESPONSES, {"choices": []}, "output is missing"),
        (ANTHROPIC, {"content": "text"}, "content is missing"),
        (GEMINI, {"candidates": []}, r"candidates\[0\] is missing"),
        ("robot", {}, "Unknown interface 'robot'"),
    ],
)
def test_what_is_no_answer_is_an_error_that_says_what_is_wrong(interface: str, raw: Any, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        read_answer(interface, raw)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"path": ', "Arguments are no JSON: "),
        ("[1]", "Arguments are no JSON object."),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a": NaN}', "no number NaN"),
        ("[" * 5000 + "]" * 5000, "Arguments are no JSON"),
    ],
)
def test_arguments_that_cannot_be_read_stand_in_the_answer_with_the_reason(arguments: str, problem: str) -> None:
    raw = copy.deepcopy(ANSWERS[CHAT])
    raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    answer = read_answer(CHAT, raw)
    (call,) = answer.tool_calls
    assert problem in (call.problem or "")
    assert (call.arguments, call.written) == ({}, arguments)
    assert answer.usage.input_tokens == 1200
    spoken = answer.message()
    assert spoken is not None
    block = spoken.content[1]
    assert isinstance(block, p.LlmToolCallBlock)
    assert block.arguments == {"unreadable_arguments": arguments}


@pytest.mark.parametrize("arguments", ["", None, "{}", {}])
def test_a_call_without_arguments_has_none(arguments: object) -> None:
    raw = copy.deepcopy(ANSWERS[CHAT])
    raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    (call,) = read_answer(CHAT, raw).tool_calls
    assert (call.arguments, call.problem) == ({}, None)


def test_a_call_without_an_id_gets_one_of_its_own_and_always_the_same() -> None:
    raw = copy.deepcopy(ANSWERS[GEMINI])
    parts = raw["candidates"][0]["content"]["parts"]
    del parts[3]["functionCall"]["id"]
    parts.append(copy.deepcopy(parts[3]))
    first, second = read_answer(GEMINI, raw).tool_calls
    assert first.tool_call_id != second.tool_call_id
    assert read_answer(GEMINI, raw).tool_calls == (first, second)


def test_tokens_that_contradict_each_other_are_unknown_and_the_reason_is_kept() -> None:
    raw = copy.deepcopy(ANSWERS[CHAT])
    raw["usage"]["prompt_tokens_details"]["cached_tokens"] = 5000
    answer = read_answer(CHAT, raw)
    assert answer.usage == p.Usage()
    assert "more than the 1200 input tokens" in (answer.usage_problem or "")


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1200", None, 2**70])
def test_a_count_that_is_none_is_unknown(wrong: object) -> None:
    raw = copy.deepcopy(ANSWERS[CHAT])
    raw["usage"] = {"prompt_tokens": wrong, "completion_tokens": 7}
    assert read_answer(CHAT, raw).usage == p.Usage(output_tokens=7)


def test_cache_writes_of_anthropic_without_a_lifetime_are_of_the_usual_one() -> None:
    raw = copy.deepcopy(ANSWERS[ANTHROPIC])
    del raw["usage"]["cache_creation"]
    usage = read_answer(ANTHROPIC, raw).usage
    assert (usage.input_tokens, usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (1200, 100, None)


def test_lone_surrogates_of_an_answer_are_replaced() -> None:
    raw = '{"choices": [{"message": {"content": "cut \\ud83d"}, "finish_reason": "stop"}]}'
    assert read_answer(LOCAL, raw).text == "cut \ufffd"


def test_texts_between_which_reasoning_stood_stay_apart() -> None:
    thinking = {"type": "redacted_thinking", "data": "d"}
    raw = {
        "content": [{"type": "text", "text": "a"}, thinking, {"type": "text", "text": "b"}],
        "stop_reason": "end_turn",
    }
    answer = read_answer(ANTHROPIC, raw)
    assert answer.text == "a\n\nb"
    assert answer.carried == ((1, thinking),)


def test_reasoning_that_nothing_follows_does_not_go_back() -> None:
    raw = {"content": [{"type": "text", "text": "a"}, {"type": "redacted_thinking", "data": "d"}]}
    assert read_answer(ANTHROPIC, raw).carried == ()


@strategies.patient
@given(strategies.json_objects)
def test_anything_else_is_read_or_refused_with_a_protocol_error_and_no_other(raw: dict[str, Any]) -> None:
    for interface in p.ProviderInterface:
        for body in (
            raw,
            {"choices": [{"message": raw}]},
            {"output": [raw]},
            {"content": [raw]},
            {"candidates": [raw]},
        ):
            try:
                read_answer(interface, body)
            except ProtocolError:
                continue
