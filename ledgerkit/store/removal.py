"""What an erasure takes away, once its record is committed: content in the tables, files, journals, derived rows.

One rule: the history is rewritten last. An erasure that was cut off finds there what is still to be done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import errors, tables
from ledgerkit.store.derivedfiles import LOCK as DERIVED_LOCK
from ledgerkit.store.derivedfiles import forget_sessions
from ledgerkit.store.journal import JournalHeader, read_journal
from ledgerkit.store.journaled import sealed_mark
from ledgerkit.store.locking import RunLock, exclusive
from ledgerkit.store.maintenance import remove_dead_files
from ledgerkit.store.rewriting import rewrite
from ledgerkit.store.storage import Storage
from ledgerkit.tables import Role

_STILL_USED: Final = """
    select distinct unnest(artifact_refs) as content_id from sealed_history
    where list_has_any(artifact_refs, $ids) and not list_contains($messages, message_id)
"""
_NAMED: Final = r"artifact:([0-9a-f]{32})"


@dataclass(frozen=True, slots=True)
class Erased:
    """What is erased: the record of it, and the messages and runs that it names."""

    record_id: str
    messages: frozenset[str]
    runs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did.

    Attributes:
        record_id: The message that records it; ``None`` if there was nothing to erase.
        messages: Messages whose content was erased.
        runs: Rows of ``runs`` whose content was erased.
        artifacts: Artifacts that went, because nothing else refers to them.
        files: Files that were removed.
    """

    record_id: str | None
    messages: int
    runs: int
    artifacts: int
    files: int


def carry_out(storage: Storage, erased: Erased, held: pl.DataFrame) -> Erasure:
    """Rewrites what holds the content; the history last, so that an erasure that was cut off begins again there."""
    sessions = sorted(set(held["session_id"]))
    gone = _unused_artifacts(storage, held)
    if gone:
        _rewrite(storage, "artifacts", [""], lambda rows: rows.filter(~pl.col("content_id").is_in(gone)))
    _rewrite(storage, "snapshots", [""], lambda rows: rows.filter(~_of_sessions(rows, sessions)))
    touched = storage.database.sealed("select run_id from sealed_runs").filter(_run_rows(erased))
    if touched.height:
        _rewrite(storage, "runs", [""], lambda rows: _without_facts(rows, erased))
    dates = sorted(set(held["run_date"]))
    _rewrite(storage, "history", dates, lambda rows: _without_content(rows, erased))
    files = clean_up(storage, dates, sessions)
    return Erasure(erased.record_id, len(erased.messages), touched.height, len(gone), files)


def clean_up(storage: Storage, dates: Sequence[str], sessions: Sequence[str]) -> int:
    """Removes files that no longer count and may hold what was erased."""
    files = remove_dead_files(storage, "history", dates)
    for name in ("runs", "artifacts", "snapshots"):
        files += remove_dead_files(storage, name, [""])
    with exclusive(storage.layout, DERIVED_LOCK):
        derived = forget_sessions(storage.layout, sessions)
    return derived + len(files) + len(_without_journals(storage, sessions))


def _unused_artifacts(storage: Storage, held: pl.DataFrame) -> list[str]:
    """Artifacts that these rows refer to and that nothing else does."""
    refs = set(held["artifact_refs"].explode().drop_nulls())
    named = held["metadata"].drop_nulls().str.extract_all(_NAMED).explode().drop_nulls()
    refs |= {name.removeprefix("artifact:") for name in named}
    if not refs:
        return []
    parameters = {"ids": sorted(refs), "messages": held["message_id"].unique().to_list()}
    return sorted(refs - set(storage.database.sealed(_STILL_USED, parameters)["content_id"]))


def _rewrite(
    storage: Storage, name: str, partitions: Iterable[str], change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    for partition in partitions:
        files = [f for f in storage.store.live_files(name) if "/".join(map(str, f.partition.values())) == partition]
        if files:
            rewrite(storage, name, files, change, mark=f"ledgerkit/maintenance/{partition}")


def _without_content(rows: pl.DataFrame, erased: Erased) -> pl.DataFrame:
    """Rows of ``history`` whose content is gone; the record's place among others of its source stays."""
    hit = pl.col("message_id").is_in(list(erased.messages))
    content = [c for c in tables.HISTORY.of_role(Role.CONTENT) if c.name != "metadata"]
    kept = pl.col("metadata").map_elements(_lineage_only, return_dtype=pl.String, skip_nulls=True)
    return rows.with_columns(
        *(pl.when(hit).then(pl.lit(None, c.type)).otherwise(pl.col(c.name)).alias(c.name) for c in content),
        pl.when(hit).then(kept).otherwise(pl.col("metadata")).alias("metadata"),
        pl.when(hit).then(pl.lit(None, tables.BYTES)).otherwise(pl.col("salt")).alias("salt"),
        pl.when(hit).then(pl.lit(erased.record_id)).otherwise(pl.col("erased")).alias("erased"),
    )


def _lineage_only(metadata: str) -> str | None:
    """What the importer needs to place a record among others: keys and links, nothing that was said."""
    record: dict[str, Any] = json.loads(metadata).get("record", {})
    record.pop("facts", None)
    return json.dumps({"record": record}, separators=(",", ":")) if record else None


def _run_rows(erased: Erased) -> pl.Expr:
    return pl.col("run_id").is_in(list(erased.runs))


def _without_facts(rows: pl.DataFrame, erased: Erased) -> pl.DataFrame:
    hit = _run_rows(erased)
    content = tables.RUNS.of_role(Role.CONTENT)
    return rows.with_columns(
        *(pl.when(hit).then(pl.lit(None, c.type)).otherwise(pl.col(c.name)).alias(c.name) for c in content),
        pl.when(hit).then(pl.lit(None, tables.BYTES)).otherwise(pl.col("salt")).alias("salt"),
        pl.when(hit).then(pl.lit(erased.record_id)).otherwise(pl.col("erased")).alias("erased"),
    )


def _of_sessions(rows: pl.DataFrame, sessions: Sequence[str]) -> pl.Series:
    """Snapshots that may hold content of some sessions: their own, and those of repositories."""
    return rows.select(pl.col("session_id").is_null() | pl.col("session_id").is_in(list(sessions))).to_series()


def _without_journals(storage: Storage, sessions: Sequence[str]) -> list[str]:
    """Removes journals of sessions: what they hold is sealed, and some of it erased."""
    gone: list[str] = []
    for path in sorted(storage.layout.journals.glob("*.journal*")):
        header = _header_of(path)
        if header is None or header.session_id not in sessions:
            continue
        try:
            lock = RunLock(path, (header.session_id, header.run_id), wait=False)
        except errors.RunLockedError:  # of another run: those of the erased messages were not recorded
            continue
        try:
            if _is_sealed(storage, path):
                path.unlink()
                gone.append(path.name)
        finally:
            lock.release()
    return gone


def _header_of(path: Path) -> JournalHeader | None:
    try:
        return read_journal(path).header
    except (errors.JournalError, FileNotFoundError):
        return None


def _is_sealed(storage: Storage, path: Path) -> bool:
    """Whether nothing stands in a journal alone: a message of another run may have come in meanwhile."""
    try:
        content = read_journal(path)
    except (errors.JournalError, FileNotFoundError):
        return False
    mark = sealed_mark(content.header.session_id, content.header.run_id)
    sealed = storage.store.transaction("history", mark) or 0
    return all(number < sealed for number, _ in content.records)
