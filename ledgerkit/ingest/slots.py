"""The places of a record that hold strings, and how other strings are put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import msgspec

from ledgerkit.importers.drafts import Blob, MessageDraft, PartDraft, RecordDraft
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import ArtifactLabel, PartType
from ledgerkit.safety.redaction.strings import strings_of, with_strings

_TEXTUAL: Final = ("text/", "application/json", "application/xml", "application/yaml", "application/x-")
_FACTS: Final = ("working_directory", "branch", "repository", "title", "task_id")


@dataclass(slots=True)
class Slot:
    """A place that holds strings: what they are, and how they are put back."""

    strings: list[str]
    put: Callable[[list[str]], None]
    owner: PartDraft | None = None
    is_blob: bool = False
    message_id: str | None = None
    """The message whose text the first string is."""


def slots_of(record: RecordDraft) -> Iterator[Slot]:
    """All strings of a record that may hold secrets, place by place."""
    for message, message_id in zip_longest(record.messages, record.message_ids or ()):
        yield from _message_slots(message, message_id)
    facts = record.facts
    if facts is not None:
        names = [name for name in _FACTS if getattr(facts, name)]

        def put_facts(new: list[str]) -> None:
            record.facts = msgspec.structs.replace(facts, **dict(zip(names, new, strict=True)))

        yield Slot([getattr(facts, name) for name in names], put_facts)


def _message_slots(message: MessageDraft, message_id: str | None) -> Iterator[Slot]:
    if message.metadata:

        def put_metadata(new: list[str]) -> None:
            message.metadata = with_strings(message.metadata, iter(new))

        yield Slot(list(strings_of(message.metadata)), put_metadata)
    for name, blob in message.attached.items():
        if (text := _text_of(blob)) is not None:
            yield Slot([text], _attached_putter(message, name, blob), is_blob=True)
    with_text = next((part for part in message.parts if part.text), None)
    for part in message.parts:
        yield from _part_slots(part, message_id if part is with_text else None)


def _attached_putter(message: MessageDraft, name: str, blob: Blob) -> Callable[[list[str]], None]:
    def put(new: list[str]) -> None:
        message.attached = {**message.attached, name: _blob_with(blob, new[0])}

    return put


def _part_slots(part: PartDraft, message_id: str | None) -> Iterator[Slot]:
    plain = [name for name in ("text", "summary", "path") if getattr(part, name)]

    def put_plain(new: list[str]) -> None:
        for name, value in zip(plain, new, strict=True):
            setattr(part, name, value)

    def put_data(new: list[str]) -> None:
        part.data = with_strings(part.data, iter(new))
        if part.part_type is PartType.TOOL_CALL and part.arguments_hash is not None:
            part.arguments_hash = arguments_hash(part.data)  # the hash of what was there could be guessed at

    yield Slot([getattr(part, name) for name in plain], put_plain, part, message_id=message_id)
    if part.data is not None:
        yield Slot(list(strings_of(part.data)), put_data, part)
    for number, blob in enumerate(part.blobs or ()):
        if (text := _text_of(blob)) is not None:
            yield Slot([text], _blob_putter(part, number, blob), part, is_blob=True)


def _blob_putter(part: PartDraft, number: int, blob: Blob) -> Callable[[list[str]], None]:
    def put(new: list[str]) -> None:
        blobs = list(part.blobs or ())
        blobs[number] = _blob_with(blob, new[0])
        part.blobs = blobs

    return put


def _text_of(blob: Blob) -> str | None:
    """The text of a content; ``None`` for one that cannot be scanned (an image, an archive)."""
    if not blob.media_type.startswith(_TEXTUAL):
        return None
    try:
        return blob.content.decode()
    except UnicodeDecodeError:
        return None


def _blob_with(blob: Blob, text: str) -> Blob:
    """A content that was scanned: as it was and safe, or with what was put in the place of secrets."""
    content = text.encode()
    label = ArtifactLabel.SAFE if content == blob.content else ArtifactLabel.REDACTED
    return Blob(content, blob.media_type, blob.label or label)
