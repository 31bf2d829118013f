"""Earlier states of a ledger: which version every table had at a moment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from ledgerkit import errors
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
    moment = as_of
    if isinstance(as_of, datetime):
        if as_of.tzinfo is None:
            raise ValueError(f"as_of needs a time zone: {as_of.isoformat()} could be any of a day's hours")
        return {name: _version_at(layout, name, as_of) for name in TABLES}
    history = _table(layout, "history", as_of)
    moment = datetime.fromtimestamp(history.history(1)[0]["timestamp"] / 1000, UTC)
    others = {name: _version_at(layout, name, moment) for name in TABLES if name != "history"}
    return {**others, "history": as_of}


def _table(layout: Layout, name: str, version: int) -> DeltaTable:
    try:
        return DeltaTable(str(layout.table_path(name)), version=version)
    except (DeltaError, OSError, ValueError) as error:
        raise errors.LedgerError(f"{name!r} has no version {version}. {_PAST}") from error


def _version_at(layout: Layout, name: str, moment: datetime) -> int:
    table = DeltaTable(str(layout.table_path(name)))
    first = _table(layout, name, 0)
    if datetime.fromtimestamp(first.history(1)[0]["timestamp"] / 1000, UTC) > moment:
        raise errors.LedgerError(f"The ledger did not exist at {moment.isoformat()}.")
    table.load_as_version(moment)
    return table.version()


def _named(as_of: datetime | int) -> str:
    return f"version {as_of}" if isinstance(as_of, int) else as_of.isoformat()
