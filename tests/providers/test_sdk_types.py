"""A second opinion: the types of the official packages, where they are installed (extra ``dev``).

They miss what the gate is for (orphans, empty texts, names), and their ``Iterable`` fields are validated only when
they are read, so everything is read before a verdict is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import TypeAdapter, ValidationError

from ledgerkit.protocol import names as p
from ledgerkit.providers import map_request, read_answer
from tests.providers import answers_given, drawn, made

pytestmark = pytest.mark.slow  # the packages take many seconds to load and to build their validators

RESPONSES, CHAT, ANTHROPIC, GEMINI, LOCAL = p.ProviderInterface


@cache
def opinion(interface: p.ProviderInterface) -> Callable[[dict[str, Any]], object]:
    """What validates a body; skips where the package is not installed."""
    if interface is GEMINI:
        return _gemini(pytest.importorskip("google.genai.types", reason="google-genai is not installed"))
    if interface is ANTHROPIC:
        types = pytest.importorskip("anthropic.types.message_create_params", reason="anthropic is not installed")
        return _validator(types.MessageCreateParamsNonStreaming)
    module = "responses.response_create_params" if interface is RESPONSES else "chat.completion_create_params"
    types = pytest.importorskip(f"openai.types.{module}", reason="openai is not installed")
    return _validator(
        types.ResponseCreateParamsNonStreaming if interface is RESPONSES else types.CompletionCreateParamsNonStreaming
    )


def _validator(shape: object) -> Callable[[dict[str, Any]], object]:
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, shape))
    return lambda body: read_all(adapter.validate_python(body))


def _gemini(types: Any) -> Callable[[dict[str, Any]], object]:
    def validate(body: dict[str, Any]) -> object:
        for content in body["contents"]:
            types.Content.model_validate(content)
        for tool in body.get("tools", ()):
            types.Tool.model_validate(tool)
        types.Content.model_validate(body.get("systemInstruction", {}))
        types.ToolConfig.model_validate(body.get("toolConfig", {}))
        return types.GenerationConfig.model_validate(body.get("generationConfig", {}))

    return validate


def read_all(value: Any) -> Any:
    """The value with every lazy iterable read, so that what is wrong inside shows."""
    if isinstance(value, dict):
        return {key: read_all(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, str | bytes) or not isinstance(value, list | tuple | Iterator):
        return value
    return [read_all(item) for item in cast("Iterator[Any]", value)]


@pytest.mark.parametrize("interface", p.ProviderInterface)
def test_a_request_with_everything_fits_the_types(interface: p.ProviderInterface) -> None:
    opinion(interface)(map_request(made.EVERYTHING, interface).body)


@pytest.mark.parametrize("interface", p.ProviderInterface)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(request=drawn.llm_requests())
def test_any_request_fits_the_types(interface: p.ProviderInterface, request: p.LlmRequest) -> None:
    opinion(interface)(map_request(request, interface).body)


@pytest.mark.parametrize(
    ("interface", "field", "spoilt"),
    [
        (RESPONSES, "input", {"type": "message", "role": "robot", "content": "a"}),
        (CHAT, "messages", {"role": "robot", "content": "a"}),
        (ANTHROPIC, "messages", {"role": "user", "content": [{"type": "tool_result"}]}),
        (GEMINI, "contents", {"role": "user", "parts": [{"said": "a"}]}),
        (LOCAL, "messages", {"role": "tool", "content": "a"}),
    ],
)
def test_the_types_do_refuse_what_is_wrong_deep_inside(
    interface: p.ProviderInterface, field: str, spoilt: dict[str, Any]
) -> None:
    validate = opinion(interface)
    body = map_request(made.EVERYTHING, interface).body
    items = cast("list[Any]", body[field])
    with pytest.raises(ValidationError):
        validate({**body, field: [*items, spoilt]})


@pytest.mark.parametrize("interface", [RESPONSES, CHAT, ANTHROPIC, GEMINI])
def test_the_answers_of_our_tests_are_answers_to_the_types_too(interface: p.ProviderInterface) -> None:
    module, name = {
        RESPONSES: ("openai.types.responses", "Response"),
        CHAT: ("openai.types.chat", "ChatCompletion"),
        ANTHROPIC: ("anthropic.types", "Message"),
        GEMINI: ("google.genai.types", "GenerateContentResponse"),
    }[interface]
    shape = getattr(pytest.importorskip(module, reason=f"{module} is not installed"), name)
    raw = answers_given.ANSWERS[interface]
    shape.model_validate(raw)
    assert read_answer(interface, raw).tool_calls
