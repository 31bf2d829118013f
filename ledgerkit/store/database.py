"""DuckDB over the live files of a ledger: documented views, read only, nothing outside the ledger's folder.

The connection may read the ledger's folder and nothing else, and its settings are locked; a statement that is not a
query is refused before it runs. Views are made anew when a table has a new version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb
import polars as pl
import polars.selectors as cs

from ledgerkit import errors, tables
from ledgerkit.store import views
from ledgerkit.store.answers import Answers
from ledgerkit.store.defining import PublicViews
from ledgerkit.store.derived import Derived
from ledgerkit.store.derivedfiles import FOLDER as DERIVED_FOLDER
from ledgerkit.store.layout import Layout
from ledgerkit.store.origins import fill_origins
from ledgerkit.store.readonly import refuse_writes
from ledgerkit.store.runheads import RunHead
from ledgerkit.store.sources import sandboxed, stored_source

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore
    from ledgerkit.store.journaled import Journals

_ATTEMPTS: Final = 5
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


@dataclass(frozen=True, slots=True)
class Moment:
    """What the views show at one moment, whatever happens meanwhile.

    Attributes:
        cursor: Sees this moment and no other.
        version: Version of ``history``.
        is_journaled: Whether a journal holds messages (``journaled_history``).
        shown: Names the moment.
    """

    cursor: duckdb.DuckDBPyConnection
    version: int
    is_journaled: bool
    shown: object


class Database:
    """Queries over one ledger."""

    def __init__(self, layout: Layout, store: DeltaStore, journals: Journals | None) -> None:
        self._layout = layout
        self._store = store
        self._journals = journals
        self._versions: Mapping[str, int] = {}
        self._sources: dict[str, str] = {}
        self._shown: object = None
        self._copied = -1
        self._is_journaled = False
        self._is_closed = False
        self._connection = sandboxed(layout)
        self._derived = Derived(layout, self)
        self._views = PublicViews()
        self._answers = Answers(layout)
        self._kept: tuple[object, dict[str, pl.DataFrame]] = (None, {})

    def query(self, sql: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """Runs one query of a user.

        Args:
            sql: One SELECT (or EXPLAIN, DESCRIBE, SHOW, SUMMARIZE) statement that only reads.
            parameters: Values of its ``?`` or ``$name`` placeholders.

        Raises:
            QueryError: If it is not a query, or fails.
            UnknownNameError: If it names a table or column that is not there.
        """
        self.refresh()
        try:
            refuse_writes(self._connection, sql)
            return _with_plain_integers(self._run(sql, parameters, self.refresh))
        except duckdb.Error as error:
            raise self._explained(error) from error
        except pl.exceptions.PolarsError as error:
            raise errors.QueryError(f"A column has a type without a counterpart in Polars; cast it: {error}") from error

    def frame(self, sql: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """Runs one of ledgerkit's own queries (they may use the internal views)."""
        self.refresh()
        return self._run(sql, parameters, self.refresh)

    def kept(self, sql: str) -> pl.DataFrame:
        """The answer of one of ledgerkit's own queries; asked again, it is not looked up again before it may differ."""
        with self._store.mutex:
            state, file = self._looked_up(sql)
            if self._kept[0] != state:
                self._kept = (state, {})
            answers = self._kept[1]
        if sql not in answers:
            answer = None if file is None else self._answers.read(file)
            answers[sql] = self._asked(sql, file) if answer is None else _utc(answer)
        return answers[sql]

    def _looked_up(self, sql: str) -> tuple[object, str | None]:
        """The newest state, and the file that may hold the answer; none while a journal or the past is looked at."""
        if self._journals is None:
            self.refresh()
            return self._shown, None
        self._refuse_closed()
        self._journals.poll()
        state = (dict(self._store.versions()), self._journals.state)
        return state, self._file_of(sql) if self._journals.open_runs.is_empty() else None

    def _file_of(self, sql: str) -> str:
        return self._answers.name_of(sql, [*self._store.files("history"), *self._store.files("runs")])

    def _asked(self, sql: str, file: str | None) -> pl.DataFrame:
        answer = self.frame(sql)
        if file is not None:
            self._answers.write(file, answer, lambda: self._looked_up(sql)[1] == file)
        return answer

    def _take_up(self, name: str, make: Callable[[], object]) -> None:
        """Fills a small table with what was kept of it, or makes it and keeps it.

        It must follow from what is sealed alone, so while a journal is open, nothing is looked up or kept.
        """
        is_open = self._journals is None or not self._journals.open_runs.is_empty()
        file = None if is_open else self._file_of(f"table {name}")
        known = None if file is None else self._answers.read(file)
        if known is not None:
            self.keep(name, known)
            return
        make()
        if file is not None:
            made = self._connection.sql(f"from {name}").pl()
            self._answers.write(file, made, lambda: self._file_of(f"table {name}") == file)

    def state(self) -> object:
        """What the views show now: equal for as long as nothing was written."""
        with self._store.mutex:
            self.refresh()
            return self._shown

    def sealed(self, sql: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """The same over the ``sealed_`` views only: what is committed, without what stands in journals."""
        self._refresh_sealed()
        return self._run(sql, parameters, self._refresh_sealed, is_of_views=False)

    @property
    def mutex(self) -> AbstractContextManager[object]:
        """Held while what the views show is changed."""
        return self._store.mutex

    @property
    def is_past(self) -> bool:
        """Whether this is an earlier state of the ledger."""
        return self._journals is None

    @property
    def derived(self) -> Derived:
        """The derived tables."""
        return self._derived

    def _run(
        self,
        sql: str,
        parameters: Sequence[object] | Mapping[str, object] | None,
        refresh: Callable[[], None],
        *,
        is_of_views: bool = True,
    ) -> pl.DataFrame:
        for attempt in range(_ATTEMPTS):
            try:
                if is_of_views:
                    self._define(sql)
                return _utc(self._connection.cursor().sql(sql, params=parameters).pl())
            except duckdb.CatalogException as error:
                if (name := self._derived.missing(error)) is None or attempt == _ATTEMPTS - 1:
                    raise
                self._derived.fill(name)
            except duckdb.IOException as error:
                # An erasure took a file away after its name was read; the newest version does without it.
                before, is_derived = self._versions, f"/{DERIVED_FOLDER}/" in str(error)
                if is_derived:
                    self.forget_derived()
                refresh()
                if (before == self._versions and not is_derived) or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def scan(self, name: str) -> pl.LazyFrame:
        """A view as a lazy frame; filters and column choices are pushed down into it.

        Raises:
            UnknownNameError: If there is no such view.
        """
        if name not in tables.VIEWS:
            raise errors.UnknownNameError.among("table", name, tables.VIEWS)
        if name in views.OVER_DERIVED:  # its rows are few, and a lazy one could meet a table that is being filled
            return self.frame(f"from {name}").lazy()
        self.refresh()
        self._define(name)
        return _utc(self._connection.cursor().sql(f"from {name}").pl(lazy=True))

    @contextmanager
    def moment(self) -> Generator[Moment]:
        """The newest state, held for as long as it is looked at."""
        with self._store.mutex:
            self.refresh()
            cursor = self._connection.cursor()
            cursor.execute("begin")
            cursor.execute("select 1 from open_runs").fetchall()  # what a transaction sees is what it first sees
            moment = Moment(cursor, self._versions["history"], self._is_journaled, self._shown)
        try:
            yield moment
        finally:
            cursor.execute("rollback")
            cursor.close()

    @contextmanager
    def changing(self, moment: Moment) -> Generator[duckdb.DuckDBPyConnection | None]:
        """The connection, to change what is shown all at once; ``None`` if another moment is shown already."""
        with self._store.mutex:
            if self._shown is not moment.shown:
                yield None
                return
            with self._at_once():
                yield self._connection

    def forget_derived(self) -> None:
        """Takes derived tables away; the next query that needs one looks at its files again."""
        with self._store.mutex, self._at_once():
            self._derived.take_away(self._connection)

    def refresh(self) -> None:
        """Makes the views see the newest version of each table, and what stands in journals.

        Raises:
            QueryError: If the ledger was closed.
        """
        with self._store.mutex:
            if self._journals is not None:
                self._journals.poll()  # before the tables: what is sealed in between is in both, and left out once
            self._refresh_sealed()
            state = (self._versions, None if self._journals is None else self._journals.state)
            if state != self._shown:
                self._show()
                self._shown = state

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise errors.QueryError("This ledger was closed. Open it again with ledgerkit.open.")

    def _refresh_sealed(self) -> None:
        self._refuse_closed()
        with self._store.mutex:
            versions = dict(self._store.versions())
            if versions == self._versions:
                return
            with self._at_once():
                for name, table in tables.TABLES.items():
                    if versions[name] != self._versions.get(name):
                        source = stored_source(table, self._store.files(name), is_uniform=self._store.is_uniform(name))
                        self._create(name, source)
                        self._sources[name] = source
            self._versions = versions

    def _create(self, name: str, source: str) -> None:
        try:
            self._connection.execute(f"create or replace view sealed_{name} as {source}")
        except UnicodeDecodeError as error:  # DuckDB's message quotes the damaged bytes
            message = f"A file of the table {name} is damaged. Run: ledgerkit verify --ledger {self._layout.root}"
            raise errors.LedgerFormatError(message) from error

    @contextmanager
    def _at_once(self) -> Generator[None]:
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
        with self._at_once():
            self._is_journaled = self._show_stored()
            self._fill_cached(is_journaled=self._is_journaled)
            if self._shown is None:
                for name, sql in views.INTERNAL_VIEWS.items():
                    self._connection.execute(f"create or replace view {name} as {sql}")
            self._fill_copies()
            self._derived.take_away(self._connection)

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
        is_new = self._versions["history"] != self._copied
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
        described = _utc(self._connection.sql(_DESCRIBED, params=runs).pl()).to_dicts()
        heads = {(session, run): RunHead(*end) for session, run, *end in ends}
        return heads, {(row["session_id"], row["run_id"]): row for row in described}

    def _fill_copies(self) -> None:
        """Copies come of imports alone: what a journal holds makes none."""
        if self._versions["history"] != self._copied:
            self._take_up("shared_records", self._make_shared_records)
            made = f"create or replace table copies as {views.COPIES}"
            self._take_up("copies", partial(self._connection.execute, made))
            self._take_up("origins", partial(fill_origins, self._connection))
            self._copied = self._versions["history"]

    def _make_shared_records(self) -> None:
        self._connection.execute("create or replace table shared_records (record ubigint)")
        self._connection.execute(f"create or replace table records as {views.RECORDS}")
        for number in range(views.RECORD_PARTS):
            self._connection.execute(f"insert into shared_records {views.SHARED_RECORDS.format(number)}")
        self._connection.execute("drop table records")

    def _define(self, sql: str) -> None:
        """Defines the views that a query needs."""
        if not self._views.wanted(sql):
            return
        with self._store.mutex:
            names = self._views.wanted(sql)
            with self._at_once():
                if views.OVER_DERIVED.isdisjoint(names):
                    self._views.define(self._connection, names)
                else:  # they are defined over empty tables, and filled when a query reads them
                    self._derived.stand_in(self._connection)
                    self._views.define(self._connection, names)
                    self._derived.take_away(self._connection)
            self._views.note(names)

    def close(self) -> None:
        """Closes the connection."""
        self._is_closed = True
        self._connection.close()

    def _explained(self, error: duckdb.Error) -> errors.QueryError:
        message = str(error)
        table = re.search(r"Table with name (\S+) does not exist", message)
        if table:
            return errors.UnknownNameError.among("table", table[1].strip('"'), tables.VIEWS)
        column = re.search(r'Referenced column "([^"]+)" not found', message)
        if column:
            known = sorted({c.name for view in tables.VIEWS.values() for c in view.columns})
            return errors.UnknownNameError.among("column", column[1], known)
        return errors.QueryError(f"{message.strip()}\nTables: {', '.join(tables.VIEWS)}.")


_Frame = TypeVar("_Frame", pl.DataFrame, pl.LazyFrame)


def _utc(frame: _Frame) -> _Frame:
    """DuckDB calls the zone Etc/UTC; the declared types say UTC."""
    return frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


def _with_plain_integers(frame: pl.DataFrame) -> pl.DataFrame:
    """Sums of integers as integers: DuckDB makes them 128 bits wide, which arrives as a decimal without digits."""
    wide = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal) and kind.scale == 0]
    narrow = frame.select(pl.col(wide).cast(pl.Int64, strict=False))
    fits = [name for name in wide if narrow[name].null_count() == frame[name].null_count()]
    return frame.with_columns(narrow.select(fits))
