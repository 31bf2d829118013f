"""Memories from the cache of snapshots: used where version and source are those of today, else computed again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ledgerkit.errors import UnknownNameError
from ledgerkit.protocol.vocabulary import MemoryKind
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.protocol.memory import MemorySnapshot, RepositoryMemory, Summary, WorkingMemory
    from ledgerkit.store.snapshots import Subject

_RUNS_OF: Final = """
    select session_id, run_id from runs
    where ($session_id is null or session_id = $session_id) and ($repository is null or repository = $repository)
    order by all
"""
_KIND: Final = {
    (True, False): MemoryKind.RUN_WORKING_MEMORY,
    (False, True): MemoryKind.SESSION_SUMMARY,
    (False, False): MemoryKind.REPOSITORY_MEMORY,
}
"""Which memory it is, by whether a run and whether a session was asked for."""
_PLACES: Final = """
    select run_id, min(sequence_no) as first, max(sequence_no) as last from messages
    where list_contains($messages, message_id) group by run_id order by run_id
"""


class LedgerSnapshots:
    """Memories as snapshots. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    _clock: Callable[[], datetime]

    if TYPE_CHECKING:  # what the ledger itself brings

        def memory(self, run: str) -> WorkingMemory: ...  # noqa: D102
        def session_summary(self, session_id: str) -> Summary: ...  # noqa: D102
        def repository_memory(self, repository: str) -> RepositoryMemory: ...  # noqa: D102
        def _resolve(self, given: str) -> tuple[str, str]: ...

    def memory_snapshot(
        self, run: str | None = None, *, session_id: str | None = None, repository: str | None = None
    ) -> MemorySnapshot:
        """The memory of a run, session or repository as a snapshot: written when it is first asked for.

        A snapshot is used again as long as the rules of memory and the ledger are those that it was computed from; it
        always says what :meth:`memory`, :meth:`session_summary` or :meth:`repository_memory` says. Of a run that is
        being recorded nothing is kept.

        Args:
            run: Id of a run: its working memory.
            session_id: Id of a session: its summary.
            repository: Name of a repository: its memory.

        Raises:
            ValueError: If not exactly one of them is given.
            UnknownNameError: If there is no such run, session or repository.
        """
        from ledgerkit.memory.working.projector import VERSION
        from ledgerkit.protocol.memory import MemorySnapshot
        from ledgerkit.store.snapshots import Projection, take_snapshot

        subject, compute = self._asked(run, session_id, repository)
        kind = _KIND[run is not None, session_id is not None]
        projection = Projection(kind.value, VERSION, compute)
        taken = take_snapshot(self._storage, subject, projection, now=self._clock())
        ends = sorted({message for pair in taken.source for message in pair})
        places = self._storage.database.frame(_PLACES, {"messages": ends}).rows()
        fields = {
            **subject.keys,
            "snapshot_id": taken.snapshot_id,
            "snapshot_version": taken.snapshot_version or 1,
            "content": taken.value,
            "sources": [{"run_id": of, "messages": {"first": first, "last": last}} for of, first, last in places],
            "created_at": taken.created_at,
        }
        return MemorySnapshot.model_validate(fields)

    def _asked(
        self, run: str | None, session_id: str | None, repository: str | None
    ) -> tuple[Subject, Callable[[object, str, str], object]]:
        """What a snapshot is asked of, and how it is computed."""
        from ledgerkit.store.snapshots import Subject

        if sum(one is not None for one in (run, session_id, repository)) != 1:
            raise ValueError("give one of run, session_id and repository")

        def compute(_: object, session: str, of_run: str) -> object:
            if of_run:
                memory = self.memory(of_run)
            else:
                memory = self.repository_memory(repository) if repository is not None else self.session_summary(session)
            return memory.model_dump(mode="json")

        subject = Subject.of_run(self._resolve(run)) if run is not None else None
        return subject or self._subject(session_id=session_id, repository=repository), compute

    def _subject(self, *, session_id: str | None = None, repository: str | None = None) -> Subject:
        from ledgerkit.store.snapshots import Subject

        asked = {"session_id": session_id, "repository": repository}
        runs = tuple(self._storage.database.frame(_RUNS_OF, asked).rows())
        if not runs:
            name = session_id or repository or ""
            raise UnknownNameError(f"No run of {name!r}. List runs with: ledgerkit runs", name=name)
        return Subject(runs, session_id, None, repository)
