"""Erasure: content goes, for good; that it was there, and who decided so, stays provable.

A record of the erasure is committed first: a message of its own in the ledger's run of erasures, which names the
messages. Then the files that hold them are rewritten: their content columns and salts become null, hashes stay. Old
files, journals, snapshots and derived rows that hold the content are removed, and with them earlier states of these
partitions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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
from ledgerkit.store.derivedfiles import LOCK as DERIVED_LOCK
from ledgerkit.store.derivedfiles import forget_sessions
from ledgerkit.store.journal import JournalHeader, read_journal
from ledgerkit.store.journaled import run_row, sealed_mark
from ledgerkit.store.locking import COMMIT_LOCK, MAINTENANCE_LOCK, RunLock, exclusive, is_recorded
from ledgerkit.store.maintenance import remove_dead_files, seal_abandoned
from ledgerkit.store.messagerows import MessageRows
from ledgerkit.store.rewriting import rewrite
from ledgerkit.store.sealing import Sealing, standing_of
from ledgerkit.store.storage import Storage
from ledgerkit.tables import Role

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
_STILL_USED: Final = """
    select distinct unnest(artifact_refs) as content_id from sealed_history
    where list_has_any(artifact_refs, $ids) and not list_contains($messages, message_id)
"""
_NAMED: Final = r"artifact:([0-9a-f]{32})"


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did.

    Attributes:
        record_id: The message that records it; ``None`` if there was nothing to erase.
        messages: Messages whose content was erased.
        runs: Rows of ``runs`` whose content was erased.
        artifacts: Artifacts that went, because nothing else refers to them.
        files: Files that were removed.
    """

    record_id: str | None
    messages: int
    runs: int
    artifacts: int
    files: int


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
            _clean_up(storage, sorted(set(found["run_date"])), sorted(set(found["session_id"])))
            return Erasure(None, 0, 0, 0, 0)
        titled = storage.database.sealed(_TITLED, {"titles": sorted(_titles(held))})["run_id"]
        named = sorted({*runs, *titled})
        record_id = _record(storage, sealing, held, named, (reason, actor), now)
        return _carry_out(storage, _Erased(record_id, frozenset(held["message_id"]), frozenset(named)), held)


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


@dataclass(frozen=True, slots=True)
class _Erased:
    record_id: str
    messages: frozenset[str]
    runs: frozenset[str]


def _titles(held: pl.DataFrame) -> frozenset[str]:
    """Titles of runs that come from the messages."""
    remembered = (json.loads(metadata).get("record", {}) for metadata in held["metadata"].drop_nulls())
    return frozenset(title for one in remembered if (title := one.get("facts", {}).get("title")))


def _carry_out(storage: Storage, erased: _Erased, held: pl.DataFrame) -> Erasure:
    """Rewrites what holds the content; the history last, so that an erasure that was cut off begins again there."""
    sessions = sorted(set(held["session_id"]))
    gone = _unused_artifacts(storage, held)
    if gone:
        _rewrite(storage, "artifacts", [""], lambda rows: rows.filter(~pl.col("content_id").is_in(gone)))
    _rewrite(storage, "snapshots", [""], lambda rows: rows.filter(~_of_sessions(rows, sessions)))
    touched = storage.database.sealed("select run_id from sealed_runs").filter(_run_rows(erased))
    if touched.height:
        _rewrite(storage, "runs", [""], lambda rows: _without_facts(rows, erased))
    dates = sorted(set(held["run_date"]))
    _rewrite(storage, "history", dates, lambda rows: _without_content(rows, erased))
    files = _clean_up(storage, dates, sessions)
    return Erasure(erased.record_id, len(erased.messages), touched.height, len(gone), files)


def _clean_up(storage: Storage, dates: Sequence[str], sessions: Sequence[str]) -> int:
    """Removes files that no longer count and may hold what was erased."""
    files = remove_dead_files(storage, "history", dates)
    for name in ("runs", "artifacts", "snapshots"):
        files += remove_dead_files(storage, name, [""])
    with exclusive(storage.layout, DERIVED_LOCK):
        derived = forget_sessions(storage.layout, sessions)
    return derived + len(files) + len(_without_journals(storage, sessions))


