"""The import itself: plan, read in batches, assemble, write; then the account.

Each batch is one commit to ``history``: artifacts and runs before it, the account after it. A crash in between
leaves nothing half visible, and the next import finds by record keys what is there already.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import tokens
from ledgerkit.importers.drafts import Node, ParsedFile, RecordDraft
from ledgerkit.ingest.account import Fate, FileState, ImportAccount, import_rows
from ledgerkit.ingest.exposure import EXPOSED, exposed_messages
from ledgerkit.ingest.lineage import record_key
from ledgerkit.ingest.redacting import RedactionMode, RedactionTally, Redactor, redact_records
from ledgerkit.ingest.sessions import Batch, Session, SessionIntake
from ledgerkit.ingest.sources import Source, find_files, fingerprint_of, plan
from ledgerkit.ingest.writing import write_batch
from ledgerkit.protocol.identifiers import hash_uuid, is_uuid
from ledgerkit.safety.redaction import SecretMemory
from ledgerkit.store.database import Database
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.redactions import known_fingerprints
from ledgerkit.store.sealing import Sealing, seal_journals
from ledgerkit.store.storage import Storage

BATCH_BYTES: Final = 32 * 1024 * 1024
UNSUPPORTED: Final = "unsupported"
OTHER_CONTENT: Final = "the ledger holds a message of this id that says something else"
ELSEWHERE: Final = "bookkeeping of a session that is not in this file"
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
    """

    import_id: str
    now: datetime
    random: Callable[[int], bytes] = os.urandom
    keep_reasoning: bool = False
    batch_bytes: int = BATCH_BYTES
    redactor: Redactor | None = None
    redaction: RedactionMode = RedactionMode.OFF


def import_files(
    storage: Storage, paths: Iterable[str | Path], options: ImportOptions, progress: Progress | None = None
) -> ImportAccount:
    """Imports all files at and below some paths. Imports into one ledger wait for each other.

    Raises:
        ImportSourceError: If there is nothing to import.
    """
    files = find_files(paths)
    with exclusive(storage.layout, "import"):
        return _import(storage, files, options, progress)


def _import(storage: Storage, files: list[Path], options: ImportOptions, progress: Progress | None) -> ImportAccount:
    known = _earlier_imports(storage.database)
    planned = [plan(path, known.get(str(path))) for path in files]
    sources = [source for source in planned if source is not None]
    total = sum(source.size - source.offset for source in sources)
    tally = _Tally(unchanged=len(planned) - len(sources), redaction=_redaction(options))
    counter = tokens.TokenCounter()
    done = 0
    for number, group in enumerate(_batches(sources, options.batch_bytes)):
        batch = Batch(options.import_id, number, options.now, options.random)
        readings: list[_Reading] = []
        for source in group:
            readings.append(_read(storage, source, options))
            done += source.size - source.offset
            if progress:
                progress(done, total, str(source.path))
        tally.states += [reading.state for reading in readings]
        with exclusive(storage.layout, COMMIT_LOCK):
            tally.add(_write(storage, readings, batch, counter, (options.redactor, tally.redaction)))
    return tally.account(options.import_id, _exposed(storage, tally.redaction))


def _redaction(options: ImportOptions) -> RedactionTally:
    if options.redactor is None:
        return RedactionTally(RedactionMode.OFF)
    return RedactionTally(options.redaction, options.redactor.key_id)


def _write(
    storage: Storage,
    readings: list[_Reading],
    batch: Batch,
    counter: tokens.TokenCounter,
    redaction: tuple[Redactor | None, RedactionTally],
) -> tuple[int, set[str]]:
    """Commits a batch, and the account after it. The commit lock is held: what the ledger has stays as it is seen."""
    met = {record.session for r in readings if r.parsed for record in r.parsed.records if record.session}
    seal_journals(storage, Sealing(counter.count_many, batch.random), now=batch.now, sessions=met)
    _count_all(readings, batch, storage.database)
    redactor, tally = redaction
    if redactor is not None:
        sessions = [session for session in batch.sessions() if session.new]
        _remember(storage, sessions, tally)
        for session in sessions:
            drafts = [new.draft for new in session.new.values()]
            memory = tally.memories[session.session_id]
            redact_records(drafts, redactor, tally, memory, measure=storage.layout.content_id)
    written = write_batch(storage, batch, counter, tally.key_id)
    states = [reading.state for reading in readings if reading.parsed is not None]
    rows = import_rows(states, batch.import_id, batch.microseconds, tally.mode)
    storage.store.append("imports", rows, batch.transactions)
    return written


