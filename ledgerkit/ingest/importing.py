"""The import itself: plan, read in batches, decide fates and places, make rows, commit; then the account.

Each batch is one commit to ``history``: artifacts and runs before it, the account after it. A crash in between
leaves nothing half visible, and the next import finds by record keys what is there already. Files are read and rows
made wherever there are hands for it (:mod:`ledgerkit.ingest.parallel`); what touches the ledger happens here, in one
order. While a batch is decided and committed, the next one is being read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from ledgerkit import tokens
from ledgerkit.ingest.account import FileState, ImportAccount, import_rows
from ledgerkit.ingest.collection import without_collection
from ledgerkit.ingest.exposure import EXPOSED, exposed_messages
from ledgerkit.ingest.fates import decide_fates, sessions_of
from ledgerkit.ingest.finishing import Finished, Finisher, SessionTask
from ledgerkit.ingest.holdings import Holdings, KnownSessions, last_readings
from ledgerkit.ingest.parallel import Hands, hands
from ledgerkit.ingest.reading import UNSUPPORTED, Reading, ReadTask
from ledgerkit.ingest.redacting import RedactionMode, RedactionTally, Redactor
from ledgerkit.ingest.sessions import Batch
from ledgerkit.ingest.sources import Source, find_files, plan
from ledgerkit.ingest.tally import Tally
from ledgerkit.ingest.writing import write_batch
from ledgerkit.safety.redaction import SecretMemory
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.redactions import known_fingerprints
from ledgerkit.store.sealing import Sealing, seal_journals
from ledgerkit.store.storage import Storage

BATCH_BYTES: Final = 16 * 1024 * 1024
Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all and the file that was just read."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import.

    Attributes:
        import_id: Identity of this import.
        now: Time of this import.
        random: Gives so many random bytes (for the salts of commitments).
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        batch_bytes: Source bytes a commit.
        redactor: Removes secrets; ``None`` to look for none.
        redaction: What is done about secrets.
        counts_tokens: Whether tokens are counted; else their number is unknown.
        jobs: Worker processes; as many as is sensible if not given.
        executor: Does the work instead of worker processes.
    """

    import_id: str
    now: datetime
    random: Callable[[int], bytes] = os.urandom
    keep_reasoning: bool = False
    batch_bytes: int = BATCH_BYTES
    redactor: Redactor | None = None
    redaction: RedactionMode = RedactionMode.OFF
    counts_tokens: bool = True
    jobs: int | None = None
    executor: Executor | None = None

    def finisher(self, key: bytes) -> Finisher:
        """How rows are made, with the key of a ledger's content ids."""
        return Finisher(key, self.import_id, self.redactor, self.redaction, self.counts_tokens)


def import_files(
    storage: Storage, paths: Iterable[str | Path], options: ImportOptions, progress: Progress | None = None
) -> ImportAccount:
    """Imports all files at and below some paths. Imports into one ledger wait for each other.

    Raises:
        ImportSourceError: If there is nothing to import.
        ImportWorkerError: If a worker process was lost.
    """
    files = find_files(paths)
    with exclusive(storage.layout, "import"):
        known = last_readings(storage.database)
        planned = [plan(path, known.get(str(path))) for path in files]
        sources = [source for source in planned if source is not None]
        tally = Tally(unchanged=len(planned) - len(sources), redaction=_redaction(options))
        total, counter = sum(source.unread for source in sources), tokens.TokenCounter()
        with hands(options.finisher(storage.layout.key), counter, total, options.jobs, options.executor) as workers:
            _Import(storage, options, workers, counter, tally).run(sources, progress)
        return tally.account(options.import_id, _exposed(storage, tally.redaction))


def _redaction(options: ImportOptions) -> RedactionTally:
    if options.redactor is None:
        return RedactionTally(RedactionMode.OFF)
    return RedactionTally(options.redaction, options.redactor.key_id)


def _exposed(storage: Storage, tally: RedactionTally) -> pl.DataFrame:
    """Messages that were committed before this import knew that they hold a secret."""
    if tally.mode is not RedactionMode.ON:
        return pl.DataFrame(schema=EXPOSED)
    return exposed_messages(storage, {one: tally.memories[one] for one in tally.continued})


