"""Files of derived tables: ``derived/NAME/vVERSION/*.parquet``, each whole or not there, none of them the truth.

A file holds the rows of some runs, and for each run one row more that says: this state of the run was read. Whoever
writes or removes files holds the lock ``derived``; readers hold nothing. A file that cannot be read, or has other
columns, does not count.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import polars as pl

from ledgerkit.store.arrow import read_batches, write_parquet
from ledgerkit.store.durability import make_folder, sync_folders
from ledgerkit.store.layout import Layout
from ledgerkit.store.parquet import ROW_GROUP_ROWS
from ledgerkit.tables import DERIVED, DerivedTable, Table

FOLDER: Final = "derived"
LOCK: Final = "derived"
"""Held from the look at the history until the files that come of it are in place."""
STATE: Final = ("session_id", "run_id", "state")
"""A run, and what it held when it was read."""
_STATES: Final = pl.Schema({**dict.fromkeys((*STATE, "file"), pl.String), "rows": pl.Int64})
# What pyarrow raises for damaged files is one of the first three.
_UNREADABLE: Final = (OSError, ValueError, NotImplementedError, pl.exceptions.PolarsError)
_NOT_WRITABLE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


class DerivedFiles:
    """The files of one derived table, in one version.

    Args:
        layout: The ledger; of one in an object store, the files stand in the folder that mirrors it.
        table: The table.
    """

    def __init__(self, layout: Layout, table: DerivedTable) -> None:
        self._table = table.stored
        self.folder = layout.root / FOLDER / table.name / f"v{table.version}"
        self._seen: dict[str, pl.DataFrame] = {}

    def states(self) -> pl.DataFrame:
        """What was read: ``session_id, run_id, state, file, rows``; of two files with the same state, one counts."""
        names = sorted(path.name for path in self.folder.glob("*.parquet"))
        self._seen = {name: self._seen[name] if name in self._seen else self._look_at(name) for name in names}
        return pl.concat([_STATES.to_frame(), *self._seen.values()]).unique(STATE, keep="first", maintain_order=True)

    def _look_at(self, name: str) -> pl.DataFrame:
        """What a file says was read; all of it is looked at once, because nothing else says that it is whole."""
        try:
            frame = _read(self.folder / name, self._table)
        except _UNREADABLE:  # damaged, or taken away in the meantime: its runs are read again
            return _STATES.to_frame()
        counted = frame.group_by(STATE).agg(
            pl.col("row").count().cast(pl.Int64).alias("rows"), pl.col("row").has_nulls()
        )
        return counted.filter("row").with_columns(file=pl.lit(name)).select(_STATES.names()).sort(STATE)

    def write(self, rows: pl.DataFrame) -> None:
        """Writes rows, with those that say which runs were read, as one more file. The lock is held."""
        make_folder(self.folder)
        ordered = rows.select(self._table.names).sort("session_id", "run_id", "row", nulls_last=True)
        _write(self.folder / f"{uuid.uuid4()}.parquet", ordered)

    def count(self) -> int:
        """How many files there are."""
        return sum(1 for _ in self.folder.glob("*.parquet"))

    def put_together(self, wanted: pl.DataFrame) -> None:
        """Puts one file in the place of all, without what is not wanted (``session_id, run_id, state``).

        The lock is held. Readers that have the names of the old files find them gone, and look again.
        """
        states, names = self.states(), list(self._seen)
        chosen = states.join(wanted, on=STATE, how="semi")
        pieces = [
            _read(self.folder / name, self._table).join(chosen.filter(pl.col("file") == name), on=STATE, how="semi")
            for name in chosen["file"].unique().sort()
        ]
        if pieces:
            self.write(pl.concat(pieces))
        _remove(self.folder / name for name in names)


def _read(path: Path, table: Table) -> pl.DataFrame:
    """A file, its pages checked.

    Raises:
        polars.exceptions.SchemaError: If it has other columns.
        OSError: If it is damaged or gone.
    """
    frame = pl.concat([table.empty(), *read_batches(path, ROW_GROUP_ROWS)])
    return frame.select(table.names)


def _write(target: Path, rows: pl.DataFrame) -> None:
    """Writes rows as a file that is there whole or not at all."""
    texts = [name for name, kind in rows.schema.items() if kind == pl.String]
    with appearing_whole(target) as file:
        write_parquet(rows, file, row_group_rows=ROW_GROUP_ROWS, dictionaries=texts, statistics=STATE, blooms={})


@contextmanager
def appearing_whole(target: Path) -> Generator[IO[bytes]]:
    """A file to write that takes its name, durably, when all is written."""
    staged = target.with_suffix(".new")
    with staged.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    staged.replace(target)
    sync_folders([target.parent])


def unwritable(error: OSError) -> bool:
    """Whether an error says that nothing can be written here."""
    return error.errno in _NOT_WRITABLE


def forget_sessions(layout: Layout, sessions: Sequence[str]) -> int:
    """Removes what was read from some sessions, from every table in every version, known here or not.

    The lock is held. What a crash left half written goes too.

    Returns:
        How many files held some of it.
    """
    hit = 0
    for path in _all_files(layout):
        try:
            rows = pl.concat(read_batches(path, ROW_GROUP_ROWS)) if path.suffix == ".parquet" else None
        except _UNREADABLE:
            rows = None
        others = None if rows is None else rows.filter(~pl.col("session_id").is_in(list(sessions)))
        if rows is not None and others is not None and others.height == rows.height:
            continue
        if others is not None and others.height:
            _write(path.with_name(f"{uuid.uuid4()}.parquet"), others)
        _remove([path])
        hit += 1
    return hit


def remove_all(layout: Layout) -> None:
    """Removes the files of all derived tables; the lock is held."""
    _remove(_all_files(layout))


def outdated(layout: Layout) -> list[tuple[str, Path]]:
    """Files of versions before those that are known here, with the names of their tables."""
    current = {table.name: table.version for table in DERIVED.values()}
    named = [(path.parent.parent.name, path.parent.name[1:], path) for path in _all_files(layout)]
    return [
        (f"{FOLDER}/{name}", path)
        for name, version, path in named
        if name in current and version.isdigit() and int(version) < current[name]
    ]


def sizes(files: DerivedFiles) -> list[int]:
    """Bytes of the files of a table."""
    found: list[int] = []
    for path in sorted(files.folder.glob("*.parquet")):
        with suppress(FileNotFoundError):  # another process has just put it together with others
            found.append(path.stat().st_size)
    return found


def _all_files(layout: Layout) -> Iterator[Path]:
    return (path for path in sorted((layout.root / FOLDER).glob("*/v*/*")) if path.is_file())


def _remove(paths: Iterable[Path]) -> None:
    gone = list(paths)
    for path in gone:
        path.unlink(missing_ok=True)
    sync_folders(path.parent for path in gone)
