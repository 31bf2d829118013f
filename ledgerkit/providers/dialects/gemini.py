"""Gemini: contents of user and model, calls and responses as parts, the model named by the address and not the body."""

from __future__ import annotations

from typing import Final

from ledgerkit.protocol.requests import ToolChoiceMode
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers import settings
from ledgerkit.providers.dialects.chat import put
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import json_text, told_object
from ledgerkit.providers.tools import Declared, not_expressed
from ledgerkit.providers.turns import Answered, Called, Said, Turn

MAX_STOPS: Final = 5
EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh")
SIGNATURE: Final = "thoughtSignature"

_MODES: Final = {ToolChoiceMode.AUTO: "AUTO", ToolChoiceMode.REQUIRED: "ANY", ToolChoiceMode.NONE: "NONE"}

Part = dict[str, object]


def render_gemini(parcel: Parcel) -> dict[str, object]:
    """The body for Gemini's ``generateContent``."""
    body: dict[str, object] = {}
    if parcel.conversation.head:
        body["systemInstruction"] = {"parts": [{"text": said.text} for said in parcel.conversation.head]}
    body["contents"] = [_content(turn, parcel) for turn in parcel.conversation.turns]
    if parcel.toolbox.declared:
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in parcel.toolbox.declared]}]
        if (calling := _calling(parcel)) is not None:
            body["toolConfig"] = {"functionCallingConfig": calling}
    settings.left_out("parallel_tool_calls", parcel.request.options.parallel_tool_calls, parcel.notes)
    if generation := _generation(parcel):
        body["generationConfig"] = generation
    return body


def _generation(parcel: Parcel) -> dict[str, object]:
    request, notes, options = parcel.request, parcel.notes, parcel.request.options
    generation: dict[str, object] = {}
    put(generation, "maxOutputTokens", options.max_output_tokens)
    put(generation, "temperature", settings.temperature(request, notes))
    put(generation, "topP", options.top_p)
    put(generation, "seed", settings.seed(request, notes))
    put(generation, "stopSequences", settings.stops(request, MAX_STOPS, notes) or None)
    form = settings.enforced(request, parcel.capabilities, notes, always_strict=True)
    if form is not None:
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = form.schema
    if (effort := settings.effort(request, EFFORTS, notes)) is not None:
        generation["thinkingConfig"] = {"thinkingLevel": effort.upper()}
    return generation


def _content(turn: Turn, parcel: Parcel) -> dict[str, object]:
    role = "model" if turn.role is LlmRole.ASSISTANT else "user"
    parts = [_response(result, parcel) for result in turn.results]
    for piece in (*turn.texts, *turn.calls):
        part: Part = {"text": piece.text} if isinstance(piece, Said) else {"functionCall": _call(piece, parcel)}
        parts.append(part | _signature(piece, parcel.notes))
    if turn.calls:
        _sign_first(turn, parts[-len(turn.calls) :], parcel.notes)
    return {"role": role, "parts": parts}


def _sign_first(turn: Turn, parts: list[Part], notes: list[Note]) -> None:
    """The first call carries the signature; others keep theirs only beside it."""
    if SIGNATURE in parts[0]:
        return
    notes.append(Note(NoteKind.NO_SIGNATURE, turn.calls[0].where))
    for call, part in zip(turn.calls, parts, strict=True):
        if SIGNATURE in part:
            notes.append(Note(NoteKind.METADATA_LEFT_OUT, call.where, str(part.pop(SIGNATURE))))


def _call(call: Called, parcel: Parcel) -> dict[str, object]:
    name = parcel.aliases.alias_of(call.tool_name)
    return {"id": call.call_id, "name": name, "args": told_object(call.arguments, call.source)}


def _response(result: Answered, parcel: Parcel) -> Part:
    response = {"error" if result.is_error else "output": result.text}
    name = parcel.aliases.alias_of(result.tool_name)
    return {"functionResponse": {"id": result.call_id, "name": name, "response": response}}


def _signature(piece: Said | Called, notes: list[Note]) -> Part:
    """A thought signature, word for word, on the part that it came with."""
    kept: Part = {}
    for item in piece.carried:
        if item.keys() == {SIGNATURE} and isinstance(item[SIGNATURE], str) and not kept:
            kept = {SIGNATURE: item[SIGNATURE]}
        else:
            notes.append(Note(NoteKind.METADATA_LEFT_OUT, piece.where, json_text(item)))
    return kept


def _declaration(tool: Declared) -> dict[str, object]:
    declared: dict[str, object] = {"name": tool.alias}
    if tool.description:
        declared["description"] = tool.description
    return declared | {"parametersJsonSchema": tool.parameters}


def _calling(parcel: Parcel) -> dict[str, object] | None:
    choice = parcel.toolbox.choice
    calling: dict[str, object] = {"mode": _MODES[choice.mode]}
    if choice.allowed is not None:
        if choice.mode is ToolChoiceMode.REQUIRED:
            return calling | {"allowedFunctionNames": list(choice.allowed)}
        not_expressed(choice.allowed, parcel.notes)
    return None if choice.mode is ToolChoiceMode.AUTO else calling