def _unused_artifacts(storage: Storage, held: pl.DataFrame) -> list[str]:
    """Artifacts that these rows refer to and that nothing else does."""
    refs = set(held["artifact_refs"].explode().drop_nulls())
    named = held["metadata"].drop_nulls().str.extract_all(_NAMED).explode().drop_nulls()
    refs |= {name.removeprefix("artifact:") for name in named}
    if not refs:
        return []
    parameters = {"ids": sorted(refs), "messages": held["message_id"].unique().to_list()}
    return sorted(refs - set(storage.database.sealed(_STILL_USED, parameters)["content_id"]))


def _rewrite(
    storage: Storage, name: str, partitions: Iterable[str], change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    for partition in partitions:
        files = [f for f in storage.store.live_files(name) if "/".join(map(str, f.partition.values())) == partition]
        if files:
            rewrite(storage, name, files, change, mark=f"ledgerkit/maintenance/{partition}")


def _without_content(rows: pl.DataFrame, erased: _Erased) -> pl.DataFrame:
    """Rows of ``history`` whose content is gone; the record's place among others of its source stays."""
    hit = pl.col("message_id").is_in(list(erased.messages))
    content = [c for c in tables.HISTORY.of_role(Role.CONTENT) if c.name != "metadata"]
    kept = pl.col("metadata").map_elements(_lineage_only, return_dtype=pl.String, skip_nulls=True)
    return rows.with_columns(
        *(pl.when(hit).then(pl.lit(None, c.type)).otherwise(pl.col(c.name)).alias(c.name) for c in content),
        pl.when(hit).then(kept).otherwise(pl.col("metadata")).alias("metadata"),
        pl.when(hit).then(pl.lit(None, tables.BYTES)).otherwise(pl.col("salt")).alias("salt"),
        pl.when(hit).then(pl.lit(erased.record_id)).otherwise(pl.col("erased")).alias("erased"),
    )


def _lineage_only(metadata: str) -> str | None:
    """What the importer needs to place a record among others: keys and links, nothing that was said."""
    record: dict[str, Any] = json.loads(metadata).get("record", {})
    record.pop("facts", None)
    return json.dumps({"record": record}, separators=(",", ":")) if record else None


def _run_rows(erased: _Erased) -> pl.Expr:
    return pl.col("run_id").is_in(list(erased.runs))


def _without_facts(rows: pl.DataFrame, erased: _Erased) -> pl.DataFrame:
    hit = _run_rows(erased)
    content = tables.RUNS.of_role(Role.CONTENT)
    return rows.with_columns(
        *(pl.when(hit).then(pl.lit(None, c.type)).otherwise(pl.col(c.name)).alias(c.name) for c in content),
        pl.when(hit).then(pl.lit(None, tables.BYTES)).otherwise(pl.col("salt")).alias("salt"),
        pl.when(hit).then(pl.lit(erased.record_id)).otherwise(pl.col("erased")).alias("erased"),
    )


def _of_sessions(rows: pl.DataFrame, sessions: Sequence[str]) -> pl.Series:
    """Snapshots that may hold content of some sessions: their own, and those of repositories."""
    return rows.select(pl.col("session_id").is_null() | pl.col("session_id").is_in(list(sessions))).to_series()


def _without_journals(storage: Storage, sessions: Sequence[str]) -> list[str]:
    """Removes journals of sessions: what they hold is sealed, and some of it erased."""
    gone: list[str] = []
    for path in sorted(storage.layout.journals.glob("*.journal*")):
        header = _header_of(path)
        if header is None or header.session_id not in sessions:
            continue
        try:
            lock = RunLock(path, (header.session_id, header.run_id), wait=False)
        except errors.RunLockedError:  # of another run: those of the erased messages were not recorded
            continue
        try:
            if _is_sealed(storage, path):
                path.unlink()
                gone.append(path.name)
        finally:
            lock.release()
    return gone


def _header_of(path: Path) -> JournalHeader | None:
    try:
        return read_journal(path).header
    except (errors.JournalError, FileNotFoundError):
        return None


def _is_sealed(storage: Storage, path: Path) -> bool:
    """Whether nothing stands in a journal alone: a message of another run may have come in meanwhile."""
    try:
        content = read_journal(path)
    except (errors.JournalError, FileNotFoundError):
        return False
    mark = sealed_mark(content.header.session_id, content.header.run_id)
    sealed = storage.store.transaction("history", mark) or 0
    return all(number < sealed for number, _ in content.records)
