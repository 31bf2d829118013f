"""Live capture: logs of running agents, imported again and again as they grow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ledgerkit.errors import ImportSourceError

if TYPE_CHECKING:
    from ledgerkit.ingest.account import ImportAccount

Stamp = tuple[int, int, int]
"""What tells that a file has changed: its size, the time of its last change, its inode."""


class LedgerFollowing:
    """Logs that grow. Part of :class:`ledgerkit.Ledger`."""

    if TYPE_CHECKING:  # what the ledger itself brings
        import_logs: Callable[..., ImportAccount]

    def follow(
        self,
        *paths: str | os.PathLike[str],
        interval: float = 2.0,
        until: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], None] = time.sleep,
        **how: Any,  # noqa: ANN401 - what import_logs takes
    ) -> Iterator[ImportAccount]:
        """Imports logs, and what is added to them from then on: a session shows in queries seconds after it grows.

        A line that is still being written is left for the next round. What comes of it is what one import at the end
        would give.

        Args:
            paths: Files and folders; files that appear below a folder are taken up.
            interval: Seconds between two looks.
            until: Asked after each round; ends it if true. Without it, it goes on until the caller stops.
            sleep: Waits.
            how: What :meth:`Ledger.import_logs` takes beside.

        Yields:
            The account of each round that read something.

        Raises:
            ImportSourceError: If there is nothing at a path at the beginning.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> from pathlib import Path
            >>> log = Path(tempfile.mkdtemp(), "chat.jsonl")
            >>> _ = log.write_text('{"messages":[{"role":"user","content":"Hi"}]}' + chr(10))
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> [account.new_messages for account in ledger.follow(log, until=lambda: True)]
            [1]
        """
        places = [Path(path).expanduser() for path in paths]
        if missing := [place for place in places if not place.exists()]:
            raise ImportSourceError(f"Nothing at {missing[0]}. Check the path.")
        seen: dict[Path, Stamp] = {}
        while True:
            now = _stamps(places)
            changed = [path for path, stamp in now.items() if seen.get(path) != stamp]
            seen = now
            if changed:
                account = self.import_logs(*changed, **how)
                if account.files or account.unsupported:
                    yield account
            if until():
                return
            sleep(interval)


def _stamps(places: list[Path]) -> dict[Path, Stamp]:
    """Every file at and below some places, sorted, with what tells that it has changed."""
    found = dict[Path, Stamp]()
    for place in places:
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in files:
            try:
                about = path.stat()
            except FileNotFoundError:  # gone since it was listed
                continue
            if path.is_file():
                found[path] = (about.st_size, about.st_mtime_ns, about.st_ino)
    return found
