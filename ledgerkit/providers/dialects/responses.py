"""OpenAI Responses: a list of items, with instructions in a field of their own.

Item ids are left out: an id ties a call to a reasoning item that may not be in the context any more. Nothing is stored
at the provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from ledgerkit.protocol.requests import ToolChoiceMode
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers import settings
from ledgerkit.providers.dialects.chat import EFFORTS, joined_texts, parallel, put
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import json_text, told
from ledgerkit.providers.tools import Declared
from ledgerkit.providers.turns import Called, Said, Turn

PHASE: Final = "phase"
PHASES: Final = ("commentary", "final_answer")
REASONING_KEYS: Final = ("type", "id", "summary", "encrypted_content")
"""What is given back of a reasoning item."""


def render_responses(parcel: Parcel) -> dict[str, object]:
    """The body for OpenAI Responses."""
    request, notes, options = parcel.request, parcel.notes, parcel.request.options
    body: dict[str, object] = {"model": request.model}
    if parcel.conversation.head:
        body["instructions"] = joined_texts(parcel.conversation.head)
    body["input"] = [item for turn in parcel.conversation.turns for item in _items(turn, parcel)]
    if parcel.toolbox.declared:
        body["tools"] = [_tool(tool) for tool in parcel.toolbox.declared]
        put(body, "tool_choice", _choice(parcel))
    put(body, "parallel_tool_calls", parallel(parcel))
    form = settings.enforced(request, parcel.capabilities, notes, always_strict=False)
    if form is not None:
        schema = {"type": "json_schema", "name": form.name, "schema": form.schema, "strict": form.is_strict}
        body["text"] = {"format": schema}
    put(body, "max_output_tokens", options.max_output_tokens)
    put(body, "temperature", settings.temperature(request, notes))
    put(body, "top_p", options.top_p)
    settings.left_out("seed", options.seed, notes)
    settings.left_out("stop_sequences", list(options.stop_sequences), notes)
    if (effort := settings.effort(request, EFFORTS, notes)) is not None:
        body["reasoning"] = {"effort": effort}
        body["include"] = ["reasoning.encrypted_content"]
    body["store"] = False
    if parcel.cache_breakpoints:
        put(body, "prompt_cache_key", settings.cache_key(request, parcel.capabilities, notes))
    return body


def _items(turn: Turn, parcel: Parcel) -> Iterator[dict[str, object]]:
    for result in turn.results:
        yield {"type": "function_call_output", "call_id": result.call_id, "output": result.text}
    if turn.role is not LlmRole.ASSISTANT:
        if turn.texts:
            content = [{"type": "input_text", "text": said.text} for said in turn.texts]
            one = turn.texts[0].text if len(turn.texts) == 1 else content
            yield {"type": "message", "role": turn.role.value, "content": one}
        return
    for piece in (*turn.texts, *turn.calls):
        phase = _phase(piece)
        yield from _reasoning(piece, parcel.notes)
        if isinstance(piece, Said):
            yield {"type": "message", "role": "assistant", "content": piece.text} | phase
        else:
            yield {
                "type": "function_call",
                "call_id": piece.call_id,
                "name": parcel.aliases.alias_of(piece.tool_name),
                "arguments": told(json_text(piece.arguments), piece.source),
            }


def _phase(piece: Said | Called) -> dict[str, object]:
    """Whether a text was a comment on the way or the end of an answer, as the provider marked it."""
    marked = [item for item in piece.carried if isinstance(piece, Said) and _is_phase(item)]
    return {PHASE: marked[-1][PHASE]} if marked else {}


def _is_phase(item: dict[str, JsonValue]) -> bool:
    return item.keys() == {PHASE} and item[PHASE] in PHASES


def _reasoning(piece: Said | Called, notes: list[Note]) -> Iterator[dict[str, object]]:
    """Reasoning items that stand before what they led to."""
    for item in piece.carried:
        if isinstance(piece, Said) and _is_phase(item):
            continue
        identifier, summary = item.get("id"), item.get("summary")
        is_whole = (
            item.get("type") == "reasoning"
            and isinstance(identifier, str)
            and isinstance(item.get("encrypted_content"), str)
            and summary == []
        )
        if is_whole:
            yield {key: item[key] for key in REASONING_KEYS}
        else:
            notes.append(Note(NoteKind.METADATA_LEFT_OUT, piece.where, json_text(item)))


def _tool(tool: Declared) -> dict[str, object]:
    declared: dict[str, object] = {"type": "function", "name": tool.alias}
    if tool.description:
        declared["description"] = tool.description
    return declared | {"parameters": tool.parameters, "strict": False}


def _choice(parcel: Parcel) -> object:
    choice = parcel.toolbox.choice
    if choice.allowed is not None:
        tools = [{"type": "function", "name": alias} for alias in choice.allowed]
        return {"type": "allowed_tools", "mode": choice.mode.value, "tools": tools}
    return None if choice.mode is ToolChoiceMode.AUTO else choice.mode.value
