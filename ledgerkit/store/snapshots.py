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
    select * from sealed_snapshots where projection_type = $projection
        and session_id is not distinct from $session_id and run_id is not distinct from $run_id
        and repository is not distinct from $repository
    order by snapshot_version desc limit 1
"""
_OPEN: Final = "select session_id, run_id from open_runs where list_contains($runs, run_id)"
_SOURCE: Final = """
    select session_id, run_id, message_id, leaf_hash from current_history
    where list_contains($runs, run_id) and part_index = 0 order by session_id, run_id, sequence_no
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a projection is of: a run, a session or a repository, with the runs (session and run) that it rests on."""

    runs: tuple[tuple[str, str], ...]
    session_id: str | None = None
    run_id: str | None = None
    repository: str | None = None

    @classmethod
    def of_run(cls, run: tuple[str, str]) -> Subject:
        """One run."""
        return cls((run,), *run)

    @property
    def keys(self) -> dict[str, str | None]:
        """Its columns."""
        return {"session_id": self.session_id, "run_id": self.run_id, "repository": self.repository}

    @property
    def names(self) -> tuple[str, ...]:
        """What it is known by among all subjects."""
        own = tuple(name for name in (self.session_id, self.run_id) if name is not None)
        return own if self.repository is None else ("repository", self.repository)


@dataclass(frozen=True, slots=True)
class Projection:
    """A projection that can be cached.

    Attributes:
        name: What it is called.
        version: Version of its rules: a snapshot of another version is stale.
        compute: Computes it, of a session and run ("" where the subject has none); the result is what JSON can say.
    """

    name: str
    version: int
    compute: Callable[[Database, str, str], object]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A projection, and what it was computed from.

    Attributes:
        content: The projection as canonical JSON: equal projections are equal bytes.
        snapshot_id: Its id.
        snapshot_version: Its number among the snapshots of the subject and projection; ``None`` if it was not kept.
        source: First and last message of each range that it was computed from.
        cached: Whether it was kept from before.
        created_at: When it was computed.
    """

    content: str
    snapshot_id: str
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


def take_snapshot(storage: Storage, subject: Subject, projection: Projection, *, now: datetime) -> Snapshot:
    """A projection of a subject, from the cache where that is current.

    Where something of its runs stands in a journal it is computed and not kept: it changes with each message.

    Raises:
        UnknownNameError: If there is no such run.
    """
    asked: dict[str, object] = {"runs": [run_id for _, run_id in subject.runs]}
    is_open = any(run in subject.runs for run in storage.database.frame(_OPEN, asked).iter_rows())
    size = storage.store.size("history") + storage.store.size("runs")
    kept = storage.database.sealed(_KEPT, {"projection": projection.name, **subject.keys}).to_dicts()
    if kept and not is_open and kept[0]["projection_version"] == projection.version and kept[0]["source_size"] == size:
        return _of_row(kept[0])
    ranges, digest = _source(storage, subject, asked)
    content = canonical_json(projection.compute(storage.database, subject.session_id or "", subject.run_id or ""))
    version = kept[0]["snapshot_version"] + 1 if kept else 1
    snapshot_id = hash_uuid("snapshot", projection.name, *subject.names, str(version))
    if is_open or storage.is_past:
        return Snapshot(content, snapshot_id, None, ranges, cached=False, created_at=now)
    row = {
        "snapshot_id": snapshot_id,
        **subject.keys,
        "projection_type": projection.name,
        "projection_version": projection.version,
        "snapshot_version": version,
        "content": content,
        "source_message_from": [first for first, _ in ranges],
        "source_message_to": [last for _, last in ranges],
        "source_size": size,
        "source_hash": digest,
        "created_at": now,
    }
    with exclusive(storage.layout, COMMIT_LOCK):
        mark = f"ledgerkit/snapshot/{projection.name}/{hash_uuid(*subject.names)}"
        is_first = storage.store.append("snapshots", tables.SNAPSHOTS.frame([row]), {mark: version})
    kept_version = version if is_first else None
    return Snapshot(content, snapshot_id, kept_version, ranges, cached=False, created_at=now)


def _source(storage: Storage, subject: Subject, asked: dict[str, object]) -> tuple[tuple[tuple[str, str], ...], str]:
    """First and last message of each run, and a hash over all."""
    rows = storage.database.frame(_SOURCE, asked)
    ends = dict[tuple[str, str], tuple[str, str]]()
    leaves = sha256()
    for session_id, run_id, message_id, leaf in rows.iter_rows():
        if (session_id, run_id) in subject.runs:
            first, _ = ends.get((session_id, run_id), (message_id, message_id))
            ends[session_id, run_id] = (first, message_id)
            leaves.update(leaf or b"")  # what stands in a journal has none yet
    for run in subject.runs:
        if run not in ends:
            raise errors.UnknownNameError(f"No run {run[1]!r} in session {run[0]!r}.", name=run[1])
    return tuple(ends.values()), leaves.hexdigest()


def _of_row(row: dict[str, Any]) -> Snapshot:
    source = tuple(zip(row["source_message_from"], row["source_message_to"], strict=True))
    return Snapshot(
        row["content"], row["snapshot_id"], row["snapshot_version"], source, cached=True, created_at=row["created_at"]
    )
