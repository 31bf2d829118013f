"""Earlier states of a ledger: which version every table had at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from ledgerkit import errors
from ledgerkit.store import deltalog
from ledgerkit.store.database import Database
from ledgerkit.store.delta import DeltaStore
from ledgerkit.store.layout import Layout, open_layout
from ledgerkit.store.storage import Storage
from ledgerkit.tables import TABLES

_PAST: Final = "Earlier states go when content is erased, or when vacuum removes files that they need."


def open_storage_at(root: Path, as_of: datetime | int) -> Storage:
    """Opens an earlier state of a ledger, to read.

    Args:
        root: The folder.
        as_of: A moment (with a time zone), or a version of ``history`` as ``Ledger.commits`` lists them.

    Raises:
        LedgerNotFoundError: If there is no ledger.
        LedgerError: If the ledger had no such state, or has lost it.
        ValueError: If the moment has no time zone.
    """
    layout = open_layout(root)
    store = DeltaStore(layout, _versions(layout, as_of))
    for name in TABLES:
        if missing := next((file for file in store.files(name) if not Path(file).exists()), None):
            raise errors.LedgerError(
                f"The state of {_named(as_of)} is no more: {Path(missing).name} of {name!r} is gone. {_PAST}"
            )
    return Storage(layout, store, Database(layout, store, None), is_past=True)


def _versions(layout: Layout, as_of: datetime | int) -> Mapping[str, int]:
    if isinstance(as_of, datetime):
        if as_of.tzinfo is None:
            raise ValueError(f"as_of needs a time zone: {as_of.isoformat()} could be any of a day's hours")
        return {name: _version_at(layout, name, as_of) for name in TABLES}
    moment = deltalog.committed_at(layout.table_path("history"), as_of)
    if moment is None:
        raise errors.LedgerError(f"The history has no version {as_of}, or its log no longer says when it was. {_PAST}")
    others = {name: _version_at(layout, name, moment) for name in TABLES if name != "history"}
    return {**others, "history": as_of}


def _version_at(layout: Layout, name: str, moment: datetime) -> int:
    table = DeltaTable(str(layout.table_path(name)))
    first = deltalog.committed_at(layout.table_path(name), 0)
    if first is not None and first > moment:
        if name != "history":
            return 0  # made a moment later, or by a later layout: empty then
        raise errors.LedgerError(f"The ledger did not exist at {moment.isoformat()}.")
    table.load_as_version(moment)
    return table.version()


def _named(as_of: datetime | int) -> str:
    return f"version {as_of}" if isinstance(as_of, int) else as_of.isoformat()
