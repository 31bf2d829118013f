"""Derived tables: filled when a query first needs them, and never seen stale or in part.

While something is missing, ``derived_NAME`` is not there: a query that needs it cannot be bound, what is missing is
read from the parts, and the query runs again. Whenever the history or a journal has grown, the name is taken away
again. Rows are found by the state of their run: its last leaf hash, which stands for all of its messages, and what of
it was erased. Whatever else a file holds is never shown, so lost, old, doubled and half-written files do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import duckdb
import polars as pl

from ledgerkit import errors
from ledgerkit.store.derivedfiles import LOCK, STATE, DerivedFiles, remove_all, sizes, unwritable
from ledgerkit.store.extraction import RUN, Extraction, Extractor
from ledgerkit.store.layout import Layout
from ledgerkit.store.locking import exclusive
from ledgerkit.store.sources import blank_columns
from ledgerkit.store.views import RETIRED
from ledgerkit.tables import DERIVED

if TYPE_CHECKING:
    from ledgerkit.store.database import Database, Moment

MANY_FILES: Final = 16
"""With more files than this, one takes the place of all."""
_ATTEMPTS: Final = 5
_MISSING: Final = re.compile(r"Table with name derived_(\w+) does not exist")
_SEALED_RUNS: Final = f"""
    select h.session_id, h.run_id, sum(byte_count)::bigint as bytes,
        lower(hex(arg_max(leaf_hash, sequence_no) filter (part_index = 0)))
            || if(count(erased) = 0, '', '-' || count(erased) || '-' || max(erased)) as state
    from sealed_history h left join sealed_superseding s on h.session_id = s.session_id and h.run_id = s.run_id
    where (s.run_id is null or h.revision = s.revision) and h.status is distinct from '{RETIRED}'
    group by h.session_id, h.run_id
"""  # noqa: S608
_OPEN_RUNS: Final = """
    select session_id, run_id, coalesce(any_value(s.bytes), 0) + sum(coalesce(j.byte_count, 0))::bigint as bytes,
        null::varchar as state
    from journaled_history j left join runs_there s using (session_id, run_id) group by session_id, run_id
"""
_FROM_FILES: Final = """
    select r.* exclude (file) from read_parquet([{files}], filename = 'file') r
        join derived_{name}_runs c on r.session_id = c.session_id and r.run_id = c.run_id and r.state = c.state
            and r.file = c.file
    where r.row is not null union all by name
