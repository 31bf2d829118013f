"""Rows of ``runs``: what is known of each run of a commit, where it says something new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.importers.drafts import RunFacts
from ledgerkit.ingest.reading import session_id
from ledgerkit.ingest.sessions import Batch, Session, SessionIntake
from ledgerkit.ingest.shapes import RunShape, facts_of
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid
from ledgerkit.protocol.vocabulary import RunRelation

NO_DATE: Final = "1970-01-01"


@dataclass(frozen=True, slots=True)
class Shaped:
    """A session whose runs are known; what they say of themselves is known when secrets are out."""

    log_format: str
    intake: SessionIntake
    session: Session
    shapes: list[RunShape]
    run_ids: Mapping[str, str]
    revisions: Mapping[str, int]


def run_rows(batch: Batch, shaped: Iterable[Shaped], facts: Mapping[int, RunFacts]) -> pl.DataFrame:
    """The rows of ``runs`` that say something new.

    Args:
        batch: The batch.
        shaped: Its sessions.
        facts: What records say of their runs, by key, where secrets were taken out of it.
    """
    described = [row for one in shaped for row in _described(batch, one, facts)]
    names = [name for name in described[0] if name not in ("recorded_at", "import_id")] if described else []
    held = batch.holdings.runs(sorted({row["session_id"] for row in described})).iter_rows(named=True)
    there = {row["run_id"]: tuple(row[name] for name in names) for row in held}
    rows = [row for row in described if there.get(row["run_id"]) != tuple(row[name] for name in names)]
    blank = dict.fromkeys(tables.RUNS.names)
    return tables.RUNS.frame(blank | row for row in rows)


def _described(batch: Batch, shaped: Shaped, known: Mapping[int, RunFacts]) -> Iterator[dict[str, Any]]:
    """What is known of each run of a session."""
    session, intake, run_ids = shaped.session, shaped.intake, shaped.run_ids
    files = {mid: new.state.path for new in session.new.values() for mid in new.message_ids}
    for item in (item for shape in shaped.shapes for item in shape.items):
        item.facts = known.get(item.key, item.facts)
    main = facts_of(shaped.shapes[0]) if shaped.shapes else RunFacts()
    for shape in shaped.shapes:
        facts, run_id = facts_of(shape), run_ids[shape.run_key]
        first = shape.places[0].message_id if shape.places else ""
        yield {
            "session_id": session.session_id,
            "run_id": run_id,
            "run_date": intake.standing.get(run_id, (0, run_date_of(shape)))[1],
            "revision": shaped.revisions[run_id],
            "task_id": facts.task_id or main.task_id,
            "title": facts.title,
            "repository": facts.repository or main.repository or main.working_directory or facts.working_directory,
            "branch": facts.branch or main.branch,
            "working_directory": facts.working_directory or main.working_directory,
            "agent": facts.agent or main.agent or shaped.log_format,
            "agent_version": facts.agent_version or main.agent_version,
            "parent_run_id": _parent_of(shape, facts, shaped),
            "forked_at": shape.forked_at,
            "relation": str(shape.relation or RunRelation.FORK) if shape.relation or facts.parent_session else None,
            "source_format": shaped.log_format,
            "source_file": files.get(first) or session.source_files.get(first),
            "recorded_at": batch.microseconds + batch.number,
            "import_id": batch.import_id,
        }


def _parent_of(shape: RunShape, facts: RunFacts, shaped: Shaped) -> str | None:
    """The run that a run came from; of another session only the session is known here, and the view finds the run."""
    if shape.parent_run_key is not None:
        return shaped.run_ids.get(shape.parent_run_key)
    return session_id(shaped.log_format, facts.parent_session) if facts.parent_session else None


def run_id_of(log_format: str, session_id: str, run_key: str) -> str:
    """The ledger's id of a run: the source's own if it is a UUID, else derived from it."""
    return run_key.lower() if is_uuid(run_key) else hash_uuid(log_format, session_id, run_key)


def run_date_of(shape: RunShape) -> str:
    """The partition of a run that is new: the date of its first record that has a time."""
    first = next((item.created_at for item in shape.items if item.created_at is not None), None)
    return NO_DATE if first is None else datetime.fromtimestamp(first / 1e6, UTC).date().isoformat()
