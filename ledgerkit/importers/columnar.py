"""Parquet files whose rows are records: told by their first and last bytes, known by their columns, read in batches.

The list of columns stands at the end of such a file: one that is cut off cannot be read at all, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from ledgerkit.importers.drafts import JsonObject

_MAGIC: Final = b"PAR1"
_BATCH_ROWS: Final = 8
"""Rows in memory at once: one may hold a whole transcript."""
DAMAGED_COLUMNS: Final = (OSError, ValueError, KeyError, NotImplementedError, OverflowError, MemoryError)
"""What reading damaged columns raises (pyarrow's own errors are among them)."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row: its number from 1, where its row group begins, and its values that are not null, or why there are none."""

    number: int
    offset: int
    value: JsonObject | str


def is_columnar(path: Path) -> bool:
    """Whether a file begins as a Parquet file does."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def columns_of(path: Path) -> list[str]:
    """Names of a Parquet file's columns; none if they cannot be read."""
    try:
        return list(_opened(path).schema_arrow.names)
    except DAMAGED_COLUMNS:
        return []


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file, a few at a time. One that cannot be read has its reason in the place of its values.

    A file or row group that is damaged as a whole is one row with the reason, behind those that could be read.
    """
    number = 0
    try:
        file = _opened(path)
        for group in range(file.num_row_groups):
            offset = _begin_of(file.metadata.row_group(group))
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], use_threads=False):
                for place in range(batch.num_rows):
                    number += 1
                    yield Row(number, offset, _values(batch.slice(place, 1)))
    except DAMAGED_COLUMNS as error:
        yield Row(number + 1, 0, f"Parquet data is damaged: {error}")


def _values(row: Any) -> JsonObject | str:  # noqa: ANN401 - pyarrow's types are known in part only
    try:
        return {name: value for name, value in row.to_pylist()[0].items() if value is not None}
    except DAMAGED_COLUMNS as error:
        return f"a row that is damaged: {error}"


def _opened(path: Path) -> Any:  # noqa: ANN401 - pyarrow's types are known in part only
    import pyarrow.parquet as pq

    return cast(Any, pq).ParquetFile(path, pre_buffer=False, memory_map=False)


def _begin_of(group: Any) -> int:  # noqa: ANN401 - pyarrow's types are known in part only
    """Where the first bytes of a row group stand."""
    first = group.column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)
