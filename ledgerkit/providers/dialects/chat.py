"""OpenAI Chat Completions, and what local servers have in common with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ledgerkit.protocol.requests import ToolChoiceMode
from ledgerkit.protocol.vocabulary import LlmRole
from ledgerkit.providers import settings
from ledgerkit.providers.aliases import ToolAliases
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import Told, joined, json_text, told
from ledgerkit.providers.tools import Declared
from ledgerkit.providers.turns import Called, Said, Turn

MAX_STOPS: Final = 4
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def render_chat(parcel: Parcel) -> dict[str, object]:
    """The body for OpenAI Chat Completions."""
    request, notes = parcel.request, parcel.notes
    body = opened(parcel, _messages(parcel), _choice)
    put(body, "parallel_tool_calls", parallel(parcel))
    put(body, "max_completion_tokens", request.options.max_output_tokens)
    put(body, "reasoning_effort", settings.effort(request, EFFORTS, notes))
    if parcel.cache_breakpoints:
        put(body, "prompt_cache_key", settings.cache_key(request, parcel.capabilities, notes))
    return body


def opened(parcel: Parcel, messages: list[dict[str, object]], choice: Callable[[Parcel], object]) -> dict[str, object]:
    """A body with what all servers of chat completions take in the same words."""
    request, notes = parcel.request, parcel.notes
    body: dict[str, object] = {"model": request.model, "messages": messages}
    if parcel.toolbox.declared:
        body["tools"] = [function_tool(tool) for tool in parcel.toolbox.declared]
        put(body, "tool_choice", choice(parcel))
    put(body, "response_format", response_format(parcel))
    put(body, "temperature", settings.temperature(request, notes))
    put(body, "top_p", request.options.top_p)
    put(body, "seed", settings.seed(request, notes))
    put(body, "stop", settings.stops(request, MAX_STOPS, notes) or None)
    return body


def put(body: dict[str, object], key: str, value: object) -> None:
    """Sets what is known."""
    if value is not None:
        body[key] = value


def parallel(parcel: Parcel) -> bool | None:
    """Whether one answer may hold several calls; only said where tools are declared."""
    asked = parcel.request.options.parallel_tool_calls
    if not parcel.toolbox.declared:
        settings.left_out("parallel_tool_calls", asked, parcel.notes)
        return None
    return asked


def function_tool(tool: Declared) -> dict[str, object]:
    """A declaration in the form of chat completions."""
    function: dict[str, object] = {"name": tool.alias}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function | {"parameters": tool.parameters}}


def tool_call(call: Called, aliases: ToolAliases) -> dict[str, object]:
    """A call in the form of chat completions; its arguments are JSON text."""
    arguments = told(json_text(call.arguments), call.source)
    function = {"name": aliases.alias_of(call.tool_name), "arguments": arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def left_behind(pieces: Sequence[Said | Called], notes: list[Note]) -> None:
    """Notes what was carried for an interface that has no place for it."""
    for piece in pieces:
        notes += [Note(NoteKind.METADATA_LEFT_OUT, piece.where, json_text(item)) for item in piece.carried]


def _messages(parcel: Parcel) -> list[dict[str, object]]:
    role = LlmRole.DEVELOPER if parcel.capabilities.supports(LlmRole.DEVELOPER) else LlmRole.SYSTEM
    head = parcel.conversation.head
    messages: list[dict[str, object]] = [{"role": role.value, "content": said.text} for said in head]
    for turn in parcel.conversation.turns:
        left_behind((*turn.texts, *turn.calls), parcel.notes)
        if turn.results:
            messages += tool_messages(turn)
        else:
            messages.append(_message(turn, parcel.aliases))
    return messages


def tool_messages(turn: Turn) -> list[dict[str, object]]:
    """One message for each result."""
    return [{"role": "tool", "tool_call_id": result.call_id, "content": result.text} for result in turn.results]


def _message(turn: Turn, aliases: ToolAliases) -> dict[str, object]:
    message: dict[str, object] = {"role": turn.role.value}
    if len(turn.texts) == 1:
        message["content"] = turn.texts[0].text
    elif turn.texts:
        message["content"] = [{"type": "text", "text": said.text} for said in turn.texts]
    if turn.calls:
        message["tool_calls"] = [tool_call(call, aliases) for call in turn.calls]
    return message


def joined_message(turn: Turn, aliases: ToolAliases) -> dict[str, object]:
    """A message whose content is one string, which is all that many templates read."""
    message: dict[str, object] = {"role": turn.role.value}
    if turn.texts:
        message["content"] = joined_texts(turn.texts)
    if turn.calls:
        message["tool_calls"] = [tool_call(call, aliases) for call in turn.calls]
    return message


def joined_texts(texts: Sequence[Said]) -> Told:
    """Texts as one string."""
    return joined([said.text for said in texts])


def _choice(parcel: Parcel) -> object:
    choice = parcel.toolbox.choice
    if choice.allowed is not None:
        tools = [{"type": "function", "function": {"name": alias}} for alias in choice.allowed]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode.value, "tools": tools}}
    return None if choice.mode is ToolChoiceMode.AUTO else choice.mode.value


def response_format(parcel: Parcel) -> dict[str, object] | None:
    """The form of the answer, where the interface enforces one."""
    form = settings.enforced(parcel.request, parcel.capabilities, parcel.notes, always_strict=False)
    if form is None:
        return None
    return {
        "type": "json_schema",
        "json_schema": {"name": form.name, "schema": form.schema, "strict": form.is_strict},
    }
