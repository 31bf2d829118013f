"""What a commit of a Delta table is made of: files that come and go, and marks that keep it from being made twice."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from ledgerkit import errors
from ledgerkit.store.parquet import WrittenFile
from ledgerkit.tables import TABLES

_RETRIES: Final = 200
_NO_HOOKS: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


class StaleHeadError(errors.LedgerConflictError):
    """Another writer committed first; what was prepared has to be prepared anew."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A Parquet file of the newest version of a table."""

    path: str
    size: int
    partition: Mapping[str, str | None]
    rows: int
    ranges: Mapping[str, tuple[Any, Any]]


def commit_through(
    name: str, handle: DeltaTable, actions: list[AddAction | RemoveAction], transactions: Mapping[str, int]
) -> None:
    """Commits actions, and brings the handle to the new version.

    Raises:
        StaleHeadError: If another writer's commit does not go with this one.
    """
    marks = [Transaction(identity, version, None) for identity, version in sorted(transactions.items())]
    try:
        handle.create_write_transaction(
            actions,
            "append",
            handle.schema(),
            list(TABLES[name].partition_by),
            commit_properties=CommitProperties(max_commit_retries=_RETRIES, app_transactions=marks),
            post_commithook_properties=_NO_HOOKS,
        )
    except CommitFailedError as error:
        raise StaleHeadError(f"Another writer committed to {name!r} first.") from error
    handle.update_incremental()


def add_action(file: WrittenFile, *, data_change: bool) -> AddAction:
    """The action that brings a file."""
    return AddAction(file.path, file.size, file.partition, _now_ms(), data_change, file.stats)


def remove_action(file: LiveFile) -> RemoveAction:
    """The action that takes a file out of the newest version."""
    return RemoveAction(
        file.path,
        data_change=False,
        deletion_timestamp=_now_ms(),
        size=file.size,
        partition_values=dict(file.partition),
    )


def live_file(row: Mapping[str, Any], partition_by: Iterable[str]) -> LiveFile:
    """A file from a row of Delta Lake's list of them."""
    ranges = {
        name.removeprefix("min."): (least, row[f"max.{name.removeprefix('min.')}"])
        for name, least in row.items()
        if name.startswith("min.") and f"max.{name.removeprefix('min.')}" in row
    }
    partition = {name: row[f"partition.{name}"] for name in partition_by}
    return LiveFile(unquote(row["path"]), row["size_bytes"], partition, row["num_records"], ranges)


def _now_ms() -> int:
    """Time of a commit's entries: the wall clock, as Delta Lake's own; it is no part of what the ledger says."""
    return round(time.time() * 1000)
