"""Content of messages, in the shapes of three services, as parts."""

from __future__ import annotations

from typing import Any

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import is_data_uri, json_part, media_part, reasoning_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility

REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})


def blocks_of(content: object) -> list[JsonObject]:
    """The blocks of a content; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_list(content):
        return [block if is_object(block) else {"type": "text", "text": _as_text(block)} for block in content]
    return [content] if is_object(content) else []


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def text_of(block: JsonObject) -> str | None:
    """The text of a block that is a text: under ``text``, or (AgentDojo) ``content``; a refusal is one too."""
    if block.get("type") not in (None, "text", "input_text", "output_text", "refusal", "summary_text"):
        return None
    return next((block[k] for k in ("text", "content", "refusal") if isinstance(block.get(k), str)), None)


def texts_of(content: object) -> str:
    """All texts of a content, one below the other."""
    return "\n".join(text for block in blocks_of(content) if (text := text_of(block)) is not None)


def said_part(block: JsonObject, trust: TrustLevel) -> PartDraft:
    """A block that somebody said or showed."""
    text = text_of(block)
    if text is not None:
        return text_part(text, trust)
    source: Any = block.get("source")
    if is_object(source) and isinstance(source.get("data"), str):
        rest = {k: v for k, v in block.items() if k not in ("source", "type")}
        return media_part(source["data"], source.get("media_type"), trust, rest)
    address: Any = block.get("image_url")
    address = address.get("url") if is_object(address) else address
    address = address if address is not None else block.get("file_data")
    if is_data_uri(address):
        return media_part(address, None, trust)
    audio = block.get("input_audio")
    if is_object(audio) and isinstance(audio.get("data"), str):
        return media_part(audio["data"], f"audio/{audio.get('format')}", trust)
    # What a block of an unknown type means to the model cannot be told.
    known = address is not None
    return json_part(block, trust, visibility=Visibility.MODEL_VISIBLE if known else Visibility.AUDIT_ONLY)


def hidden_part(block: JsonObject, *, keep: bool) -> PartDraft:
    """A block of hidden reasoning."""
    text = nonempty_text(block.get("thinking")) or texts_of(block.get("content")) or _plain(block)
    sealed = next((block[k] for k in ("signature", "data", "encrypted_content") if isinstance(block.get(k), str)), "")
    return reasoning_part(text, keep=keep, sealed_bytes=len(sealed))


def _plain(block: JsonObject) -> str:
    return next((block[k] for k in ("reasoning", "text") if isinstance(block.get(k), str)), "")
