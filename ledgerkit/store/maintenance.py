"""Care of the store: compaction, vacuum, and what the tables look like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store import derivedfiles
from ledgerkit.store.deltacommits import LiveFile, StaleHeadError
from ledgerkit.store.deltalog import actions_of
from ledgerkit.store.derivedfiles import LOCK as DERIVED_LOCK
from ledgerkit.store.journal import keep_damaged, read_journal
from ledgerkit.store.locking import COMMIT_LOCK, MAINTENANCE_LOCK, RunLock, exclusive
from ledgerkit.store.rewriting import rewrite
from ledgerkit.store.sealing import Sealing, seal_under_lock
from ledgerkit.store.storage import Storage
from ledgerkit.tables import TABLES

SMALL_ROWS: Final = 500_000
"""A file with fewer rows is put together with others."""
RETENTION_HOURS: Final = 168
_ATTEMPTS: Final = 5


def seal_abandoned(storage: Storage, sealing: Sealing, *, now: datetime) -> int:
    """Seals the journals that no recorder writes, and removes them.

    Returns:
        How many there were.
    """
    done = 0
    with exclusive(storage.layout, COMMIT_LOCK):
        for path in sorted(storage.layout.journals.glob("*.journal")):
            try:
                content = read_journal(path)
            except (FileNotFoundError, errors.JournalError):  # gone in the meantime; or damaged, which verify reports
                continue
            header = content.header
            try:
                lock = RunLock(path, (header.session_id, header.run_id), wait=False)
            except errors.RunLockedError:
                continue
            try:
                done += _seal_dead(storage, path, sealing, now)
            finally:
                lock.release()
    return done


def _seal_dead(storage: Storage, path: Path, sealing: Sealing, now: datetime) -> int:
    try:
        content = read_journal(path)  # again: its recorder may have written until we had its lock
    except FileNotFoundError:
        return 0
    seal_under_lock(storage, content, sealing, now=now)
    if content.damaged:
        keep_damaged(path, content.header.first)
    path.unlink()
    return 1


def compact(storage: Storage, sealing: Sealing, *, now: datetime, everything: bool = False) -> pl.DataFrame:
    """Puts small files together: sorted, checked against the hashes of what they replace, and safe beside writers.

    Args:
        storage: The ledger.
        sealing: What sealing needs; journals without a recorder are sealed first.
        now: Time of a seal.
        everything: Rewrite large files too, so that all rows of a partition are in one order.

    Returns:
        One row a partition that was rewritten: ``table, partition, files_before, files_after, rows``.

    Raises:
        IntegrityError: If a hash does not fit; nothing is changed then.
    """
    seal_abandoned(storage, sealing, now=now)
    done: list[tuple[str, str, int, int, int]] = []
    with exclusive(storage.layout, MAINTENANCE_LOCK):
        for name in TABLES:
            for partition in sorted({_partition(file) for file in storage.store.live_files(name)}):
                row = _compact_partition(storage, name, partition, everything=everything)
                if row is not None:
                    done.append(row)
    columns = {"table": pl.String, "partition": pl.String, "files_before": pl.Int64, "files_after": pl.Int64}
    return pl.DataFrame(done, {**columns, "rows": pl.Int64}, orient="row")


def _compact_partition(
    storage: Storage, name: str, partition: str, *, everything: bool
) -> tuple[str, str, int, int, int] | None:
    for _ in range(_ATTEMPTS):
        files = [file for file in storage.store.live_files(name) if _partition(file) == partition]
        chosen = files if everything else [file for file in files if file.rows < SMALL_ROWS]
        if len(chosen) < 2:
            return None
        try:
            written = rewrite(storage, name, chosen, mark=f"ledgerkit/maintenance/{partition}")
        except StaleHeadError:  # a commit that the locks do not cover; look again
            continue
        return (name, partition, len(chosen), len(written), sum(file.rows for file in chosen))
    raise errors.LedgerConflictError(f"Other writers kept changing {name!r}. Compact it when they are done.")


def _partition(file: LiveFile) -> str:
    return "/".join(str(value) for value in file.partition.values())


def vacuum(storage: Storage, *, hours: int = RETENTION_HOURS, dry_run: bool = False) -> pl.DataFrame:
    """Removes files that no version younger than some hours uses, and those that a crash left behind.

    Files of derived tables go if an earlier version of their extractor wrote them.

    Versions that need them can no longer be opened with ``as_of``.

    Returns:
        One row a file: ``table, file, bytes``.

    Raises:
        ValueError: If the hours are negative.
    """
    if hours < 0:
        raise ValueError(f"hours are not negative: {hours}")
    gone: list[tuple[str, str, int]] = []
    with exclusive(storage.layout, MAINTENANCE_LOCK), exclusive(storage.layout, COMMIT_LOCK):
        for name in TABLES:
            handle, place = storage.store.handle(name), storage.layout.place
            paths = handle.vacuum(retention_hours=hours, dry_run=True, enforce_retention_duration=False, full=True)
            there = [path for path in sorted(paths) if place.exists(f"{name}/{path}")]
            gone += [(name, path, place.size(f"{name}/{path}")) for path in there]
            for path in () if dry_run else there:
                place.remove(f"{name}/{path}")
        with exclusive(storage.layout, DERIVED_LOCK):
            for name, path in derivedfiles.outdated(storage.layout):
                gone.append((name, f"{path.parent.name}/{path.name}", path.stat().st_size))
                if not dry_run:
                    path.unlink()
    return pl.DataFrame(gone, {"table": pl.String, "file": pl.String, "bytes": pl.Int64}, orient="row")


def info(storage: Storage) -> pl.DataFrame:
    """The stored and derived tables: ``table, version, files, rows, bytes, leaves, partitions``."""
    rows: list[dict[str, Any]] = []
    for name in TABLES:
        files = storage.store.live_files(name)
        rows.append({
            "table": name,
            "version": storage.store.handle(name).version(),
            "files": len(files),
            "rows": sum(file.rows for file in files),
            "bytes": sum(file.size for file in files),
            "leaves": storage.store.size(name) if name in ("history", "runs") else None,
            "partitions": len({_partition(file) for file in files}),
        })  # fmt: skip
    rows += [{**facts, "leaves": None, "partitions": None} for facts in storage.database.derived.facts()]
    return pl.DataFrame(rows, infer_schema_length=None)


def commits(storage: Storage, name: str = "history", limit: int | None = None) -> pl.DataFrame:
    """Commits of a table, newest first; columns as :meth:`ledgerkit.Ledger.commits` says."""
    entries = storage.store.handle(name).history(limit)
    rows = [{**_effects(storage, name, entry["version"]), **_said(entry)} for entry in entries]
    kinds = {"version": pl.Int64, "committed_at": pl.Datetime("us", "UTC"), "operation": pl.String}
    counts = {"rows_added": pl.Int64, "files_added": pl.Int64, "files_removed": pl.Int64}
    return pl.DataFrame(rows, {**kinds, **counts}, orient="row")


def _said(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": entry["version"],
        "committed_at": int(entry["timestamp"]) * 1000,
        "operation": entry.get("operation"),
    }


def _effects(storage: Storage, name: str, version: int) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for kind, action in actions_of(storage.layout.place, name, version):
        counts[kind] += 1
        counts["rows"] += action.get("rows", 0)
    return {"rows_added": counts["rows"], "files_added": counts["add"], "files_removed": counts["remove"]}


def remove_dead_files(storage: Storage, name: str, partitions: Iterable[str]) -> list[str]:
    """Removes every file of some partitions that the newest version does not use. Both locks are held.

    Returns:
        Their paths.
    """
    place = storage.layout.place
    live = {file.path for file in storage.store.live_files(name)}
    gone: list[str] = []
    for partition in sorted(set(partitions)):
        column = TABLES[name].partition_by
        below = f"{name}/{column[0]}={partition}" if column else name
        for path in list(place.files(below)):
            relative = path.removeprefix(f"{name}/")
            if relative.endswith(".parquet") and relative not in live:
                place.remove(path)
                gone.append(relative)
    return gone
