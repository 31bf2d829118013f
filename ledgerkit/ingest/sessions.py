"""Sessions of one batch: what is new in them, and the rows that say so.

A run that only grows gets rows appended; one whose records come in another order than the ledger holds gets a new
revision, whole. Either way the current rows of a session are a function of the records that the ledger has met.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit import tables, tokens
from ledgerkit.importers.drafts import RecordDraft, RunFacts
from ledgerkit.ingest import assembly
from ledgerkit.ingest.account import Fate, FileState
from ledgerkit.ingest.assembly import Item, Place, RunShape
from ledgerkit.ingest.lineage import PROVISIONAL, item_of_draft, items_of_rows, lineage
from ledgerkit.ingest.ordering import merge
from ledgerkit.ingest.rows import RowBuilder, Standing
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid, uuid8
from ledgerkit.store.contents import Contents
from ledgerkit.store.database import Database
from ledgerkit.store.layout import Layout
from ledgerkit.store.views import RETIRED

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore

NO_DATE: Final = "1970-01-01"
_LABELS: Final = ("step", "visible_from", "parent_message_id")
_LIGHT: Final = """
    select session_id, run_id, sequence_no, message_id, part_index, if(part_index = 0, metadata, null) as metadata,
        call_id, epoch_us(created_at) as created_at, source_record, part_type, tool_call_id, source_file, import_id,
        step, visible_from, parent_message_id
    from current_history semi join (
        select session_id, run_id from latest_runs where source_format = $format) using (session_id, run_id)
    where list_contains($sessions, session_id)
    order by session_id, run_id, sequence_no, part_index
"""
_STANDING: Final = """
    select run_id, max(revision) as revision, any_value(run_date order by revision desc) as run_date
    from stored_history where list_contains($sessions, session_id) group by run_id
"""
_FILES: Final = """
    select path, begin, record_keys, sessions from stored_imports where list_has_any(sessions, $sessions)
    order by path, imported_at, cursor
"""


@dataclass(slots=True)
class _New:
    """A record that the ledger did not have."""

    draft: RecordDraft
    key: int
    state: FileState
    message_ids: list[str]


@dataclass(slots=True)
class _Session:
    session_id: str
    items: list[Item]
    held: dict[str, dict[str, tuple[int, Place | None]]]
    source_files: dict[str, str | None]
    sequences: list[list[int]] = field(default_factory=list[list[int]])
    new: dict[int, _New] = field(default_factory=dict[int, _New])
    known: set[int] = field(default_factory=set[int])
    given_ids: set[str] = field(default_factory=set[str])
    has_new_order: bool = False


class SessionIntake:
    """Takes the records of one batch and one format, and knows what the ledger has of their sessions."""

    def __init__(self, database: Database, log_format: str) -> None:
        self.log_format = log_format
        self.sessions: dict[str, _Session] = {}
        self.standing: dict[str, tuple[int, str]] = {}
        self._database = database
        self._open_files: dict[tuple[str, str], list[int]] = {}

    def meet(self, session_ids: set[str]) -> None:
        """Loads what the ledger holds of sessions that this batch has not met yet."""
        fresh = sorted(session_ids - self.sessions.keys())
        if not fresh:
            return
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        wanted = {"sessions": fresh, "format": self.log_format}
        for row in self._database.frame(_LIGHT, wanted).iter_rows(named=True):
            rows[row["session_id"]].append(row)
        for session_id in fresh:
            self.sessions[session_id] = _loaded(session_id, rows[session_id])
        for run_id, revision, run_date in self._database.frame(_STANDING, {"sessions": fresh}).iter_rows():
            self.standing[run_id] = (revision, run_date)
        for path, begin, keys, there in self._database.frame(_FILES, {"sessions": fresh}).iter_rows():
            self._take_sequence(path, begin, keys, set(there).intersection(fresh))

    def _take_sequence(self, path: str, begin: int, keys: list[int], session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            session = self.sessions[session_id]
            session.known.update(keys)
            label = (session_id, path)
            if begin == 0 or label not in self._open_files:
                self._open_files[label] = []
                session.sequences.append(self._open_files[label])
            self._open_files[label].extend(keys)

    def offer(self, record: RecordDraft, key: int, state: FileState) -> Fate:
        """Takes a record if the ledger does not have it; one that gives another content to an id is left out."""
        session = self.sessions[record.session or ""]
        if key in session.known or key in session.new:
            return Fate.DUPLICATE
        if not session.given_ids.isdisjoint(record.message_ids or ()):
            return Fate.SKIPPED
        session.given_ids.update(record.message_ids or ())
        session.new[key] = _New(record, key, state, self._message_ids(record, key))
        return Fate.ACCEPTED

    def _message_ids(self, record: RecordDraft, key: int) -> list[str]:
        if record.message_ids is not None:
            return record.message_ids
        ms = max((record.created_at or 0) // 1000, 0)
        identity = (self.log_format, record.session or "", str(key))
        return [uuid8(ms, *identity, str(number)) for number in range(len(record.messages))]

    def keys_of(self, state: FileState, session_ids: Iterable[str]) -> set[int]:
        """Keys of a file's records from the readings that the present one continues."""
        files = (self._open_files.get((session_id, state.path), []) for session_id in session_ids if state.begin)
        return set(chain.from_iterable(files))

    def close_file(self, state: FileState, session_ids: Iterable[str]) -> None:
        """Notes the order of a file's records of some sessions, once all of them were offered."""
        self._take_sequence(state.path, state.begin, state.record_keys, session_ids)
        for session_id in session_ids:
            self.sessions[session_id].has_new_order = True