def _remember(storage: Storage, sessions: list[Session], tally: RedactionTally) -> None:
    """Sets up what is known of sessions' secrets: the values of this import, the fingerprints of earlier ones."""
    tally.continued.update(session.session_id for session in sessions if session.known or session.items)
    unmet = [session.session_id for session in sessions if session.session_id not in tally.memories]
    known = known_fingerprints(storage.database, unmet, tally.key_id)
    tally.memories.update({one: SecretMemory(fingerprints=known.get(one, {})) for one in unmet})


def _exposed(storage: Storage, tally: RedactionTally) -> pl.DataFrame:
    """Messages that were committed before this import knew that they hold a secret."""
    if tally.mode is not RedactionMode.ON:
        return pl.DataFrame(schema=EXPOSED)
    return exposed_messages(storage, {one: tally.memories[one] for one in tally.continued})


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file, and what was read of it; ``parsed`` is ``None`` for a file of no known format."""

    state: FileState
    parsed: ParsedFile | None = None


def _earlier_imports(database: Database) -> dict[str, dict[str, Any]]:
    rows = database.frame("select * from import_files").to_dicts()
    return {row["path"]: row for row in rows}


def _batches(sources: list[Source], limit: int) -> Iterator[list[Source]]:
    group: list[Source] = []
    size = 0
    for source in sources:
        if group and size + source.size > limit:
            yield group
            group, size = [], 0
        group.append(source)
        size += source.size - source.offset
    if group:
        yield group


def _read(storage: Storage, source: Source, options: ImportOptions) -> _Reading:
    """Reads a file, and says of each record which session it belongs to."""
    name = source.log_format.name if source.log_format else UNSUPPORTED
    state = FileState(str(source.path), name, byte_count=source.size)
    if source.log_format is None:
        return _Reading(state)
    if source.earlier:
        state.continue_from(source.earlier)
    parsed = source.log_format.read(
        source.path,
        offset=source.offset,
        line=source.line,
        keep_reasoning=options.keep_reasoning,
        measure=storage.layout.content_id,
    )
    _assign_sessions(parsed.records, name, state.sessions[-1] if state.sessions else None)
    held = any(record.session is None for record in parsed.records)
    state.cursor = 0 if held else parsed.cursor
    state.fingerprint, _ = fingerprint_of(source.path, state.cursor)
    state.line_count += parsed.line_count
    return _Reading(state, parsed)


def _count_all(readings: list[_Reading], batch: Batch, database: Database) -> None:
    """Decides the fate of every record of a batch; what the ledger holds of its sessions is loaded at once."""
    by_format: dict[str, list[tuple[ParsedFile, FileState]]] = defaultdict(list)
    for reading in readings:
        if reading.parsed is not None:
            by_format[reading.state.format].append((reading.parsed, reading.state))
    for name, files in sorted(by_format.items()):
        intake = batch.intake(database, name)
        intake.meet({record.session for parsed, _ in files for record in parsed.records if record.session})
        for parsed, state in files:
            _count(parsed, state, intake)


def _assign_sessions(records: list[RecordDraft], log_format: str, current: str | None) -> None:
    """Gives each record its session's id in the ledger.

    A record without one belongs to the session of the record before it; at the head of a file, to the first that
    comes. A file that names no session is one itself, if it holds conversation.
    """
    waiting: list[RecordDraft] = []
    for record in records:
        if record.session is not None:
            current = session_id(log_format, record.session)
        elif current is None:
            waiting.append(record)
            continue
        record.session = current
        for earlier in waiting:
            earlier.session = current
        waiting = []
    if any(record.node is not Node.PASSIVE for record in waiting):
        own = hash_uuid(log_format, "file", waiting[0].digest)
        for record in waiting:
            record.session = own


def session_id(log_format: str, native: str) -> str:
    """The ledger's id of a source's session: its own if it is a UUID, else derived from it."""
    return native.lower() if is_uuid(native) else hash_uuid(log_format, native)


def _count(parsed: ParsedFile, state: FileState, intake: SessionIntake) -> None:
    """Decides the fate of each record of a file, and hands on those that are new."""
    for damage in parsed.quarantined:
        state.count(damage.record_type, Fate.QUARANTINED, damage.reason)
        state.quarantine.append(damage)
    latest_first = dict.fromkeys(record.session for record in reversed(parsed.records) if record.session)
    met = [session for session in reversed(latest_first) if session]
    state.sessions = [*(session for session in state.sessions if session not in latest_first), *met]
    ordinals = _Ordinals(intake.keys_of(state, met))
    lines: set[str] = set()
    for record in parsed.records:
        if identity := record.line_id or record.native_id:
            lines.add(identity)
            state.identified += 1
        if record.session is None:
            state.count(record.record_type, Fate.SKIPPED, ELSEWHERE)
            continue
        key = record_key(record.session, record) if record.native_id else ordinals.key(record.session, record)
        state.record_keys.append(key)
        if record.skipped:
            state.count(record.record_type, Fate.SKIPPED, record.skipped)
        else:
            fate = intake.offer(record, key, state)
            state.count(record.record_type, fate, OTHER_CONTENT if fate is Fate.SKIPPED else "")
    intake.close_file(state, met)
    state.distinct_records += len(lines)


class _Ordinals:
    """Numbers the records of a file that have no id of their own and say the same."""

    def __init__(self, earlier: set[int]) -> None:
        self._earlier = earlier
        self._next: dict[int, int] = {}

    def key(self, session: str, record: RecordDraft) -> int:
        first = record_key(session, record)
        number = self._next.get(first, 0)
        while (key := record_key(session, record, number)) in self._earlier:
            number += 1
        self._next[first] = number + 1
        return key


class _Tally:
    """Sums up an import."""

    def __init__(self, unchanged: int, redaction: RedactionTally) -> None:
        self.unchanged = unchanged
        self.redaction = redaction
        self.states: list[FileState] = []
        self.messages = 0
        self.runs: set[str] = set()

    def add(self, written: tuple[int, set[str]]) -> None:
        self.messages += written[0]
        self.runs |= written[1]

    def account(self, import_id: str, exposed: pl.DataFrame) -> ImportAccount:
        read = [state for state in self.states if state.format != UNSUPPORTED]
        details = [(s.path, t, f.value, r, n) for s in read for (t, f, r), n in sorted(s.fates.items()) if n]
        damage = [(s.path, q.line, q.offset, q.bytes, q.reason) for s in read for q in s.quarantine]
        totals: Mapping[str, int] = {fate.value: sum(s.total(fate) for s in read) for fate in Fate}
        return ImportAccount(
            import_id=import_id,
            files=len(read),
            unchanged=self.unchanged,
            unsupported=tuple(s.path for s in self.states if s.format == UNSUPPORTED),
            records=sum(sum(s.fates.values()) for s in read),
            new_messages=self.messages,
            runs=len(self.runs),
            redaction=self.redaction.mode.value,
            secrets=dict(sorted(self.redaction.counts.items())),
            exposed=exposed,
            formats=_by_format(read),
            details=pl.DataFrame(details, _DETAILS, orient="row"),
            damage=pl.DataFrame(damage, _DAMAGE, orient="row"),
            **totals,
        )


def _by_format(states: list[FileState]) -> pl.DataFrame:
    names = sorted({state.format for state in states})
    rows = [
        {
            "format": name,
            "files": len(of_format := [state for state in states if state.format == name]),
            "records": sum(sum(state.fates.values()) for state in of_format),
            **{fate.value: sum(state.total(fate) for state in of_format) for fate in Fate},
        }
        for name in names
    ]
    counts = ("files", "records", *(fate.value for fate in Fate))
    return pl.DataFrame(rows, {"format": pl.String, **dict.fromkeys(counts, pl.Int64)})


_DETAILS = {"path": pl.String, "record_type": pl.String, "fate": pl.String, "reason": pl.String, "count": pl.Int64}
_DAMAGE = {"path": pl.String, "line": pl.Int64, "offset": pl.Int64, "bytes": pl.Int64, "reason": pl.String}
