"""What the ledger holds of some sessions, as far as an import needs it to go on from there.

An import looks at the stored tables and not at the views: views are filled anew for each version, which takes the
longer the more the ledger holds. Rows that stand in journals count as well, where there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store.database import Database
from ledgerkit.store.storage import Storage
from ledgerkit.store.views import RETIRED

_ALL: Final = """
    select session_id, list(distinct run_date) as dates from {0}_history group by all
    union all select distinct unnest(sessions), [] from {0}_imports
"""
_ROWS: Final = """
    select * from {0}_history where list_contains($dates, run_date) and list_contains($sessions, session_id)
"""
_LATEST: Final = """
    select * from {0}_runs where list_contains($sessions, session_id)
    qualify row_number() over (partition by session_id, run_id order by recorded_at desc, import_id desc) = 1
"""
_RECORDS: Final = """
    select session_id, run_id, revision, run_date, sequence_no, message_id, part_index, status,
        if(part_index = 0, metadata, null) as metadata, call_id, epoch_us(created_at) as created_at, source_record,
        part_type, tool_call_id, source_file, import_id, step, visible_from, parent_message_id
    from {0}_history where list_contains($dates, run_date) and list_contains($sessions, session_id)
"""
_FILES: Final = """
    select path, begin, record_keys, sessions from {0}_imports where list_has_any(sessions, $sessions)
    order by path, imported_at, cursor
"""
_READINGS: Final = """
    select * exclude (record_keys) from sealed_imports
    qualify row_number() over (partition by path order by imported_at desc, cursor desc, import_id desc) = 1
"""


def last_readings(database: Database) -> dict[str, dict[str, Any]]:
    """The last row of ``imports`` of every file, by path."""
    return {row["path"]: row for row in database.sealed(_READINGS).iter_rows(named=True)}


@dataclass(slots=True)
class KnownSessions:
    """The sessions that a ledger has anything of, as of one version of it.

    Of most sessions of an import the ledger has nothing, and of the others only few files of the history hold rows:
    those of the dates on which their runs began. To look through all of them for each batch would take the longer the
    more the ledger holds. An import is the only one that brings sessions, but for recorders; what they commit in
    between shows in the version.

    Attributes:
        dates: Partitions of the history that hold rows of a session; none where only a reading of a file names it.
        versions: Versions of ``history`` and ``imports`` that this is true of.
    """

    dates: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    versions: tuple[int, int] = (-1, -1)

    def add(self, storage: Storage, sessions: Iterable[str], placed: pl.DataFrame) -> None:
        """Notes the sessions of a batch that was just committed. The commit lock is held since before.

        Args:
            storage: The ledger.
            sessions: Sessions that its files name.
            placed: ``session_id`` and ``run_date`` of the rows that it brought.
        """
        self._note((session, ()) for session in sessions)
        self._note(placed.group_by("session_id").agg(pl.col("run_date").unique()).iter_rows())
        self.versions = _versions(storage)

    def replace(self, found: pl.DataFrame, versions: tuple[int, int]) -> None:
        """Forgets all that was known; ``session_id`` and ``dates`` are what holds now."""
        self.dates.clear()
        self._note(found.iter_rows())
        self.versions = versions

    def _note(self, found: Iterable[tuple[str, Iterable[str]]]) -> None:
        for session, dates in found:
            self.dates[session] = self.dates.get(session, frozenset()).union(dates)


def _versions(storage: Storage) -> tuple[int, int]:
    versions = storage.store.versions()
    return versions["history"], versions["imports"]


class Holdings:
    """What a ledger holds at one moment.

    Args:
        storage: The ledger. Its commit lock is held.
        known: What was known of its sessions; brought up to date.
    """

    def __init__(self, storage: Storage, known: KnownSessions) -> None:
        self._database: Database = storage.database
        self._is_journaled = any(storage.layout.journals.glob("*.journal"))
        if self._is_journaled or known.versions != _versions(storage):
            versions = (-1, -1) if self._is_journaled else _versions(storage)
            known.replace(self._frame(_ALL, {}), versions)
        self._known = known

    def _frame(self, sql: str, parameters: Mapping[str, object]) -> pl.DataFrame:
        if self._is_journaled:
            return self._database.frame(sql.format("stored"), parameters)
        return self._database.sealed(sql.format("sealed"), parameters)

    def sessions(self, among: Sequence[str]) -> list[str]:
        """Those of some sessions that the ledger has anything of."""
        return sorted(self._known.dates.keys() & set(among))

    def _history(self, sql: str, sessions: Sequence[str]) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """The rows of some sessions, and those that stand: of each run's newest revision, if the run is there still."""
        dates = sorted({date for session in sessions for date in self._known.dates.get(session, ())})
        rows = self._frame(sql, {"sessions": sessions, "dates": dates}).lazy()
        newest = pl.col("revision") == pl.col("revision").max().over("session_id", "run_id")
        return rows, rows.filter(newest).filter(pl.col("status").ne_missing(RETIRED))

    def records(self, sessions: Sequence[str], log_format: str) -> tuple[pl.DataFrame, dict[str, tuple[int, str]]]:
        """The current rows of sessions, and where their runs stand.

        Returns:
            The rows of runs that came from a format, without their contents, in order; and revision and partition of
            each run, whatever it came from.
        """
        rows, current = self._history(_RECORDS, sessions)
        runs = self.runs(sessions).lazy().filter(pl.col("source_format") == log_format)
        ours = current.join(runs, on=["session_id", "run_id"], how="semi")
        tops = rows.sort("revision").group_by("run_id").agg(pl.col("revision").last(), pl.col("run_date").last())
        return (
            ours.sort("session_id", "run_id", "sequence_no", "part_index").collect(),
            {run_id: (revision, run_date) for run_id, revision, run_date in tops.collect().iter_rows()},
        )

    def files(self, sessions: Sequence[str]) -> pl.DataFrame:
        """The readings of files that held records of some sessions: ``path, begin, record_keys, sessions``."""
        return self._frame(_FILES, {"sessions": sessions})

    def rows(self, sessions: Sequence[str]) -> pl.DataFrame:
        """The current rows of some sessions, whole."""
        return self._history(_ROWS, sessions)[1].collect()

    def runs(self, sessions: Sequence[str]) -> pl.DataFrame:
        """The newest rows of ``runs`` of some sessions; of those that the ledger knows nothing of there are none."""
        held = self.sessions(sessions)
        return self._frame(_LATEST, {"sessions": held}) if held else tables.RUNS.empty()
