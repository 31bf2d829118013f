"""The journal of a run: what was appended and is not sealed into the history yet.

One file a run: a line that names the format, then records. A record is its length (4 bytes), its check (8 bytes) and
its payload. The check of a record is a hash of the check before it, of its place in the file and of the payload, so
that a record that was changed, moved or taken out breaks it. What a crash cuts off at the end was acknowledged to
nobody. A wrong record with whole ones after it is damage: it is passed over and counted, and the file is kept when
its messages are sealed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from ledgerkit import errors
from ledgerkit.store.durability import write_whole

_MAGIC: Final = b"ledgerkit journal 1\n"
_CHECK_BYTES: Final = 8
_HEAD_BYTES: Final = 4 + _CHECK_BYTES
_LONGEST: Final = (1 << 32) - 1


class JournalHeader(msgspec.Struct, frozen=True):
    """The first record of a journal.

    Attributes:
        session_id: The session.
        run_id: The run.
        first: Number of the first message's record among all that were ever appended to the run.
        facts: What is known about the run.
        run_date: Partition of the run; ``None`` if its first message decides.
        revision: Revision of the run that the messages go on with.
        key_id: Which redaction key was used before anything was written; ``None`` if nobody looked for secrets.
    """

    session_id: str
    run_id: str
    first: int = 0
    facts: dict[str, str | None] = msgspec.field(default_factory=dict[str, str | None])
    run_date: str | None = None
    revision: int = 0
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class JournalContent:
    """What a journal holds.

    Attributes:
        header: Whose journal it is.
        records: Number and payload of each whole record.
        damaged: Where wrong records stand that others follow: offset and length.
        end: Where they end; what follows in the file is a torn tail.
        check: Check of the last record.
    """

    header: JournalHeader
    records: list[tuple[int, bytes]]
    end: int
    check: bytes
    damaged: tuple[tuple[int, int], ...] = ()


def read_journal(path: Path) -> JournalContent:
    """Reads a journal up to its last whole record.

    Raises:
        JournalError: If its head is damaged, or it is no journal.
    """
    raw = path.read_bytes()
    records = list(_records(raw)) if raw.startswith(_MAGIC) else []
    if not records or records[0].payload is None:
        # A journal is put in its place whole, so no crash leaves one without its head.
        raise errors.JournalError(
            f"{path} is no journal, or its head is damaged. Restore it from a copy, or move it away to give it up."
        )
    header = msgspec.json.decode(records[0].payload, type=JournalHeader)
    return JournalContent(
        header,
        [
            (header.first + number, record.payload)
            for number, record in enumerate(records[1:])
            if record.payload is not None
        ],
        records[-1].end,
        records[-1].check,
        tuple((record.at, record.end - record.at) for record in records if record.payload is None),
    )


class _Record(NamedTuple):
    at: int
    end: int
    check: bytes
    payload: bytes | None


def _records(raw: bytes) -> Iterator[_Record]:
    at, before = len(_MAGIC), b""
    while (record := _whole(raw, at, before) or _damaged(raw, at, before)) is not None:
        yield record
        at, before = record.end, record.check


def _whole(raw: bytes, at: int, before: bytes) -> _Record | None:
    """The record that stands at a place, if it is whole."""
    head = raw[at : at + _HEAD_BYTES]
    length = int.from_bytes(head[:4], "little")
    end = at + _HEAD_BYTES + length
    if len(head) < _HEAD_BYTES or end > len(raw):
        return None
    payload = raw[at + _HEAD_BYTES : end]
    return _Record(at, end, head[4:], payload) if _check(before, at, payload) == head[4:] else None


def _damaged(raw: bytes, at: int, before: bytes) -> _Record | None:
    """The wrong record that stands at a place, up to where whole ones go on; ``None`` if none do.

    The check of a record rests on that of the one before it. Where the wrong record states its check rightly, the next
    one shows where it ends; where only the check is wrong, its payload shows what the check was. Else two records that
    fit each other are looked for: of those the first cannot be proved, and is given up too.
    """
    head = raw[at : at + _HEAD_BYTES]
    if len(head) < _HEAD_BYTES:
        return None
    end = at + _HEAD_BYTES + int.from_bytes(head[:4], "little")
    for check in (head[4:], _check(before, at, raw[at + _HEAD_BYTES : end])):
        if _whole(raw, end, check):
            return _Record(at, end, check, None)
    places = list(_likely_heads(raw, at + _HEAD_BYTES))
    for place in places:
        if _whole(raw, place, head[4:]):
            return _Record(at, place, head[4:], None)
    for place in places:
        first = raw[place : place + _HEAD_BYTES]
        end = place + _HEAD_BYTES + int.from_bytes(first[:4], "little")
        if _whole(raw, end, first[4:]):
            return _Record(at, end, first[4:], None)
    return None


def _likely_heads(raw: bytes, begin: int) -> Iterator[int]:
    """Places where the head of a record may stand: the length that it states is not more than there is.

    The last byte of a length in a file of this size is small, as no byte of JSON text is: they are found fast.
    """
    most = (len(raw) >> 24).to_bytes(1, "big")
    for found in re.finditer(b"[\\x00-" + re.escape(most) + b"]", raw[begin + 3 :]):
        place = begin + found.start()
        if place + _HEAD_BYTES + int.from_bytes(raw[place : place + 4], "little") <= len(raw):
            yield place


def _check(before: bytes, at: int, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=_CHECK_BYTES, key=before, salt=at.to_bytes(8, "little")).digest()


class JournalWriter:
    """Writes a journal. ``write`` hands bytes to the system; ``sync`` waits until they are on disk.

    Many threads may write: who has to wait for the disk waits together with the others (group commit).
    """

    def __init__(self, file: IO[bytes], content: JournalContent) -> None:
        self._file = file
        self._check = content.check
        self._written = self._synced = content.end
        self._write_lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._failed: OSError | None = None

    @classmethod
    def opened(cls, path: Path, content: JournalContent) -> JournalWriter:
        """Goes on with a journal after its last whole record; a torn tail is cut off."""
        file = path.open("r+b", buffering=0)
        file.truncate(content.end)
        file.seek(content.end)
        os.fsync(file.fileno())
        return cls(file, content)

    @property
    def size(self) -> int:
        """Bytes written."""
        return self._written

    def write(self, payloads: Sequence[bytes]) -> int:
        """Writes records after each other.

        Returns:
            What to give to :meth:`sync`.

        Raises:
            LedgerError: If they cannot be written; nothing more can be then.
        """
        with self._write_lock:
            self._refuse_after_failure()
            check, framed = self._check, bytearray()
            for payload in payloads:
                if len(payload) > _LONGEST:
                    raise errors.LedgerError("A message of 4 GiB or more cannot be journaled. Make it an artifact.")
                check = _check(check, self._written + len(framed), payload)
                framed += len(payload).to_bytes(4, "little") + check + payload
            try:
                _write_all(self._file, framed)
            except OSError as error:
                self._failed = error
                self._refuse_after_failure()
            self._check = check
            self._written += len(framed)
            return self._written

    def sync(self, end: int) -> None:
        """Waits until everything up to ``end`` is on disk.

        Raises:
            LedgerError: If the disk does not take it.
        """
        if self._synced >= end:
            return
        with self._sync_lock:
            if self._synced >= end:  # somebody else's sync took it along
                return
            self._refuse_after_failure()
            reached = self._written
            try:
                os.fdatasync(self._file.fileno())
            except OSError as error:
                self._failed = error
                self._refuse_after_failure()
            self._synced = reached

    def _refuse_after_failure(self) -> None:
        """After a failed write or sync nobody knows what is on disk; the file has to be read again."""
        if self._failed is not None:
            raise errors.LedgerError(
                f"The journal could not be written ({self._failed}). Close this recorder, mend the disk, and record "
                "the run again: what was acknowledged is there."
            ) from self._failed

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def start_journal(path: Path, header: JournalHeader) -> JournalContent:
    """Makes a journal that holds nothing yet, in the place of one that was there, durably."""
    payload = msgspec.json.encode(header)
    check = _check(b"", len(_MAGIC), payload)
    raw = _MAGIC + len(payload).to_bytes(4, "little") + check + payload
    write_whole(path, raw)
    for stale in path.parent.glob(f"{path.name}.*.new"):  # of a writer that died while it did the same
        stale.unlink(missing_ok=True)
    return JournalContent(header, [], len(raw), check)


def _write_all(file: IO[bytes], framed: bytes | bytearray) -> None:
    rest = memoryview(framed)
    while rest:
        rest = rest[file.write(rest) :]


def keep_damaged(path: Path, first: int) -> None:
    """Keeps a journal with damaged records under another name, for somebody to look at."""
    aside = path.with_name(f"{path.name}.{first}.damaged")
    if not aside.exists():
        aside.hardlink_to(path)
