"""Anthropic Messages: blocks, results at the head of the user's message, marks where a cached prefix ends."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from ledgerkit.protocol.requests import ToolChoiceMode
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers import settings
from ledgerkit.providers.dialects.chat import put
from ledgerkit.providers.dialects.marks import mark_prefixes
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import json_text, told_object
from ledgerkit.providers.tools import Declared, not_expressed
from ledgerkit.providers.turns import Answered, Called, Said, Turn

MAX_STOPS: Final = 64
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
THINKING_KEYS: Final = {"thinking": ("type", "thinking", "signature"), "redacted_thinking": ("type", "data")}
"""Blocks that go back as they came, with their keys."""

Block = dict[str, object]


def render_anthropic(parcel: Parcel) -> dict[str, object]:
    """The body for Anthropic Messages."""
    request, notes, options = parcel.request, parcel.notes, parcel.request.options
    limit = options.max_output_tokens
    if limit is None:
        limit = parcel.max_output_tokens
        notes.append(Note(NoteKind.OPTION_ADDED, "options.max_output_tokens", became=str(limit)))
    body: dict[str, object] = {"model": request.model, "max_tokens": limit}
    if parcel.toolbox.declared:
        body["tools"] = [_tool(tool) for tool in parcel.toolbox.declared]
        put(body, "tool_choice", _choice(parcel))
    else:
        settings.left_out("parallel_tool_calls", options.parallel_tool_calls, notes)
    if parcel.conversation.head:
        body["system"] = [{"type": "text", "text": said.text} for said in parcel.conversation.head]
    body["messages"] = [_message(turn, parcel) for turn in parcel.conversation.turns]
    if config := _config(parcel):
        body["output_config"] = config
    put(body, "stop_sequences", settings.stops(request, MAX_STOPS, notes) or None)
    settings.left_out("temperature", options.temperature, notes)
    settings.left_out("top_p", options.top_p, notes)
    settings.left_out("seed", options.seed, notes)
    if parcel.cache_breakpoints:
        mark_prefixes(body, parcel.conversation.turns, parcel.capabilities)
    return body


def _config(parcel: Parcel) -> dict[str, object]:
    config: dict[str, object] = {}
    put(config, "effort", settings.effort(parcel.request, EFFORTS, parcel.notes))
    form = settings.enforced(parcel.request, parcel.capabilities, parcel.notes, always_strict=True)
    if form is not None:
        config["format"] = {"type": "json_schema", "schema": form.schema}
    return config


def _message(turn: Turn, parcel: Parcel) -> dict[str, object]:
    role = "assistant" if turn.role is LlmRole.ASSISTANT else "user"
    content: list[Block] = [_result(result) for result in turn.results]
    for piece in (*turn.texts, *turn.calls):
        content += _thinking(piece, parcel.notes)
        content.append(_text(piece) if isinstance(piece, Said) else _call(piece, parcel))
    return {"role": role, "content": content}


def _text(said: Said) -> Block:
    return {"type": "text", "text": said.text}


def _call(call: Called, parcel: Parcel) -> Block:
    arguments = told_object(call.arguments, call.source)
    name = parcel.aliases.alias_of(call.tool_name)
    return {"type": "tool_use", "id": call.call_id, "name": name, "input": arguments}


def _result(result: Answered) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text}
    return block | {"is_error": True} if result.is_error else block


def _thinking(piece: Said | Called, notes: list[Note]) -> list[Block]:
    """Thinking that goes back with its signature, unmodified, before what it led to."""
    blocks: list[Block] = []
    for item in piece.carried:
        keys = THINKING_KEYS.get(_string(item.get("type")), ())
        if keys and item.keys() == set(keys) and all(isinstance(item[key], str) for key in keys):
            blocks.append({key: item[key] for key in keys})
        else:
            notes.append(Note(NoteKind.METADATA_LEFT_OUT, piece.where, json_text(item)))
    return blocks


def _string(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _tool(tool: Declared) -> Block:
    declared: Block = {"name": tool.alias}
    if tool.description:
        declared["description"] = tool.description
    return declared | {"input_schema": tool.parameters}


def _choice(parcel: Parcel) -> Block | None:
    choice = parcel.toolbox.choice
    if choice.mode is ToolChoiceMode.NONE:
        settings.left_out("parallel_tool_calls", parcel.request.options.parallel_tool_calls, parcel.notes)
        return {"type": "none"}
    is_single = parcel.request.options.parallel_tool_calls is False
    how: Block = {"type": "any" if choice.mode is ToolChoiceMode.REQUIRED else "auto"}
    if choice.allowed is not None:
        if choice.mode is ToolChoiceMode.REQUIRED and len(choice.allowed) == 1:
            how = {"type": "tool", "name": choice.allowed[0]}
        else:
            not_expressed(choice.allowed, parcel.notes)
    if is_single:
        return how | {"disable_parallel_tool_use": True}
    return None if how == {"type": "auto"} else how
