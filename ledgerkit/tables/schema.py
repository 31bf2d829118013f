"""What a column, a stored table and a view are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from polars._typing import ColumnNameOrSelector, PolarsDataType

TEXT: Final = pl.String()
"""Text; identifiers and JSON too."""
INT: Final = pl.Int64()
"""Sizes, numbers of rows and tokens."""
SMALL_INT: Final = pl.Int32()
"""Small numbers: steps, indexes, versions."""
REAL: Final = pl.Float64()
"""Shares and durations."""
FLAG: Final = pl.Boolean()
"""Yes or no."""
TIME: Final = pl.Datetime("us", "UTC")
"""A moment in UTC, in microseconds."""
MONEY: Final = pl.Decimal(18, 9)
"""US dollars in whole nano-dollars."""
BYTES: Final = pl.Binary()
"""Hashes and contents."""
TEXTS: Final = pl.List(TEXT)
"""A list of texts."""


class Role(StrEnum):
    """What a column is to the integrity of a row."""

    FIXED = "fixed"
    """Hashed as it is; stays when content is erased."""
    CONTENT = "content"
    """Hashed through a salted commitment; can be erased, and the hash stays valid."""
    PROOF = "proof"
    """Hashes themselves, and the mark of an erasure."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, type, what stands in it, and its role in the hash of its row."""

    name: str
    type: pl.DataType
    doc: str
    role: Role = Role.FIXED


@dataclass(frozen=True, slots=True)
class Table:
    """A stored table."""

    name: str
    one_row_is: str
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()

    @property
    def schema(self) -> pl.Schema:
        """Names and types, in declared order."""
        return pl.Schema({c.name: c.type for c in self.columns})

    @property
    def types(self) -> Mapping[ColumnNameOrSelector | PolarsDataType, PolarsDataType]:
        """Types by name, as a cast takes them."""
        return {c.name: c.type for c in self.columns}

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Rows as a frame of this table. Every row has every column; times may be microseconds since 1970."""
        listed = list(rows)
        return self.frame_of({c.name: list(map(itemgetter(c.name), listed)) for c in self.columns})

    def frame_of(self, columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
        """Columns as a frame of this table; times may be microseconds since 1970."""
        return pl.DataFrame([_series(c, columns[c.name]) for c in self.columns])

    def series(self, name: str, values: Sequence[Any]) -> pl.Series:
        """The values of one column; times may be microseconds since 1970."""
        return _series(next(c for c in self.columns if c.name == name), values)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(c.name for c in self.columns)

    def empty(self) -> pl.DataFrame:
        """A frame of this table without rows."""
        return pl.DataFrame(schema=self.schema)

    def of_role(self, role: Role) -> tuple[Column, ...]:
        """Columns of a role, by name: the order in which they are hashed."""
        return tuple(sorted((c for c in self.columns if c.role is role), key=lambda c: c.name))


def instance(kind: PolarsDataType) -> pl.DataType:
    """A type as an instance, where Polars gives its class."""
    return kind if isinstance(kind, pl.DataType) else kind()


def _series(column: Column, values: Sequence[Any]) -> pl.Series:
    if column.type == TIME and any(isinstance(value, int) for value in values):
        return pl.Series(column.name, values, INT).cast(TIME)
    return pl.Series(column.name, values, column.type)


@dataclass(frozen=True, slots=True)
class View:
    """A view over stored tables: a judgement about rows, or another grain of them."""

    name: str
    one_row_is: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(c.name for c in self.columns)
