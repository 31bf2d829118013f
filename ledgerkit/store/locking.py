"""One process at a time: a lock that goes with the process that holds it, however it ends."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager

from ledgerkit.store.layout import Layout


@contextmanager
def exclusive(layout: Layout, name: str) -> Generator[None]:
    """Holds a lock of a ledger; waits while another process or another ``Ledger`` has it.

    Args:
        layout: The ledger.
        name: What is locked: names the lock's file, which stays behind empty.
    """
    with (layout.root / f".{name}.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
