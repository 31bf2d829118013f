"""What the model wrote, and what the service that it ran on says of it."""

from __future__ import annotations

from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft, UsageDraft
from ledgerkit.importers.mini_swe_agent.commands import extra_of, text_of
from ledgerkit.importers.pieces import count, money, reasoning_part, text_part
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility

_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_OUT_DETAILS: Final = ("completion_tokens_details", "output_tokens_details")


def answer_messages(message: JsonObject, calls: list[PartDraft], actor: str, *, keep: bool) -> list[MessageDraft]:
    """Hidden reasoning, text and calls of an answer. A command in a text stands there as well as in its call."""
    out = [MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [part]) for part in _thoughts(message, keep=keep)]
    text = _said(message)
    if text or not calls:
        out.append(MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, [text_part(text, TrustLevel.MODEL_GENERATED)]))
    if calls:
        out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, calls))
    return out


def _said(message: JsonObject) -> str:
    items = [
        text_of(item.get("content")) for item in objects_of(message.get("output")) if item.get("type") == "message"
    ]
    return "\n".join(filter(None, items)) or text_of(message.get("content"))


def _thoughts(message: JsonObject, *, keep: bool) -> list[PartDraft]:
    blocks = objects_of(message.get("thinking_blocks"))
    hidden = [
        reasoning_part(
            nonempty_text(block.get("thinking")) or "",
            keep=keep,
            sealed_bytes=len(str(block.get("signature") or block.get("data") or "")),
        )
        for block in blocks
    ]
    text = nonempty_text(message.get("reasoning_content")) or nonempty_text(message.get("reasoning"))
    if text and not blocks:
        hidden.append(reasoning_part(text, keep=keep))
    for item in objects_of(message.get("output")):
        if item.get("type") == "reasoning":
            hidden += _item_thoughts(item, keep=keep)
    return hidden


def _item_thoughts(item: JsonObject, *, keep: bool) -> list[PartDraft]:
    """A reasoning item: its summary, which people are shown, and the measure of the rest."""
    summary = text_of(item.get("summary"))
    sealed = len(str(item.get("encrypted_content") or ""))
    hidden = reasoning_part(text_of(item.get("content")), keep=keep, sealed_bytes=sealed)
    shown = text_part(summary, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
    return [shown, hidden] if summary else [hidden]


def response_of(message: JsonObject) -> JsonObject:
    """The service's reply that the agent kept; of an answer that is such a reply, itself."""
    kept = extra_of(message).get("response")
    if is_object(kept):
        return kept
    return message if message.get("object") == "response" else {}


def usage_of(message: JsonObject) -> UsageDraft | None:
    """Usage of an answer. LiteLLM counts cached tokens within the prompt, as OpenAI does."""
    response, cost = response_of(message), money(extra_of(message).get("cost"))
    usage = response.get("usage")
    usage = usage if is_object(usage) else {}
    inputs = count(usage.get("prompt_tokens", usage.get("input_tokens")))
    outputs = count(usage.get("completion_tokens", usage.get("output_tokens")))
    if inputs is None and outputs is None and cost is None:
        return None
    read = count(usage.get("cache_read_input_tokens"))
    tier = response.get("service_tier")
    return UsageDraft(
        input_tokens=inputs,
        cache_read_tokens=read if read is not None else _detail(usage, _DETAILS, "cached_tokens"),
        cache_write_5m_tokens=count(usage.get("cache_creation_input_tokens")),
        output_tokens=outputs,
        reasoning_tokens=_detail(usage, _OUT_DETAILS, "reasoning_tokens"),
        reported_cost=cost,
        service_tier=tier if isinstance(tier, str) else None,
    )


def _detail(usage: JsonObject, groups: tuple[str, ...], name: str) -> int | None:
    return next((count(group.get(name)) for key in groups if is_object(group := usage.get(key))), None)
