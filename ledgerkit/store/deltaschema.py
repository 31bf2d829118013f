"""Declared tables as Delta Lake schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from deltalake import DeltaTable
from deltalake.schema import ArrayType, Field, PrimitiveType, Schema, StructType

from ledgerkit import tables
from ledgerkit.store.deltalog import sync
from ledgerkit.store.durability import make_folder
from ledgerkit.store.parquet import RANGES
from ledgerkit.store.place import Place
from ledgerkit.tables import Column, Table

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

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


def create_table(table: Table, place: Place) -> None:
    """Creates a table, append-only, and syncs it."""
    if place.is_local:
        make_folder(place.root / table.name)
    DeltaTable.create(
        place.uri(table.name),
        schema=Schema([delta_field(column) for column in table.columns]),
        mode="ignore",
        partition_by=list(table.partition_by),
        name=table.name,
        description=f"One row is {table.one_row_is}.",
        configuration=_configuration(table),
    )
    if place.is_local:
        sync(place.root / table.name, 0, 0)


def _configuration(table: Table) -> dict[str, str | None]:
    """Append-only; and which columns have ranges, since Delta Lake looks at the first 32 only."""
    ranges = RANGES.get(table.name)
    known = {"delta.dataSkippingStatsColumns": ",".join(ranges)} if ranges else {}
    return {"delta.appendOnly": "true", **known}


def delta_field(column: Column) -> Field:
    """A column as a field of a Delta Lake schema."""
    return Field(column.name, _type(column.type))


def _type(kind: PolarsDataType) -> PrimitiveType | ArrayType | StructType:
    if isinstance(kind, pl.List):
        return ArrayType(_type(kind.inner), contains_null=True)
    if isinstance(kind, pl.Struct):
        return StructType([Field(field.name, _type(field.dtype)) for field in kind.fields])
    return PrimitiveType(_PRIMITIVES[tables.instance(kind)])