class Batch:
    """The records of one commit."""

    def __init__(self, import_id: str, number: int, now: int) -> None:
        self.import_id = import_id
        self.number = number
        self.now = now
        self.intakes: dict[str, SessionIntake] = {}

    def intake(self, database: Database, log_format: str) -> SessionIntake:
        """The intake of a format."""
        if log_format not in self.intakes:
            self.intakes[log_format] = SessionIntake(database, log_format)
        return self.intakes[log_format]


def _loaded(session_id: str, rows: list[dict[str, Any]]) -> _Session:
    items = items_of_rows(rows)
    held: dict[str, dict[str, tuple[int, Place | None]]] = defaultdict(dict)
    files: dict[str, str | None] = {}
    for row in rows:
        place = Place(row["message_id"], row["step"], row["visible_from"], row["parent_message_id"])
        held[row["run_id"]][row["message_id"]] = (row["sequence_no"], place if row["import_id"] else None)
        files[row["message_id"]] = row["source_file"]
    known = {item.key for item in items}
    return _Session(session_id, items, dict(held), files, known=known, given_ids=set(files))


def write_batch(
    layout: Layout, store: DeltaStore, database: Database, batch: Batch, counter: tokens.TokenCounter
) -> tuple[int, set[str]]:
    """Writes what is new in a batch.

    Returns:
        The number of new messages, and the runs that they stand in.
    """
    builder = RowBuilder(Contents(layout), counter.count_many, batch.import_id)
    writing = _Writing(database, batch, builder)
    for log_format, intake in sorted(batch.intakes.items()):
        for _, session in sorted(intake.sessions.items()):
            if session.new or session.has_new_order:
                writing.session(log_format, intake, session)
    transaction = f"{batch.import_id}/{batch.number}"
    store.append("artifacts", builder.contents.rows(database, batch.import_id), transaction=transaction)
    store.append("runs", writing.run_rows(), transaction=transaction)
    store.append("history", writing.history(), transaction=transaction)
    return writing.new_messages, writing.touched


