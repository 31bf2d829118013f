"""Reads files: what their records are, and the messages of each, packed where they travel to another process.

What a record is (its envelope) decides its fate and place, and goes to whoever decides that. Its messages are heavy
and nobody looks into them before rows are made of them: between processes they travel as they were packed. Nothing
here knows the ledger, so files can be read in any number of processes at once.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from ledgerkit.importers.drafts import MessageDraft, Node, Quarantined, RecordDraft
from ledgerkit.importers.registry import LogFormat, formats, recognise
from ledgerkit.ingest.collection import without_collection
from ledgerkit.ingest.sources import fingerprint_of
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid
from ledgerkit.protocol.vocabulary import PartType
from ledgerkit.store.layout import ContentKey

UNSUPPORTED: Final = "unsupported"
UNREADABLE: Final = "unreadable"
"""Format of a file that could not even be recognised, and record type of any that could not be read."""
_NOT_PACKABLE: Final = (TypeError, ValueError, OverflowError, RecursionError)
_PICKLED: Final = b"\xc1"
"""A byte that no MessagePack begins with: it tells the two forms apart."""


class ReadTask(msgspec.Struct, frozen=True):
    """A file to read.

    Attributes:
        path: The file.
        log_format: Its format, where that is known.
        offset: Byte offset to begin at (a former cursor).
        line: Number of the line there.
        session: The session that the former reading ended in.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        key: Key of the ledger's content ids.
    """

    path: str
    key: bytes
    log_format: str | None = None
    offset: int = 0
    line: int = 1
    session: str | None = None
    keep_reasoning: bool = False


class Record(msgspec.Struct, gc=False):
    """A record: its envelope, what its place depends on, and its messages.

    Attributes:
        draft: The record; without its messages where these are packed.
        message_count: Number of its messages.
        asked: Ids of its tool calls.
        answered: Ids of the calls whose results it holds.
        packed: Its messages, packed; ``None`` where the draft has them.
    """

    draft: RecordDraft
    message_count: int
    asked: list[str]
    answered: list[str]
    packed: bytes | None = None

    def whole(self) -> RecordDraft:
        """The record with its messages."""
        if self.packed is not None:
            self.draft.messages = _messages_of(self.packed)
            self.packed = None
        return self.draft


class Reading(msgspec.Struct):
    """What one reading of a file gave.

    Attributes:
        path: The file.
        log_format: Its format, or ``unsupported``.
        records: Its records, each with its session's id in the ledger.
        quarantined: What could not be read.
        cursor: Bytes read for good.
        fingerprint: Of what is before the cursor.
        line_count: Lines read.
    """

    path: str
    log_format: str
    records: list[Record] = []
    quarantined: list[Quarantined] = []
    cursor: int = 0
    fingerprint: str = ""
    line_count: int = 0


def read_file(task: ReadTask) -> Reading:
    """Reads a file. One that cannot be read gives a reading that says why, and is read anew next time."""
    name = task.log_format or UNREADABLE
    try:
        log_format = _format_of(task)
        if log_format is None:
            return Reading(task.path, UNSUPPORTED)
        name = log_format.name
        with without_collection():
            return _read(task, log_format)
    except Exception as error:
        reason = f"the file could not be read: {type(error).__name__}: {error}"
        damage = Quarantined(task.line, task.offset, 0, reason, UNREADABLE)
        return Reading(task.path, name, quarantined=[damage], cursor=task.offset)


def _format_of(task: ReadTask) -> LogFormat | None:
    if task.log_format is None:
        return recognise(Path(task.path))
    return next(each for each in formats() if each.name == task.log_format)


def _read(task: ReadTask, log_format: LogFormat) -> Reading:
    path = Path(task.path)
    parsed = log_format.read(
        path,
        offset=task.offset,
        line=task.line,
        keep_reasoning=task.keep_reasoning,
        measure=ContentKey(task.key).content_id,
    )
    _assign_sessions(parsed.records, log_format.name, task.session)
    held = any(record.session is None for record in parsed.records)
    cursor = 0 if held else parsed.cursor
    return Reading(
        task.path,
        log_format.name,
        [_record(draft) for draft in parsed.records],
        parsed.quarantined,
        cursor,
        fingerprint_of(path, cursor)[0],
        parsed.line_count,
    )


def _record(draft: RecordDraft) -> Record:
    asked: list[str] = []
    answered: list[str] = []
    for message in draft.messages:
        for part in message.parts:
            if part.tool_call_id and part.part_type is PartType.TOOL_CALL:
                asked.append(part.tool_call_id)
            elif part.tool_call_id and part.part_type is PartType.TOOL_RESULT:
                answered.append(part.tool_call_id)
    return Record(draft, len(draft.messages), asked, answered)


def _assign_sessions(records: list[RecordDraft], log_format: str, current: str | None) -> None:
    """Gives each record its session's id in the ledger.

    A record without one belongs to the session of the record before it; at the head of a file, to the first that
    comes. A file that names no session is one itself, if it holds conversation.
    """
    waiting: list[RecordDraft] = []
    ids: dict[str, str] = {}
    for record in records:
        if record.session is not None:
            current = ids.get(record.session)
            if current is None:
                current = ids[record.session] = session_id(log_format, record.session)
        elif current is None:
            waiting.append(record)
            continue
        record.session = current
        for earlier in waiting:
            earlier.session = current
        waiting = []
    if any(record.node is not Node.PASSIVE for record in waiting):
        own = hash_uuid(log_format, "file", waiting[0].digest)
        for record in waiting:
            record.session = own


def session_id(log_format: str, native: str) -> str:
    """The ledger's id of a source's session: its own if it is a UUID, else derived from it."""
    return native.lower() if is_uuid(native) else hash_uuid(log_format, native)


def read_packed(tasks: Sequence[ReadTask]) -> list[bytes]:
    """Reads files in another process: each reading packed, its messages packed in it."""
    return [_packed(read_file(task)) for task in tasks]


def unpacked(raw: bytes) -> Reading:
    """A reading from another process. The messages of its records stay packed."""
    return pickle.loads(raw[1:]) if raw.startswith(_PICKLED) else _READING.decode(raw)  # noqa: S301 - our own process


def _packed(reading: Reading) -> bytes:
    for record in reading.records:
        record.packed = _pack(record.draft.messages)
        record.draft.messages = []
    return _pack(reading)


def _pack(value: object) -> bytes:
    """A value as MessagePack, or pickled where that cannot say it (a number beyond 64 bits)."""
    try:
        return _ENCODER.encode(value)
    except _NOT_PACKABLE:
        return _PICKLED + pickle.dumps(value)


def _messages_of(packed: bytes) -> list[MessageDraft]:
    if packed.startswith(_PICKLED):
        return pickle.loads(packed[1:])  # noqa: S301 - our own process wrote it
    return _MESSAGES.decode(packed)


_ENCODER: Final = msgspec.msgpack.Encoder()
_READING: Final = msgspec.msgpack.Decoder(Reading)
_MESSAGES: Final = msgspec.msgpack.Decoder(list[MessageDraft])
