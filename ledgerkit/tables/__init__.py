"""Every stored table and view, its columns, types and partitioning: declared once, as data.

Nothing else in ledgerkit names a column type. Storage, views, Polars frames and the documentation read it here.
Times are UTC microseconds; amounts of money are US dollars as ``decimal(18, 9)`` (whole nano-dollars); identifiers
are text; JSON is text that ``json_valid`` accepts.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.tables.derived import DERIVED, PARSED_CHECKS, DerivedTable
from ledgerkit.tables.schema import (
    BYTES,
    FLAG,
    INT,
    MONEY,
    REAL,
    SMALL_INT,
    TEXT,
    TEXTS,
    TIME,
    Column,
    Role,
    Table,
    View,
    instance,
)
from ledgerkit.tables.stored import ARTIFACTS, CHECKPOINTS, HISTORY, IMPORTS, REDACTIONS, RUNS, SNAPSHOTS, TABLES
from ledgerkit.tables.views import VIEWS

LAYOUT_VERSION: Final = 2
"""Version of the stored layout; written into a new ledger, checked when one is opened."""

__all__ = [
    "ARTIFACTS",
    "BYTES",
    "CHECKPOINTS",
    "DERIVED",
    "FLAG",
    "HISTORY",
    "IMPORTS",
    "INT",
    "LAYOUT_VERSION",
    "MONEY",
    "PARSED_CHECKS",
    "REAL",
    "REDACTIONS",
    "RUNS",
    "SMALL_INT",
    "SNAPSHOTS",
    "TABLES",
    "TEXT",
    "TEXTS",
    "TIME",
    "VIEWS",
    "Column",
    "DerivedTable",
    "Role",
    "Table",
    "View",
    "describe",
    "instance",
]


def describe(name: str) -> tuple[Column, ...]:
    """Columns of a view or stored table; the view wins where both exist (``runs``)."""
    return VIEWS[name].columns if name in VIEWS else TABLES[name].columns
