"""The five bodies that we send, as shapes: a key that is not here is not sent.

Sources: types of the openai (3.57.0), anthropic (2.15.0) and google-genai (3.6.1) packages; local servers as Chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ledgerkit.protocol.capabilities import ArgumentsForm, ProviderInterface
from ledgerkit.providers.gate.openai_bodies import CHAT, LOCAL, RESPONSES
from ledgerkit.providers.gate.shapes import (
    FLAG,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    Arguments,
    ListOf,
    OneOf,
    Record,
    Shape,
    Single,
    Tagged,
    of_type,
)

_JSON_OBJECT: Final = Arguments(ArgumentsForm.OBJECT)

# --- Anthropic Messages -----------------------------------------------------------------------------------------------

_MARK: Final[Mapping[str, Shape]] = {
    "cache_control": of_type("ephemeral", {}, {"ttl": OneOf(("5m", "1h"))}),
}
_ANTHROPIC_TEXT: Final = of_type("text", {"text": TEXT}, _MARK)
_USER_BLOCK: Final = Tagged(
    "type",
    {
        "text": _ANTHROPIC_TEXT,
        "tool_result": of_type("tool_result", {"tool_use_id": TEXT, "content": TEXT}, {"is_error": FLAG, **_MARK}),
    },
)
_ASSISTANT_BLOCK: Final = Tagged(
    "type",
    {
        "text": _ANTHROPIC_TEXT,
        "tool_use": of_type("tool_use", {"id": TEXT, "name": TEXT, "input": _JSON_OBJECT}, _MARK),
        "thinking": of_type("thinking", {"thinking": TEXT, "signature": TEXT}),
        "redacted_thinking": of_type("redacted_thinking", {"data": TEXT}),
    },
)
_ONE_AT_A_TIME: Final[Mapping[str, Shape]] = {"disable_parallel_tool_use": FLAG}
_ANTHROPIC: Final = Record(
    {
        "model": TEXT,
        "max_tokens": INTEGER,
        "messages": ListOf(
            Tagged(
                "role",
                {
                    "user": Record({"role": TEXT, "content": ListOf(_USER_BLOCK)}),
                    "assistant": Record({"role": TEXT, "content": ListOf(_ASSISTANT_BLOCK)}),
                },
            )
        ),
    },
    {
        "system": ListOf(Tagged("type", {"text": _ANTHROPIC_TEXT})),
        "tools": ListOf(Record({"name": TEXT, "input_schema": OBJECT}, {"description": TEXT, **_MARK})),
        "tool_choice": Tagged(
            "type",
            {
                "auto": of_type("auto", {}, _ONE_AT_A_TIME),
                "any": of_type("any", {}, _ONE_AT_A_TIME),
                "tool": of_type("tool", {"name": TEXT}, _ONE_AT_A_TIME),
                "none": of_type("none", {}),
            },
        ),
        "output_config": Record(
            {},
            {
                "effort": OneOf(("low", "medium", "high", "xhigh", "max")),
                "format": of_type("json_schema", {"schema": OBJECT}),
            },
        ),
        "stop_sequences": ListOf(TEXT),
    },
)

# --- Gemini -----------------------------------------------------------------------------------------------------------

_RESPONSE: Final = Single({"output": TEXT, "error": TEXT}, {})
_PART: Final = Single(
    {
        "text": TEXT,
        "functionCall": Record({"name": TEXT, "args": _JSON_OBJECT}, {"id": TEXT}),
        "functionResponse": Record({"name": TEXT, "response": _RESPONSE}, {"id": TEXT}),
    },
    {"thoughtSignature": TEXT},
)
_LEVEL: Final = OneOf(("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"))
_GEMINI: Final = Record(
    {"contents": ListOf(Record({"role": OneOf(("user", "model")), "parts": ListOf(_PART)}))},
    {
        "systemInstruction": Record({"parts": ListOf(Record({"text": TEXT}))}),
        "tools": ListOf(
            Record(
                {
                    "functionDeclarations": ListOf(
                        Record({"name": TEXT, "parametersJsonSchema": OBJECT}, {"description": TEXT})
                    )
                }
            )
        ),
        "toolConfig": Record(
            {
                "functionCallingConfig": Record(
                    {"mode": OneOf(("AUTO", "ANY", "NONE"))}, {"allowedFunctionNames": ListOf(TEXT)}
                )
            }
        ),
        "generationConfig": Record(
            {},
            {
                "maxOutputTokens": INTEGER,
                "temperature": NUMBER,
                "topP": NUMBER,
                "seed": INTEGER,
                "stopSequences": ListOf(TEXT),
                "responseMimeType": OneOf(("application/json",)),
                "responseJsonSchema": OBJECT,
                "thinkingConfig": Record({"thinkingLevel": _LEVEL}),
            },
        ),
    },
)

BODIES: Final[Mapping[ProviderInterface, Record]] = MappingProxyType(
    {
        ProviderInterface.OPENAI_RESPONSES: RESPONSES,
        ProviderInterface.OPENAI_CHAT: CHAT,
        ProviderInterface.ANTHROPIC: _ANTHROPIC,
        ProviderInterface.GEMINI: _GEMINI,
        ProviderInterface.LOCAL: LOCAL,
    }
)
"""Shape of a body, by interface."""
