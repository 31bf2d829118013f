"""Makes rows of placed records: secrets are taken out, texts measured and counted. It knows no ledger.

A task holds whole sessions: a value that one text of a session gives away is removed from all of them, so redaction
looks at a session at once. Whichever process does a task, and whatever else it does, the same rows come out.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import msgspec
import polars as pl

from ledgerkit.importers.drafts import RecordDraft, RunFacts
from ledgerkit.ingest.collection import without_collection
from ledgerkit.ingest.lineage import lineage
from ledgerkit.ingest.reading import Record
from ledgerkit.ingest.redacting import RedactionMode, RedactionTally, Redactor, redact_records
from ledgerkit.ingest.rows import CountTokens, RowBuilder, Standing
from ledgerkit.safety.redaction import SecretMemory
from ledgerkit.store.contents import Contents, Kept
from ledgerkit.store.layout import ContentKey
from ledgerkit.tokens import TokenCounter


class PlacedRecord(msgspec.Struct, gc=False):
    """A new record, and where its messages stand.

    Attributes:
        record: The record.
        key: Its identity in its session.
        message_ids: Ids of its messages.
        standings: Where they stand; empty where a better copy of the record is there: it is only looked through.
        file: The file that it was read from.
    """

    record: Record
    key: int
    message_ids: list[str]
    standings: list[Standing]
    file: str


class SessionTask(msgspec.Struct):
    """The new records of a session, in order, and what is known of its secrets."""

    session_id: str
    records: list[PlacedRecord]
    memory: SecretMemory | None = None


class Finisher(msgspec.Struct, frozen=True):
    """How rows are made.

    Attributes:
        key: Key of the ledger's content ids.
        import_id: The import.
        redactor: Removes secrets; ``None`` to look for none.
        redaction: What is done about secrets.
        counts_tokens: Whether tokens are counted.
    """

    key: bytes
    import_id: str
    redactor: Redactor | None = None
    redaction: RedactionMode = RedactionMode.OFF
    counts_tokens: bool = True


class Finished(msgspec.Struct):
    """What a task gave.

    Attributes:
        rows: Rows of ``history``, without proof columns.
        kept: Artifacts.
        facts: What records say of their runs, by key, where secrets were looked for in it.
        memories: What is known of the sessions' secrets now.
        secrets: Secrets found, by type.
    """

    rows: pl.DataFrame
    kept: dict[str, Kept]
    facts: dict[int, RunFacts]
    memories: dict[str, SecretMemory]
    secrets: dict[str, int]


def finish(finisher: Finisher, tasks: Sequence[SessionTask], counter: CountTokens) -> Finished:
    """Makes the rows of some sessions."""
    ids = ContentKey(finisher.key)
    builder = RowBuilder(Contents(ids), counter if finisher.counts_tokens else None, finisher.import_id)
    tally = RedactionTally(finisher.redaction)
    facts: dict[int, RunFacts] = {}
    memories: dict[str, SecretMemory] = {}
    for task in tasks:
        drafts = [placed.record.whole() for placed in task.records]
        if finisher.redactor is not None:
            memory = memories.setdefault(task.session_id, task.memory or SecretMemory())
            redact_records(drafts, finisher.redactor, tally, memory, measure=ids.content_id)
            facts.update(_facts(task.records, drafts))
        for placed, draft in zip(task.records, drafts, strict=True):
            if placed.standings:
                builder.add(draft, lineage(draft, placed.key), placed.message_ids, placed.standings, placed.file)
            draft.messages = []  # what is left of them stands in the rows
    return Finished(builder.history(), dict(builder.contents.kept), facts, memories, tally.counts)


def _facts(records: Iterable[PlacedRecord], drafts: Iterable[RecordDraft]) -> Iterable[tuple[int, RunFacts]]:
    return ((one.key, draft.facts) for one, draft in zip(records, drafts, strict=True) if draft.facts is not None)


def finish_packed(finisher: bytes, tasks: bytes) -> bytes:
    """The same in another process; both arguments and the answer are pickled, the rows an Arrow file in it."""
    with without_collection():
        finished = finish(_finisher(finisher), pickle.loads(tasks), _counter().count_many)  # noqa: S301 - our own process
    file = io.BytesIO()
    finished.rows.write_ipc(file)
    rest = (finished.kept, finished.facts, finished.memories, finished.secrets)
    return pickle.dumps((file.getvalue(), *rest), pickle.HIGHEST_PROTOCOL)


def unpacked(raw: bytes) -> Finished:
    """What a task gave in another process."""
    rows, *rest = pickle.loads(raw)  # noqa: S301 - our own process wrote it
    return Finished(pl.read_ipc(io.BytesIO(rows)), *rest)


@lru_cache(maxsize=2)
def _finisher(raw: bytes) -> Finisher:
    """Unpickled once a process: a redactor loads its rules at its first use."""
    return pickle.loads(raw)  # noqa: S301 - our own process wrote it


@cache
def _counter() -> TokenCounter:
    return TokenCounter()
