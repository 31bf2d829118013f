"""DuckDB over the live files of a ledger: documented views, read only, nothing outside the ledger's folder.

The connection may read the ledger's folder and nothing else, and its settings are locked; a statement that is not a
query is refused before it runs. Views are made anew when a table has a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import polars as pl

from ledgerkit import errors, tables
from ledgerkit.store import views
from ledgerkit.store.answers import Answers
from ledgerkit.store.defining import PublicViews
from ledgerkit.store.derived import Derived
from ledgerkit.store.derivedfiles import FOLDER as DERIVED_FOLDER
from ledgerkit.store.explaining import explained, unreadable
from ledgerkit.store.layout import Layout
from ledgerkit.store.readonly import refuse_writes
from ledgerkit.store.shown import Shown, utc
from ledgerkit.store.sources import sandboxed

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore
    from ledgerkit.store.journaled import Journals

_ATTEMPTS: Final = 5


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
        self._is_closed = False
        self._connection = sandboxed(layout)
        self._derived = Derived(layout, self)
        self._shown = Shown(self._connection, layout, store, journals, self._derived.take_away)
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
            raise explained(error) from error
        except pl.exceptions.PolarsError as error:
            raise errors.QueryError(f"A column has a type without a counterpart in Polars; cast it: {error}") from error

    def frame(self, sql: str, parameters: Sequence[object] | Mapping[str, object] | None = None) -> pl.DataFrame:
        """Runs one of ledgerkit's own queries (they may use the internal views).

        Raises:
            LedgerFormatError: If a file of the ledger cannot be read.
        """
        try:
            self.refresh()
            return self._run(sql, parameters, self.refresh)
        except duckdb.Error as error:
            raise unreadable(error, self._layout.root) from error

    def kept(self, sql: str) -> pl.DataFrame:
        """The answer of one of ledgerkit's own queries; asked again, it is not looked up again before it may differ."""
        with self._store.mutex:
            state, file = self._looked_up(sql)
            if self._kept[0] != state:
                self._kept = (state, {})
            answers = self._kept[1]
        if sql not in answers:
            answer = None if file is None else self._answers.read(file)
            answers[sql] = self._asked(sql, file) if answer is None else utc(answer)
        return answers[sql]

    def _looked_up(self, sql: str) -> tuple[object, str | None]:
        """The newest state, and the file that may hold the answer; none while a journal or the past is looked at."""
        if self._journals is None:
            self.refresh()
            return self._shown.state, None
        self._refuse_closed()
        self._journals.poll()
        state = (dict(self._store.versions()), self._journals.state)
        return state, self._shown.file_of(sql) if self._journals.open_runs.is_empty() else None

    def _asked(self, sql: str, file: str | None) -> pl.DataFrame:
        answer = self.frame(sql)
        if file is not None:
            self._answers.write(file, answer, lambda: self._looked_up(sql)[1] == file)
        return answer

    def state(self) -> object:
        """What the views show now: equal for as long as nothing was written."""
        with self._store.mutex:
            self.refresh()
            return self._shown.state

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
                return utc(self._connection.cursor().sql(sql, params=parameters).pl())
            except duckdb.CatalogException as error:
                if (name := self._derived.missing(error)) is None or attempt == _ATTEMPTS - 1:
                    raise
                self._derived.fill(name)
            except duckdb.IOException as error:
                # An erasure took a file away after its name was read; the newest version does without it.
                before, is_derived = self._shown.versions, f"/{DERIVED_FOLDER}/" in str(error)
                if is_derived:
                    self.forget_derived()
                refresh()
                if (before == self._shown.versions and not is_derived) or attempt == _ATTEMPTS - 1:
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
        return utc(self._connection.cursor().sql(f"from {name}").pl(lazy=True))

    @contextmanager
    def moment(self) -> Generator[Moment]:
        """The newest state, held for as long as it is looked at."""
        with self._store.mutex:
            self.refresh()
            cursor = self._connection.cursor()
            cursor.execute("begin")
            cursor.execute("select 1 from open_runs").fetchall()  # what a transaction sees is what it first sees
            moment = Moment(cursor, self._shown.versions["history"], self._shown.is_journaled, self._shown.state)
        try:
            yield moment
        finally:
            cursor.execute("rollback")
            cursor.close()

    @contextmanager
    def changing(self, moment: Moment) -> Generator[duckdb.DuckDBPyConnection | None]:
        """The connection, to change what is shown all at once; ``None`` if another moment is shown already."""
        with self._store.mutex:
            if self._shown.state is not moment.shown:
                yield None
                return
            with self._shown.at_once():
                yield self._connection

    def forget_derived(self) -> None:
        """Takes derived tables away; the next query that needs one looks at its files again."""
        with self._store.mutex, self._shown.at_once():
            self._derived.take_away(self._connection)

    def refresh(self) -> None:
        """Makes the views see the newest version of each table, and what stands in journals.

        Raises:
            QueryError: If the ledger was closed.
        """
        self._refuse_closed()
        self._shown.refresh()

    def _refresh_sealed(self) -> None:
        self._refuse_closed()
        self._shown.refresh_sealed()

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise errors.QueryError("This ledger was closed. Open it again with ledgerkit.open.")

    def keep(self, name: str, frame: pl.DataFrame) -> None:
        """Keeps a frame as a table in memory."""
        self._shown.keep(name, frame)

    def _define(self, sql: str) -> None:
        """Defines the views that a query needs."""
        if not self._views.wanted(sql):
            return
        with self._store.mutex:
            names = self._views.wanted(sql)
            with self._shown.at_once():
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


def _with_plain_integers(frame: pl.DataFrame) -> pl.DataFrame:
    """Sums of integers as integers: DuckDB makes them 128 bits wide, which arrives as a decimal without digits."""
    wide = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal) and kind.scale == 0]
    narrow = frame.select(pl.col(wide).cast(pl.Int64, strict=False))
    fits = [name for name in wide if narrow[name].null_count() == frame[name].null_count()]
    return frame.with_columns(narrow.select(fits))
