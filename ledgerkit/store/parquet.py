"""Rows as Parquet files: written and synced before a commit names them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Final, cast

import polars as pl

from ledgerkit.store.arrow import write_parquet
from ledgerkit.store.durability import make_folder, sync_folders
from ledgerkit.tables import Table

ROW_GROUP_ROWS: Final = 16_384
ROWS_A_FILE: Final = 1_000_000
_ARTIFACTS_A_GROUP: Final = 64
_BLOOMS: Final = {
    "history": ("session_id", "run_id", "message_id", "call_id", "tool_call_id"),
    "artifacts": ("content_id",),
}
"""Ids that rows are looked up by. They are random: the ranges of nearly all row groups hold nearly all of them."""
_BULKY: Final = {
    "history": ("text", "data", "metadata", "summary"),
    "artifacts": ("content",),
    "snapshots": ("content",),
}
_HASHES: Final = ("leaf_hash", "prev_hash", "row_hash", "salt", "content_commit")
RANGES: Final = {
    "history": ("session_id", "run_id", "revision", "sequence_no", "message_id", "created_at", "leaf_index"),
    "runs": ("session_id", "run_id", "leaf_index"),
    "artifacts": ("content_id",),
}
"""Columns whose least and greatest values a commit notes for each file, so that readers can leave files out."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that no commit names yet.

    Attributes:
        path: Its path below the table's folder.
        size: Bytes.
        partition: Values of the partition columns.
        stats: Row count and ranges, as Delta Lake notes them (JSON).
    """

    path: str
    size: int
    partition: Mapping[str, str | None]
    stats: str


def write_files(folder: Path, table: Table, rows: pl.DataFrame) -> list[WrittenFile]:
    """Writes rows as files of a table, one or more for each partition, and syncs them.

    Args:
        folder: The table's folder.
        table: The table.
        rows: Rows with the table's columns; they are sorted here.
    """
    rows = _sorted(rows.select(table.names).cast(table.types), table.sort_by)
    written = [_write(folder, table, partition, part) for partition, part in _pieces(rows, table)]
    sync_folders((folder / file.path).parent for file in written)
    return written


def _sorted(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Rows in order; the columns of what is in order already, as most of what comes is, are not copied."""
    if not by:
        return rows
    order = rows.select(pl.arg_sort_by(by, maintain_order=True)).to_series()
    return rows if order.is_sorted() else rows[order]


def _pieces(rows: pl.DataFrame, table: Table) -> Iterator[tuple[dict[str, str | None], pl.DataFrame]]:
    if table.partition_by:
        parts = rows.partition_by(table.partition_by, maintain_order=True, as_dict=True, include_key=False)
    else:
        parts = {(): rows}
    for values, part in sorted(parts.items()):
        partition = dict(zip(table.partition_by, cast("tuple[str, ...]", values), strict=True))
        for piece in _slices(part, table):
            yield dict(partition), piece


def _slices(rows: pl.DataFrame, table: Table) -> Iterator[pl.DataFrame]:
    """Pieces of a million rows or so; the rows of a message stay together."""
    begin = 0
    while rows.height - begin > ROWS_A_FILE:
        end = begin + ROWS_A_FILE
        if "part_index" in table.names:
            end -= rows["part_index"].slice(begin, ROWS_A_FILE + 1).reverse().arg_min() or 0
        yield rows.slice(begin, end - begin)
        begin = end
    yield rows.slice(begin)


def _write(folder: Path, table: Table, partition: dict[str, str | None], rows: pl.DataFrame) -> WrittenFile:
    below = "/".join(f"{name}={value}" for name, value in partition.items())
    # The name is no part of what the ledger says: a random one cannot meet another writer's.
    path = f"{below}/{uuid.uuid4()}.parquet" if below else f"{uuid.uuid4()}.parquet"
    target = folder / path
    make_folder(target.parent)
    with target.open("wb") as file:
        _write_rows(file, table, rows)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    return WrittenFile(path, size, partition, _stats(table, rows))


def _write_rows(file: IO[bytes], table: Table, rows: pl.DataFrame) -> None:
    bulky = {*_BULKY.get(table.name, ()), *_HASHES}
    blooms = {
        name: {"ndv": min(ROW_GROUP_ROWS, max(rows[name].n_unique(), 1)), "fpp": 0.01}
        for name in _BLOOMS.get(table.name, ())
    }
    write_parquet(
        rows,
        file,
        row_group_rows=_ARTIFACTS_A_GROUP if table.name == "artifacts" else ROW_GROUP_ROWS,
        dictionaries=[name for name in rows.columns if name not in bulky],
        statistics=[name for name in rows.columns if name not in bulky],
        blooms=blooms,
    )


def _stats(table: Table, rows: pl.DataFrame) -> str:
    ranges = [name for name in RANGES.get(table.name, ()) if name in rows.columns]
    least = {name: value for name in ranges if (value := _bound(rows[name].min(), up=False)) is not None}
    greatest = {name: value for name in ranges if (value := _bound(rows[name].max(), up=True)) is not None}
    nulls = {name: rows[name].null_count() for name in ranges}
    return json.dumps({"numRecords": rows.height, "minValues": least, "maxValues": greatest, "nullCount": nulls})


def _bound(value: object, *, up: bool) -> object:
    """A value as Delta Lake notes it: times to the millisecond, outward."""
    if not isinstance(value, datetime):
        return value
    if up and value.microsecond % 1000:
        value += timedelta(milliseconds=1)
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"


def read_file(folder: Path, table: Table, path: str, partition: Mapping[str, str | None]) -> pl.DataFrame:
    """Rows of a file of a table."""
    frame = pl.read_parquet(folder / path, glob=False, hive_partitioning=False)
    return complete(frame, table, partition)


def complete(frame: pl.DataFrame, table: Table, partition: Mapping[str, str | None]) -> pl.DataFrame:
    """A file's frame with all columns of its table; what an older version did not write is null."""
    frame = frame.with_columns(pl.lit(value, pl.String).alias(name) for name, value in partition.items())
    missing = [pl.lit(None, c.type).alias(c.name) for c in table.columns if c.name not in frame.columns]
    return frame.with_columns(missing).select(table.names).cast(table.types)
