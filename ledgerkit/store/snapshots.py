"""Snapshots: projections that were computed before (specification §19). A cache, never the truth.

A snapshot knows the messages that it was computed from, and how much the ledger held then. It counts as long as the
ledger has not grown; after that it is computed again, and kept as the next version. Lose all of them, and nothing is
lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from ledgerkit import errors, tables
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.store.database import Database
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.storage import Storage

_KEPT: Final = """
    select * from sealed_snapshots where projection_type = $projection and session_id = $session_id and run_id = $run_id
    order by snapshot_version desc limit 1
"""
_OPEN: Final = "select 1 from open_runs where session_id = $session_id and run_id = $run_id"
_SOURCE: Final = """
    select message_id, leaf_hash from current_history
    where session_id = $session_id and run_id = $run_id and part_index = 0 order by sequence_no
"""


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection of one run that can be cached.

    Attributes:
        name: What it is called.
        version: Version of its rules: a snapshot of another version is stale.
        compute: Computes it; the result is what JSON can say.
    """

    name: str
    version: int
    compute: Callable[[Database, str, str], object]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A projection, and what it was computed from.

    Attributes:
        content: The projection as canonical JSON: equal projections are equal bytes.
        snapshot_version: Its number among the snapshots of the run and projection; ``None`` if it was not kept.
        source: First and last message of each range that it was computed from.
        cached: Whether it was kept from before.
        created_at: When it was computed.
    """

    content: str
    snapshot_version: int | None
    source: tuple[tuple[str, str], ...]
    cached: bool
    created_at: datetime

    @property
    def value(self) -> Any:  # noqa: ANN401 - what JSON can say
        """The projection itself."""
        return json.loads(self.content)


def run_facts(database: Database, session_id: str, run_id: str) -> object:
    """The row of the ``runs`` view; times in ISO 8601."""
    row = database.frame(
        "select * from runs where session_id = $session_id and run_id = $run_id",
        {"session_id": session_id, "run_id": run_id},
    ).to_dicts()[0]
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


RUN: Final = Projection("run", 1, run_facts)
PROJECTIONS: Final = {RUN.name: RUN}


def take_snapshot(storage: Storage, run: tuple[str, str], projection: Projection, *, now: datetime) -> Snapshot:
    """A projection of a run, from the cache where that is current.

    A run of which something stands in a journal is computed and not kept: it changes with each message.

    Raises:
        UnknownNameError: If there is no such run.
    """
    keys = {"session_id": run[0], "run_id": run[1]}
    is_open = storage.database.frame(_OPEN, keys).height > 0
    size = storage.store.size("history") + storage.store.size("runs")
    kept = storage.database.sealed(_KEPT, {"projection": projection.name, **keys}).to_dicts()
    if kept and not is_open and kept[0]["projection_version"] == projection.version and kept[0]["source_size"] == size:
        return _of_row(kept[0])
    source = storage.database.frame(_SOURCE, keys)
    if source.is_empty():
        raise errors.UnknownNameError(f"No run {run[1]!r} in session {run[0]!r}.", name=run[1])
    content = canonical_json(projection.compute(storage.database, *run))
    ends = ((str(source["message_id"][0]), str(source["message_id"][-1])),)
    if is_open or storage.is_past:
        return Snapshot(content, None, ends, cached=False, created_at=now)
    version = kept[0]["snapshot_version"] + 1 if kept else 1
    row = {
        "snapshot_id": hash_uuid("snapshot", projection.name, *run, str(version)),
        **keys,
        "repository": None,
        "projection_type": projection.name,
        "projection_version": projection.version,
        "snapshot_version": version,
        "content": content,
        "source_message_from": [ends[0][0]],
        "source_message_to": [ends[0][1]],
        "source_size": size,
        "source_hash": sha256(b"".join(source["leaf_hash"])).hexdigest(),
        "created_at": now,
    }
    with exclusive(storage.layout, COMMIT_LOCK):
        mark = f"ledgerkit/snapshot/{projection.name}/{hash_uuid(*run)}"
        is_first = storage.store.append("snapshots", tables.SNAPSHOTS.frame([row]), {mark: version})
    return Snapshot(content, version if is_first else None, ends, cached=False, created_at=now)


def _of_row(row: dict[str, Any]) -> Snapshot:
    source = tuple(zip(row["source_message_from"], row["source_message_to"], strict=True))
    return Snapshot(row["content"], row["snapshot_version"], source, cached=True, created_at=row["created_at"])
