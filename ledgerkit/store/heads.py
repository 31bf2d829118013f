"""Heads of the two trees: the checkpoints that the ledger keeps of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.tree import Tree
from ledgerkit.store.storage import Storage

_LAST: Final = "select * from sealed_checkpoints order by tree_size desc, runs_size desc, created_at desc limit 1"


@dataclass(frozen=True, slots=True)
class Appended:
    """Leaves that a commit has just put at the end of a tree.

    Attributes:
        begin: Leaves that were there before.
        hashes: The new ones, in their order.
    """

    begin: int
    hashes: pl.Series


def last_checkpoint(storage: Storage) -> Checkpoint | None:
    """The newest checkpoint that the ledger keeps."""
    row = _last(storage)
    return None if row is None else checkpoint_of(storage.layout.origin, row)


def checkpoint_of(origin: str, row: dict[str, Any]) -> Checkpoint:
    """A row of ``checkpoints`` as a checkpoint."""
    return Checkpoint(
        origin,
        row["tree_size"],
        row["root"],
        row["runs_size"],
        row["runs_root"],
        row["created_at"],
        row["previous"],
    )


def checkpoint(storage: Storage, *, now: datetime, appended: Mapping[str, Appended] | None = None) -> Checkpoint:
    """Notes the heads of both trees, if they have grown. The commit lock is held by the caller.

    Only the leaves since the last checkpoint are read, and none that the caller has at hand.

    Args:
        storage: The ledger.
        now: Time of the checkpoint.
        appended: What the caller's commit has put at the end of the trees, by table.
    """
    row = _last(storage)
    messages, runs = _tree(row, "tree_size", "frontier"), _tree(row, "runs_size", "runs_frontier")
    before = (messages.size, runs.size)
    for tree, table, column in ((messages, "history", "leaf_hash"), (runs, "runs", "row_hash")):
        leaves = None if appended is None else _at_hand(appended.get(table), tree.size, storage.store.size(table))
        tree.extend((_leaves(storage, table, column, tree.size) if leaves is None else leaves).to_list())
    if row is not None and before == (messages.size, runs.size):
        return checkpoint_of(storage.layout.origin, row)
    made = Checkpoint(
        storage.layout.origin,
        messages.size,
        messages.root(),
        runs.size,
        runs.root(),
        now,
        None if row is None else row["checkpoint_id"],
    )
    kept = {
        "checkpoint_id": made.id, "created_at": now, "tree_size": made.size, "root": made.root,
        "runs_size": made.runs_size, "runs_root": made.runs_root, "previous": made.previous,
        "frontier": messages.frontier, "runs_frontier": runs.frontier,
    }  # fmt: skip
    mark = f"ledgerkit/checkpoint/{made.size}/{made.runs_size}"
    storage.store.append("checkpoints", tables.CHECKPOINTS.frame([kept]), {mark: 1})
    return made


def _at_hand(appended: Appended | None, begin: int, size: int) -> pl.Series | None:
    """The leaves from a place up to the end of a tree, if a commit that was just made has them all."""
    if begin == size:
        return pl.Series(dtype=tables.BYTES)
    if appended is None or appended.begin != begin or begin + len(appended.hashes) != size:
        return None
    return appended.hashes


def _leaves(storage: Storage, table: str, column: str, begin: int) -> pl.Series:
    """The leaves of a table from a place on, in their order. Files that end before it are left closed."""
    found = [pl.DataFrame(schema={"leaf_index": tables.INT, column: tables.BYTES})]
    for file in storage.store.live_files(table):
        end = file.ranges.get("leaf_index", (None, None))[1]
        if end is None or end >= begin:
            path = storage.store.fetch(table, file.path)
            found.append(pl.read_parquet(path, columns=["leaf_index", column], glob=False, hive_partitioning=False))
    return pl.concat(found).filter(pl.col("leaf_index") >= begin).sort("leaf_index")[column]


def _last(storage: Storage) -> dict[str, Any] | None:
    rows = storage.database.sealed(_LAST).to_dicts()
    return rows[0] if rows else None


def _tree(row: dict[str, Any] | None, size: str, frontier: str) -> Tree:
    return Tree() if row is None else Tree(row[size], row[frontier])
