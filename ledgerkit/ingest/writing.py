"""The rows of one commit of an import: what is new, what stands elsewhere now, and what is no more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from ledgerkit import errors, tables, tokens
from ledgerkit.importers.drafts import RunFacts
from ledgerkit.ingest import assembly
from ledgerkit.ingest.account import Fate
from ledgerkit.ingest.assembly import Item, RunShape
from ledgerkit.ingest.lineage import PROVISIONAL, item_of_draft, lineage
from ledgerkit.ingest.ordering import merge
from ledgerkit.ingest.rows import RowBuilder, Standing
from ledgerkit.ingest.sessions import Batch, Session, SessionIntake
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid, uuid8
from ledgerkit.store.committing import Commit, write_commit
from ledgerkit.store.contents import Contents
from ledgerkit.store.database import Database
from ledgerkit.store.storage import Storage
from ledgerkit.store.views import RETIRED

NO_DATE: Final = "1970-01-01"
_LABELS: Final = ("step", "visible_from", "parent_message_id")


def write_batch(
    storage: Storage, batch: Batch, counter: tokens.TokenCounter, key_id: str | None = None
) -> tuple[int, set[str]]:
    """Writes what is new in a batch. The caller holds the commit lock.

    Returns:
        The number of new messages, and the runs that they stand in.

    Raises:
        LedgerConflictError: If a writer whom the lock does not reach committed in between.
    """
    builder = RowBuilder(Contents(storage.layout), counter.count_many, batch.import_id)
    writing = _Writing(storage.database, batch, builder)
    for log_format, intake in sorted(batch.intakes.items()):
        for _, session in sorted(intake.sessions.items()):
            if session.new or session.has_new_order:
                writing.session(log_format, intake, session)
    prepared = iter([Commit(writing.history(), writing.run_rows(), builder.contents, batch.import_id, key_id)])

    def prepare() -> Commit:
        # Places in runs were given by what the ledger held; if that is no longer so, the batch has to begin anew.
        if (commit := next(prepared, None)) is None:
            raise errors.LedgerConflictError("Another machine committed to this ledger meanwhile. Import again.")
        return commit

    write_commit(storage, prepare, batch.transactions, now=batch.now, random=batch.random)
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

    def session(self, log_format: str, intake: SessionIntake, session: Session) -> None:
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

    def _add_new(self, session: Session, standings: Mapping[str, Standing]) -> None:
        for new in session.new.values():
            placed = [standings[message_id] for message_id in new.message_ids if message_id in standings]
            if placed:
                self._builder.add(new.draft, lineage(new.draft, new.key), new.message_ids, placed, new.state.path)
                self.new_messages += len(placed)
                self.touched.update(standing.run_id for standing in placed)
            elif new.draft.embedded or new.draft.provisional:  # a better copy is there
                new.state.recount(new.draft.record_type, Fate.ACCEPTED, Fate.DUPLICATE)

    def _copy(self, session: Session, standings: Mapping[str, Standing]) -> None:
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

    def _retire(self, session: Session, intake: SessionIntake, living: set[str]) -> None:
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
        session: Session,
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
                "recorded_at": self._batch.microseconds + self._batch.number,
                "import_id": self._batch.import_id,
            })  # fmt: skip

    def run_rows(self) -> pl.DataFrame:
        """The rows of ``runs`` that say something new."""
        names = [name for name in self._runs[0] if name not in ("recorded_at", "import_id")] if self._runs else []
        ids = sorted(row["run_id"] for row in self._runs)
        held = self._database.frame(
            "select * from latest_runs where list_contains($ids, run_id)", {"ids": ids}
        ).iter_rows(named=True)
        there = {row["run_id"]: tuple(row[name] for name in names) for row in held}
        rows = [row for row in self._runs if there.get(row["run_id"]) != tuple(row[name] for name in names)]
        blank = dict.fromkeys(tables.RUNS.names)
        return tables.RUNS.frame(blank | row for row in rows)

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
