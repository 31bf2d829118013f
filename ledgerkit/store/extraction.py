"""Extraction: the parts of some runs, read at one moment and in pieces, as rows of a derived table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import duckdb
import polars as pl

from ledgerkit.store.derivedfiles import STATE, DerivedFiles
from ledgerkit.tables import DerivedTable

Extractor = Callable[[pl.DataFrame], pl.DataFrame]
"""Takes parts of some runs, in order (the columns that a table ``reads``); gives rows with the table's ``schema``."""

RUN: Final = ("session_id", "run_id")
BYTES_AT_ONCE: Final = 64 * 1024 * 1024
"""Runs are read together up to so many bytes of content."""
# A long text stands in an artifact, and in its row only the head of it: what a check printed last is the verdict.
_PARTS: Final = """
    with h as (
        select c.* from current_history c semi join batch b on c.session_id = b.session_id and c.run_id = b.run_id
    ), wholes as (
        select part_id, max(try(decode(content))) as whole
        from (select part_id, unnest(artifact_refs) as ref from h where len(artifact_refs) > 0)
            join stored_artifacts on content_id = ref
        where media_type like 'text/%' and label <> 'restricted' group by part_id
    )
    select {} from h left join wholes w on w.part_id = h.part_id
    where {} order by h.session_id, h.run_id, h.sequence_no, h.part_index
"""


@dataclass(slots=True)
class Extraction:
    """A derived table with its extractor and what it has read.

    Attributes:
        table: The table.
        extract: Its extractor.
        files: What it has read and kept.
        memory: What it has read and could not keep: rows as in the files.
    """

    table: DerivedTable
    extract: Extractor
    files: DerivedFiles
    memory: pl.DataFrame = field(init=False)

    def __post_init__(self) -> None:
        self.memory = self.table.stored.empty()

    def states(self) -> pl.DataFrame:
        """States of runs that were read: ``session_id, run_id, state``."""
        return pl.concat([self.files.states().select(STATE), self.memory.select(STATE).unique()])

    def read(self, cursor: duckdb.DuckDBPyConnection, runs: pl.DataFrame) -> pl.DataFrame:
        """Reads runs: their rows, and for each run one more that says that it was read.

        Args:
            cursor: Sees the history at one moment.
            runs: The runs: ``session_id, run_id, state, bytes``.
        """
        pieces = [self._rows(_parts(cursor, self.table, batch), batch) for batch in _batches(runs)]
        return pl.concat([self.table.stored.empty(), *pieces])

    def _rows(self, parts: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
        found = self.extract(parts)
        if found.schema != self.table.schema:
            raise TypeError(f"{self.table.extractor} gives other columns than {self.table.name!r} declares")
        rows = found.join(runs.select(STATE), on=RUN, how="inner", maintain_order="left")
        if rows.height != found.height:
            raise ValueError(f"{self.table.extractor} gives rows of runs that it was not given")
        numbered = rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over(RUN).alias("row"))
        return pl.concat([numbered, runs.select(STATE)], how="diagonal").select(self.table.stored.names)


def _batches(runs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Runs in groups whose content is about as large as what is read at once; a larger run stands alone."""
    before = pl.col("bytes").fill_null(0).cum_sum().shift(1, fill_value=0)
    yield from runs.with_columns(group=before // BYTES_AT_ONCE).partition_by("group", maintain_order=True)


def _parts(cursor: duckdb.DuckDBPyConnection, table: DerivedTable, runs: pl.DataFrame) -> pl.DataFrame:
    columns = ", ".join("coalesce(whole, h.text) as text" if name == "text" else f"h.{name}" for name in table.reads)
    cursor.register("batch", runs.select(RUN).to_arrow(compat_level=pl.CompatLevel.oldest()))
    try:
        return cursor.sql(_PARTS.format(columns, table.where)).pl()
    finally:
        cursor.unregister("batch")
