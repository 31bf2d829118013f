"""Heads of the two trees: the checkpoints that the ledger keeps of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ledgerkit import tables
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.tree import Tree
from ledgerkit.store.storage import Storage

_LAST: Final = "select * from sealed_checkpoints order by tree_size desc, runs_size desc, created_at desc limit 1"
_LEAVES: Final = """
    select leaf_hash from sealed_history where part_index = 0 and leaf_index >= $begin order by leaf_index
"""
_RUN_LEAVES: Final = "select row_hash from sealed_runs where leaf_index >= $begin order by leaf_index"


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


def checkpoint(storage: Storage, *, now: datetime) -> Checkpoint:
    """Notes the heads of both trees, if they have grown. The commit lock is held by the caller.

    Only the leaves since the last checkpoint are read.
    """
    row = _last(storage)
    messages, runs = _tree(row, "tree_size", "frontier"), _tree(row, "runs_size", "runs_frontier")
    before = (messages.size, runs.size)
    frame = storage.database.sealed
    messages.extend(frame(_LEAVES, {"begin": messages.size})["leaf_hash"])
    runs.extend(frame(_RUN_LEAVES, {"begin": runs.size})["row_hash"])
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


def _last(storage: Storage) -> dict[str, Any] | None:
    rows = storage.database.sealed(_LAST).to_dicts()
    return rows[0] if rows else None


def _tree(row: dict[str, Any] | None, size: str, frontier: str) -> Tree:
    return Tree() if row is None else Tree(row[size], row[frontier])
