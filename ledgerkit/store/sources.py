"""The stored tables as SQL over their live files, and a connection that reaches nothing but the ledger's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import duckdb
import polars as pl

from ledgerkit import tables
from ledgerkit.store.layout import Layout

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

_SQL_TYPES: Final[dict[pl.DataType, str]] = {
    tables.TEXT: "VARCHAR",
    tables.INT: "BIGINT",
    tables.SMALL_INT: "INTEGER",
    tables.REAL: "DOUBLE",
    tables.FLAG: "BOOLEAN",
    tables.TIME: "TIMESTAMPTZ",
    tables.MONEY: "DECIMAL(18,9)",
    tables.BYTES: "BLOB",
}


def sandboxed(layout: Layout) -> duckdb.DuckDBPyConnection:
    """A connection that reads the ledger's folder and nothing else, its settings locked."""
    connection = duckdb.connect(":memory:")
    folder = str(layout.root.resolve())
    connection.execute("set allowed_directories = $folders", {"folders": [folder]})
    connection.execute("load icu")
    for setting in (
        "set enable_external_access = false",
        "set autoinstall_known_extensions = false",
        "set autoload_known_extensions = false",
        "set enable_progress_bar = false",
        "set global parquet_metadata_cache = true",
        "set TimeZone = 'UTC'",
        "set python_enable_replacements = false",
        "set lock_configuration = true",
    ):
        connection.execute(setting)
    return connection


def stored_source(table: tables.Table, files: list[str], *, is_uniform: bool) -> str:
    """The live files of a table as a query; a column that a file lacks is null."""
    blank = blank_columns(table)
    if not files:
        return f"select {blank} where false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    columns = ", ".join(f'"{name}"' for name in table.names)
    hive = f"hive_partitioning = {'true' if table.partition_by else 'false'}, hive_types_autocast = false"
    if is_uniform:
        return f"select {columns} from read_parquet([{listed}], {hive})"  # noqa: S608
    read = f"read_parquet([{listed}], {hive}, union_by_name = true)"
    return f"select {columns} from (select {blank} where false union all by name from {read})"  # noqa: S608


def blank_columns(table: tables.Table) -> str:
    """The columns of a table, all null."""
    return ", ".join(f'null::{_sql_type(c.type)} as "{c.name}"' for c in table.columns)


def _sql_type(kind: PolarsDataType) -> str:
    if isinstance(kind, pl.List):
        return _sql_type(kind.inner) + "[]"
    if isinstance(kind, pl.Struct):
        return "STRUCT(" + ", ".join(f'"{field.name}" {_sql_type(field.dtype)}' for field in kind.fields) + ")"
    return _SQL_TYPES[tables.instance(kind)]
