"""A ledger's storage, opened as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ledgerkit.store.database import Database
from ledgerkit.store.layout import Layout, create_layout, is_ledger, open_layout

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a ledger stands, its tables, and the database that reads them."""

    layout: Layout
    store: DeltaStore
    database: Database


def open_storage(
    root: Path, *, create: bool, key: bytes | None = None, count_tokens: Callable[[list[str]], list[int]]
) -> Storage:
    """Opens the ledger in a folder, or makes one.

    Args:
        root: The folder.
        create: Make a ledger if there is none.
        key: Key of the content ids of a new ledger; random if not given.
        count_tokens: Token counts of many texts (for messages in journals).

    Raises:
        LedgerNotFoundError: If there is none and ``create`` is false.
        LedgerFormatError: If there is something else.
    """
    # Delta Lake's library is loaded when a ledger is opened, not when ledgerkit is imported.
    from ledgerkit.store.delta import DeltaStore
    from ledgerkit.store.journaled import Journals

    layout = open_layout(root) if is_ledger(root) or not create else create_layout(root, key=key)
    store = DeltaStore(layout)
    store.prepare()
    return Storage(layout, store, Database(layout, store, Journals(layout, count_tokens)))


def open_storage_at(root: Path, versions: Mapping[str, int]) -> Storage:
    """Opens an earlier state of a ledger, to read."""
    from ledgerkit.store.delta import DeltaStore

    layout = open_layout(root)
    store = DeltaStore(layout, versions)
    return Storage(layout, store, Database(layout, store, None))