"""


class Derived:
    """The derived tables of a ledger, as its database shows them.

    Args:
        layout: The ledger.
        database: Its database.
    """

    def __init__(self, layout: Layout, database: Database) -> None:
        self._layout = layout
        self._database = database
        self._tables: dict[str, Extraction] = {}
        self._sealed: tuple[int, pl.DataFrame] | None = None

    def serve(self, extractors: Mapping[str, Extractor]) -> None:
        """Names the extractors of tables; a table without one stays empty. Before the first query."""
        for name, extract in extractors.items():
            table = DERIVED[name]
            self._tables[name] = Extraction(table, extract, DerivedFiles(self._layout, table))

    def stand_in(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Makes every table an empty one, so that views over it can be defined."""
        for name, table in DERIVED.items():
            empty = f"select {blank_columns(table.stored)} where false"
            connection.execute(f"create or replace view derived_{name} as {empty}")

    def take_away(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Takes away what may be stale now; the next query that needs it makes it anew."""
        for name in self._tables:
            connection.execute(f"drop view if exists derived_{name}")

    def missing(self, error: duckdb.Error) -> str | None:
        """The table for which a query failed because it has to be filled first."""
        found = _MISSING.search(str(error))
        return found[1] if found and found[1] in self._tables else None

    def fill(self, name: str) -> None:
        """Reads what was not read yet, and shows the table.

        Raises:
            LedgerConflictError: If others kept writing.
        """
        one = self._tables[name]
        if self._settle(one, may_write=None):
            return
        with self._writing() as may_write:
            for attempt in range(_ATTEMPTS):
                # The lock of the files always before the mutex; at the last attempt nobody comes in between.
                with nullcontext() if attempt < _ATTEMPTS - 1 else self._database.mutex:
                    if self._settle(one, may_write=may_write):
                        return
        raise errors.LedgerConflictError(f"Others kept writing while {name!r} was read. Try again when they are done.")

    def _settle(self, one: Extraction, *, may_write: bool | None) -> bool:
        """Reads what is missing and shows the table, as of one moment. Whether that was done.

        It is not if the ledger has changed meanwhile; nor, if ``may_write`` is ``None``, with sealed runs to read.
        """
        try:
            with self._database.moment() as moment:
                wanted = self._runs(moment)
                absent = wanted.join(one.states(), on=STATE, how="anti", maintain_order="left")
                if may_write is None and absent["state"].count():
                    return False
                fresh = one.read(moment.cursor, absent)
        except duckdb.IOException:  # an erasure took a file away after its name was read
            return False
        sealed = pl.col("state").is_not_null()
        kept = fresh.filter(sealed)
        if kept.height and not (may_write and _is_written(one.files, kept, wanted)):
            one.memory = pl.concat([one.memory, kept])
        one.memory = one.memory.join(wanted, on=STATE, how="semi", maintain_order="left")
        return self._show(one, moment, wanted, fresh.filter(~sealed))

    def _runs(self, moment: Moment) -> pl.DataFrame:
        """Current runs: ``session_id, run_id, bytes, state``; one that a journal goes on with has no state."""
        sealed = self._sealed
        if sealed is None or sealed[0] != moment.version:
            sealed = self._sealed = (moment.version, moment.cursor.sql(_SEALED_RUNS).pl().sort(RUN))
        runs = sealed[1]
        if moment.is_journaled:
            moment.cursor.register("runs_there", runs.to_arrow(compat_level=pl.CompatLevel.oldest()))
            opened = moment.cursor.sql(_OPEN_RUNS).pl()
            runs = pl.concat([runs.join(opened, on=RUN, how="anti"), opened.cast(dict(runs.schema))]).sort(RUN)
        return runs

    def _show(self, one: Extraction, moment: Moment, wanted: pl.DataFrame, opened: pl.DataFrame) -> bool:
        """Shows the rows of the current states, if the database still shows the same moment."""
        name, columns = one.table.name, one.table.stored.names
        there = one.files.states().join(wanted, on=STATE, how="semi", maintain_order="left")
        there = there.join(one.memory.select(STATE).unique(), on=STATE, how="anti", maintain_order="left")
        held = there.filter(pl.col("rows") > 0).with_columns(
            pl.format("{}/{}", pl.lit(str(one.files.folder)), "file").alias("file")
        )
        if there.height + one.memory["row"].null_count() + opened["row"].null_count() < wanted.height:
            return False  # a file went away
        with self._database.changing(moment) as connection:
            if connection is None:
                return False
            self._database.keep(f"derived_{name}_runs", held)
            self._database.keep(
                f"derived_{name}_held", pl.concat([one.memory, opened]).filter(pl.col("row").is_not_null())
            )
            files = ", ".join("'" + file.replace("'", "''") + "'" for file in held["file"].unique().sort())
            source = _FROM_FILES.format(files=files, name=name) if files else ""
            listed = ", ".join(f'"{column}"' for column in columns)
            connection.execute(
                f"create or replace view derived_{name} as select {listed} from ({source} from derived_{name}_held)"  # noqa: S608
            )
        return True

    @contextmanager
    def _writing(self) -> Generator[bool]:
        """Holds the lock of the files, and says whether files may be written here."""
        with ExitStack() as stack:
            may_write = not self._database.is_past
            if may_write:
                try:
                    stack.enter_context(exclusive(self._layout, LOCK))
                except OSError as error:
                    if not unwritable(error):
                        raise
                    may_write = False
            yield may_write

    def rebuild(self) -> None:
        """Removes everything that was read, in all versions, and reads it again."""
        with exclusive(self._layout, LOCK):
            remove_all(self._layout)
        for one in self._tables.values():
            one.memory = one.table.stored.empty()
        self._database.forget_derived()
        for name in self._tables:
            self.fill(name)

    def facts(self) -> list[dict[str, Any]]:
        """What files hold: ``table, version, files, rows, bytes`` of each table, whatever state of a run it is of."""
        rows: list[dict[str, Any]] = []
        for name, one in self._tables.items():
            found = sizes(one.files)
            rows.append({
                "table": f"derived/{name}",
                "version": one.table.version,
                "files": len(found),
                "rows": int(one.files.states()["rows"].sum()),
                "bytes": sum(found),
            })  # fmt: skip
        return rows


def _is_written(files: DerivedFiles, rows: pl.DataFrame, wanted: pl.DataFrame) -> bool:
    """Writes rows, if there is a place for them; many small files become one."""
    try:
        files.write(rows)
        if files.count() > MANY_FILES:
            files.put_together(wanted)
    except OSError as error:
        if not unwritable(error):
            raise
        return False
    return True
