"""Answers of ledgerkit's own queries that look at all of a ledger, kept in files; none of them the truth.

A file is an Arrow IPC file with its SHA-256 behind it; one that does not fit it is as good as gone. It is found by what
its answer follows from: the query, the views that it may use, and the names of the files that hold the history and the
runs (a rewrite gives new names). So an answer is never stale: after an import, an erasure, a restored copy or another
version of ledgerkit nothing is found, and the query runs again. Nothing is kept while a journal holds messages.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable
from typing import Final

import polars as pl

from ledgerkit.store.derivedfiles import FOLDER, LOCK, appearing_whole, unwritable
from ledgerkit.store.durability import make_folder
from ledgerkit.store.layout import Layout
from ledgerkit.store.locking import exclusive_if_free
from ledgerkit.store.origins import ORIGINS
from ledgerkit.store.views import CACHED, COPIES, INTERNAL_VIEWS, PUBLIC_VIEWS, RECORDS, SHARED_RECORDS

_TABLE: Final = "answers"
_VERSION: Final = 1
_RULES: Final = (
    *INTERNAL_VIEWS.values(), *PUBLIC_VIEWS.values(), *CACHED.values(), COPIES, RECORDS, SHARED_RECORDS, ORIGINS
)  # fmt: skip
_DIGEST_BYTES: Final = 32
_MANY: Final = 24
"""More files than this are of other states, and go."""


class Answers:
    """The kept answers of one ledger.

    Args:
        layout: The ledger.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._folder = layout.root / FOLDER / _TABLE / f"v{_VERSION}"

    @staticmethod
    def name_of(sql: str, files: Iterable[str]) -> str:
        """The name of the file that holds the answer of a query over these live files."""
        digest = hashlib.sha256()
        for text in (sql, *_RULES, *files):
            digest.update(f"{len(text)}:{text}".encode())
        return f"{digest.hexdigest()[:32]}.answer"

    def read(self, name: str) -> pl.DataFrame | None:
        """An answer; ``None`` if it is not there, or damaged."""
        try:
            content = (self._folder / name).read_bytes()
        except OSError:
            return None
        body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
        return pl.read_ipc(io.BytesIO(body)) if _digest(body) == digest else None

    def write(self, name: str, answer: pl.DataFrame, is_current: Callable[[], bool]) -> None:
        """Keeps an answer, if it is still the one of the newest state, and there is a place for it.

        Args:
            name: Its name.
            answer: A frame of plain columns.
            is_current: Asked while the lock is held that an erasure holds, too: what was erased meanwhile must not
                come back. While another one holds it, nothing is kept; nobody waits.
        """
        try:
            with exclusive_if_free(self._layout, LOCK) as is_free:
                if is_free and is_current():
                    make_folder(self._folder)
                    self._make_room()
                    body = answer.write_ipc(None, compression="zstd").getvalue()
                    with appearing_whole(self._folder / name) as file:
                        file.write(body + _digest(body))
        except OSError as error:
            if not unwritable(error):
                raise

    def _make_room(self) -> None:
        there = sorted(self._folder.glob("*.answer"), key=lambda path: path.stat().st_mtime_ns)
        for path in there[: max(0, len(there) + 1 - _MANY)]:
            path.unlink(missing_ok=True)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
