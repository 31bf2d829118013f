"""The log of a Delta table as files: synced after a commit, and mended after a power loss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ledgerkit.store.arrow import read_metadata
from ledgerkit.store.durability import sync_file, sync_folders
from ledgerkit.store.place import Place

_LOG = "_delta_log"
_HINT = "_last_checkpoint"


def has_version(folder: Path, version: int) -> bool:
    """Whether a table's log has a version."""
    return (folder / _LOG / f"{version:020d}.json").exists()


def sync(folder: Path, first: int, last: int) -> None:
    """Waits until some versions of a table, and the one before them, are on disk.

    The one before may be of a rewrite in another process that has not synced it yet, or never will.
    """
    for version in range(max(first - 1, 0), last + 1):
        if version >= first or has_version(folder, version):
            sync_file(folder / _LOG / f"{version:020d}.json")
    sync_folders([folder / _LOG, folder])


def sync_last(folder: Path) -> None:
    """Waits until the last version of a table is on disk."""
    last = max((folder / _LOG).glob("[0-9]*.json"), default=None)
    if last is not None:
        sync_file(last)
        sync_folders([folder / _LOG, folder])


def sync_checkpoint(folder: Path, version: int) -> None:
    """Waits until the log's own checkpoint of a version is on disk."""
    for path in (folder / _LOG).glob(f"{version:020d}.checkpoint*"):
        sync_file(path)
    sync_file(folder / _LOG / _HINT)
    sync_folders([folder / _LOG])


def actions_of(place: Place, name: str, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a version of a table did: kind of action, and of an added file how many ``rows`` it has."""
    try:
        lines = place.read(f"{name}/{_LOG}/{version:020d}.json").splitlines()
    except FileNotFoundError:  # cleaned from the log
        return
    for line in lines:
        actions: dict[str, dict[str, Any]] = json.loads(line)
        for kind, action in actions.items():
            stats: dict[str, Any] = json.loads(action.get("stats") or "{}") if kind == "add" else {}
            yield kind, {**action, "rows": stats.get("numRecords", 0)}


def committed_at(place: Place, name: str, version: int) -> datetime | None:
    """When a version of a table was committed; ``None`` if the log no longer says so."""
    for kind, action in actions_of(place, name, version):
        if kind == "commitInfo" and "timestamp" in action:
            return datetime.fromtimestamp(action["timestamp"] / 1000, UTC)
    return None


def first_columns(place: Place, name: str) -> frozenset[str]:
    """The columns that a table was made with; none if the log no longer says so."""
    for kind, action in actions_of(place, name, 0):
        if kind == "metaData":
            return frozenset(field["name"] for field in json.loads(action["schemaString"])["fields"])
    return frozenset()


def is_torn(folder: Path) -> bool:
    """Whether a power loss left a table's log with a last version, or a checkpoint, that is not whole."""
    return bool(_torn(folder / _LOG))


def mend(folder: Path) -> None:
    """Removes what is torn.

    A commit is acknowledged only after it was synced, so what a power loss tore was acknowledged to nobody.
    """
    if torn := _torn(folder / _LOG):
        for path in torn:
            path.unlink(missing_ok=True)
        sync_folders([folder / _LOG])


def _torn(log: Path) -> list[Path]:
    if not log.is_dir():
        return []
    torn: list[Path] = []
    hint = log / _HINT
    if hint.exists():
        version = _hinted(hint)
        if version is None:
            torn.append(hint)
        elif not _is_whole(log, version):
            torn += [hint, *log.glob(f"{version:020d}.checkpoint*.parquet")]
    last = max(log.glob("[0-9]*.json"), default=None)
    if last is not None and not _is_commit(last):
        torn.append(last)
    return torn


def _hinted(hint: Path) -> int | None:
    try:
        return int(json.loads(hint.read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_whole(log: Path, version: int) -> bool:
    import pyarrow as pa

    files = list(log.glob(f"{version:020d}.checkpoint*.parquet"))
    try:
        return bool(files) and all(read_metadata(file).num_rows >= 0 for file in files)
    except (OSError, pa.ArrowException):
        return False


def _is_commit(path: Path) -> bool:
    try:
        lines = path.read_bytes().splitlines()
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except ValueError:
        return False
