"""The bodies of OpenAI Responses, OpenAI Chat and local servers as shapes (types of the openai package, 3.57.0)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ledgerkit.protocol.capabilities import ArgumentsForm
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
    Tagged,
    TextOr,
    of_type,
)

_JSON_TEXT: Final = Arguments(ArgumentsForm.JSON_TEXT)
_FUNCTION: Final = OneOf(("function",))
_EFFORT: Final = OneOf(("none", "minimal", "low", "medium", "high", "xhigh", "max"))
_MODES: Final = ("auto", "required", "none")
_SAMPLING: Final[Mapping[str, Shape]] = {"temperature": NUMBER, "top_p": NUMBER}

# --- OpenAI Responses -------------------------------------------------------------------------------------------------

_INPUT_TEXT: Final = Tagged("type", {"input_text": of_type("input_text", {"text": TEXT})})
_ITEM: Final = Tagged(
    "type",
    {
        "message": of_type(
            "message",
            {"role": OneOf(("user", "assistant", "system", "developer")), "content": TextOr(ListOf(_INPUT_TEXT))},
            {"phase": OneOf(("commentary", "final_answer"))},
        ),
        "function_call": of_type(
            "function_call", {"call_id": TEXT, "name": TEXT, "arguments": _JSON_TEXT}, {"id": TEXT}
        ),
        "function_call_output": of_type("function_call_output", {"call_id": TEXT, "output": TEXT}, {"id": TEXT}),
        "reasoning": of_type("reasoning", {"id": TEXT, "summary": ListOf(OBJECT, 0)}, {"encrypted_content": TEXT}),
    },
)
_RESPONSES_TOOL: Final = of_type(
    "function", {"name": TEXT, "parameters": OBJECT, "strict": FLAG}, {"description": TEXT}
)
_RESPONSES_CHOICE: Final = Tagged(
    "type",
    {
        "allowed_tools": of_type(
            "allowed_tools",
            {"mode": OneOf(("auto", "required")), "tools": ListOf(Record({"type": _FUNCTION, "name": TEXT}))},
        )
    },
)
_RESPONSES_FORMAT: Final = of_type("json_schema", {"name": TEXT, "schema": OBJECT, "strict": FLAG})
RESPONSES: Final = Record(
    {"model": TEXT, "input": ListOf(_ITEM), "store": FLAG},
    {
        "instructions": TEXT,
        "tools": ListOf(_RESPONSES_TOOL),
        "tool_choice": TextOr(_RESPONSES_CHOICE, _MODES),
        "parallel_tool_calls": FLAG,
        "text": Record({"format": _RESPONSES_FORMAT}),
        "max_output_tokens": INTEGER,
        **_SAMPLING,
        "reasoning": Record({"effort": _EFFORT}),
        "include": ListOf(OneOf(("reasoning.encrypted_content",))),
        "prompt_cache_key": TEXT,
    },
)

# --- OpenAI Chat and local servers ------------------------------------------------------------------------------------

_CHAT_TEXT: Final = Tagged("type", {"text": of_type("text", {"text": TEXT})})
_CHAT_CONTENT: Final = TextOr(ListOf(_CHAT_TEXT))
_CHAT_FUNCTION: Final = Record({"name": TEXT, "arguments": _JSON_TEXT})
_CHAT_CALL: Final = Tagged("type", {"function": of_type("function", {"id": TEXT, "function": _CHAT_FUNCTION})})
_CHAT_TOOL: Final = of_type(
    "function", {"function": Record({"name": TEXT, "parameters": OBJECT}, {"description": TEXT})}
)
_CHAT_NAMED: Final = Record({"type": _FUNCTION, "function": Record({"name": TEXT})})
_ALLOWED: Final = Record({"mode": OneOf(("auto", "required")), "tools": ListOf(_CHAT_NAMED)})
_CHAT_FORMAT: Final = of_type("json_schema", {"json_schema": Record({"name": TEXT, "schema": OBJECT, "strict": FLAG})})


def _chat_messages(content: Shape, instructing: tuple[str, ...]) -> Shape:
    said = {role: Record({"role": TEXT, "content": content}) for role in (*instructing, "user")}
    assistant = Record({"role": TEXT}, {"content": content, "tool_calls": ListOf(_CHAT_CALL)})
    tool = Record({"role": TEXT, "tool_call_id": TEXT, "content": TEXT})
    return ListOf(Tagged("role", {**said, "assistant": assistant, "tool": tool}))


_CHAT_OPTIONS: Final[Mapping[str, Shape]] = {
    "tools": ListOf(_CHAT_TOOL),
    "response_format": _CHAT_FORMAT,
    **_SAMPLING,
    "seed": INTEGER,
    "stop": ListOf(TEXT),
}
CHAT: Final = Record(
    {"model": TEXT, "messages": _chat_messages(_CHAT_CONTENT, ("system", "developer"))},
    {
        **_CHAT_OPTIONS,
        "tool_choice": TextOr(
            Tagged("type", {"allowed_tools": of_type("allowed_tools", {"allowed_tools": _ALLOWED})}), _MODES
        ),
        "parallel_tool_calls": FLAG,
        "max_completion_tokens": INTEGER,
        "reasoning_effort": _EFFORT,
        "prompt_cache_key": TEXT,
    },
)
LOCAL: Final = Record(
    {"model": TEXT, "messages": _chat_messages(TEXT, ("system",))},
    {
        **_CHAT_OPTIONS,
        "tool_choice": TextOr(Tagged("type", {"function": _CHAT_NAMED}), _MODES),
        "max_tokens": INTEGER,
    },
)
