"""How each interface writes an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.providers.answers.answer import StopReason
from ledgerkit.providers.answers.decoding import Fields, fields, items, text_of
from ledgerkit.providers.answers.draft import Draft
from ledgerkit.providers.dialects.anthropic import THINKING_KEYS
from ledgerkit.providers.dialects.gemini import SIGNATURE
from ledgerkit.providers.dialects.responses import PHASE, PHASES, REASONING_KEYS

_CHAT_STOPS: Final = {
    "stop": StopReason.FINISHED,
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "content_filter": StopReason.FILTERED,
}
_RESPONSES_STOPS: Final = {
    "completed": StopReason.FINISHED,
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
    "failed": StopReason.FAILED,
    "cancelled": StopReason.FAILED,
}
_ANTHROPIC_STOPS: Final = {
    "end_turn": StopReason.FINISHED,
    "stop_sequence": StopReason.FINISHED,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSED,
    "refusal": StopReason.REFUSED,
}
_GEMINI_STOPS: Final = {
    "STOP": StopReason.FINISHED,
    "MAX_TOKENS": StopReason.LENGTH,
    "MALFORMED_FUNCTION_CALL": StopReason.FAILED,
    "UNEXPECTED_TOOL_CALL": StopReason.FAILED,
    "TOO_MANY_TOOL_CALLS": StopReason.FAILED,
    "MISSING_THOUGHT_SIGNATURE": StopReason.FAILED,
    "MALFORMED_RESPONSE": StopReason.FAILED,
    "OTHER": StopReason.FAILED,
} | dict.fromkeys(
    ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"), StopReason.FILTERED
)


def read_chat(raw: Fields, draft: Draft) -> None:
    """OpenAI Chat and servers like it."""
    choices = items(raw.get("choices"))
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise _misshapen("choices[0].message")
    message = fields(choices[0].get("message"))
    content = message.get("content")
    for part in items(content) or [{"text": content}]:
        draft.say(part.get("text"))
        draft.refuse(part.get("refusal"))
    draft.refuse(message.get("refusal"))
    for call in items(message.get("tool_calls")):
        function = fields(call.get("function"))
        draft.ask(call.get("id"), function.get("name"), function.get("arguments"))
    _stop(draft, choices[0].get("finish_reason"), _CHAT_STOPS)
    draft.call_id, draft.model = text_of(raw.get("id")), text_of(raw.get("model"))
    draft.tier, draft.usage = text_of(raw.get("service_tier")), fields(raw.get("usage"))


def read_responses(raw: Fields, draft: Draft) -> None:
    """OpenAI Responses."""
    if not isinstance(raw.get("output"), list):
        raise _misshapen("output")
    for item in items(raw.get("output")):
        match item.get("type"):
            case "message":
                _speak(item, draft)
            case "function_call":
                draft.ask(item.get("call_id"), item.get("name"), item.get("arguments"))
            case "reasoning":
                if text_of(item.get("encrypted_content")) is not None:
                    # Summaries are for people; only the sealed form goes back.
                    draft.carry({key: item.get(key) for key in REASONING_KEYS} | {"summary": []})
            case _:
                pass
    reason = fields(raw.get("incomplete_details")).get("reason")
    _stop(draft, reason or raw.get("status"), _RESPONSES_STOPS)
    draft.call_id, draft.model = text_of(raw.get("id")), text_of(raw.get("model"))
    draft.tier, draft.usage = text_of(raw.get("service_tier")), fields(raw.get("usage"))


def _speak(item: Fields, draft: Draft) -> None:
    for part in items(item.get("content")):
        if text_of(part.get("text")) is not None and item.get(PHASE) in PHASES:
            draft.carry({PHASE: item.get(PHASE)})
        draft.say(part.get("text"))
        draft.refuse(part.get("refusal"))


def read_anthropic(raw: Fields, draft: Draft) -> None:
    """Anthropic Messages."""
    if not isinstance(raw.get("content"), list):
        raise _misshapen("content")
    for block in items(raw.get("content")):
        kind = text_of(block.get("type")) or ""
        if kind == "text":
            draft.say(block.get("text"), joins=True)
        elif kind == "tool_use":
            draft.ask(block.get("id"), block.get("name"), block.get("input"))
        elif kind in THINKING_KEYS:
            draft.carry({key: block.get(key) for key in THINKING_KEYS[kind]})
    _stop(draft, raw.get("stop_reason"), _ANTHROPIC_STOPS)
    if draft.stop is StopReason.REFUSED:
        draft.refuse(fields(raw.get("stop_details")).get("explanation"))
    draft.call_id, draft.model = text_of(raw.get("id")), text_of(raw.get("model"))
    draft.usage = fields(raw.get("usage"))
    draft.tier = text_of(draft.usage.get("service_tier"))


def read_gemini(raw: Fields, draft: Draft) -> None:
    """Gemini."""
    candidates = items(raw.get("candidates"))
    blocked = text_of(fields(raw.get("promptFeedback")).get("blockReason"))
    if not candidates and blocked is None:
        raise _misshapen("candidates[0]")
    candidate = candidates[0] if candidates else {}
    for part in items(fields(candidate.get("content")).get("parts")):
        before = len(draft.blocks)
        if part.get("thought") is not True:
            draft.say(part.get("text"), joins=True)
        if isinstance(part.get("functionCall"), dict):
            call = fields(part.get("functionCall"))
            draft.ask(call.get("id"), call.get("name"), call.get("args"))
        signature = text_of(part.get(SIGNATURE))
        if signature is not None:
            draft.carry({SIGNATURE: signature}, back=1 if len(draft.blocks) > before else 0)
    _stop(draft, candidate.get("finishReason") or blocked, _GEMINI_STOPS)
    if blocked is not None:
        draft.stop = StopReason.FILTERED
    draft.call_id, draft.model = text_of(raw.get("responseId")), text_of(raw.get("modelVersion"))
    draft.usage = fields(raw.get("usageMetadata"))


def _stop(draft: Draft, word: JsonValue, known: Mapping[str, StopReason]) -> None:
    draft.stop_word = text_of(word)
    draft.stop = known.get(draft.stop_word or "", StopReason.UNKNOWN)
    if draft.refusals:
        draft.stop = StopReason.REFUSED
    elif draft.stop is StopReason.FINISHED and draft.has_calls:
        draft.stop = StopReason.TOOL_CALLS


def _misshapen(path: str) -> ProtocolError:
    return ProtocolError(f"Not an answer of this interface: {path} is missing. Check interface and address.")
