"""Writes docs/tables.md from ``ledgerkit.tables``; ``--check`` only says whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from ledgerkit import tables

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tables.md"

_HEAD = """# Tables and views

Made from `ledgerkit/tables.py` by `scripts/build_tables_page.py`; do not edit.

A ledger is a folder with `ledger.json` and one [Delta Lake](https://delta.io) table for each stored table: partitioned
Parquet that DuckDB, Polars, Spark and Trino read as it is. `ledger.sql()`, `ledger.scan()` and `ledgerkit sql` see the
views. Times are UTC microseconds, amounts US dollars as `decimal(18, 9)`, identifiers text, JSON text.
"""

_DERIVED = """## Derived tables

What is read out of parts, in `derived/NAME/vVERSION/`: Parquet that can be removed at any time. Rows are read when a
query first needs them. Views show those of the current state of each run and no others.
"""


def page() -> str:
    """The page as text."""
    parts = [_HEAD, "## Views\n"]
    parts += [_section(view.name, view.one_row_is, view.columns) for view in tables.VIEWS.values()]
    parts.append("## Stored tables\n")
    for table in tables.TABLES.values():
        note = f" Partitioned by {', '.join(table.partition_by)}." if table.partition_by else ""
        parts.append(_section(table.name, table.one_row_is + "." + note, table.columns))
    parts.append(_DERIVED)
    for derived in tables.DERIVED.values():
        note = f". Version {derived.version} of `{derived.extractor}`."
        parts.append(_section(derived.name, derived.one_row_is + note, derived.stored.columns))
    return "\n".join(parts)


def _section(name: str, one_row_is: str, columns: tuple[tables.Column, ...]) -> str:
    rows = "\n".join(f"| `{c.name}` | {_type(c)} | {c.doc} |" for c in columns)
    return f"### {name}\n\nOne row is {one_row_is}\n\n| column | type | what stands in it |\n|---|---|---|\n{rows}\n"


def _type(column: tables.Column) -> str:
    kind = column.type
    if isinstance(kind, pl.List):
        if isinstance(kind.inner, pl.Struct):
            return "list of " + ", ".join(field.name for field in kind.inner.fields)
        return f"list of {_NAMES[str(kind.inner)]}"
    return _NAMES[str(kind)]


_NAMES = {
    "String": "text", "Int64": "int64", "Int32": "int32", "Float64": "float64", "Boolean": "boolean",
    "Binary": "binary",
    "Datetime(time_unit='us', time_zone='UTC')": "timestamp", "Decimal(precision=18, scale=9)": "decimal(18, 9)",
}  # fmt: skip


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.is_file() and PAGE.read_text("utf-8") == page() else "docs/tables.md is not current")
    PAGE.write_text(page(), "utf-8")
