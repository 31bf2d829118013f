"""Messages in a span, in the shapes of several conventions, brought into one: a role and parts.

Read are GenAI attributes (``gen_ai.input.messages``), the span events before them (``gen_ai.user.message``), the flat
``gen_ai.prompt.<i>`` of early instrumentation, and OpenInference's flat ``llm.input_messages.<i>.message``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.otel.spans import Span, structured
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of

_EVENTS: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_INDEX_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Turn:
    """A message: who speaks, and its parts in the GenAI shape (``type``, ``content``, ``id``, ``name``, …)."""

    role: str
    parts: list[JsonObject]


def turns_of(span: Span) -> tuple[list[Turn], list[Turn]]:
    """What a model was given, and what it answered."""
    given = [*_system(span), *_turns(structured(span.attributes.get("gen_ai.input.messages")))]
    said = _turns(structured(span.attributes.get("gen_ai.output.messages")), "assistant")
    for name, attributes in span.events:
        body = structured(attributes.get("gen_ai.event.content", attributes))
        body = body if is_object(body) else {"content": body}
        if name in _EVENTS:
            given.append(_turn({"role": _EVENTS[name], **_bare(body)}))
        elif name == "gen_ai.choice":
            message = structured(body.get("message", body))
            said.append(_turn({"role": "assistant", **_bare(message if is_object(message) else {"content": message})}))
    for given_at, said_at in (("gen_ai.prompt", "gen_ai.completion"), ("llm.input_messages", "llm.output_messages")):
        given = given or _turns(_unflattened(span.attributes, given_at))
        said = said or _turns(_unflattened(span.attributes, said_at), "assistant")
    return given, said


def _bare(body: JsonObject) -> JsonObject:
    return {key.removeprefix("gen_ai."): structured(value) for key, value in body.items() if value is not None}


def _system(span: Span) -> list[Turn]:
    told = structured(span.attributes.get("gen_ai.system_instructions"))
    return [Turn("system", parts)] if (parts := _parts(told)) else []


def _turns(listed: object, role: str = "user") -> list[Turn]:
    turns: list[Any] = listed if is_list(listed) else [] if listed is None else [listed]
    return [_turn(each if is_object(each) else {"content": each}, role) for each in turns]


def _turn(message: JsonObject, role: str = "user") -> Turn:
    inner = message.get("message")
    message = inner if is_object(inner) else message
    role = str(message.get("role") or role)
    if is_list(message.get("parts")):
        return Turn(role, _parts(message["parts"]))
    parts = _parts(message.get("contents", message.get("content")))
    if role == "tool" or message.get("tool_call_id"):
        answered = message.get("tool_call_id", message.get("id"))
        texts = "\n".join(str(part.get("content")) for part in parts)
        return Turn("tool", [{"type": "tool_call_response", "id": answered, "response": texts}])
    calls = structured(message.get("tool_calls"))
    for listed in objects_of(calls):
        call: JsonObject = listed["tool_call"] if is_object(listed.get("tool_call")) else listed
        function = call.get("function")
        function = function if is_object(function) else call
        parts.append(
            {"type": "tool_call", "id": call.get("id"), "name": function.get("name"),
             "arguments": function.get("arguments")}
        )  # fmt: skip
    return Turn(role, parts)


def _parts(content: object) -> list[JsonObject]:
    if content is None or content == "":
        return []
    listed: list[Any] = content if is_list(content) else [content]
    return [_part(part) for part in listed]


def _part(part: object) -> JsonObject:
    if not is_object(part):
        return {"type": "text", "content": part if isinstance(part, str) else str(part)}
    inner: JsonObject = part["message_content"] if is_object(part.get("message_content")) else part
    if inner.get("type") in (None, "text") and isinstance(inner.get("text"), str):
        return {"type": "text", "content": inner["text"]}
    return inner


def _unflattened(attributes: JsonObject, prefix: str) -> list[Any]:
    """The list that keys like ``prefix.0.message.role`` spell out."""
    tree: JsonObject = {}
    for key, value in attributes.items():
        if not key.startswith(prefix + "."):
            continue
        node = tree
        *way, last = key[len(prefix) + 1 :].split(".")
        for step in way[:40]:
            below = node.setdefault(step, {})
            if not is_object(below):
                break
            node = below
        node[last] = value
    listed = _as_lists(tree)
    return listed if is_list(listed) else []


def _as_lists(node: object) -> Any:  # noqa: ANN401 - any JSON value
    if not is_object(node):
        return node
    items = {key: _as_lists(value) for key, value in node.items()}
    if items and all(len(key) <= _INDEX_DIGITS and key.isdecimal() for key in items):
        return [items[key] for key in sorted(items, key=int)]
    return items


def call_ids(turn: Turn) -> list[str]:
    """Ids of the calls in a turn."""
    ids = (nonempty_text(part.get("id")) for part in turn.parts if part.get("type") == "tool_call")
    return [each for each in ids if each]
