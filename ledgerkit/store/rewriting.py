"""Rewrites of files that keep every leaf: the mechanism under compaction and erasure.

A rewrite holds the ledger's maintenance lock, so that there is one at a time; it is checked against the rows that it
replaces before the old files leave the table; and its commit is refused if another rewrite came first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store.deltacommits import LiveFile
from ledgerkit.store.integrity.checks import check_messages, check_runs
from ledgerkit.store.integrity.findings import IntegrityFinding
from ledgerkit.store.parquet import WrittenFile, read_file
from ledgerkit.store.storage import Storage
from ledgerkit.tables import TABLES

_LEAF: Final = {"history": "leaf_hash", "runs": "row_hash"}
_ROWS_AT_ONCE: Final = 1_000_000

Change = Callable[[pl.DataFrame], pl.DataFrame]


def rewrite(
    storage: Storage, name: str, files: Sequence[LiveFile], change: Change | None = None, *, mark: str
) -> list[WrittenFile]:
    """Puts sorted files with the same rows in the place of some files of one partition.

    Args:
        storage: The ledger; the caller holds the maintenance lock.
        name: The table.
        files: The files.
        change: What becomes of the rows; it must keep all leaves.
        mark: Names the rewrite: of two with one name that begin from the same version, the second is refused.

    Raises:
        IntegrityError: If the new files do not hold every leaf of the old ones, or a hash does not fit.
        StaleHeadError: If another rewrite came first.
    """
    folder, table = storage.layout.table_path(name), TABLES[name]
    written: list[WrittenFile] = []
    for rows in _groups(storage, name, files):
        changed = rows if change is None else change(rows)
        added = storage.store.write(name, changed) if changed.height else []
        again = pl.concat([table.empty(), *(read_file(folder, table, f.path, f.partition) for f in added)])
        _check(name, rows, changed, again)
        written += added
    version = (storage.store.transaction(name, mark) or 0) + 1
    storage.store.replace(name, files, written, transactions={mark: version})
    return written


def _check(name: str, rows: pl.DataFrame, changed: pl.DataFrame, again: pl.DataFrame) -> None:
    table = TABLES[name]
    if not again.sort(table.sort_by, maintain_order=True).equals(changed.sort(table.sort_by, maintain_order=True)):
        raise errors.IntegrityError(f"Rewritten rows of {name!r} read back otherwise. Nothing was changed.")
    if (leaf := _LEAF.get(name)) is None:
        return
    places = ["leaf_index", leaf]
    if not rows.select(places).sort(places).equals(again.select(places).sort(places)):
        raise errors.IntegrityError(f"A rewrite of {name!r} would lose leaves. Nothing was changed.")
    findings: Iterable[IntegrityFinding] = check_messages(again) if name == "history" else check_runs(again)
    if (found := next(iter(findings), None)) is not None:
        raise errors.IntegrityError(
            f"{name!r} cannot be rewritten: message {found.message_id} of run {found.run_id}: {found.detail} "
            "Run ledgerkit verify, and restore the file from a copy."
        )


def _groups(storage: Storage, name: str, files: Sequence[LiveFile]) -> Iterator[pl.DataFrame]:
    """The rows of some files, sorted, in groups of a million or so that do not overlap in the first sort column."""
    table = TABLES[name]
    key = table.sort_by[0]
    if sum(file.rows for file in files) <= _ROWS_AT_ONCE:
        frames = [_rows(storage, name, file) for file in files]
        yield pl.concat([table.empty(), *frames]).sort(table.sort_by, maintain_order=True)
        return
    paths = [storage.store.fetch(name, file.path) for file in files]
    counts = pl.scan_parquet(paths, glob=False, hive_partitioning=False).group_by(key).len().sort(key).collect()
    group = (counts["len"].cum_sum() // _ROWS_AT_ONCE).alias("group")
    bounds = (
        counts.with_columns(group)
        .group_by("group", maintain_order=True)
        .agg(pl.col(key).first().alias("first"), pl.col(key).last().alias("last"))
    )
    for _, first, last in bounds.iter_rows():
        chosen = pl.col(key).is_between(first, last)
        frames = [_rows(storage, name, file).filter(chosen) for file in files if _overlaps(file, key, first, last)]
        yield pl.concat([table.empty(), *frames]).sort(table.sort_by, maintain_order=True)


def _rows(storage: Storage, name: str, file: LiveFile) -> pl.DataFrame:
    storage.store.fetch(name, file.path)
    return read_file(storage.layout.table_path(name), TABLES[name], file.path, file.partition)


def _overlaps(file: LiveFile, key: str, first: str, last: str) -> bool:
    least, greatest = file.ranges.get(key, (None, None))
    return least is None or greatest is None or not (greatest < first or least > last)
