"""Sessions of one batch: what is new in them, and the rows that say so.

A run that only grows gets rows appended; one whose records come in another order than the ledger holds gets a new
revision, whole. Either way the current rows of a session are a function of the records that the ledger has met.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from ledgerkit.ingest.account import Fate, FileState
from ledgerkit.ingest.holdings import Holdings
from ledgerkit.ingest.lineage import items_of_rows
from ledgerkit.ingest.reading import Record
from ledgerkit.ingest.shapes import Item, Place
from ledgerkit.protocol.identifiers import uuid8


@dataclass(slots=True)
class NewRecord:
    """A record that the ledger did not have."""

    record: Record
    key: int
    state: FileState
    message_ids: list[str]


@dataclass(slots=True)
class Session:
    """What the ledger has of a session, and what a batch brings."""

    session_id: str
    items: list[Item]
    held: dict[str, dict[str, tuple[int, Place | None]]]
    source_files: dict[str, str | None]
    sequences: list[list[int]] = field(default_factory=list[list[int]])
    new: dict[int, NewRecord] = field(default_factory=dict[int, NewRecord])
    known: set[int] = field(default_factory=set[int])
    given_ids: set[str] = field(default_factory=set[str])
    has_new_order: bool = False


class SessionIntake:
    """Takes the records of one batch and one format, and knows what the ledger has of their sessions."""

    def __init__(self, holdings: Holdings, log_format: str) -> None:
        self.log_format = log_format
        self.sessions: dict[str, Session] = {}
        self.standing: dict[str, tuple[int, str]] = {}
        self._holdings = holdings
        self._open_files: dict[tuple[str, str], list[int]] = {}

    def meet(self, session_ids: set[str]) -> None:
        """Loads what the ledger holds of sessions that this batch has not met yet."""
        unmet = sorted(session_ids - self.sessions.keys())
        self.sessions |= {session_id: _loaded(session_id, []) for session_id in unmet}
        held = self._holdings.sessions(unmet)
        if not held:
            return
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        records, standings = self._holdings.records(held, self.log_format)
        for row in records.iter_rows(named=True):
            rows[row["session_id"]].append(row)
        self.sessions |= {session_id: _loaded(session_id, rows[session_id]) for session_id in held}
        self.standing |= standings
        for path, begin, keys, there in self._holdings.files(held).iter_rows():
            self._take_sequence(path, begin, keys, set(there).intersection(held))

    def _take_sequence(self, path: str, begin: int, keys: list[int], session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            session = self.sessions[session_id]
            session.known.update(keys)
            label = (session_id, path)
            if begin == 0 or label not in self._open_files:
                self._open_files[label] = []
                session.sequences.append(self._open_files[label])
            self._open_files[label].extend(keys)

    def offer(self, record: Record, key: int, state: FileState) -> Fate:
        """Takes a record if the ledger does not have it; one that gives another content to an id is left out."""
        draft = record.draft
        session = self.sessions[draft.session or ""]
        if key in session.known or key in session.new:
            return Fate.DUPLICATE
        if draft.message_ids:
            if not session.given_ids.isdisjoint(draft.message_ids):
                return Fate.SKIPPED
            session.given_ids.update(draft.message_ids)
        session.new[key] = NewRecord(record, key, state, self._message_ids(record, key))
        return Fate.ACCEPTED

    def _message_ids(self, record: Record, key: int) -> list[str]:
        draft = record.draft
        if draft.message_ids is not None:
            return draft.message_ids
        ms = max((draft.created_at or 0) // 1000, 0)
        identity = (self.log_format, draft.session or "", str(key))
        return [uuid8(ms, *identity, str(number)) for number in range(record.message_count)]

    def keys_of(self, state: FileState, session_ids: Iterable[str]) -> set[int]:
        """Keys of a file's records from the readings that the present one continues."""
        files = (self._open_files.get((session_id, state.path), []) for session_id in session_ids if state.begin)
        return set(chain.from_iterable(files))

    def close_file(self, state: FileState, session_ids: Iterable[str]) -> None:
        """Notes the order of a file's records of some sessions, once all of them were offered."""
        self._take_sequence(state.path, state.begin, state.record_keys, session_ids)
        for session_id in session_ids:
            self.sessions[session_id].has_new_order = True


class Batch:
    """The records of one commit.

    Args:
        import_id: The import.
        number: Its number in the import.
        now: Time of the import.
        random: Gives so many random bytes.
        holdings: What the ledger holds.
    """

    def __init__(
        self, import_id: str, number: int, now: datetime, random: Callable[[int], bytes], holdings: Holdings
    ) -> None:
        self.import_id = import_id
        self.number = number
        self.now = now
        self.random = random
        self.holdings = holdings
        self.intakes: dict[str, SessionIntake] = {}

    @property
    def microseconds(self) -> int:
        """Time of the import, microseconds since 1970."""
        return round(self.now.timestamp() * 1_000_000)

    @property
    def transactions(self) -> dict[str, int]:
        """What makes sure that the batch is written once."""
        return {f"{self.import_id}/{self.number}": 1}

    def sessions(self) -> Iterator[Session]:
        """Its sessions, in a fixed order."""
        for _, intake in sorted(self.intakes.items()):
            for _, session in sorted(intake.sessions.items()):
                yield session

    def intake(self, log_format: str) -> SessionIntake:
        """The intake of a format."""
        if log_format not in self.intakes:
            self.intakes[log_format] = SessionIntake(self.holdings, log_format)
        return self.intakes[log_format]


def _loaded(session_id: str, rows: list[dict[str, Any]]) -> Session:
    items = items_of_rows(rows)
    held: dict[str, dict[str, tuple[int, Place | None]]] = defaultdict(dict)
    files: dict[str, str | None] = {}
    for row in rows:
        place = Place(row["message_id"], row["step"], row["visible_from"], row["parent_message_id"])
        held[row["run_id"]][row["message_id"]] = (row["sequence_no"], place if row["import_id"] else None)
        files[row["message_id"]] = row["source_file"]
    known = {item.key for item in items}
    return Session(session_id, items, dict(held), files, known=known, given_ids=set(files))
