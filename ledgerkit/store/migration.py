"""Layouts of earlier versions, brought to the present one when a ledger is opened.

A step is done in commits of its own and noted in ``ledger.json`` at its end; one that was cut off begins again.
Columns that a layout adds and that may be null need no step: readers take them as null where a file lacks them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store import deltalog
from ledgerkit.store.database import Database
from ledgerkit.store.delta import TREE, DeltaStore
from ledgerkit.store.deltaschema import delta_field
from ledgerkit.store.heads import checkpoint
from ledgerkit.store.integrity.leaves import Heads, with_message_leaves, with_run_leaves
from ledgerkit.store.layout import Layout, open_layout, write_layout
from ledgerkit.store.locking import COMMIT_LOCK, MAINTENANCE_LOCK, exclusive
from ledgerkit.store.parquet import WrittenFile, read_file
from ledgerkit.store.storage import Storage
from ledgerkit.tables import Table

_MARK: Final = "ledgerkit/layout"

Random = Callable[[int], bytes]


def migrate(layout: Layout, *, now: datetime, random: Random) -> Layout:
    """Brings a ledger to the present layout; does nothing to one that has it.

    Args:
        layout: The ledger.
        now: Time of its first checkpoint.
        random: Gives so many random bytes (for salts).

    Returns:
        The ledger in its present layout.
    """
    with exclusive(layout, MAINTENANCE_LOCK), exclusive(layout, COMMIT_LOCK):
        layout = open_layout(layout.place)  # another process may have done it while we waited
        if layout.version < tables.LAYOUT_VERSION:
            store = DeltaStore(layout)
            store.prepare(is_new=True)
            _to_two(layout, store, now, random)
            layout = write_layout(layout, tables.LAYOUT_VERSION)
    return layout


def _to_two(layout: Layout, store: DeltaStore, now: datetime, random: Random) -> None:
    """Layout 2: messages and rows of ``runs`` have hashes, and stand in trees."""
    for table in (tables.HISTORY, tables.RUNS):
        _add_columns(layout, store, table)
        if store.transaction(table.name, TREE) is None:
            _give_leaves(layout, store, table, random)
    checkpoint(Storage(layout, store, Database(layout, store, None)), now=now)


def _add_columns(layout: Layout, store: DeltaStore, table: Table) -> None:
    handle = store.handle(table.name)
    there = {field.name for field in handle.schema().fields}
    missing = [delta_field(column) for column in table.columns if column.name not in there]
    if missing:
        before = handle.version()
        handle.alter.add_columns(missing)
        handle.update_incremental()
        if layout.place.is_local:
            deltalog.sync(layout.table_path(table.name), before + 1, handle.version())


def _give_leaves(layout: Layout, store: DeltaStore, table: Table, random: Random) -> None:
    """Writes every file of a table again, with leaves in order of partition, session and run."""
    folder, files = layout.table_path(table.name), store.live_files(table.name)
    for file in files:
        store.fetch(table.name, file.path)
    partitions = sorted({tuple(file.partition.values()) for file in files})
    written: list[WrittenFile] = []
    size = 0
    for partition in partitions:
        of_it = [file for file in files if tuple(file.partition.values()) == partition]
        rows = pl.concat([read_file(folder, table, file.path, file.partition) for file in of_it])
        leaves = (
            with_message_leaves(rows, Heads(size, {}), random)
            if table is tables.HISTORY
            else with_run_leaves(rows, size, random)
        )
        size += leaves["leaf_index"].count()
        written += store.write(table.name, leaves)
    if files:
        store.replace(table.name, files, written, transactions={TREE: size, _MARK: 2})
