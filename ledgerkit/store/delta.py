"""The stored tables as Delta tables: append, rewrite files of equal rows, and the list of live files.

A commit is durable when it returns: the files are written and synced before the commit names them, and the commit
itself is synced after. Each append carries application transactions, checked and written through one handle, so that
the same batch is never committed twice, and no two writers take the same place in a tree.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from ledgerkit import errors
from ledgerkit.store import deltalog
from ledgerkit.store.deltacommits import (
    LiveFile,
    StaleHeadError,
    add_action,
    commit_through,
    live_file,
    remove_action,
)  # fmt: skip
from ledgerkit.store.deltaschema import create_table
from ledgerkit.store.layout import Layout
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.parquet import WrittenFile, write_files
from ledgerkit.tables import TABLES

CHECKPOINT_EVERY: Final = 50
TREE: Final = "ledgerkit/tree"
"""Name of the transaction whose version is the number of leaves."""
_HASHED: Final = ("history", "runs")


class DeltaStore:
    """The Delta tables of one ledger.

    Args:
        layout: The ledger.
        versions: Versions of tables to read instead of the newest ones (time travel).
    """

    def __init__(self, layout: Layout, versions: Mapping[str, int] | None = None) -> None:
        self._layout = layout
        self._fixed = versions
        self.mutex = threading.RLock()
        """Held by who must see files, version and transactions of one moment."""
        self._handles: dict[str, DeltaTable] = {}
        self._uniform: dict[str, bool] = {}
        self._looked_at: set[str] = set()

    def prepare(self, *, is_new: bool = False) -> None:
        """Mends what a power loss tore, and creates the tables of a new ledger.

        Args:
            is_new: Tables may be missing though the ledger holds something: a new layout brings them.

        Raises:
            LedgerFormatError: If a ledger that holds something has lost a table.
        """
        self._recover(holds_lock=is_new)
        self._create_missing(is_new=is_new)

    def _create_missing(self, *, is_new: bool) -> None:
        """Creates the tables of a new ledger, or those that a creation which was cut off had not come to."""
        missing = [table for table in TABLES.values() if not DeltaTable.is_deltatable(self.uri(table.name))]
        if (
            not is_new
            and 0 < len(missing) < len(TABLES)
            and ("history" in {t.name for t in missing} or self._has_commits())
        ):
            raise self._lost(missing[0].name)
        for table in missing:
            create_table(table, self._layout.place)

    def _recover(self, *, holds_lock: bool) -> None:
        if not self._layout.place.is_local:  # an object is there whole, or not at all
            return
        folders = [self._layout.table_path(name) for name in TABLES]
        if any(deltalog.is_torn(folder) for folder in folders):
            with nullcontext() if holds_lock else exclusive(self._layout, COMMIT_LOCK):
                for folder in folders:
                    deltalog.mend(folder)

    def _has_commits(self) -> bool:
        return DeltaTable(self.uri("history")).version() > 0

    def _lost(self, name: str) -> errors.LedgerFormatError:
        return errors.LedgerFormatError(
            f"{self._layout.root} lacks its table {name!r}. Restore the folder from a copy."
        )

    def uri(self, name: str) -> str:
        """What Delta Lake's library calls a table."""
        return self._layout.place.uri(name)

    def handle(self, name: str) -> DeltaTable:
        """The table at its newest version, or at the one that was asked for."""
        folder = self._layout.table_path(name)
        with self.mutex:
            handle = self._handles.get(name)
            if handle is None:
                try:
                    handle = DeltaTable(self.uri(name), version=self._fixed[name] if self._fixed else None)
                except TableNotFoundError as error:
                    raise self._lost(name) from error
                self._handles[name] = handle
            elif not self._fixed and self._may_have_grown(folder, handle.version()):
                handle.update_incremental()
            return handle

    def _may_have_grown(self, folder: Path, version: int) -> bool:
        return not self._layout.place.is_local or deltalog.has_version(folder, version + 1)

    def versions(self) -> Mapping[str, int]:
        """The newest version of each table."""
        return {name: self.handle(name).version() for name in TABLES}

    def transaction(self, name: str, identity: str) -> int | None:
        """The version that a transaction of a table has; ``None`` if there was none."""
        return self.handle(name).transaction_version(identity)

    def known_transaction(self, identity: str) -> int | None:
        """The version that a transaction of ``history`` has in the version that was last looked at."""
        return self._handles["history"].transaction_version(identity)

    def size(self, name: str) -> int:
        """Leaves of a table's tree."""
        return self.transaction(name, TREE) or 0

    def files(self, name: str) -> list[str]:
        """Paths of a table's live Parquet files, sorted; what is in an object store is fetched first."""
        if not self._layout.place.is_local:
            return [str(self._layout.place.fetch(f"{name}/{file.path}")) for file in self.live_files(name)]
        return sorted(unquote(uri).removeprefix("file://") for uri in self.handle(name).file_uris())

    def is_uniform(self, name: str) -> bool:
        """Whether all files of a table have all its columns: they were there from the first version on."""
        if name not in self._uniform:
            self._uniform[name] = deltalog.first_columns(self._layout.place, name).issuperset(TABLES[name].names)
        return self._uniform[name]

    def live_files(self, name: str) -> list[LiveFile]:
        """The live Parquet files of a table, by path."""
        actions = pl.DataFrame(self.handle(name).get_add_actions(flatten=True))
        return sorted((live_file(row, TABLES[name].partition_by) for row in actions.to_dicts()), key=lambda f: f.path)

    def append(self, name: str, rows: pl.DataFrame, transactions: Mapping[str, int]) -> bool:
        """Appends rows in one durable commit.

        Args:
            name: The stored table.
            rows: Rows with the table's columns, in any order of columns.
            transactions: Identities of the batch, with versions; a batch of which one is there already, in this
                version or a later one, is not written again.

        Returns:
            Whether the rows were written (``False``: they were there, or there are none).

        Raises:
            StaleHeadError: If rows of a tree do not go on from its head, or another writer got in between.
        """
        if self._fixed is not None:
            raise errors.LedgerError("This is an earlier state of the ledger; it can only be read.")
        if rows.is_empty():
            return False
        handle = self.handle(name)
        if name in _HASHED:
            self._refuse_foreign_work(name, handle)
        if any((handle.transaction_version(identity) or 0) >= version for identity, version in transactions.items()):
            return False
        marks = dict(transactions)
        if name in _HASHED:
            begin, end = self._leaves(rows)
            if begin != (handle.transaction_version(TREE) or 0):
                raise StaleHeadError(f"Another writer appended to {name!r} first.")
            marks[TREE] = end
        added = self.write(name, rows)
        self._commit(name, handle, [add_action(file, data_change=True) for file in added], marks)
        return True

    def _refuse_foreign_work(self, name: str, handle: DeltaTable) -> None:
        """Nothing is appended to a history that another program has cut back, or made changeable.

        Raises:
            IntegrityError: If it has.
        """
        if handle.metadata().configuration.get("delta.appendOnly") != "true":
            raise errors.IntegrityError(
                f"The append-only property of {name!r} was switched off. Run ledgerkit verify, and restore a copy."
            )
        if name in self._looked_at:
            return
        ends = [file.ranges.get("leaf_index", (None, None))[1] for file in self.live_files(name)]
        last, size = max((end for end in ends if end is not None), default=-1), handle.transaction_version(TREE) or 0
        if None not in ends and last + 1 != size:  # an older layout notes no ranges of leaves
            raise errors.IntegrityError(
                f"{name!r} holds leaves up to {last}, and {size} were committed: another program has restored or "
                "deleted something. Run ledgerkit verify, and restore a copy."
            )
        self._looked_at.add(name)

    def write(self, name: str, rows: pl.DataFrame) -> list[WrittenFile]:
        """Writes rows as files of a table that no commit names yet, durably."""
        written = write_files(self._layout.table_path(name), TABLES[name], rows)
        for file in written:
            self._layout.place.publish(f"{name}/{file.path}")
        return written

    def fetch(self, name: str, path: str, *, anew: bool = False) -> Path:
        """A file of a table on this machine; ``anew`` does not trust one that was fetched before."""
        return self._layout.place.fetch(f"{name}/{path}", anew=anew)

    @staticmethod
    def _leaves(rows: pl.DataFrame) -> tuple[int, int]:
        index = rows["leaf_index"].drop_nulls()
        if index.is_empty():
            raise ValueError("rows of a tree come with their leaves")
        begin = int(index.min())  # type: ignore[arg-type]
        return begin, begin + len(index)

    def replace(
        self, name: str, removed: Sequence[LiveFile], added: Sequence[WrittenFile], *, transactions: Mapping[str, int]
    ) -> None:
        """Puts files in the place of others, in one durable commit.

        For rewrites that keep every leaf (compaction, erasure): the table stays append-only to everybody else.

        Raises:
            StaleHeadError: If another rewrite came first.
        """
        gone = [remove_action(file) for file in removed]
        actions = [*gone, *(add_action(file, data_change=False) for file in added)]
        self._commit(name, self.handle(name), actions, transactions)

    def _commit(
        self,
        name: str,
        handle: DeltaTable,
        actions: list[AddAction | RemoveAction],
        transactions: Mapping[str, int],
    ) -> None:
        folder, before = self._layout.table_path(name), handle.version()
        with self.mutex:
            commit_through(name, handle, actions, transactions)
            if self._layout.place.is_local:
                deltalog.sync(folder, before + 1, handle.version())
            if handle.version() // CHECKPOINT_EVERY > before // CHECKPOINT_EVERY:
                handle.create_checkpoint()
                if self._layout.place.is_local:
                    deltalog.sync_checkpoint(folder, handle.version())
