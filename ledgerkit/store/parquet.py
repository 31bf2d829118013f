"""Rows as Parquet files: written and synced before a commit names them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ledgerkit.store.durability import make_folder, sync_folders
from ledgerkit.tables import Table

ROW_GROUP_ROWS: Final = 16_384
ROWS_A_FILE: Final = 1_000_000
_ARTIFACTS_A_GROUP: Final = 64
_BLOOMS: Final = {"history": ("message_id", "call_id", "tool_call_id"), "artifacts": ("content_id",)}
_BULKY: Final = {
    "history": ("text", "data", "metadata", "summary"),
    "artifacts": ("content",),
    "snapshots": ("content",),
}
_HASHES: Final = ("leaf_hash", "prev_hash", "row_hash", "salt", "content_commit")
_RANGES: Final = {
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
    rows = rows.select(table.names).cast(table.types).sort(table.sort_by)
    written = [_write(folder, table, partition, part) for partition, part in _pieces(rows, table)]
    sync_folders((folder / file.path).parent for file in written)
    return written


def _pieces(rows: pl.DataFrame, table: Table) -> Iterator[tuple[dict[str, str | None], pl.DataFrame]]:
    if table.partition_by:
        parts = rows.partition_by(table.partition_by, maintain_order=True, as_dict=True, include_key=False)
    else:
        parts = {(): rows}
    for values, part in sorted(parts.items()):
        partition = dict(zip(table.partition_by, cast("tuple[str, ...]", values), strict=True))
        for piece in part.iter_slices(ROWS_A_FILE):
            yield dict(partition), piece


def _write(folder: Path, table: Table, partition: dict[str, str | None], rows: pl.DataFrame) -> WrittenFile:
    below = "/".join(f"{name}={value}" for name, value in partition.items())
    # The name is no part of what the ledger says: a random one cannot meet another writer's.
    path = f"{below}/{uuid.uuid4()}.parquet" if below else f"{uuid.uuid4()}.parquet"
    target = folder / path
    make_folder(target.parent)
    arrow = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    with target.open("wb") as file:
        write_table(file, table, arrow)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    return WrittenFile(path, size, partition, _stats(table, rows))


def write_table(file: Any, table: Table, arrow: pa.Table) -> None:  # noqa: ANN401 - any binary file
    """Writes one Parquet file with the table's settings."""
    names = set(arrow.schema.names)
    bulky = {*_BULKY.get(table.name, ()), *_HASHES} & names
    blooms = {
        name: {"ndv": min(ROW_GROUP_ROWS, max(arrow.num_rows, 1)), "fpp": 0.01} for name in _BLOOMS.get(table.name, ())
    }
    pq.write_table(
        arrow,
        file,
        row_group_size=_ARTIFACTS_A_GROUP if table.name == "artifacts" else ROW_GROUP_ROWS,
        compression="zstd",
        compression_level=3,
        use_dictionary=cast("Any", _dictionary_columns(arrow, bulky)),
        write_statistics=cast("Any", sorted(names - bulky)),
        bloom_filter_options=cast("Any", blooms or None),
        store_schema=False,
        write_page_checksum=True,
    )


def _dictionary_columns(arrow: pa.Table, bulky: set[str]) -> list[str]:
    """Leaves of the columns that repeat: all but the bulky ones."""
    fields = [field for field in arrow.schema if field.name not in bulky]
    return [f"{f.name}.list.element" if _is_list(f.type) else f.name for f in fields]


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _stats(table: Table, rows: pl.DataFrame) -> str:
    ranges = [name for name in _RANGES.get(table.name, ()) if name in rows.columns]
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


def read_rows(folder: Path, table: Table, files: Sequence[tuple[str, Mapping[str, str | None]]]) -> pl.DataFrame:
    """Rows of some files of a table, sorted; each file with the values of its partition columns."""
    frames = [
        pl.read_parquet(folder / path, glob=False, hive_partitioning=False).with_columns(
            pl.lit(value, pl.String).alias(name) for name, value in partition.items()
        )
        for path, partition in files
    ]
    empty = pl.DataFrame(schema=table.schema)
    whole = pl.concat([empty, *(_complete(frame, table) for frame in frames)])
    return whole.sort(table.sort_by)


def _complete(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A frame with all columns of a table; what an older version did not write is null."""
    missing = [pl.lit(None, c.type).alias(c.name) for c in table.columns if c.name not in frame.columns]
    return frame.with_columns(missing).select(table.names).cast(table.types)
