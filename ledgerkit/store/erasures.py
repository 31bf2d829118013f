"""Erasure: content goes, for good; that it was there, and who decided so, stays provable.

A record of the erasure is committed first: a message of its own in the ledger's run of erasures, which names the
messages. Then the files that hold them are rewritten: their content columns and salts become null, hashes stay. Old
files, journals, snapshots and derived rows that hold the content are removed, and with them earlier states of these
partitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import polars as pl

from ledgerkit import errors, tables
from ledgerkit.protocol.identifiers import hash_uuid, uuid7
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.protocol.model import JsonObject
from ledgerkit.protocol.parts import JsonPart
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility
from ledgerkit.store.committing import Commit, write_commit
from ledgerkit.store.contents import Contents
from ledgerkit.store.journal import JournalHeader
from ledgerkit.store.journaled import run_row
from ledgerkit.store.locking import COMMIT_LOCK, MAINTENANCE_LOCK, exclusive, is_recorded
from ledgerkit.store.maintenance import seal_abandoned
from ledgerkit.store.messagerows import MessageRows
from ledgerkit.store.removal import Erased, Erasure, carry_out, clean_up
from ledgerkit.store.sealing import Sealing, standing_of
from ledgerkit.store.storage import Storage

ERASURES: Final = hash_uuid("ledgerkit", "erasures")
"""Session and run of the records of erasures."""
_FOUND: Final = """
    select message_id, session_id, run_id, run_date, artifact_refs, metadata, erased from sealed_history
    where list_contains($ids, message_id)
"""
_RECORDS: Final = "select message_id, data, artifact_refs from sealed_history where session_id = $id and run_id = $id"
_OF_RUN: Final = "select distinct message_id from sealed_history where list_contains($runs, run_id) order by 1"
_JOURNALED: Final = "select run_id from stored_history where message_id = $id limit 1"
_TITLED: Final = "select distinct run_id from sealed_runs where list_contains($titles, title)"


def explained_erasures(storage: Storage) -> Mapping[str, frozenset[str]]:
    """Records of erasures, and the messages and runs that each names."""
    rows = storage.database.sealed(_RECORDS, {"id": ERASURES})
    wholes = {row["message_id"]: _whole(storage, row) for row in rows.to_dicts()}
    return {record: frozenset([*one.get("messages", ()), *one.get("runs", ())]) for record, one in wholes.items()}


def _whole(storage: Storage, row: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a record; a long one stands in an artifact."""
    data: dict[str, Any] = json.loads(row["data"] or "{}")
    if "artifact" not in data:
        return data
    query = "select content from sealed_artifacts where content_id = $id limit 1"
    return json.loads(storage.database.sealed(query, {"id": data["artifact"]}).item())


def erase(
    storage: Storage,
    sealing: Sealing,
    *,
    messages: Sequence[str] = (),
    runs: Sequence[str] = (),
    reason: str,
    actor: str,
    now: datetime,
) -> Erasure:
    """Erases the content of messages, and of all messages and facts of runs.

    Raises:
        UnknownNameError: If a message or run is not there.
        RunLockedError: If a run of theirs is being recorded.
        ValueError: If no reason is given.
    """
    if not reason.strip():
        raise ValueError("an erasure needs a reason: it is what remains")
    seal_abandoned(storage, sealing, now=now)
    with exclusive(storage.layout, MAINTENANCE_LOCK), exclusive(storage.layout, COMMIT_LOCK):
        of_runs = storage.database.sealed(_OF_RUN, {"runs": list(runs)})["message_id"].to_list() if runs else []
        wanted = sorted({*messages, *of_runs})
        found = storage.database.sealed(_FOUND, {"ids": wanted})
        _check(storage, wanted, runs, found)
        held = found.filter(pl.col("erased").is_null())
        if held.is_empty():  # done before; a crash may have left files behind
            clean_up(storage, sorted(set(found["run_date"])), sorted(set(found["session_id"])))
            return Erasure(None, 0, 0, 0, 0)
        titled = storage.database.sealed(_TITLED, {"titles": sorted(_titles(held))})["run_id"]
        named = sorted({*runs, *titled})
        record_id = _record(storage, sealing, held, named, (reason, actor), now)
        return carry_out(storage, Erased(record_id, frozenset(held["message_id"]), frozenset(named)), held)


def _check(storage: Storage, wanted: list[str], runs: Sequence[str], found: pl.DataFrame) -> None:
    there = set(found["message_id"])
    if unknown := next((message for message in wanted if message not in there), None):
        journaled = storage.database.frame(_JOURNALED, {"id": unknown})["run_id"].to_list()
        if journaled:
            raise errors.RunLockedError(f"Run {journaled[0]} is being recorded. Close its recorder, and erase then.")
        raise errors.UnknownNameError(f"No message {unknown!r} to erase.", name=unknown)
    known = set(found["run_id"])
    if unknown := next((run for run in runs if run not in known), None):
        raise errors.UnknownNameError(f"No run {unknown!r} to erase.", name=unknown)
    if ERASURES in found["session_id"]:
        raise errors.IntegrityError("The record of an erasure cannot be erased.")
    for session, run in found.select("session_id", "run_id").unique().sort("session_id", "run_id").iter_rows():
        if is_recorded(storage.layout.journal_path(session, run)):
            raise errors.RunLockedError(f"Run {run} is being recorded. Close its recorder, and erase then.")


def _record(
    storage: Storage,
    sealing: Sealing,
    held: pl.DataFrame,
    runs: Sequence[str],
    said: tuple[str, str],
    now: datetime,
) -> str:
    """Commits the record of an erasure."""
    reason, actor = said
    message_id = uuid7(now, sealing.random(10))
    data: JsonObject = {
        "operation": "erase",
        "reason": reason,
        "messages": [*sorted(set(held["message_id"]))],
        "runs": [*sorted(runs)],
    }
    part = JsonPart(data=data, trust_level=TrustLevel.PLATFORM_TRUSTED, visibility=Visibility.AUDIT_ONLY)
    header = JournalHeader(ERASURES, ERASURES, facts={"agent": "ledgerkit", "title": "Erasures"})

    def prepare() -> Commit:
        standing = standing_of(storage, ERASURES, ERASURES)
        message = AgentMessage(
            session_id=ERASURES,
            run_id=ERASURES,
            kind=MessageKind.APPROVAL_DECISION,
            actor=actor,
            parts=(part,),
            message_id=message_id,
            sequence_no=standing.next,
            created_at=now,
        )
        rows = MessageRows(Contents(storage.layout), sealing.count_tokens)
        run_date = standing.run_date or now.date().isoformat()
        rows.add(message, run_date=run_date, revision=0)
        described = [] if standing.next else [run_row(header, run_date, recorded_at=now, source_format="ledgerkit")]
        return Commit(rows.frame(), tables.RUNS.frame(described), rows.contents)

    write_commit(storage, prepare, {f"ledgerkit/erasure/{message_id}": 1}, now=now, random=sealing.random)
    return message_id


def _titles(held: pl.DataFrame) -> frozenset[str]:
    """Titles of runs that come from the messages."""
    remembered = (json.loads(metadata).get("record", {}) for metadata in held["metadata"].drop_nulls())
    return frozenset(title for one in remembered if (title := one.get("facts", {}).get("title")))
