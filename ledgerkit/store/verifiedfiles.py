"""The live files of a ledger, read for verification: in row groups, and what cannot be read is a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl
import pyarrow as pa

from ledgerkit import tables
from ledgerkit.store.arrow import read_batches
from ledgerkit.store.deltacommits import LiveFile
from ledgerkit.store.integrity.findings import IntegrityFinding, Rule, VerificationReport
from ledgerkit.store.parquet import complete
from ledgerkit.store.storage import Storage

_BATCH_ROWS: Final = 16_384
UNREADABLE: Final = (OSError, pa.ArrowException, pl.exceptions.PolarsError, ValueError)
"""What reading a damaged file raises."""


@dataclass(slots=True)
class Seen:
    """What is kept of the history while its files go by."""

    light: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    referenced: set[str] = field(default_factory=set[str])
    erased: dict[str, str] = field(default_factory=dict[str, str])
    erased_runs: dict[str, str] = field(default_factory=dict[str, str])

    def unerased(self, ids: Iterable[str]) -> set[str]:
        """Those messages that are there with their content."""
        wanted = pl.Series("message_id", sorted(ids), pl.String).to_frame()
        there = [frame.join(wanted, on="message_id", how="semi")["message_id"] for frame in self.light]
        return {message for frame in there for message in frame} - self.erased.keys()


def batches(
    storage: Storage, name: str, file: LiveFile, columns: Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """A file in pieces, its pages checked against their checksums; columns that are not asked for are null."""
    table = tables.TABLES[name]
    for frame in read_batches(storage.store.fetch(name, file.path, anew=True), _BATCH_ROWS, columns):
        if columns is None and storage.store.is_uniform(name):
            wanted = set(table.names) - set(table.partition_by)
            if odd := sorted(wanted.symmetric_difference(frame.columns)):
                raise ValueError(f"Its columns are not those of {name!r}: {', '.join(odd)}.")
        yield complete(frame, table, file.partition)


def all_rows(storage: Storage, name: str, report: VerificationReport) -> pl.DataFrame | None:
    """All rows of a small table; ``None`` if a file of it cannot be read."""
    frames: list[pl.DataFrame] = [tables.TABLES[name].empty()]
    is_whole = True
    for file in storage.store.live_files(name):
        try:
            frames += batches(storage, name, file)
        except UNREADABLE as error:
            is_whole = False
            report.findings.append(unreadable(name, file, error))
    return pl.concat(frames) if is_whole else None


def unreadable(name: str, file: LiveFile, error: BaseException) -> IntegrityFinding:
    """The finding that a file cannot be read, with what the log says it holds."""
    ranges = ", ".join(
        f"{column} {least} to {greatest}"
        for column, (least, greatest) in sorted(file.ranges.items())
        if column in ("session_id", "run_id", "sequence_no", "leaf_index", "content_id") and least is not None
    )
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    held = f"It holds {file.rows} rows" + (f" ({ranges})." if ranges else ".")
    return IntegrityFinding(Rule.UNREADABLE_FILE, f"{what[:200]} {held}", file=f"{name}/{file.path}")
