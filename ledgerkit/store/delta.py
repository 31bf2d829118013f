"""The stored tables as Delta tables: append, and the list of live files. Nothing is ever updated in place.

History is created append-only; an append is one atomic commit. Each write carries an application transaction,
checked and written through one handle, so that the same batch is never committed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl
from deltalake import (
    BloomFilterProperties,
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.schema import ArrayType, Field, PrimitiveType, Schema, StructType

from ledgerkit import errors, tables
from ledgerkit.store.layout import Layout
from ledgerkit.tables import TABLES, Table

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

ROW_GROUP_ROWS = 16_384
_RETRIES = 200
_ATTEMPTS = 5
_ID_COLUMNS = {"history": ("message_id", "call_id", "tool_call_id"), "artifacts": ("content_id",)}
_STATS = {
    "history": "run_date,session_id,run_id,revision,sequence_no,message_id,created_at,kind",
    "artifacts": "content_id",
}


class DeltaStore:
    """The Delta tables of one ledger."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._handles: dict[str, DeltaTable] = {}

    def create_missing(self) -> None:
        """Creates the tables of a new ledger, or those that a creation which was cut off had not come to.

        Raises:
            LedgerFormatError: If a ledger that holds something has lost a table.
        """
        missing = [t for t in TABLES.values() if not DeltaTable.is_deltatable(str(self._layout.table_path(t.name)))]
        if 0 < len(missing) < len(TABLES) and ("history" in {t.name for t in missing} or self._has_commits()):
            raise self._lost(missing[0].name)
        for table in missing:
            _create(table, self._layout.table_path(table.name))

    def _has_commits(self) -> bool:
        return DeltaTable(str(self._layout.table_path("history"))).version() > 0

    def _lost(self, name: str) -> errors.LedgerFormatError:
        return errors.LedgerFormatError(
            f"{self._layout.root} lacks its table {name!r}. Restore the folder from a copy."
        )

    def handle(self, name: str) -> DeltaTable:
        """The table at its newest version."""
        if name in self._handles:
            self._handles[name].update_incremental()
        else:
            try:
                self._handles[name] = DeltaTable(str(self._layout.table_path(name)))
            except TableNotFoundError as error:
                raise self._lost(name) from error
        return self._handles[name]

    def versions(self) -> Mapping[str, int]:
        """The newest version of each table."""
        return {name: self.handle(name).version() for name in TABLES}

    def files(self, name: str) -> list[str]:
        """Paths of a table's live Parquet files, sorted."""
        return sorted(unquote(uri) for uri in self.handle(name).file_uris())

    def append(self, name: str, rows: pl.DataFrame, *, transaction: str) -> bool:
        """Appends rows in one commit.

        Args:
            name: The stored table.
            rows: Rows with the table's columns, in any order of columns.
            transaction: Identity of the batch; a batch that is there already is not written again.

        Returns:
            Whether the rows were written (``False``: they were there).

        Raises:
            LedgerConflictError: If other writers kept getting in between.
        """
        if rows.is_empty():
            return False
        table = TABLES[name]
        rows = rows.select(table.names).cast(table.types).sort(table.sort_by)
        for _ in range(_ATTEMPTS):
            handle = self.handle(name)
            if handle.transaction_version(transaction) is not None:
                return False
            try:
                _write(handle, rows, table, transaction)
            except CommitFailedError:
                continue
            return True
        raise errors.LedgerConflictError(f"Other writers kept committing to {name!r}. Try again when they are done.")


def _create(table: Table, path: Path) -> None:
    configuration: dict[str, str | None] = {"delta.appendOnly": "true", "delta.checkpointInterval": "50"}
    if table.name in _STATS:
        configuration["delta.dataSkippingStatsColumns"] = _STATS[table.name]
    DeltaTable.create(
        str(path),
        schema=Schema([Field(column.name, _delta_type(column.type)) for column in table.columns]),
        mode="ignore",
        partition_by=list(table.partition_by),
        name=table.name,
        description=f"One row is {table.one_row_is}.",
        configuration=configuration,
    )


_PRIMITIVES: dict[pl.DataType, str] = {
    tables.TEXT: "string",
    tables.INT: "long",
    tables.SMALL_INT: "integer",
    tables.REAL: "double",
    tables.FLAG: "boolean",
    tables.TIME: "timestamp",
    tables.MONEY: "decimal(18,9)",
    tables.BYTES: "binary",
}


def _delta_type(kind: PolarsDataType) -> PrimitiveType | ArrayType | StructType:
    if isinstance(kind, pl.List):
        return ArrayType(_delta_type(kind.inner), contains_null=True)
    if isinstance(kind, pl.Struct):
        return StructType([Field(field.name, _delta_type(field.dtype)) for field in kind.fields])
    return PrimitiveType(_PRIMITIVES[tables.instance(kind)])


def _write(handle: DeltaTable, rows: pl.DataFrame, table: Table, transaction: str) -> None:
    write_deltalake(
        handle,
        rows,
        mode="append",
        writer_properties=_writer_properties(table),
        commit_properties=CommitProperties(
            max_commit_retries=_RETRIES, app_transactions=[Transaction(transaction, 1, None)]
        ),
    )


def _writer_properties(table: Table) -> WriterProperties:
    columns = {
        name: ColumnProperties(
            bloom_filter_properties=BloomFilterProperties(set_bloom_filter_enabled=True, fpp=0.01, ndv=ROW_GROUP_ROWS)
        )
        for name in _ID_COLUMNS.get(table.name, ())
    }
    bulky = {"history": ("text", "data", "metadata"), "artifacts": ("content",)}.get(table.name, ())
    columns |= {name: ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE") for name in bulky}
    rows = 64 if table.name == "artifacts" else ROW_GROUP_ROWS
    return WriterProperties(compression="ZSTD", compression_level=3, max_row_group_size=rows, column_properties=columns)
