"""The canonical form of a row: what its hash is taken over. Any language can compute it.

A row is the concatenation, in order of column names, of ``name=length:value,`` for each column that is not null
(``length`` in bytes of UTF-8). Integers, times (microseconds since 1970) and amounts (nano-dollars) are decimal
numbers, bytes hexadecimal; a list is the concatenation of ``length:element,``. Columns that are null leave no trace,
so a column that a later version adds does not change the hash of an older row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from ledgerkit import tables
from ledgerkit.tables import Column

if TYPE_CHECKING:
    from polars._typing import PolarsDataType


def canonical_row(columns: Iterable[Column]) -> pl.Expr:
    """The canonical form of some columns as one text column."""
    fields = [
        pl.concat_str(pl.lit(f"{column.name}="), netstring(_as_text(pl.col(column.name), column.type)))
        for column in sorted(columns, key=lambda column: column.name)
    ]
    return pl.concat_str(fields, ignore_nulls=True)


def netstring(text: pl.Expr) -> pl.Expr:
    """A text with its length in bytes before it; null stays null."""
    return pl.concat_str(text.str.len_bytes(), pl.lit(":"), text, pl.lit(","))


def _as_text(value: pl.Expr, kind: PolarsDataType) -> pl.Expr:
    if kind == tables.TEXT:
        return value
    if kind == tables.BYTES:
        return value.bin.encode("hex")
    if kind == tables.TEXTS:
        return value.list.eval(netstring(pl.element())).list.join("")
    if kind in (tables.TIME, tables.MONEY):
        return value.to_physical().cast(pl.String)
    return value.cast(pl.String)
