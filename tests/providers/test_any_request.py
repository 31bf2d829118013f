"""Any request becomes a payload that the gate lets pass, without losing a word and without raising trust."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings

from ledgerkit.protocol import names as p
from ledgerkit.protocol import requests
from ledgerkit.providers import ProviderPayload, alias_tools, check_payload, map_request
from ledgerkit.providers.tools import tool_names
from tests.protocol import strategies
from tests.providers import drawn

INSTRUCTING = re.compile(r"instructions|system(Instruction)?\b")


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from strings(item)


def content_of(request: p.LlmRequest) -> Iterator[str]:
    for instruction in request.instructions:
        yield instruction.content
    for message in request.messages:
        for block in message.content:
            match block:
                case p.LlmTextBlock() | p.LlmToolResultBlock():
                    yield block.text
                case p.LlmDiffBlock():
                    yield block.text
                    yield block.path or ""
                case p.LlmArtifactReferenceBlock():
                    yield block.summary or ""
                case p.LlmJsonBlock():
                    yield json.dumps(block.data, ensure_ascii=False, separators=(",", ":"))
                case p.LlmToolCallBlock():
                    yield from strings(block.arguments)


def gives_the_same_valid_bytes(request: p.LlmRequest, payload: ProviderPayload) -> None:
    assert check_payload(payload) == ()
    again = map_request(p.LlmRequest.model_validate_json(request.model_dump_json()), payload.interface.value)
    assert again.to_json() == payload.to_json()
    assert json.loads(payload.to_json()) == payload.body


def no_word_is_lost(request: p.LlmRequest, payload: ProviderPayload) -> None:
    kept = [*strings(payload.body)]
    kept += [string for text in kept if text[:1] == "{" for string in _inside(text)]
    kept += [note.original for note in payload.notes if note.original is not None]
    for words in content_of(request):
        escaped = json.dumps(words, ensure_ascii=False)[1:-1]  # arguments within a text, where there are no tools
        assert any(words in one or escaped in one for one in kept), words


def _inside(text: str) -> Iterator[str]:
    try:
        yield from strings(json.loads(text))
    except ValueError:
        return


def every_call_is_answered_once_and_at_once(request: p.LlmRequest, payload: ProviderPayload) -> None:
    blocks = [block for message in request.messages for block in message.content]
    asked = Counter(block.tool_name for block in blocks if isinstance(block, p.LlmToolCallBlock))
    waiting: list[tuple[str, str]] = []
    seen: Counter[str] = Counter()
    for kind, identifier, name in _sequence(payload):
        if kind == "call":
            waiting.append((identifier, name))
            seen[payload.aliases.name_of(name)] += 1
        elif kind == "result":
            assert identifier == waiting.pop(0)[0]
        else:
            assert not waiting
    assert not waiting
    assert seen == asked


def _sequence(payload: ProviderPayload) -> Iterator[tuple[str, str, str]]:
    """Calls, results and texts of a body in order, read without the help of the gate."""
    body: dict[str, Any] = payload.body
    for item in body.get("input") or body.get("contents") or body["messages"]:
        if "parts" in item:
            yield from (_part(part) for part in item["parts"])
        elif payload.interface is p.ProviderInterface.ANTHROPIC:
            yield from (_block(block) for block in item["content"] if "thinking" not in block["type"])
        elif item.get("type") in ("function_call", "function_call_output"):
            yield "call" if "name" in item else "result", item["call_id"], item.get("name", "")
        elif item.get("role") == "tool":
            yield "result", item["tool_call_id"], ""
        elif item.get("type") != "reasoning":
            yield "text", "", ""
            for call in item.get("tool_calls", ()):
                yield "call", call["id"], call["function"]["name"]


def _block(block: dict[str, Any]) -> tuple[str, str, str]:
    kind = {"tool_use": "call", "tool_result": "result"}.get(block["type"], "text")
    return kind, block.get("id") or block.get("tool_use_id") or "", block.get("name", "")


def _part(part: dict[str, Any]) -> tuple[str, str, str]:
    if "text" in part:
        return "text", "", ""
    kind, value = ("call", part["functionCall"]) if "functionCall" in part else ("result", part["functionResponse"])
    return kind, value["id"], value["name"]


def what_may_only_inform_does_not_instruct(request: p.LlmRequest, payload: ProviderPayload) -> None:
    body: dict[str, Any] = payload.body
    for origin in payload.origins:
        if requests.may_instruct(origin.trust_level):
            continue
        assert not INSTRUCTING.match(origin.path)
        place = re.match(r"(messages|input|contents)\[(\d+)\]", origin.path)
        assert place is not None
        message = body[place[1]][int(place[2])]
        assert message.get("role") not in ("system", "developer")


def every_block_is_found_at_its_origin(_: p.LlmRequest, payload: ProviderPayload) -> None:
    for origin in payload.origins:
        value: Any = payload.body
        for key in re.findall(r"[A-Za-z_]+|\d+", origin.path):
            value = value[int(key) if key.isdigit() else key]
        assert isinstance(value, dict) if origin.end is None else value[origin.start : origin.end] is not None
        assert origin.end is None or 0 <= (origin.start or 0) <= origin.end <= len(value)


def aliases_are_reversible_and_stay(request: p.LlmRequest, payload: ProviderPayload) -> None:
    names = tool_names(request)
    table = payload.aliases
    for name in names:
        assert re.fullmatch(p.SAFE_TOOL_NAME, table.alias_of(name))
        assert table.name_of(table.alias_of(name)) == name
    assert alias_tools(reversed(names)) == table
    later = alias_tools([*names, "repo-search", "repo:search"], table)
    assert all(later.alias_of(name) == table.alias_of(name) for name in names)


CHECKS = (
    gives_the_same_valid_bytes,
    no_word_is_lost,
    every_call_is_answered_once_and_at_once,
    what_may_only_inform_does_not_instruct,
    every_block_is_found_at_its_origin,
    aliases_are_reversible_and_stay,
)


def check_everywhere(request: p.LlmRequest) -> None:
    for interface in p.ProviderInterface:
        payload = map_request(request, interface)
        for check in CHECKS:
            check(request, payload)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(request=drawn.llm_requests())
def test_any_request_becomes_a_payload_that_keeps_every_promise(request: p.LlmRequest) -> None:
    check_everywhere(request)


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(request=drawn.llm_requests(), changes=drawn.changes)
def test_whatever_an_interface_can_do_the_payload_fits_it(request: p.LlmRequest, changes: dict[str, Any]) -> None:
    for interface in p.ProviderInterface:
        capabilities = p.PROVIDERS[interface].model_copy(update=changes)
        payload = map_request(request, interface, capabilities=capabilities)
        no_word_is_lost(request, payload)
        what_may_only_inform_does_not_instruct(request, payload)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(request=drawn.llm_requests() | strategies.llm_requests)
def test_thousands_of_requests_keep_every_promise(request: p.LlmRequest) -> None:
    check_everywhere(request)
