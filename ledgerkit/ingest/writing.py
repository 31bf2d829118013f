"""The rows of one commit of an import: what is new, what stands elsewhere now, and what is no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import polars as pl

from ledgerkit import errors, tables
from ledgerkit.importers.drafts import RunFacts
from ledgerkit.ingest import assembly
from ledgerkit.ingest.account import Fate
from ledgerkit.ingest.finishing import Finished, PlacedRecord, SessionTask
from ledgerkit.ingest.lineage import PROVISIONAL, item_of
from ledgerkit.ingest.ordering import merge
from ledgerkit.ingest.rows import Standing
from ledgerkit.ingest.run_rows import Shaped, run_date_of, run_id_of, run_rows
from ledgerkit.ingest.sessions import Batch, Session, SessionIntake
from ledgerkit.ingest.shapes import Item, changed
from ledgerkit.protocol.identifiers import uuid8
from ledgerkit.store.committing import Commit, write_commit
from ledgerkit.store.contents import Contents
from ledgerkit.store.storage import Storage
from ledgerkit.store.views import RETIRED

_LABELS: Final = ("step", "visible_from", "parent_message_id")
_STANDING: Final = Standing.__struct_fields__


class Finish(Protocol):
    """Makes the rows of sessions, in order."""

    def __call__(self, tasks: list[SessionTask]) -> Iterable[Finished]:
        """What each part of the tasks gave; the parts in the order of the tasks."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """What a commit brought.

    Attributes:
        messages: Number of new messages.
        runs: The runs that they stand in.
        placed: ``session_id`` and ``run_date`` of its rows.
    """

    messages: int
    runs: set[str]
    placed: pl.DataFrame


def write_batch(storage: Storage, batch: Batch, finish: Finish, key_id: str | None = None) -> Written:
    """Writes what is new in a batch. The caller holds the commit lock.

    Args:
        storage: The ledger.
        batch: The batch, the fates of its records decided.
        finish: Makes rows of placed records.
        key_id: Which key placeholders are made with; ``None`` if nothing was redacted.

    Raises:
        LedgerConflictError: If a writer whom the lock does not reach committed in between.
    """
    writing = _Writing(batch, Contents(storage.layout))
    for log_format, intake in sorted(batch.intakes.items()):
        for _, session in sorted(intake.sessions.items()):
            if session.new or session.has_new_order:
                writing.session(log_format, intake, session)
    for finished in finish(writing.tasks):
        writing.take(finished)
    history = writing.history()
    placed = history.select("session_id", "run_date").unique()
    prepared = iter(
        [Commit(history, run_rows(batch, writing.shaped, writing.facts), writing.contents, batch.import_id, key_id)]
    )
    del history

    def prepare() -> Commit:
        # Places in runs were given by what the ledger held; if that is no longer so, the batch has to begin anew.
        if (commit := next(prepared, None)) is None:
            raise errors.LedgerConflictError("Another machine committed to this ledger meanwhile. Import again.")
        return commit

    write_commit(storage, prepare, batch.transactions, now=batch.now, random=batch.random)
    return Written(writing.new_messages, writing.touched, placed)


class _Writing:
    """Rows of one commit, session by session."""

    def __init__(self, batch: Batch, contents: Contents) -> None:
        self.new_messages = 0
        self.touched: set[str] = set()
        self.tasks: list[SessionTask] = []
        self.contents = contents
        self._batch = batch
        self.shaped: list[Shaped] = []
        self.facts: dict[int, RunFacts] = {}
        self._rows: list[pl.DataFrame] = []
        self._retired: list[pl.DataFrame] = []
        self._moved: list[Standing] = []
        self._moved_ids: list[str] = []

    def take(self, finished: Finished) -> None:
        """Takes what a part of the tasks gave."""
        self._rows.append(finished.rows)
        self.facts |= finished.facts
        self.contents.take(finished.kept)

    def session(self, log_format: str, intake: SessionIntake, session: Session) -> None:
        fresh = {key: item_of(new.record, key, new.message_ids) for key, new in session.new.items()}
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
            revision, run_date = intake.standing.get(run_id, (0, run_date_of(shape)))
            anew = changed(shape, held)
            revision += anew
            revisions[run_id] = revision
            for number, place in enumerate(shape.places):
                if anew or place.message_id not in held:
                    standings[place.message_id] = Standing(
                        run_date, session.session_id, run_id, revision, number,
                        place.step, place.visible_from, place.parent_message_id,
                    )  # fmt: skip
        self._add_new(session, standings)
        moved = [message_id for message_id in standings if message_id in session.source_files]
        self._moved += [standings[message_id] for message_id in moved]
        self._moved_ids += moved
        self._retire(session, intake, set(run_ids.values()))
        self.shaped.append(Shaped(log_format, intake, session, shapes, run_ids, revisions))

    def _add_new(self, session: Session, standings: Mapping[str, Standing]) -> None:
        records: list[PlacedRecord] = []
        for new in session.new.values():
            placed = [standings[message_id] for message_id in new.message_ids if message_id in standings]
            records.append(PlacedRecord(new.record, new.key, new.message_ids, placed, new.state.path))
            draft = new.record.draft
            if placed:
                self.new_messages += len(placed)
                self.touched.update(standing.run_id for standing in placed)
            elif draft.embedded or draft.provisional:  # a better copy is there
                new.state.recount(draft.record_type, Fate.ACCEPTED, Fate.DUPLICATE)
        if records:
            self.tasks.append(SessionTask(session.session_id, records))

    def _copies(self) -> pl.DataFrame:
        """Rows that the ledger holds and that stand elsewhere now."""
        fields = zip(*map(msgspec.structs.astuple, self._moved), strict=True)
        places = pl.DataFrame(
            [tables.HISTORY.series(name, values) for name, values in zip(_STANDING, fields, strict=True)]
        ).with_columns(message_id=pl.Series(self._moved_ids, dtype=pl.String))
        rows = self._batch.holdings.rows(sorted(places["session_id"].unique()))
        kept = [
            n for n in tables.HISTORY.names if n not in places.columns or n in ("session_id", "message_id", *_LABELS)
        ]
        copied = rows.select(kept).join(places, on=["session_id", "message_id"], how="inner", suffix="_now")
        copied = copied.with_columns(
            pl.when(pl.col("import_id").is_null()).then(pl.col(name)).otherwise(pl.col(f"{name}_now")).alias(name)
            for name in _LABELS
        )
        return copied.select(tables.HISTORY.names).cast(tables.HISTORY.types)

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
            self._retired.append(tables.HISTORY.frame([row]))

    def history(self) -> pl.DataFrame:
        """All rows of ``history`` of this commit."""
        copies = [self._copies()] if self._moved else []
        return pl.concat([tables.HISTORY.empty(), *self._rows, *self._retired, *copies])


def _key_among(items: Mapping[int, Item], key: int) -> int:
    """The key of a record, or that of the better copy that replaced it."""
    return key if key in items or key ^ PROVISIONAL not in items else key ^ PROVISIONAL