class _Import:
    """One import, batch by batch."""

    def __init__(
        self, storage: Storage, options: ImportOptions, workers: Hands, counter: tokens.TokenCounter, tally: Tally
    ) -> None:
        self._storage = storage
        self._options = options
        self._workers = workers
        self._counter = counter
        self._tally = tally
        self._known = KnownSessions()

    def run(self, sources: list[Source], progress: Progress | None) -> None:
        """Imports files."""
        groups = list(_batches(sources, self._options.batch_bytes))
        total, done = sum(source.unread for source in sources), 0
        coming = self._begin(groups[0]) if groups else None
        for number, group in enumerate(groups):
            assert coming is not None  # noqa: S101 - there is a group
            read: list[tuple[Reading, FileState]] = []
            with without_collection():
                for source, reading in zip(group, coming(), strict=True):
                    read.append((reading, _state(source, reading)))
                    done += source.unread
                    if progress:
                        progress(done, total, str(source.path))
                coming = self._begin(groups[number + 1]) if number + 1 < len(groups) else None
                with exclusive(self._storage.layout, COMMIT_LOCK):
                    self._commit(number, read)
                read.clear()

    def _begin(self, group: list[Source]) -> Callable[[], Iterator[Reading]]:
        """Begins to read the files of a batch."""
        return self._workers.read([(self._task(source), source.unread) for source in group])

    def _task(self, source: Source) -> ReadTask:
        given = ReadTask(str(source.path), self._storage.layout.key, keep_reasoning=self._options.keep_reasoning)
        if source.earlier is None:
            return given
        last = source.earlier["sessions"][-1] if source.earlier["sessions"] else None
        more = {"log_format": source.earlier["format"], "offset": source.offset, "line": source.line, "session": last}
        return msgspec.structs.replace(given, **more)

    def _commit(self, number: int, read: list[tuple[Reading, FileState]]) -> None:
        """Commits a batch, and the account after it. The commit lock is held: what the ledger has stays as seen."""
        options, storage, tally = self._options, self._storage, self._tally
        known = [(reading, state) for reading, state in read if reading.log_format != UNSUPPORTED]
        met = {session for reading, _ in known for session in sessions_of(reading)}
        self._seal(met)
        holdings = Holdings(storage, self._known)
        batch = Batch(options.import_id, number, options.now, options.random, holdings)
        decide_fates(known, batch)
        self._remember(batch)
        written = write_batch(storage, batch, self._finish, tally.redaction.key_id)
        tally.add(written)
        states = [state for _, state in known]
        rows = import_rows(states, batch.import_id, batch.microseconds, tally.redaction.mode)
        storage.store.append("imports", rows, batch.transactions)
        self._known.add(storage, met, written.placed)
        tally.states += [state.settled() for _, state in read]

    def _seal(self, sessions: set[str]) -> None:
        sealing = Sealing(self._counter.count_many, self._options.random)
        seal_journals(self._storage, sealing, now=self._options.now, sessions=sessions)

    def _remember(self, batch: Batch) -> None:
        """Sets up what is known of sessions' secrets: values of this import, fingerprints of earlier ones."""
        tally = self._tally.redaction
        if self._options.redactor is None:
            return
        sessions = [session for session in batch.sessions() if session.new]
        tally.continued.update(session.session_id for session in sessions if session.known or session.items)
        unmet = [session.session_id for session in sessions if session.session_id not in tally.memories]
        known = known_fingerprints(self._storage.database, unmet, tally.key_id)
        tally.memories.update({one: SecretMemory(fingerprints=known.get(one, {})) for one in unmet})

    def _finish(self, tasks: list[SessionTask]) -> Iterator[Finished]:
        tally = self._tally.redaction
        for task in tasks:
            task.memory = tally.memories.get(task.session_id)
        for finished in self._workers.finish(tasks):
            tally.memories.update(finished.memories)
            for kind, count in finished.secrets.items():
                tally.counts[kind] = tally.counts.get(kind, 0) + count
            yield finished


def _state(source: Source, reading: Reading) -> FileState:
    """The state of a file after a reading; what becomes of its records is not counted yet."""
    state = FileState(reading.path, reading.log_format, byte_count=source.size)
    if source.earlier and reading.log_format != UNSUPPORTED:
        state.continue_from(source.earlier)
    state.cursor, state.fingerprint = reading.cursor, reading.fingerprint
    state.line_count += reading.line_count
    return state


def _batches(sources: list[Source], limit: int) -> Iterator[list[Source]]:
    group: list[Source] = []
    size = 0
    for source in sources:
        if group and size + source.size > limit:
            yield group
            group, size = [], 0
        group.append(source)
        size += source.unread
    if group:
        yield group
