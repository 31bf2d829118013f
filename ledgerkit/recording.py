"""What comes into a ledger: logs, labels, live runs, single messages.

One rule: secrets are replaced before anything is written, unless the caller says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ledgerkit import errors
from ledgerkit.protocol.identifiers import uuid7
from ledgerkit.run_names import resolve_run
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from typing import Unpack

    from ledgerkit.ingest.account import ImportAccount
    from ledgerkit.ingest.importing import Progress
    from ledgerkit.ingest.labels import LabelAccount
    from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand
    from ledgerkit.safety.redaction import SecretRedactor
    from ledgerkit.safety.redaction.messages import CommandRedactor
    from ledgerkit.store.facts import RecordedFacts
    from ledgerkit.store.recorder import Recorder
    from ledgerkit.store.sealing import Sealing


class LedgerRecording:
    """Importing and recording. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]
    _random: Callable[[int], bytes]

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def redactor(self) -> SecretRedactor: ...  # noqa: D102
        @property
        def _writable(self) -> Storage: ...
        def _sealing(self) -> Sealing: ...

    def import_logs(
        self,
        *paths: str | os.PathLike[str],
        keep_reasoning: bool = False,
        redact: str = "on",
        count_tokens: bool = True,
        jobs: int | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        now: datetime | None = None,
    ) -> ImportAccount:
        """Imports agent logs: every file at and below some paths whose format is known by its content.

        Importing again adds nothing; a file that has grown continues where it ended.

        Args:
            paths: Files and folders.
            keep_reasoning: Keep hidden reasoning, as restricted artifacts that are never projected. Without it only
                its size and hash are stored.
            redact: ``on`` replaces secrets before anything is written (see docs/redaction.md), ``audit`` counts them
                and lets them in, ``off`` does not look.
            count_tokens: Count the tokens of every part. Without it they stay unknown (null), and so does all that
                is computed from them; nothing fills them in later.
            jobs: Worker processes that read files and make rows, one for each usable core (two at most) if not
                given. A small import needs none. Rows, ids and hashes do not depend on it.
            executor: Does that work instead: any :class:`concurrent.futures.Executor` whose workers see the files
                (Dask: ``Client(...).get_executor()``). Texts travel to its workers as they stand in the logs.
            progress: Called after each file with bytes done, bytes in all and the file.
            now: Time of the import; the clock's if not given.

        Returns:
            What became of every record of the files.

        Raises:
            ImportSourceError: If there is nothing at a path.
            ImportWorkerError: If a worker process was lost; nothing of the batch that it worked on was written.
            UnknownNameError: If there is no such mode of redaction.
        """
        from ledgerkit.ingest.importing import ImportOptions, import_files
        from ledgerkit.ingest.redacting import RedactionMode

        if redact not in (modes := [mode.value for mode in RedactionMode]):
            raise errors.UnknownNameError.among("mode of redaction", redact, modes)
        moment = now or self._clock()
        options = ImportOptions(
            uuid7(moment, self._random(10)),
            moment,
            self._random,
            keep_reasoning=keep_reasoning,
            redactor=None if redact == RedactionMode.OFF else self.redactor,
            redaction=RedactionMode(redact),
            counts_tokens=count_tokens,
            jobs=jobs,
            executor=executor,
        )
        return import_files(self._writable, [os.fspath(path) for path in paths], options, progress)

    def import_labels(self, path: str | os.PathLike[str]) -> LabelAccount:
        """Gives runs outcomes and labels from a table: CSV, JSON, JSON Lines or Parquet.

        A column ``run_id``, ``session_id`` or ``task_id`` says which runs a row is about (ids may be shortened to what
        tables show of them); ``outcome`` (passed, failed, inconclusive; true and false) becomes the run's outcome,
        every other column a label. Both are messages of the runs. The same table again adds nothing.

        Returns:
            How many rows found their runs, and which did not.

        Raises:
            ImportSourceError: If it is no table, names no runs, or has an outcome that is none.
        """
        from ledgerkit.ingest.labels import apply_labels

        keys = "select session_id, run_id, idempotency_key from stored_history where idempotency_key like 'labels:%'"
        there = set(self._storage.database.frame(keys).rows())

        def append(command: AppendMessageCommand) -> bool:
            self.append(command)
            return (command.session_id, command.run_id, command.idempotency_key) not in there

        runs = self._storage.database.frame("select session_id, run_id, task_id from runs")
        return apply_labels(Path(path), runs, append, self._resolve_or_none)

    def _resolve_or_none(self, given: str) -> tuple[str, str] | None:
        try:
            return resolve_run(self._storage.database, given)
        except errors.UnknownNameError:  # the account names it among those that fit no run
            return None

    def record(
        self,
        session_id: str | None = None,
        run_id: str | None = None,
        *,
        redact: bool = True,
        **facts: Unpack[RecordedFacts],
    ) -> Recorder:
        """Records a live run: each message is on disk before ``append`` returns.

        A run has one writer at a time. One whose writer died is taken up where it ended. Close the recorder (or use
        ``with``) to commit what it recorded to the history; readers see it before that just as well.

        Args:
            session_id: The session; a new one if not given.
            run_id: The run in it; a new one if not given.
            redact: Replace secrets before anything is written. What one message gives away is replaced in later ones.
            facts: What is known about the run: ``agent``, ``agent_version``, ``repository``, ``branch``,
                ``working_directory``, ``task_id``, ``title``, ``parent_run_id``, ``forked_at``, ``relation``.

        Raises:
            RunLockedError: If another recorder is writing the run.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> part = {"type": "text", "text": "Hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
            >>> with ledger.record("s1", "r1", agent="mine") as recorder:
            ...     command = {"session_id": "s1", "run_id": "r1", "kind": "USER_TASK", "actor": "user"}
            ...     message = recorder.append(lk.AppendMessageCommand(**command, parts=[part]))
            >>> message.sequence_no
            0
        """
        from ledgerkit.store.recorder import Recorder

        moment = self._clock()
        run = (session_id or uuid7(moment, self._random(10)), run_id or uuid7(moment, self._random(10)))
        known = {name: None if value is None else str(value) for name, value in facts.items()}
        redactor = self._command_redactor(*run) if redact else None
        if redactor is not None:
            known = redactor.facts(known)
        return Recorder(self._writable, run, known, self._sealing(), self._clock, redact=redactor)

    def _command_redactor(self, session_id: str, run_id: str) -> CommandRedactor:
        from ledgerkit.safety.redaction import SecretMemory
        from ledgerkit.safety.redaction.messages import CommandRedactor
        from ledgerkit.store.redactions import journaled_fingerprints, known_fingerprints

        sealed = known_fingerprints(self._storage.database, [session_id], self.redactor.key_id).get(session_id, {})
        journaled = journaled_fingerprints(self._storage.layout.journal_path(session_id, run_id))
        return CommandRedactor(self.redactor, SecretMemory(fingerprints={**journaled, **sealed}))

    def append(self, command: AppendMessageCommand, *, redact: bool = True) -> AgentMessage:
        """Appends one message to a run, as its next, and returns when it is on disk.

        For many messages :meth:`record` is faster. This waits while a recorder writes the run: do not call it for a
        run that the same thread is recording.

        Args:
            command: The message.
            redact: Replace secrets before anything is written.

        Raises:
            IdempotencyError: If its idempotency key stands in the run with other content.
        """
        from ledgerkit.store.recorder import Recorder

        run = (command.session_id, command.run_id)
        redactor = self._command_redactor(*run) if redact else None
        recorder = Recorder(self._writable, run, {}, self._sealing(), self._clock, redact=redactor, wait=True)
        try:
            return recorder.append(command)
        finally:
            recorder.close(seal=False)
