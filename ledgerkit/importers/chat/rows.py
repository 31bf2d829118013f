"""What a JSON value is: a conversation, a list of them, or something else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_list, is_object, objects_of

ROLES: Final = frozenset({"system", "developer", "user", "human", "assistant", "tool", "function"})
ITEMS: Final = frozenset(
    {
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "item_reference"),
        *("custom_tool_call_output", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"),
        *("computer_call", "computer_call_output", "apply_patch_call", "apply_patch_call_output"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
        *("mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    }
)
"""Types of the items of OpenAI's Responses API."""
_TURNS: Final = ("messages", "traj")
_AGENT_FIELDS: Final = (
    *("schema_version", "trajectory", "trajectory_format", "history", "session_start", "projectHash", "kwargs"),
    *("resourceSpans", "observations", "samples", "sessionId"),
)
"""Fields that rows of other formats have and a plain conversation has not."""
_AGENT_MARKS: Final = ("mswea_bash_command",)
"""What the prompts of agents say whose logs are bare lists of messages, and for which there is an importer."""


@dataclass(slots=True)
class Row:
    """A conversation.

    Attributes:
        value: The row as it stands.
        turns: Its messages or items, in order.
        is_items: Whether they are items of the Responses API.
        answered: How many of the last turns are the answer to the row's one request; what the row says of usage
            and model is said of them.
        answer: The answer's own fields (``id``, ``model``, ``usage``, ``created``).
        system: The system prompt, where it stands beside the messages.
        fields: Everything else that the row says.
    """

    value: Any
    turns: list[Any]
    is_items: bool = False
    answered: int = 0
    answer: JsonObject = field(default_factory=dict[str, Any])
    system: Any = None
    fields: JsonObject = field(default_factory=dict[str, Any])


def rows_of(value: object) -> list[Any]:
    """The rows that a value holds: a list of conversations gives each of them, anything else itself."""
    if is_list(value) and value and not _is_turns(value) and any(row_of(item) for item in value):
        return value
    return [value]


def is_foreign(value: object) -> bool:
    """Whether a row is one of a format that has an importer of its own."""
    if is_object(value):
        return any(name in value for name in _AGENT_FIELDS)
    turns = objects_of(value)
    return any(mark in str(turn.get("content")) for turn in turns[:2] for mark in _AGENT_MARKS)


def row_of(value: object) -> Row | None:
    """The conversation that a value is; ``None`` if it is none."""
    if is_list(value):
        return Row(value, value, is_items=_is_items(value)) if _is_turns(value) else None
    if not is_object(value) or is_foreign(value):
        return None
    request, response = value.get("request"), value.get("response")
    if is_object(request) and is_object(response):
        asked = row_of(request)
        return None if asked is None else _answered(asked, value, response)
    for name in _TURNS:
        turns = value.get(name)
        if is_list(turns) and (_is_turns(turns) or not turns):
            row = Row(value, turns, is_items=_is_items(turns))
            return _with_rest(row, value, (name,)) if turns or name == "messages" else None
    return _responses_row(value)


def _responses_row(value: JsonObject) -> Row | None:
    """A row with the input and output of OpenAI's Responses API."""
    asked, answered = value.get("input"), value.get("output")
    given: list[Any] = [{"role": "user", "content": asked}] if isinstance(asked, str) else []
    given = asked if is_list(asked) else given
    output: list[Any] = answered if is_list(answered) else []
    if not _is_turns([*given, *output]) or not (_is_items(output) or _is_items(given)):
        return None
    row = Row(value, [*given, *output], is_items=True, answered=len(output))
    row.answer = {name: value[name] for name in _ANSWER if name in value} if output else {}
    return _with_rest(row, value, ("input", "output", *row.answer))


_ANSWER: Final = ("id", "model", "usage", "created", "created_at", "service_tier")


def _answered(row: Row, value: JsonObject, response: JsonObject) -> Row:
    """A request with its response, whichever of the three services gave it."""
    rest = {k: v for k, v in value.items() if k not in ("request", "response")}
    left = {k: v for k, v in response.items() if k not in _ANSWER}
    choices, output = objects_of(response.get("choices")), response.get("output")
    turns: list[Any] = []
    if response.get("role") == "assistant":
        turns = [{"role": "assistant", "content": left.pop("content", None)}]
    elif choices and is_object(choices[0].get("message")):
        turns, left["choices"] = [choices[0]["message"]], _beside(choices)
    elif is_list(output) and _is_turns(output):
        turns, row.is_items = left.pop("output"), True
    row.value, row.turns, row.answered = value, [*row.turns, *turns], len(turns)
    row.answer = {name: response[name] for name in _ANSWER if name in response}
    row.fields = {**row.fields, **rest, **({"response": left} if left else {})}
    return row


def _beside(choices: list[JsonObject]) -> list[JsonObject]:
    """What the choices say beside the answer: other answers stay, without their reasoning."""
    rest: list[JsonObject] = [{k: v for k, v in choices[0].items() if k != "message"}]
    for choice in choices[1:]:
        message = choice.get("message")
        kept = {k: v for k, v in message.items() if not k.startswith("reasoning")} if is_object(message) else message
        rest.append({**choice, "message": kept})
    return rest


def _with_rest(row: Row, value: JsonObject, taken: tuple[str, ...]) -> Row:
    prompt: object = value.get("system", value.get("instructions"))
    prompts = ("system", "instructions") if isinstance(prompt, str) or is_list(prompt) else ()
    row.system = prompt if prompts else None
    row.fields = {k: v for k, v in value.items() if k not in (*taken, *prompts)}
    return row


def _is_turns(values: list[Any]) -> bool:
    """Whether the values are messages or items, the first of them at least one that is known."""
    return bool(values) and is_object(values[0]) and _is_turn(values[0]) and any(_is_turn(v) for v in values[:3])


def _is_turn(value: object) -> bool:
    if not is_object(value):
        return False
    if str(value.get("role")) in ROLES:
        return not value.keys().isdisjoint(("content", "tool_calls", "function_call"))
    return str(value.get("type")) in ITEMS and not value.keys().isdisjoint(_ITEM_FIELDS)


_ITEM_FIELDS: Final = ("content", "call_id", "summary", "arguments", "id")


def _is_items(values: list[Any]) -> bool:
    return any(str(item.get("type")) in ITEMS for item in objects_of(values))
