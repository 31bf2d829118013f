"""One at a time: locks that go with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from ledgerkit import errors
from ledgerkit.store.durability import make_folder
from ledgerkit.store.layout import Layout
from ledgerkit.tables import TABLES

COMMIT_LOCK: Final = "commit"
"""Held while something is committed to the history."""
MAINTENANCE_LOCK: Final = "maintenance"
"""Held while files are rewritten or removed; taken before the commit lock where both are needed."""


@contextmanager
def exclusive(layout: Layout, name: str) -> Generator[None]:
    """Holds a lock of a ledger; waits while another process or another ``Ledger`` has it.

    Args:
        layout: The ledger.
        name: What is locked: names the lock's file, which stays behind, empty if all went well.
    """
    with (layout.root / f".{name}.lock").open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if name != COMMIT_LOCK:
            yield
            return
        if os.fstat(file.fileno()).st_size:
            _settle(layout)
        else:
            file.write(b"held\n")
        yield
        file.truncate(0)


@contextmanager
def exclusive_if_free(layout: Layout, name: str) -> Generator[bool]:
    """Holds a lock other than the commit lock if nobody has it, and says whether it does; never waits."""
    with (layout.root / f".{name}.lock").open("ab", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _settle(layout: Layout) -> None:
    """Waits until what the last holder of the commit lock committed is on disk.

    It ended between a commit and its sync, perhaps. Its rows are seen all the same, and whoever finds them there goes
    on from them, so they have to be durable first.
    """
    from ledgerkit.store import deltalog

    if layout.place.is_local:
        for name in TABLES:
            deltalog.sync_last(layout.table_path(name))


class RunLock:
    """The lock of the one writer that a live run may have. Its file goes when it is released.

    Args:
        journal: The run's journal.
        run: Session and run.
        wait: Wait for the other writer instead of refusing.

    Raises:
        RunLockedError: If another recorder holds it.
    """

    def __init__(self, journal: Path, run: tuple[str, str], *, wait: bool) -> None:
        self._path = journal.with_suffix(".lock")
        make_folder(journal.parent)
        while True:
            file = self._path.open("a+b")
            if self._take(file, run, wait=wait):
                self._file = file
                return
            file.close()

    def _take(self, file: IO[bytes], run: tuple[str, str], *, wait: bool) -> bool:
        """Whether the lock was taken; if not, its file went away while we waited for it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode("ascii", "replace").strip() or "another process"
            file.close()
            raise errors.RunLockedError(
                f"Run {run[1]} of session {run[0]} is being recorded by process {holder}. Close that recorder first, "
                "or record another run."
            ) from None
        try:
            is_current = os.fstat(file.fileno()).st_ino == self._path.stat().st_ino
        except FileNotFoundError:
            return False
        if is_current:
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
        return is_current

    def release(self) -> None:
        """Gives the lock back."""
        self._path.unlink(missing_ok=True)
        self._file.close()


def is_recorded(journal: Path) -> bool:
    """Whether a living recorder writes a journal."""
    try:
        with journal.with_suffix(".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
