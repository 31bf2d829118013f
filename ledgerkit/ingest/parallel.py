"""Where the work of an import is done: in this process, in worker processes, or on an executor of the caller's.

The result never depends on it: tasks know no ledger, and what they give is taken in the order of the tasks. What is
under way is bounded by the batches of an import, of which two are in memory at most.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from ledgerkit import errors
from ledgerkit.ingest import finishing, reading
from ledgerkit.ingest.finishing import Finished, Finisher, SessionTask
from ledgerkit.ingest.reading import Reading, ReadTask
from ledgerkit.ingest.workers import WorkerProcesses
from ledgerkit.tokens import TokenCounter

SMALL_BYTES: Final = 24 * 1024 * 1024
"""An import of fewer bytes stays in this process: workers take longer to start than it takes."""
MOST_WORKERS: Final = 2
"""Workers at most where the caller says nothing: with two an import stays below 1 GB (each takes up to 300 MB)."""
_TASK_BYTES: Final = 1 << 20
_READ_TASK_FILES: Final = 64
_UNDER_WAY: Final = 3
"""Calls that make rows, submitted and not taken yet, for each worker: more would only wait, with their texts."""
_T = TypeVar("_T")


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


class Hands(Protocol):
    """Who does the work."""

    def read(self, tasks: Sequence[tuple[ReadTask, int]]) -> Callable[[], Iterator[Reading]]:
        """Begins to read files, given with their sizes; what is returned gives their readings, in order."""
        ...

    def finish(self, tasks: list[SessionTask]) -> Iterable[Finished]:
        """Makes the rows of sessions."""
        ...


class OwnHands:
    """This process does the work, when it is asked for.

    Args:
        finisher: How rows are made.
        counter: Counts tokens.
    """

    def __init__(self, finisher: Finisher, counter: TokenCounter) -> None:
        self._finisher = finisher
        self._counter = counter

    def read(self, tasks: Sequence[tuple[ReadTask, int]]) -> Callable[[], Iterator[Reading]]:
        """Reads each file when its reading is asked for."""
        return lambda: (reading.read_file(task) for task, _ in tasks)

    def finish(self, tasks: list[SessionTask]) -> Iterable[Finished]:
        """Makes the rows of all sessions at once."""
        return [finishing.finish(self._finisher, tasks, self._counter.count_many)] if tasks else []


class ManyHands:
    """An executor does the work.

    Args:
        finisher: How rows are made.
        executor: Where calls run; functions, arguments and results are picklable.
        under_way: Calls that make rows, submitted and not taken yet, at most; a batch of them if not given.
    """

    def __init__(self, finisher: Finisher, executor: Executor, under_way: int | None = None) -> None:
        self._finisher = pickle.dumps(finisher)
        self._executor = executor
        self._under_way = under_way

    def read(self, tasks: Sequence[tuple[ReadTask, int]]) -> Callable[[], Iterator[Reading]]:
        """Begins to read files, small ones together."""
        groups = _grouped(tasks, lambda task: task[1], most=_READ_TASK_FILES)
        futures = [self._executor.submit(reading.read_packed, [task for task, _ in group]) for group in groups]

        def readings() -> Iterator[Reading]:
            while futures:
                yield from map(reading.unpacked, _result(futures.pop(0).result))

        return readings

    def finish(self, tasks: list[SessionTask]) -> Iterable[Finished]:
        """Makes the rows of sessions, small ones together; those of one id stay together."""
        groups = _grouped(_together(tasks), lambda group: sum(map(_bytes_of, group)))
        coming: deque[Future[bytes]] = deque()
        for group in groups:
            if self._under_way and len(coming) >= self._under_way:
                yield finishing.unpacked(_result(coming.popleft().result))
            coming.append(self._executor.submit(finishing.finish_packed, self._finisher, _pickled(group)))
        while coming:
            yield finishing.unpacked(_result(coming.popleft().result))


def _pickled(group: Iterable[list[SessionTask]]) -> bytes:
    """Tasks as they travel. The messages of their records are not kept here: they are made rows of elsewhere."""
    tasks = [task for one in group for task in one]
    raw = pickle.dumps(tasks, pickle.HIGHEST_PROTOCOL)
    for placed in (placed for task in tasks for placed in task.records):
        placed.record.packed = None
    return raw


def _result(get: Callable[[], _T]) -> _T:
    try:
        return get()
    except BrokenExecutor as error:
        raise errors.ImportWorkerError(
            f"A worker of the import was lost: {error}. It may have run out of memory. The batches before are in the "
            "ledger whole, of this one there is nothing. Import again, with fewer jobs if memory is short."
        ) from error


def _together(tasks: Iterable[SessionTask]) -> list[list[SessionTask]]:
    by_session: dict[str, list[SessionTask]] = {}
    for task in tasks:
        by_session.setdefault(task.session_id, []).append(task)
    return list(by_session.values())


def _bytes_of(task: SessionTask) -> int:
    return sum(len(placed.record.packed or b"") for placed in task.records)


def _grouped(items: Iterable[_T], size_of: Callable[[_T], int], *, most: int = 1 << 20) -> Iterator[list[_T]]:
    """Items in groups of about a megabyte, in order."""
    group: list[_T] = []
    size = 0
    for item in items:
        group.append(item)
        size += size_of(item)
        if size >= _TASK_BYTES or len(group) >= most:
            yield group
            group, size = [], 0
    if group:
        yield group


@contextmanager
def hands(
    finisher: Finisher, counter: TokenCounter, total_bytes: int, jobs: int | None, executor: Executor | None
) -> Generator[Hands]:
    """Who does the work of an import.

    Args:
        finisher: How rows are made.
        counter: Counts tokens, if this process does it.
        total_bytes: Bytes to import.
        jobs: Worker processes; one for each usable core (two at most) if not given. With one, and for little to
            import, this process does the work.
        executor: An executor of the caller's that does it, whatever ``jobs`` says.
    """
    wanted = min(usable_cores(), MOST_WORKERS) if jobs is None else jobs
    if executor is not None:
        yield ManyHands(finisher, executor)
    elif wanted < 2 or total_bytes < SMALL_BYTES:
        yield OwnHands(finisher, counter)
    else:
        workers = WorkerProcesses(wanted)
        try:
            yield ManyHands(finisher, workers, _UNDER_WAY * wanted)
        finally:
            workers.shutdown(cancel_futures=True)
