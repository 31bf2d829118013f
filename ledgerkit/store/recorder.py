"""The recorder: a live run, message by message, each on disk before ``append`` returns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final, Protocol, Self

from ledgerkit import errors
from ledgerkit.protocol.identifiers import uuid7
from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand
from ledgerkit.store import reading
from ledgerkit.store.contents import Contents
from ledgerkit.store.journal import (
    JournalContent,
    JournalHeader,
    JournalWriter,
    keep_damaged,
    read_journal,
    start_journal,
)
from ledgerkit.store.journaled import sealed_mark
from ledgerkit.store.locking import COMMIT_LOCK, RunLock, exclusive
from ledgerkit.store.messagerows import said
from ledgerkit.store.sealing import Sealing, seal, standing_of
from ledgerkit.store.storage import Storage

SEAL_BYTES: Final = 4 * 1024 * 1024
_KEYS: Final = """
    select idempotency_key, message_id from sealed_history where session_id = $session_id and run_id = $run_id
    and part_index = 0 and idempotency_key is not null
"""


class CommandRedactor(Protocol):
    """Takes secrets out of messages of one run before they are written."""

    @property
    def key_id(self) -> str:
        """Which key the fingerprints are made with."""
        ...

    def __call__(self, commands: Sequence[AppendMessageCommand]) -> Sequence[AppendMessageCommand]:
        """The messages without secrets."""
        ...


class Recorder:
    """Records one run. Get it from :meth:`ledgerkit.Ledger.record`; threads may share it.

    Attributes:
        session_id: The session.
        run_id: The run.
    """

    def __init__(
        self,
        storage: Storage,
        run: tuple[str, str],
        facts: Mapping[str, str | None],
        sealing: Sealing,
        clock: Callable[[], datetime],
        *,
        redact: CommandRedactor | None = None,
        wait: bool = False,
    ) -> None:
        if not storage.layout.place.is_local:
            raise errors.LedgerError(
                "An object store cannot take a live run: it has no way to make each message durable. Record into a "
                "ledger on a disk, or import the run's log."
            )
        self.session_id, self.run_id = run
        self._storage = storage
        self._facts = dict(facts)
        self._sealing = sealing
        self._clock = clock
        self._redact = redact
        self._path = storage.layout.journal_path(*run)
        self._mutex = threading.RLock()
        self._process = os.getpid()
        self._is_closed = False
        self._lock = self._locked(run, wait=wait)
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    def _locked(self, run: tuple[str, str], *, wait: bool) -> RunLock:
        try:
            return RunLock(self._path, run, wait=wait)
        except errors.RunLockedError:
            # Compaction takes the lock of a run that nobody records, for as long as it seals the journal; it holds
            # the commit lock then. Whoever has the run's lock while we hold that one is a recorder.
            with exclusive(self._storage.layout, COMMIT_LOCK):
                return RunLock(self._path, run, wait=False)

    def _open(self) -> None:
        """Takes up the run where it ends: sealed, or in the journal of a writer that is no more."""
        content = read_journal(self._path) if self._path.exists() else None
        if content is not None and (content.damaged or not self._goes_on(content)):
            self._start(self._sealed(content))
            content = None
        elif content is None:
            mark = sealed_mark(self.session_id, self.run_id)
            self._start(self._storage.store.transaction("history", mark) or 0)
        if content is not None:
            self._take_up(content)

    @property
    def _key_id(self) -> str | None:
        return None if self._redact is None else self._redact.key_id

    def _goes_on(self, content: JournalContent) -> bool:
        """Whether a journal can simply be continued: it says the same of the run, nothing of it is sealed yet."""
        header, store = content.header, self._storage.store
        same = all(header.facts.get(name) == value for name, value in self._facts.items())
        same = same and header.key_id == self._key_id
        sealed = store.transaction("history", sealed_mark(self.session_id, self.run_id)) or 0
        standing = standing_of(self._storage, self.session_id, self.run_id)
        return same and sealed <= header.first and standing.revision == header.revision and content.end < SEAL_BYTES

    def _sealed(self, content: JournalContent) -> int:
        self._facts = {**content.header.facts, **self._facts}
        if content.damaged:
            keep_damaged(self._path, content.header.first)
        return seal(self._storage, content, self._sealing, now=self._clock())

    def _start(self, first: int) -> None:
        standing = standing_of(self._storage, self.session_id, self.run_id)
        place = (standing.run_date, standing.revision, self._key_id)
        header = JournalHeader(self.session_id, self.run_id, first, self._facts, *place)
        self._journal = JournalWriter.opened(self._path, start_journal(self._path, header))
        self._header = header
        self._next = standing.next
        keys = self._storage.database.sealed(_KEYS, {"session_id": self.session_id, "run_id": self.run_id})
        self._keys: dict[str, str | AgentMessage] = dict(keys.iter_rows())

    def _take_up(self, content: JournalContent) -> None:
        keys = self._storage.database.sealed(_KEYS, {"session_id": self.session_id, "run_id": self.run_id})
        self._keys = dict(keys.iter_rows())
        messages = [AgentMessage.model_validate_json(raw) for _, raw in content.records]
        self._keys |= {m.idempotency_key: m for m in messages if m.idempotency_key is not None}
        standing = standing_of(self._storage, self.session_id, self.run_id)
        self._next = messages[-1].sequence_no + 1 if messages else standing.next
        self._header = content.header
        self._journal = JournalWriter.opened(self._path, content)

    # Appending

    def append(self, command: AppendMessageCommand) -> AgentMessage:
        """Appends a message, as the run's next; returns when it is on disk.

        For an idempotency key that the run has already, returns the message that is there.

        Raises:
            IdempotencyError: If the key stands in the run with other content.
            ValueError: If the command is for another run, or the recorder is closed.
            LedgerError: If the disk does not take it.
        """
        return self.append_many((command,))[0]

    def append_many(self, commands: Sequence[AppendMessageCommand]) -> list[AgentMessage]:
        """Appends messages, one after the other; returns when all of them are on disk, which they reach together.

        Raises:
            IdempotencyError: If a key stands in the run with other content; then nothing is appended.
            ValueError: If a command is for another run, or the recorder is closed.
            LedgerError: If the disk does not take them.
        """
        with self._mutex:
            self._check(commands)
            clean = commands if self._redact is None else self._redact(commands)
            messages, payloads, keys = self._placed(clean)
            end = self._journal.write(payloads) if payloads else self._journal.size
            self._next += len(payloads)
            self._keys.update(keys)
            journal = self._journal
        journal.sync(end)
        if journal.size > SEAL_BYTES:
            self._seal_if_long(journal)
        return messages

    def _check_usable(self) -> None:
        if self._is_closed:
            raise ValueError("This recorder is closed. Open another one with Ledger.record.")
        if self._process != os.getpid():
            raise ValueError("A recorder belongs to the process that opened it. Open one in this process.")

    def _check(self, commands: Iterable[AppendMessageCommand]) -> None:
        self._check_usable()
        for command in commands:
            if command.run_id != self.run_id or command.session_id != self.session_id:
                raise ValueError(
                    f"This recorder records run {self.run_id} of session {self.session_id}, not {command.run_id} of "
                    f"{command.session_id}."
                )

    def _placed(
        self, commands: Sequence[AppendMessageCommand]
    ) -> tuple[list[AgentMessage], list[bytes], dict[str, AgentMessage]]:
        messages: list[AgentMessage] = []
        payloads: list[bytes] = []
        keys: dict[str, AgentMessage] = {}
        moment = self._clock()
        stamp = moment.isoformat()
        drawn = self._sealing.random(10 * len(commands))
        for command in commands:
            key = command.idempotency_key
            if key is not None and (there := keys.get(key) or self._keys.get(key)) is not None:
                messages.append(self._same(command, there))
                continue
            number = self._next + len(payloads)
            message_id = uuid7(moment, drawn[10 * len(messages) : 10 * len(messages) + 10])
            message = command.placed(message_id=message_id, sequence_no=number, created_at=moment)
            payloads.append(command.placed_json(message_id, number, stamp))
            messages.append(message)
            if key is not None:
                keys[key] = message
        return messages, payloads, keys

    def _same(self, command: AppendMessageCommand, there: str | AgentMessage) -> AgentMessage:
        message = reading.find_by_id(self._storage.database, there) if isinstance(there, str) else there
        contents = Contents(self._storage.layout)
        if message is None or said(message, contents) != said(command, contents):
            raise errors.IdempotencyError(
                f"Idempotency key {command.idempotency_key!r} stands on message "
                f"{there if isinstance(there, str) else there.message_id} with other content. "
                "Use a new key for a new message."
            )
        return message

    # Sealing

    def _seal_if_long(self, journal: JournalWriter) -> None:
        with self._mutex:
            if journal is self._journal and not self._is_closed:
                self.seal()

    def seal(self) -> None:
        """Commits what was recorded so far to the history, and begins a new journal.

        Raises:
            ValueError: If the recorder is closed.
        """
        with self._mutex:
            self._check_usable()
            first = self._seal_records()
            self._journal.close()
            self._start(first)

    def _seal_records(self) -> int:
        self._journal.sync(self._journal.size)
        return self._sealed(read_journal(self._path))

    def close(self, *, seal: bool = True) -> None:
        """Ends the recording.

        Args:
            seal: Commit what was recorded to the history now. If not, it stays in the journal, just as durable and
                just as visible, until somebody records the run again, imports its session or compacts the ledger.
        """
        if self._process != os.getpid():
            return  # a fork's copy: journal and lock are those of the process that opened it
        with self._mutex:
            if self._is_closed:
                return
            try:
                if seal:
                    self._seal_records()
                    self._path.unlink()
            finally:
                self._is_closed = True
                self._journal.close()
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recorder({self.session_id!r}, {self.run_id!r})"
