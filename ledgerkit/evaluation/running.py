"""Work in buckets on any executor: progress, cancelling, lost workers, and going on where it ended.

One rule: what comes out does not depend on who did it or in which order. A bucket is named by all that it is computed
from; a bucket whose name is there is done.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from ledgerkit.errors import EvaluationCancelledError, EvaluationError
from ledgerkit.ingest.workers import WorkerProcesses

Tables = dict[str, bytes]
"""What a bucket gives: Parquet files, by name of the table."""
Progress = Callable[[int, int], None]
"""Called with runs that are done, and runs in all."""
ATTEMPTS: Final = 3
"""How often a bucket is tried that loses its worker."""
UNDER_WAY: Final = 32
"""Buckets that were submitted and are not done, at most."""
_POLL_S: Final = 0.2
_T = TypeVar("_T")


@dataclass(frozen=True)
class Bucket:
    """Some runs that are worked on together.

    Attributes:
        name: Stands for all that its tables are computed from.
        runs: How many runs.
        task: What the work function is given: small and picklable.
    """

    name: str
    runs: int
    task: Any


class LocalWorkers(WorkerProcesses):
    """Child processes of this one; a child that was lost is replaced at the next call."""

    def _call(self, fn: Callable[..., _T], args: tuple[object, ...], kwargs: dict[str, object]) -> _T:
        try:
            return super()._call(fn, args, kwargs)
        except BrokenExecutor:
            self._local.child = None
            raise


class Shelf:
    """Finished buckets in a folder, one folder each; a bucket is there whole or not at all.

    Args:
        folder: Where; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "buckets"
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, bucket: Bucket) -> Tables | None:
        """The tables of a bucket; ``None`` if it is not finished."""
        place = self._folder / bucket.name
        if not place.is_dir():
            return None
        return {file.stem: file.read_bytes() for file in sorted(place.glob("*.parquet"))}

    def put(self, bucket: Bucket, tables: Tables) -> None:
        """Keeps the tables of a bucket."""
        made = Path(tempfile.mkdtemp(prefix="unfinished-", dir=self._folder))
        for name, content in tables.items():
            (made / f"{name}.parquet").write_bytes(content)
        try:
            made.replace(self._folder / bucket.name)
        except OSError:  # another process finished the same bucket
            shutil.rmtree(made)
            if not (self._folder / bucket.name).is_dir():
                raise


def run_buckets(
    work: Callable[[Any], Tables],
    buckets: list[Bucket],
    executor: Executor | None,
    *,
    shelf: Shelf | None = None,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Mapping[str, Tables]:
    """Works through buckets.

    Args:
        work: A module-level function from a task to tables.
        buckets: The buckets.
        executor: Who works; this process, one bucket after the other, if there is none.
        shelf: Where finished buckets are kept and found again.
        progress: Called after each bucket.
        cancel: Asked every now and then; once it says yes, no further bucket is begun.

    Returns:
        The tables of every bucket, by its name.

    Raises:
        EvaluationCancelledError: If ``cancel`` said yes.
        EvaluationError: If a bucket lost its worker too often, or the executor is of no more use.
    """
    one = _Running(work, executor, shelf, cancel)
    total = sum(bucket.runs for bucket in buckets)
    done: dict[str, Tables] = {}
    finished = 0
    for bucket, tables in one.results(buckets):
        done[bucket.name] = tables
        finished += bucket.runs
        if progress is not None:
            progress(finished, total)
    return done


class _Running:
    def __init__(
        self,
        work: Callable[[Any], Tables],
        executor: Executor | None,
        shelf: Shelf | None,
        cancel: Callable[[], bool] | None,
    ) -> None:
        self._work, self._executor, self._shelf, self._cancel = work, executor, shelf, cancel

    def results(self, buckets: list[Bucket]) -> Iterator[tuple[Bucket, Tables]]:
        """Buckets as they are done, those on the shelf first."""
        waiting = deque[Bucket]()
        for bucket in buckets:
            there = self._shelf.get(bucket) if self._shelf is not None else None
            if there is None:
                waiting.append(bucket)
            else:
                yield bucket, there
        if self._executor is None:
            for bucket in waiting:
                self._refuse_if_cancelled()
                yield bucket, self._kept(bucket, self._work(bucket.task))
        else:
            yield from self._on(self._executor, waiting)

    def _on(self, executor: Executor, waiting: deque[Bucket]) -> Iterator[tuple[Bucket, Tables]]:
        under_way: dict[Future[Tables], Bucket] = {}
        tried: dict[str, int] = {}
        try:
            while waiting or under_way:
                self._refuse_if_cancelled()
                while waiting and len(under_way) < UNDER_WAY:
                    bucket = waiting.popleft()
                    tried[bucket.name] = tried.get(bucket.name, 0) + 1
                    under_way[self._submit(executor, bucket)] = bucket
                for future in wait(list(under_way), timeout=_POLL_S, return_when=FIRST_COMPLETED).done:
                    bucket = under_way.pop(future)
                    try:
                        tables = future.result()
                    except BrokenExecutor as error:
                        _refuse_if_tried_enough(tried[bucket.name], error)
                        waiting.append(bucket)
                        continue
                    yield bucket, self._kept(bucket, tables)
        finally:
            for future in under_way:
                future.cancel()

    def _submit(self, executor: Executor, bucket: Bucket) -> Future[Tables]:
        try:
            return executor.submit(self._work, bucket.task)
        except BrokenExecutor as error:
            raise EvaluationError(f"{_lost(error)} The executor cannot be used any more: {_GO_ON}") from error

    def _kept(self, bucket: Bucket, tables: Tables) -> Tables:
        if self._shelf is not None:
            self._shelf.put(bucket, tables)
        return tables

    def _refuse_if_cancelled(self) -> None:
        if self._cancel is not None and self._cancel():
            raise EvaluationCancelledError(f"The evaluation was ended. {_GO_ON}")


_GO_ON: Final = "Finished buckets are kept if a folder was given; the same call again goes on from there."


def _lost(error: BrokenExecutor) -> str:
    return f"A worker was lost: {error}."


def _refuse_if_tried_enough(tried: int, error: BrokenExecutor) -> None:
    if tried >= ATTEMPTS:
        raise EvaluationError(
            f"{_lost(error)} That happened {tried} times to one bucket: memory may be short. Take smaller buckets or "
            f"fewer jobs. {_GO_ON}"
        ) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