class _Writing:
    """Rows of one commit, session by session."""

    def __init__(self, database: Database, batch: Batch, builder: RowBuilder) -> None:
        self.new_messages = 0
        self.touched: set[str] = set()
        self._database = database
        self._batch = batch
        self._builder = builder
        self._copied: list[pl.DataFrame] = []
        self._runs: list[dict[str, Any]] = []

    def session(self, log_format: str, intake: SessionIntake, session: _Session) -> None:
        fresh = {key: item_of_draft(new.draft, key, new.message_ids) for key, new in session.new.items()}
        items = assembly.without_replaced_copies([*session.items, *fresh.values()])
        by_key = {item.key: item for item in items}
        sequences = [[_key_among(by_key, key) for key in sequence] for sequence in session.sequences]
        order = merge(sequences, {item.key: item.created_at for item in items})
        placed = set(order)
        order += [key for key in by_key if key not in placed]
        shapes = assembly.assemble(by_key[key] for key in order)
        run_ids = {shape.run_key: run_id_of(log_format, session.session_id, shape.run_key) for shape in shapes}
        standings: dict[str, Standing] = {}
        revisions: dict[str, int] = {}
        for shape in shapes:
            run_id = run_ids[shape.run_key]
            held = session.held.get(run_id, {})
            revision, run_date = intake.standing.get(run_id, (0, _run_date(shape)))
            anew = assembly.changed(shape, held)
            revision += anew
            revisions[run_id] = revision
            for number, place in enumerate(shape.places):
                if anew or place.message_id not in held:
                    standings[place.message_id] = Standing(
                        run_date, session.session_id, run_id, revision, number,
                        place.step, place.visible_from, place.parent_message_id,
                    )  # fmt: skip
        self._add_new(session, standings)
        self._copy(session, standings)
        self._retire(session, intake, set(run_ids.values()))
        self._describe(log_format, session, shapes, run_ids, revisions, intake)

    def _add_new(self, session: _Session, standings: Mapping[str, Standing]) -> None:
        for new in session.new.values():
            placed = [standings[message_id] for message_id in new.message_ids if message_id in standings]
            if placed:
                self._builder.add(new.draft, lineage(new.draft, new.key), new.message_ids, placed, new.state.path)
                self.new_messages += len(placed)
                self.touched.update(standing.run_id for standing in placed)
            elif new.draft.embedded or new.draft.provisional:  # a better copy is there
                new.state.recount(new.draft.record_type, Fate.ACCEPTED, Fate.DUPLICATE)

    def _copy(self, session: _Session, standings: Mapping[str, Standing]) -> None:
        """Rows that the ledger holds and that stand elsewhere now."""
        moved = {mid: at for mid, at in standings.items() if mid in session.source_files}
        if not moved:
            return
        places = pl.DataFrame([{"message_id": mid, **_fields(at)} for mid, at in moved.items()])
        rows = self._database.frame("select * from current_history where session_id = $id", {"id": session.session_id})
        kept = [n for n in tables.HISTORY.names if n not in places.columns or n in ("message_id", *_LABELS)]
        rows = rows.select([n for n in kept if n in rows.columns])
        copied = rows.join(places, on="message_id", how="inner", suffix="_now").with_columns(
            pl.when(pl.col("import_id").is_null()).then(pl.col(name)).otherwise(pl.col(f"{name}_now")).alias(name)
            for name in _LABELS
        )
        self._copied.append(copied.select(tables.HISTORY.names).cast(tables.HISTORY.types))

    def _retire(self, session: _Session, intake: SessionIntake, living: set[str]) -> None:
        """A run that is there no longer gets a last revision that says so."""
        for run_id in sorted(session.held.keys() - living):
            revision, run_date = intake.standing[run_id]
            row = dict.fromkeys(tables.HISTORY.names)
            message_id = uuid8(0, "retired", run_id, str(revision + 1))
            row |= {
                "run_date": run_date, "session_id": session.session_id, "run_id": run_id, "revision": revision + 1,
                "sequence_no": 0, "message_id": message_id, "part_index": 0, "kind": "RUN_SUMMARY",
                "trust_level": "TOOL_TRUSTED", "visibility": "INTERNAL_ONLY", "actor": "ledgerkit",
                "part_id": f"{message_id}.0", "part_type": "json", "content_type": "application/json",
                "part_trust_level": "TOOL_TRUSTED", "part_visibility": "INTERNAL_ONLY", "status": RETIRED,
                "import_id": self._batch.import_id,
            }  # fmt: skip
            self._copied.append(tables.HISTORY.frame([row]))

    def _describe(
        self,
        log_format: str,
        session: _Session,
        shapes: list[RunShape],
        run_ids: Mapping[str, str],
        revisions: Mapping[str, int],
        intake: SessionIntake,
    ) -> None:
        """Rows of ``runs``."""
        files = {mid: new.state.path for new in session.new.values() for mid in new.message_ids}
        main = assembly.facts_of(shapes[0]) if shapes else RunFacts()
        for shape in shapes:
            facts, run_id = assembly.facts_of(shape), run_ids[shape.run_key]
            first = shape.places[0].message_id if shape.places else ""
            self._runs.append({
                "session_id": session.session_id,
                "run_id": run_id,
                "run_date": intake.standing.get(run_id, (0, _run_date(shape)))[1],
                "revision": revisions[run_id],
                "task_id": facts.task_id or main.task_id,
                "title": facts.title,
                "repository": facts.repository or main.repository or main.working_directory or facts.working_directory,
                "branch": facts.branch or main.branch,
                "working_directory": facts.working_directory or main.working_directory,
                "agent": facts.agent or main.agent or log_format,
                "agent_version": facts.agent_version or main.agent_version,
                "parent_run_id": run_ids.get(shape.parent_run_key) if shape.parent_run_key is not None else None,
                "forked_at": shape.forked_at,
                "relation": shape.relation.value if shape.relation else None,
                "source_format": log_format,
                "source_file": files.get(first) or session.source_files.get(first),
                "recorded_at": self._batch.now + self._batch.number,
                "import_id": self._batch.import_id,
            })  # fmt: skip

    def run_rows(self) -> pl.DataFrame:
        """The rows of ``runs`` that say something new."""
        columns = [c for c in tables.RUNS.columns if c.name not in ("recorded_at", "import_id")]
        names = [c.name for c in columns]
        ids = sorted(row["run_id"] for row in self._runs)
        held = self._database.frame(
            "select * from latest_runs where list_contains($ids, run_id)", {"ids": ids}
        ).iter_rows(named=True)
        there = {row["run_id"]: tuple(row[name] for name in names) for row in held}
        rows = [row for row in self._runs if there.get(row["run_id"]) != tuple(row[name] for name in names)]
        return tables.RUNS.frame(rows)

    def history(self) -> pl.DataFrame:
        """All rows of ``history`` of this commit."""
        return pl.concat([self._builder.history(), *self._copied])


def run_id_of(log_format: str, session_id: str, run_key: str) -> str:
    """The ledger's id of a run: the source's own if it is a UUID, else derived from it."""
    return run_key.lower() if is_uuid(run_key) else hash_uuid(log_format, session_id, run_key)


def _key_among(items: Mapping[int, Item], key: int) -> int:
    """The key of a record, or that of the better copy that replaced it."""
    return key if key in items or key ^ PROVISIONAL not in items else key ^ PROVISIONAL


def _fields(standing: Standing) -> dict[str, Any]:
    return {name: getattr(standing, name) for name in Standing.__struct_fields__}


def _run_date(shape: RunShape) -> str:
    first = next((item.created_at for item in shape.items if item.created_at is not None), None)
    return NO_DATE if first is None else datetime.fromtimestamp(first / 1e6, UTC).date().isoformat()
