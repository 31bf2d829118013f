"""What the ledger holds of some sessions, as far as an import needs it to go on from there.

An import looks at the stored tables and not at the views: views are filled anew for each version, which takes the
longer the more the ledger holds. Rows that stand in journals count as well, where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from ledgerkit.store.database import Database
from ledgerkit.store.storage import Storage
from ledgerkit.store.views import RETIRED

_ALL: Final = """
    select distinct session_id from {0}_history union select distinct unnest(sessions) from {0}_imports
"""
_CURRENT: Final = f"""
    select * from (
        select * from {{0}}_history where list_contains($sessions, session_id)
        qualify revision = max(revision) over (partition by session_id, run_id)
    ) where status is distinct from '{RETIRED}'
"""  # noqa: S608
_LATEST: Final = """
    select * from {0}_runs where list_contains($sessions, session_id)
    qualify row_number() over (partition by session_id, run_id order by recorded_at desc, import_id desc) = 1
"""
_RECORDS: Final = """
    select session_id, run_id, revision, run_date, sequence_no, message_id, part_index, status,
        if(part_index = 0, metadata, null) as metadata, call_id, epoch_us(created_at) as created_at, source_record,
        part_type, tool_call_id, source_file, import_id, step, visible_from, parent_message_id
    from {0}_history where list_contains($sessions, session_id)
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

    Of most sessions of an import the ledger has nothing, and to find that out anew for each batch would mean to open
    every file of the history each time. An import is the only one that brings sessions, but for recorders; what they
    commit in between shows in the version.
    """

    ids: set[str] = field(default_factory=set[str])
    versions: tuple[int, int] = (-1, -1)

    def add(self, storage: Storage, sessions: set[str]) -> None:
        """Notes the sessions of a batch that was just committed. The commit lock is held since before."""
        self.ids |= sessions
        self.versions = _versions(storage)


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
            known.ids = set(self._frame(_ALL, {})["session_id"])
            known.versions = (-1, -1) if self._is_journaled else _versions(storage)
        self._known = known

    def _frame(self, sql: str, parameters: Mapping[str, object]) -> pl.DataFrame:
        if self._is_journaled:
            return self._database.frame(sql.format("stored"), parameters)
        return self._database.sealed(sql.format("sealed"), parameters)

    def sessions(self, among: Sequence[str]) -> list[str]:
        """Those of some sessions that the ledger has anything of."""
        return sorted(self._known.ids.intersection(among))

    def records(self, sessions: Sequence[str], log_format: str) -> tuple[pl.DataFrame, dict[str, tuple[int, str]]]:
        """The current rows of sessions, and where their runs stand.

        Returns:
            The rows of runs that came from a format, without their contents, in order; and revision and partition of
            each run, whatever it came from.
        """
        rows = self._frame(_RECORDS, {"sessions": sessions}).lazy()
        runs = self.runs(sessions).lazy().filter(pl.col("source_format") == log_format)
        newest = pl.col("revision") == pl.col("revision").max().over("session_id", "run_id")
        current = rows.filter(newest).filter(pl.col("status").ne_missing(RETIRED))
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
        return self._frame(_CURRENT, {"sessions": sessions})

    def runs(self, sessions: Sequence[str]) -> pl.DataFrame:
        """The newest rows of ``runs`` of some sessions."""
        return self._frame(_LATEST, {"sessions": sessions})
