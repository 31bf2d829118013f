"""What a ledger's DuckDB connection shows: the newest files of each table, and what stands in journals.

One rule: what is shown changes all at once. A query of another thread sees a state before or after, never one between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import polars as pl
import polars.selectors as cs

from ledgerkit import errors, tables
from ledgerkit.store import views
from ledgerkit.store.answers import Answers
from ledgerkit.store.layout import Layout
from ledgerkit.store.origins import fill_origins
from ledgerkit.store.runheads import RunHead
from ledgerkit.store.sources import stored_source

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore
    from ledgerkit.store.journaled import Journals

_ENDS: Final = """
    select session_id, run_id, revision, any_value(run_date), max(sequence_no) + 1 from sealed_history
    where list_contains($runs, run_id) group by session_id, run_id, revision
    qualify revision = max(revision) over (partition by session_id, run_id)
"""
_DESCRIBED: Final = """
    select * from sealed_runs where list_contains($runs, run_id)
    qualify row_number() over (partition by session_id, run_id order by recorded_at desc, import_id desc) = 1
"""
_NO_RUNS: Final = pl.DataFrame(schema={"session_id": pl.String, "run_id": pl.String})


class Shown:
    """The views of one connection, in step with files and journals.

    Args:
        connection: The connection.
        layout: The ledger.
        store: Its tables.
        journals: Its journals; ``None`` if an earlier state is shown.
        take_away: Takes derived tables away, which follow from what was shown before.

    Attributes:
        versions: The version of each table that is shown.
        state: Names what is shown; equal for as long as nothing was written.
        is_journaled: Whether a journal holds messages.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        layout: Layout,
        store: DeltaStore,
        journals: Journals | None,
        take_away: Callable[[duckdb.DuckDBPyConnection], None],
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._store = store
        self._journals = journals
        self._take_away = take_away
        self._answers = Answers(layout)
        self._sources: dict[str, str] = {}
        self._copied = -1
        self.versions: Mapping[str, int] = {}
        self.state: object = None
        self.is_journaled = False

    def refresh(self) -> None:
        """Makes the views see the newest version of each table, and what stands in journals."""
        with self._store.mutex:
            if self._journals is not None:
                self._journals.poll()  # before the tables: what is sealed in between is in both, and left out once
            self.refresh_sealed()
            state = (self.versions, None if self._journals is None else self._journals.state)
            if state != self.state:
                self._show()
                self.state = state

    def refresh_sealed(self) -> None:
        """Makes the ``sealed_`` views alone see the newest version of each table."""
        with self._store.mutex:
            versions = dict(self._store.versions())
            if versions == self.versions:
                return
            with self.at_once():
                for name, table in tables.TABLES.items():
                    if versions[name] != self.versions.get(name):
                        source = stored_source(table, self._store.files(name), is_uniform=self._store.is_uniform(name))
                        self._create(name, source)
                        self._sources[name] = source
            self.versions = versions

    def _create(self, name: str, source: str) -> None:
        try:
            self._connection.execute(f"create or replace view sealed_{name} as {source}")
        except UnicodeDecodeError as error:  # DuckDB's message quotes the damaged bytes
            message = f"A file of the table {name} is damaged. Run: ledgerkit verify --ledger {self._layout.root}"
            raise errors.LedgerFormatError(message) from error

    @contextmanager
    def at_once(self) -> Generator[None]:
        """What is changed inside is seen by queries of other threads all at once, or not at all."""
        self._connection.execute("begin")
        try:
            yield
        except BaseException:
            self._connection.execute("rollback")
            raise
        self._connection.execute("commit")

    def _show(self) -> None:
        """Makes the stored tables show what is committed and what stands in journals, at one moment."""
        with self.at_once():
            self.is_journaled = self._show_stored()
            self._fill_cached(is_journaled=self.is_journaled)
            if self.state is None:
                for name, sql in views.INTERNAL_VIEWS.items():
                    self._connection.execute(f"create or replace view {name} as {sql}")
            self._fill_copies()
            self._take_away(self._connection)

    def _show_stored(self) -> bool:
        """Shows the stored tables; whether a journal holds messages."""
        rows: Mapping[str, pl.DataFrame] = {}
        if self._journals is None:
            self.keep("open_runs", _NO_RUNS)
        else:
            open_runs = self._journals.open_runs
            self.keep("open_runs", open_runs)
            rows = self._journals.rows(self._store.known_transaction, *self._sealed_ends(open_runs))
        for name in tables.TABLES:
            union = ""
            if name in rows and rows[name].height:
                self.keep(f"journaled_{name}", rows[name])
                union = f" union all by name from journaled_{name}"
            self._connection.execute(f"create or replace view stored_{name} as {self._sources[name]}{union}")
        return "history" in rows and rows["history"].height > 0

    def _fill_cached(self, *, is_journaled: bool) -> None:
        """Fills small tables; what is sealed is looked through once a version."""
        is_new = self.versions["history"] != self._copied
        for name, sql in views.CACHED.items():
            if is_new:
                made = f"create or replace table sealed_{name} as {sql.format('sealed_history')}"
                self._take_up(f"sealed_{name}", partial(self._connection.execute, made))
            more = f" union all by name {sql.format('journaled_history')}" if is_journaled else ""
            self._connection.execute(f"create or replace table {name} as from sealed_{name}{more}")

    def keep(self, name: str, frame: pl.DataFrame) -> None:
        """Keeps a frame as a table in memory."""
        self._connection.register("arriving", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
        self._connection.execute(f"create or replace table {name} as from arriving")
        self._connection.unregister("arriving")

    def _sealed_ends(
        self, open_runs: pl.DataFrame
    ) -> tuple[Mapping[tuple[str, str], RunHead], Mapping[tuple[str, str], Mapping[str, Any]]]:
        """Where the sealed parts of runs that have a journal end, and what is known about these runs."""
        if open_runs.is_empty():
            return {}, {}
        runs = {"runs": open_runs["run_id"].to_list()}
        ends = self._connection.execute(_ENDS, runs).fetchall()
        described = utc(self._connection.sql(_DESCRIBED, params=runs).pl()).to_dicts()
        heads = {(session, run): RunHead(*end) for session, run, *end in ends}
        return heads, {(row["session_id"], row["run_id"]): row for row in described}

    def _fill_copies(self) -> None:
        """Copies come of imports alone: what a journal holds makes none."""
        if self.versions["history"] != self._copied:
            self._take_up("shared_records", self._make_shared_records)
            made = f"create or replace table copies as {views.COPIES}"
            self._take_up("copies", partial(self._connection.execute, made))
            self._take_up("origins", partial(fill_origins, self._connection))
            self._copied = self.versions["history"]

    def _make_shared_records(self) -> None:
        self._connection.execute("create or replace table shared_records (record ubigint)")
        self._connection.execute(f"create or replace table records as {views.RECORDS}")
        for number in range(views.RECORD_PARTS):
            self._connection.execute(f"insert into shared_records {views.SHARED_RECORDS.format(number)}")
        self._connection.execute("drop table records")

    def _take_up(self, name: str, make: Callable[[], object]) -> None:
        """Fills a small table with what was kept of it, or makes it and keeps it.

        It must follow from what is sealed alone, so while a journal is open, nothing is looked up or kept.
        """
        is_open = self._journals is None or not self._journals.open_runs.is_empty()
        file = None if is_open else self.file_of(f"table {name}")
        known = None if file is None else self._answers.read(file)
        if known is not None:
            self.keep(name, known)
            return
        make()
        if file is not None:
            made = self._connection.sql(f"from {name}").pl()
            self._answers.write(file, made, lambda: self.file_of(f"table {name}") == file)

    def file_of(self, sql: str) -> str:
        """The file of the answer to a query, or of a small table, over the newest files."""
        return self._answers.name_of(sql, [*self._store.files("history"), *self._store.files("runs")])


_Frame = TypeVar("_Frame", pl.DataFrame, pl.LazyFrame)


def utc(frame: _Frame) -> _Frame:
    """DuckDB calls the zone Etc/UTC; the declared types say UTC."""
    return frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))
