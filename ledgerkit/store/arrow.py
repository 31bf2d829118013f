"""pyarrow's Parquet, under the types that are used of it: its own stubs leave much open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import polars as pl

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def _parquet() -> Any:  # noqa: ANN401 - its stubs leave much open
    """Loaded at its first use: it takes longer to load than the rest of the store."""
    import pyarrow.parquet as loaded

    return loaded


def write_parquet(
    frame: pl.DataFrame,
    file: IO[bytes],
    *,
    row_group_rows: int,
    dictionaries: Sequence[str],
    statistics: Sequence[str],
    blooms: Mapping[str, Mapping[str, float]],
) -> None:
    """Writes a frame as one Parquet file (zstd 3), its pages with checksums.

    Args:
        frame: The rows.
        file: Where to.
        row_group_rows: Rows of a row group.
        dictionaries: Columns that repeat: they are written as dictionaries. Lists by their element.
        statistics: Columns whose ranges are noted.
        blooms: Columns that get a Bloom filter, with its size and rate.
    """
    arrow: Any = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    lists = {name for name, kind in frame.schema.items() if isinstance(kind, pl.List)}
    _parquet().write_table(
        arrow,
        file,
        row_group_size=row_group_rows,
        compression="zstd",
        compression_level=3,
        use_dictionary=[f"{name}.list.element" if name in lists else name for name in dictionaries],
        write_statistics=list(statistics),
        bloom_filter_options={name: dict(options) for name, options in blooms.items()} or None,
        store_schema=False,
        write_page_checksum=True,
    )


def read_metadata(path: Path) -> pq.FileMetaData:
    """The footer of a Parquet file."""
    return cast("pq.FileMetaData", _parquet().read_metadata(path))


def read_batches(path: Path, rows: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """A Parquet file (or some columns of it) in pieces of so many rows, its pages checked against their checksums."""
    with _parquet().ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches(batch_size=rows, columns=None if columns is None else list(columns)):
            yield pl.DataFrame(batch)
