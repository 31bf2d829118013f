"""A ledger's storage, opened as one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ledgerkit import tables
from ledgerkit.store.database import Database
from ledgerkit.store.layout import Layout, Where, create_layout, is_ledger, open_layout

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a ledger stands, its tables, and the database that reads them."""

    layout: Layout
    store: DeltaStore
    database: Database
    is_past: bool = False
    """Whether this is an earlier state, which can only be read."""


def open_storage(
    at: Where,
    *,
    create: bool,
    key: bytes | None = None,
    count_tokens: Callable[[list[str]], list[int]],
    random: Callable[[int], bytes] = os.urandom,
) -> Storage:
    """Opens a ledger, or makes one.

    Args:
        at: Where it is.
        create: Make a ledger if there is none.
        key: Key of the content ids of a new ledger; random if not given.
        count_tokens: Token counts of many texts (for messages in journals).
        random: Gives so many random bytes (for salts, if the ledger has an earlier layout).

    Raises:
        LedgerNotFoundError: If there is none and ``create`` is false.
        LedgerFormatError: If there is something else.
    """
    # Delta Lake's library is loaded when a ledger is opened, not when ledgerkit is imported.
    from ledgerkit.store.delta import DeltaStore
    from ledgerkit.store.journaled import Journals

    layout = open_layout(at) if is_ledger(at) or not create else create_layout(at, key=key)
    if layout.version < tables.LAYOUT_VERSION:
        from ledgerkit.store.migration import migrate

        layout = migrate(layout, now=datetime.now(UTC), random=random)
    store = DeltaStore(layout)
    store.prepare()
    return Storage(layout, store, Database(layout, store, Journals(layout, count_tokens)))
