"""Earlier states of a ledger: which version every table had at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from deltalake import DeltaTable

from ledgerkit import errors
from ledgerkit.store import deltalog
from ledgerkit.store.database import Database
from ledgerkit.store.delta import DeltaStore
from ledgerkit.store.layout import Layout, open_layout
from ledgerkit.store.place import Place
from ledgerkit.store.storage import Storage
from ledgerkit.tables import TABLES

_PAST: Final = "Earlier states go when content is erased, or when vacuum removes files that they need."


def open_storage_at(place: Place, as_of: datetime | int) -> Storage:
    """Opens an earlier state of a ledger, to read.

    Args:
        place: Where it is.
        as_of: A moment (with a time zone), or a version of ``history`` as ``Ledger.commits`` lists them.

    Raises:
        LedgerNotFoundError: If there is no ledger.
        LedgerError: If the ledger had no such state, or has lost it.
        ValueError: If the moment has no time zone.
    """
    layout = open_layout(place)
    store = DeltaStore(layout, _versions(layout, as_of))
    for name in TABLES:
        paths = (file.path for file in store.live_files(name))
        if missing := next((path for path in paths if not layout.place.exists(f"{name}/{path}")), None):
            raise errors.LedgerError(f"The state of {_named(as_of)} is no more: {missing} of {name!r} is gone. {_PAST}")
    return Storage(layout, store, Database(layout, store, None), is_past=True)


def _versions(layout: Layout, as_of: datetime | int) -> Mapping[str, int]:
    if isinstance(as_of, datetime):
        if as_of.tzinfo is None:
            raise ValueError(f"as_of needs a time zone: {as_of.isoformat()} could be any of a day's hours")
        return {name: _version_at(layout, name, as_of) for name in TABLES}
    moment = deltalog.committed_at(layout.place, "history", as_of)
    if moment is None:
        raise errors.LedgerError(f"The history has no version {as_of}, or its log no longer says when it was. {_PAST}")
    others = {name: _version_at(layout, name, moment) for name in TABLES if name != "history"}
    return {**others, "history": as_of}


def _version_at(layout: Layout, name: str, moment: datetime) -> int:
    """The last version of a table that was committed by a moment, as its own log says."""
    first = deltalog.committed_at(layout.place, name, 0)
    if first is not None and first > moment:
        if name != "history":
            return 0  # made a moment later, or by a later layout: empty then
        raise errors.LedgerError(f"The ledger did not exist at {moment.isoformat()}.")
    low, high = 0, DeltaTable(layout.place.uri(name)).version()
    while low < high:
        middle = (low + high + 1) // 2
        committed = deltalog.committed_at(layout.place, name, middle)
        low, high = (middle, high) if committed is None or committed <= moment else (low, middle - 1)
    return low


def _named(as_of: datetime | int) -> str:
    return f"version {as_of}" if isinstance(as_of, int) else as_of.isoformat()
