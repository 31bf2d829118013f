"""Worker processes for imports, as an executor: plain children of this process that do one call after the other.

They are started with the interpreter and the module below, so they never run the caller's own script again (as
``multiprocessing`` does where it does not fork), and nothing is forked under threads that hold locks. A call and its
answer are pickled over the child's standard streams. A child that dies takes its call with it, never a result:
whoever waits for that call gets :class:`~concurrent.futures.BrokenExecutor`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, Final, ParamSpec, TypeVar

_COMMAND: Final = "from ledgerkit.ingest.workers import serve; serve()"
_LENGTH: Final = 8
_P = ParamSpec("_P")
_T = TypeVar("_T")


class WorkerProcesses(Executor):
    """Runs calls in a fixed number of child processes, each started at its first call.

    Args:
        count: How many.

    Example:
        >>> with WorkerProcesses(2) as workers:
        ...     workers.submit(divmod, 17, 5).result()
        (3, 2)
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="ledgerkit-import")
        self._local = threading.local()
        self._children: list[subprocess.Popen[bytes]] = []
        self._mutex = threading.Lock()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Schedules a call. Function, arguments and result must be picklable."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def _call(self, fn: Callable[..., _T], args: tuple[object, ...], kwargs: dict[str, object]) -> _T:
        child = self._child()
        try:
            assert child.stdin is not None  # noqa: S101 - they are pipes
            assert child.stdout is not None  # noqa: S101
            _write(child.stdin, pickle.dumps((fn, args, kwargs), pickle.HIGHEST_PROTOCOL))
            is_good, result = pickle.loads(_read(child.stdout))  # noqa: S301 - our own process wrote it
        except (EOFError, OSError) as error:
            status = child.wait()
            how = f"signal {-status}" if status < 0 else f"exit code {status}"
            raise BrokenExecutor(f"worker process {child.pid} ended early ({how})") from error
        if is_good:
            return result
        raise result

    def _child(self) -> subprocess.Popen[bytes]:
        """The child of this thread."""
        child: subprocess.Popen[bytes] | None = getattr(self._local, "child", None)
        if child is None:
            # The child sees what this process can import, wherever it got that from.
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            child = subprocess.Popen(  # noqa: S603 - this interpreter and a constant
                [sys.executable, "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            with self._mutex:
                self._children.append(child)
            self._local.child = child
        return child

    @property
    def process_ids(self) -> list[int]:
        """The children that were started."""
        with self._mutex:
            return [child.pid for child in self._children]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as its base
        """Ends the children; calls that wait are done first unless they are cancelled."""
        self._threads.shutdown(wait=True, cancel_futures=cancel_futures)
        for child in self._children:
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):  # what a lost child never took
                        stream.close()
            if wait:
                child.wait()


def serve() -> None:
    """A child: answers calls until its input ends. What calls print goes to the error stream, not among answers."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            raw = _read(calls)
        except EOFError:
            return
        _write(answers, _answer(raw))


def _answer(raw: bytes) -> bytes:
    try:
        fn, args, kwargs = pickle.loads(raw)  # noqa: S301 - our own process wrote it
        return pickle.dumps((True, fn(*args, **kwargs)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(_LENGTH, "big"))
    stream.write(message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(stream, _LENGTH), "big")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data: Any = stream.read(size)
    if len(data) < size:
        raise EOFError("the stream ended")
    return data
