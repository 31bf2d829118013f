"""Sealing: what a journal holds goes into the history, once, in order, and durably before the journal goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import errors, tables
from ledgerkit.protocol.messages import AgentMessage
from ledgerkit.store.committing import Commit, write_commit
from ledgerkit.store.contents import Contents
from ledgerkit.store.journal import JournalContent, JournalHeader, read_journal
from ledgerkit.store.journaled import date_of, run_row, sealed_mark
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.messagerows import MessageRows
from ledgerkit.store.storage import Storage

_HEAD: Final = """
    select revision, any_value(run_date) as run_date, max(sequence_no) + 1 as next
    from sealed_history where session_id = $session_id and run_id = $run_id
    group by revision order by revision desc limit 1
"""
_DESCRIBED: Final = """
    select * from sealed_runs where session_id = $session_id and run_id = $run_id
    order by recorded_at desc, import_id desc limit 1
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the next message of a run stands.

    Attributes:
        next: Its sequence number.
        revision: The run's revision.
        run_date: The run's partition; ``None`` if its first message decides.
    """

    next: int
    revision: int
    run_date: str | None


def standing_of(storage: Storage, session_id: str, run_id: str) -> Standing:
    """Where the sealed part of a run ends."""
    rows = storage.database.sealed(_HEAD, {"session_id": session_id, "run_id": run_id}).rows()
    if not rows:
        return Standing(0, 0, None)
    revision, run_date, following = rows[0]
    return Standing(following, revision, run_date)


@dataclass(frozen=True, slots=True)
class Sealing:
    """What sealing needs beside the ledger.

    Attributes:
        count_tokens: Token counts of many texts.
        random: Gives so many random bytes.
    """

    count_tokens: Callable[[list[str]], list[int]]
    random: Callable[[int], bytes]


def seal(storage: Storage, content: JournalContent, sealing: Sealing, *, now: datetime) -> int:
    """Commits the records of a journal that the history does not hold yet.

    Messages go on where the run ends now: if an import has made a new revision of the run in the meantime, they get
    the numbers that follow it.

    Returns:
        The number that the next record of the run has: all before it are sealed.
    """
    with exclusive(storage.layout, COMMIT_LOCK):
        return seal_under_lock(storage, content, sealing, now=now)


def seal_under_lock(storage: Storage, content: JournalContent, sealing: Sealing, *, now: datetime) -> int:
    """The same, where the caller holds the commit lock."""
    header = content.header
    mark = sealed_mark(header.session_id, header.run_id)
    done = max(storage.store.transaction("history", mark) or 0, header.first)
    pending = [AgentMessage.model_validate_json(raw) for number, raw in content.records if number >= done]
    end = content.records[-1][0] + 1 if content.records else done
    if pending:
        write_commit(
            storage,
            lambda: _prepared(storage, header, pending, sealing, now),
            {mark: end},
            now=now,
            random=sealing.random,
        )
    return max(done, end)


def _prepared(
    storage: Storage, header: JournalHeader, messages: list[AgentMessage], sealing: Sealing, now: datetime
) -> Commit:
    standing = standing_of(storage, header.session_id, header.run_id)
    run_date = standing.run_date or date_of(header, messages[0])
    contents = Contents(storage.layout, is_scanned=header.key_id is not None)
    rows = MessageRows(contents, sealing.count_tokens)
    for number, message in enumerate(messages, standing.next):
        rows.add(message, run_date=run_date, revision=standing.revision, sequence_no=number)
    described = _described(storage, header, run_date, standing.revision, now)
    return Commit(rows.frame(), described, contents, key_id=header.key_id)


def _described(storage: Storage, header: JournalHeader, run_date: str, revision: int, now: datetime) -> pl.DataFrame:
    """The row of ``runs``, if it says something new."""
    keys = {"session_id": header.session_id, "run_id": header.run_id}
    there: list[dict[str, Any]] = storage.database.sealed(_DESCRIBED, keys).to_dicts()
    if there and all(there[0][name] == value for name, value in header.facts.items()):
        return tables.RUNS.empty()
    base = {name: there[0][name] for name in tables.RUNS.names} if there else {}
    more = {"revision": revision, "recorded_at": now, "import_id": None}
    row = run_row(header, run_date, **more)
    if there:
        row = {**base, **header.facts, **more}
    return tables.RUNS.frame([row])


def seal_journals(
    storage: Storage, sealing: Sealing, *, now: datetime, sessions: Iterable[str] | None = None
) -> list[Path]:
    """Seals what journals hold, of all runs or of those of some sessions. The caller holds the commit lock.

    The files stay: a living recorder goes on with its own, and readers leave out what is sealed.

    Returns:
        The journals that were read.
    """
    wanted = None if sessions is None else set(sessions)
    read: list[Path] = []
    for path in sorted(storage.layout.journals.glob("*.journal")):
        try:
            content = read_journal(path)
        except (FileNotFoundError, errors.JournalError):  # gone in the meantime; or damaged, which verify reports
            continue
        if wanted is None or content.header.session_id in wanted:
            seal_under_lock(storage, content, sealing, now=now)
            read.append(path)
    return read
