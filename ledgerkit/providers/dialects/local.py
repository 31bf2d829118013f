"""Local servers that speak chat completions: vLLM, llama.cpp, Ollama, LM Studio.

Only what all of them are known to take: one system message at the head, string contents, one call per message, user and
assistant in turns.
"""

from __future__ import annotations

from ledgerkit.protocol.requests import ToolChoiceMode
from ledgerkit.providers import settings
from ledgerkit.providers.dialects.chat import (
    joined_message,
    joined_texts,
    left_behind,
    opened,
    put,
    tool_messages,
)
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.tools import not_expressed


def render_local(parcel: Parcel) -> dict[str, object]:
    """The body for a local server."""
    options, notes = parcel.request.options, parcel.notes
    body = opened(parcel, _messages(parcel), _choice)
    settings.left_out("parallel_tool_calls", options.parallel_tool_calls, notes)
    put(body, "max_tokens", options.max_output_tokens)
    settings.left_out("reasoning_effort", options.reasoning_effort, notes)
    return body


def _messages(parcel: Parcel) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = []
    if parcel.conversation.head:
        messages.append({"role": "system", "content": joined_texts(parcel.conversation.head)})
    for turn in parcel.conversation.turns:
        left_behind((*turn.texts, *turn.calls), parcel.notes)
        if turn.results:
            messages += tool_messages(turn)
        else:
            messages.append(joined_message(turn, parcel.aliases))
    return messages


def _choice(parcel: Parcel) -> object:
    choice = parcel.toolbox.choice
    if choice.allowed is not None:
        if choice.mode is ToolChoiceMode.REQUIRED and len(choice.allowed) == 1:
            return {"type": "function", "function": {"name": choice.allowed[0]}}
        not_expressed(choice.allowed, parcel.notes)
    return None if choice.mode is ToolChoiceMode.AUTO else choice.mode.value
