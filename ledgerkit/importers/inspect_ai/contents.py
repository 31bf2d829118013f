"""Contents of messages: attachments put back, blocks as parts, and what a message is known by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import is_data_uri, json_part, media_part, reasoning_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility

_MARKS: Final = ("attachment://", "tc://")
_MEDIA: Final = ("image", "audio", "video", "document")
_MODEL: Final = TrustLevel.MODEL_GENERATED


class Attachments:
    """The longer strings of a sample, which its records refer to by their hash."""

    def __init__(self, sample: JsonObject) -> None:
        held = sample.get("attachments")
        transcript = sample.get("transcript")  # 2024: with the events
        older = transcript.get("content") if is_object(transcript) else None
        self._held: JsonObject = {**(older if is_object(older) else {}), **(held if is_object(held) else {})}

    def text(self, value: str) -> str:
        """A string, or the attachment that it names."""
        for mark in _MARKS:
            if value.startswith(mark):
                found = self._held.get(value[len(mark) :])
                return found if isinstance(found, str) else value
        return value

    def whole(self, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        """A value with all its attachments put back."""
        if isinstance(value, str):
            return self.text(value)
        if is_list(value):
            return [self.whole(each) for each in value]
        return {name: self.whole(each) for name, each in value.items()} if is_object(value) else value


def blocks_of(content: object) -> list[object]:
    """The blocks of a content; a text is one."""
    return list(content) if is_list(content) else [] if content is None or content == "" else [content]


def text_of(block: object) -> str | None:
    """The text of a block that is one."""
    if is_object(block):
        text = block.get("text")
        return text if isinstance(text, str) and block.get("type") in ("text", None) else None
    return block if isinstance(block, str) else None


def texts_of(content: object) -> str:
    """All texts of a content, one below the other."""
    return "\n".join(text for block in blocks_of(content) if (text := text_of(block)) is not None)


def key_of(message: JsonObject) -> tuple[object, ...]:
    """What a message says, the same for each of its copies: ids are missing in older logs, and made anew in bridges."""
    role = message.get("role")
    if role == "tool" and isinstance(message.get("tool_call_id"), str):
        return role, message["tool_call_id"]
    said = tuple(
        text if (text := text_of(block)) is not None else msgspec.json.encode(block)
        for block in blocks_of(message.get("content"))
        if not (is_object(block) and block.get("type") == "reasoning")
    )
    calls = tuple(str(call.get("id")) for call in objects_of(message.get("tool_calls")))
    return str(role), said, calls


def said_parts(content: object, trust: TrustLevel) -> list[PartDraft]:
    """The parts of what somebody said or showed; an empty text if nothing."""
    shown = [block for block in blocks_of(content) if not (is_object(block) and _is_apart(block.get("type")))]
    return [_part(block, trust) for block in shown]


def _is_apart(kind: object) -> bool:
    return isinstance(kind, str) and kind in ("reasoning", "tool_use")


def _part(block: object, trust: TrustLevel) -> PartDraft:
    text = text_of(block)
    if text is not None:
        return text_part(text, trust)
    if not is_object(block):
        return json_part(block, trust)
    kind = block.get("type")
    if isinstance(kind, str) and kind in _MEDIA and isinstance(block.get(kind), str):
        address = block[kind]
        rest = {name: value for name, value in block.items() if name not in (kind, "type")}
        # An address elsewhere, or the note that the image was not logged, is all that is recorded then.
        held = address if is_data_uri(address) else None
        described = rest if held else {**rest, kind: address}
        return media_part(held, block.get("mime_type"), trust, described)
    return json_part(block, trust, visibility=Visibility.MODEL_VISIBLE if kind == "data" else Visibility.AUDIT_ONLY)


def thoughts_of(message: JsonObject, *, keep: bool) -> Iterator[PartDraft]:
    """Hidden reasoning: its measure; a summary of it that people were shown stays."""
    if text := nonempty_text(message.get("reasoning")):  # early 2025
        yield reasoning_part(text, keep=keep)
    for block in objects_of(message.get("content")):
        if block.get("type") != "reasoning":
            continue
        if summary := nonempty_text(block.get("summary")):
            yield text_part(summary, _MODEL, visibility=Visibility.HUMAN_VISIBLE)
        text = nonempty_text(block.get("reasoning")) or ""
        signature = nonempty_text(block.get("signature")) or ""
        if block.get("redacted"):  # then the text is the service's sealed form of it
            yield reasoning_part("", keep=keep, sealed_bytes=len(text) + len(signature))
        else:
            yield reasoning_part(text, keep=keep, sealed_bytes=len(signature))
