"""Answers of ledgerkit's own queries that look at all of a ledger, kept in files; none of them the truth.

A file is found by what its answer follows from: the query, the views that it may use, and the names of the files that
hold the history and the runs (a rewrite gives new names). So an answer is never stale: after an import, an erasure, a
restored copy or another version of ledgerkit nothing is found, and the query runs again. Nothing is kept while a
journal holds messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Final

import polars as pl

from ledgerkit.store.arrow import read_batches
from ledgerkit.store.derivedfiles import FOLDER, LOCK, UNREADABLE, unwritable, write_file
from ledgerkit.store.durability import make_folder
from ledgerkit.store.layout import Layout
from ledgerkit.store.locking import exclusive
from ledgerkit.store.origins import ORIGINS
from ledgerkit.store.parquet import ROW_GROUP_ROWS
from ledgerkit.store.views import CACHED, COPIES, INTERNAL_VIEWS, PUBLIC_VIEWS, RECORDS, SHARED_RECORDS

_TABLE: Final = "answers"
_VERSION: Final = 1
_RULES: Final = (
    *INTERNAL_VIEWS.values(), *PUBLIC_VIEWS.values(), *CACHED.values(), COPIES, RECORDS, SHARED_RECORDS, ORIGINS
)  # fmt: skip
_MANY: Final = 8
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
        return f"{digest.hexdigest()[:32]}.parquet"

    def read(self, name: str) -> pl.DataFrame | None:
        """An answer, its pages checked; ``None`` if it is not there or damaged."""
        path = self._folder / name
        try:
            batches = list(read_batches(path, ROW_GROUP_ROWS))
        except UNREADABLE:
            return None
        return pl.concat(batches) if batches else None

    def write(self, name: str, answer: pl.DataFrame, is_current: Callable[[], bool]) -> None:
        """Keeps an answer, if it is still the one of the newest state, and there is a place for it.

        Args:
            name: Its name.
            answer: A frame of plain columns; one without rows is not kept.
            is_current: Asked while the lock is held that an erasure holds, too: what was erased meanwhile must not
                come back.
        """
        if answer.is_empty():
            return
        try:
            with exclusive(self._layout, LOCK):
                if is_current():
                    make_folder(self._folder)
                    self._make_room()
                    write_file(self._folder / name, answer)
        except OSError as error:
            if not unwritable(error):
                raise

    def _make_room(self) -> None:
        there = sorted(self._folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
        for path in there[: max(0, len(there) + 1 - _MANY)]:
            path.unlink(missing_ok=True)
