"""The account of imports: what became of every record of every file.

One rule: accepted, duplicate, skipped and quarantined add up to what the files hold; a difference is shown, not hidden.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.formatting import format_bytes, format_count, format_time, plural
from ledgerkit.reports.blocks import Cell, Column, Fact, Table, chip, code, left, right
from ledgerkit.reports.excerpts import one_line

_FATES: Final = ("accepted", "duplicate", "skipped", "quarantined")
_PATH: Final = 300
_REASON: Final = 200


def format_table(files: pl.DataFrame) -> Table:
    """Files and records by format, with a total."""
    sums = [pl.len().alias("files"), *(pl.col(name).sum() for name in ("byte_count", "record_count", *_FATES))]
    groups = files.group_by("format").agg(sums).sort("format", nulls_last=True)
    rows = [_sums(code(row["format"] or "not known"), row) for row in groups.iter_rows(named=True)]
    if groups.height > 1:
        rows.append(_sums(Cell("Total"), files.select(sums).row(0, named=True)))
    columns = [Column("Format", wide=True), *right("Files", "Size", "Records", "Accepted", "Duplicate", "Skipped")]
    columns += right("Quarantined", "Unaccounted")
    return Table(columns, rows, total=groups.height > 1, empty="Nothing was imported.")


def fate_table(files: pl.DataFrame, rows: int) -> Table:
    """Records that are not in the history, by reason, most first."""
    fates = (
        files.select("fates")
        .explode("fates")
        .drop_nulls()
        .unnest("fates")
        .filter(pl.col("fate") != "accepted")
        .group_by("fate", "record_type", "reason")
        .agg(pl.col("count").sum())
        .sort("count", "fate", "record_type", "reason", descending=[True, False, False, False])
    )
    shown = [
        [
            chip(row["fate"], "warn" if row["fate"] == "quarantined" else "plain"),
            code(one_line(row["record_type"], 80)),
            one_line(row["reason"], _REASON) or "no reason given",
            format_count(row["count"]),
        ]
        for row in fates.head(rows).iter_rows(named=True)
    ]
    columns = [*left("Fate", "Record type"), Column("Reason", wide=True), *right("Records")]
    return Table(columns, shown, max(fates.height - rows, 0), empty="Every record is in the history.")


def quarantine_table(files: pl.DataFrame, rows: int) -> Table:
    """Damaged records: where they are, and what is wrong with them."""
    damaged = (
        files.select("path", "quarantine")
        .explode("quarantine")
        .drop_nulls()
        .unnest("quarantine")
        .sort("path", "offset")
    )
    shown = [
        [
            code(one_line(row["path"], _PATH)),
            format_count(row["line"]),
            format_bytes(row["bytes"]),
            one_line(row["reason"], _REASON),
        ]
        for row in damaged.head(rows).iter_rows(named=True)
    ]
    columns = [Column("File", wide=True), *right("Line", "Size"), Column("What is wrong", wide=True)]
    return Table(columns, shown, max(damaged.height - rows, 0), empty="No record is damaged.")


def file_table(files: pl.DataFrame, rows: int) -> Table:
    """Files as last imported, those with damaged records first and then the largest."""
    ordered = files.sort("quarantined", "record_count", "path", descending=[True, True, False])
    shown = [
        [
            code(one_line(row["path"], _PATH)),
            row["format"] or "not known",
            format_bytes(row["byte_count"]),
            *(format_count(row[name]) for name in ("record_count", *_FATES)),
            row["redaction"] or "not known",
            format_time(row["imported_at"]),
        ]
        for row in ordered.head(rows).iter_rows(named=True)
    ]
    columns = [
        Column("File", wide=True),
        *left("Format"),
        *right("Size", "Records", "Accepted", "Duplicate", "Skipped"),
    ]
    columns += [*right("Quarantined"), *left("Redaction", "Imported")]
    return Table(columns, shown, max(ordered.height - rows, 0), empty="Nothing was imported.")


def import_fact(files: pl.DataFrame) -> Fact:
    """The imports as a key figure."""
    damaged = int(files["quarantined"].sum())
    note = f"{plural(damaged, 'record')} quarantined" if damaged else "no damaged record"
    return Fact("Files imported", format_count(files.height), note, "warn" if damaged else "plain")


def _sums(label: Cell, row: dict[str, int | None]) -> list[Cell | str]:
    fates = [row[name] or 0 for name in _FATES]
    missing = (row["record_count"] or 0) - sum(fates)
    return [
        label,
        format_count(row["files"]),
        format_bytes(row["byte_count"]),
        format_count(row["record_count"]),
        *(format_count(count) for count in fates),
        chip(format_count(missing), "bad") if missing else "0",
    ]
