"""The account of an import: what became of everything that a file holds. Nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from ledgerkit import tables
from ledgerkit.importers.drafts import Quarantined


class Fate(StrEnum):
    """What became of a record."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    SKIPPED = "skipped"
    QUARANTINED = "quarantined"


class FileState:
    """The state of a source file after an import, to be stored as a row of ``imports``."""

    def __init__(self, path: str, source_format: str, *, byte_count: int) -> None:
        self.path = path
        self.format = source_format
        self.byte_count = byte_count
        self.begin = self.cursor = 0
        self.fingerprint = ""
        self.line_count = 0
        self.identified = 0
        self.distinct_records = 0
        self.fates: Counter[tuple[str, Fate, str]] = Counter()
        self.quarantine: list[Quarantined] = []
        self.sessions: list[str] = []
        self.record_keys: list[int] = []

    def count(self, record_type: str, fate: Fate, reason: str = "") -> None:
        """Counts one record."""
        self.fates[record_type, fate, reason] += 1

    def recount(self, record_type: str, was: Fate, now: Fate) -> None:
        """Corrects the fate of a record that was counted."""
        self.fates[record_type, was, ""] -= 1
        self.fates[record_type, now, ""] += 1

    def total(self, fate: Fate) -> int:
        """Records of that fate."""
        return sum(n for (_, f, _), n in self.fates.items() if f is fate)

    def continue_from(self, earlier: Mapping[str, Any]) -> None:
        """Takes over the counts of the readings before this one; a torn tail is read again, so it counts anew."""
        self.begin = earlier["cursor"]
        self.line_count = earlier["line_count"]
        self.identified = earlier["identified"]
        self.distinct_records = earlier["distinct_records"]
        self.sessions = list(earlier["sessions"])
        for fate in earlier["fates"]:
            self.fates[fate["record_type"], Fate(fate["fate"]), fate["reason"]] += fate["count"]
        for entry in earlier["quarantine"]:
            if entry["offset"] >= self.begin:
                self.fates[entry["record_type"], Fate.QUARANTINED, entry["reason"]] -= 1
                self.line_count -= 1
            else:
                self.quarantine.append(Quarantined(**entry))

    def settled(self) -> FileState:
        """This state without what only its row in ``imports`` needs, so that a long import stays small."""
        self.record_keys = []
        self.sessions = []
        return self

    def row(self, import_id: str, imported_at: int, redaction: str) -> dict[str, Any]:
        """The row of ``imports``."""
        fates = sorted((key, count) for key, count in self.fates.items() if count)
        return {
            "import_id": import_id,
            "path": self.path,
            "format": self.format,
            "byte_count": self.byte_count,
            "begin": self.begin,
            "cursor": self.cursor,
            "fingerprint": self.fingerprint,
            "line_count": self.line_count,
            "record_count": sum(self.fates.values()),
            **{fate.value: self.total(fate) for fate in Fate},
            "identified": self.identified,
            "distinct_records": self.distinct_records,
            "fates": [{"record_type": t, "fate": f.value, "reason": r, "count": n} for (t, f, r), n in fates],
            "quarantine": [msgspec.structs.asdict(entry) for entry in self.quarantine],
            "sessions": self.sessions,
            "record_keys": self.record_keys,
            "redaction": redaction,
            "imported_at": imported_at,
        }


def import_rows(states: list[FileState], import_id: str, imported_at: int, redaction: str) -> pl.DataFrame:
    """Rows of ``imports`` for some files."""
    return tables.IMPORTS.frame(state.row(import_id, imported_at, redaction) for state in states)


class ImportAccount(BaseModel):
    """What an import did.

    The counts close: ``accepted + duplicate + skipped + quarantined`` is the number of records in the files that
    were read. Files that had not changed since they were last imported are ``unchanged`` and were not read again.

    Attributes:
        files: Files read.
        unchanged: Files that had not changed.
        unsupported: Paths of no known format.
        new_messages: Messages added to the history.
        runs: Runs that are new or have new messages.
        redaction: What was done about secrets: ``on`` (replaced), ``audit`` (counted), ``off``.
        secrets: Secrets that were found, by type.
        formats: One row a format: ``format, files, records, accepted, duplicate, skipped, quarantined``.
        exposed: Messages that were committed before somebody knew that they hold a secret; ``erase`` removes them.
            Columns ``session_id, run_id, sequence_no, message_id, secret_types``.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    import_id: str
    files: int
    unchanged: int
    unsupported: tuple[str, ...]
    records: int
    accepted: int
    duplicate: int
    skipped: int
    quarantined: int
    new_messages: int
    runs: int
    redaction: str = "off"
    secrets: dict[str, int] = Field(default_factory=dict[str, int])
    details: pl.DataFrame
    """One row a file, type, fate and reason: ``path, record_type, fate, reason, count``."""
    damage: pl.DataFrame
    """One row a quarantined record: ``path, line, offset, bytes, reason``."""
    formats: pl.DataFrame
    exposed: pl.DataFrame

    @property
    def closes(self) -> bool:
        """Whether every record is accounted for."""
        return self.records == self.accepted + self.duplicate + self.skipped + self.quarantined
