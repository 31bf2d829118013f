"""Verification of a ledger: files, hashes, chains, trees, checkpoints, artifacts, journals and logs.

The history is read file by file, in row groups, so that memory does not grow with it; only leaf hashes are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import duckdb
import polars as pl
import pyarrow as pa

from ledgerkit import errors, tables
from ledgerkit.store.arrow import read_batches
from ledgerkit.store.delta import LiveFile
from ledgerkit.store.erasures import ERASURES, explained_erasures
from ledgerkit.store.heads import checkpoint_of
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.checks import (
    check_chains,
    check_checkpoints,
    check_leaves,
    check_messages,
    check_runs,
)
from ledgerkit.store.integrity.findings import LIMITS, IntegrityFinding, Rule, VerificationReport
from ledgerkit.store.integrity.tree import Tree
from ledgerkit.store.journal import read_journal
from ledgerkit.store.parquet import complete
from ledgerkit.store.storage import Storage

_BATCH_ROWS: Final = 16_384
_LIGHT: Final = (
    "session_id", "run_id", "revision", "sequence_no", "message_id", "leaf_index", "leaf_hash", "prev_hash", "erased",
)  # fmt: skip
_HASHES_ONLY: Final = (*_LIGHT, "part_index")
_MESSAGE: Final = ("session_id", "run_id", "revision", "sequence_no")
_KEPT: Final = ("session_id", "run_id", "sequence_no", "message_id", "leaf_index", "leaf_hash")
_EVERY_CELL: Final = "select max(hash(t)) from read_parquet($1, hive_partitioning = false) t"
_ARTIFACT: Final = r"artifact:([0-9a-f]{32})"
_UNREADABLE: Final = (OSError, pa.ArrowException, pl.exceptions.PolarsError, ValueError)


@dataclass(slots=True)
class _Seen:
    """What is kept of the history while its files go by."""

    light: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    referenced: set[str] = field(default_factory=set[str])
    erased: dict[str, str] = field(default_factory=dict[str, str])
    erased_runs: dict[str, str] = field(default_factory=dict[str, str])

    def unerased(self, ids: Iterable[str]) -> set[str]:
        """Those messages that are there with their content."""
        wanted = pl.Series("message_id", sorted(ids), pl.String).to_frame()
        there = [frame.join(wanted, on="message_id", how="semi")["message_id"] for frame in self.light]
        return {message for frame in there for message in frame} - self.erased.keys()


def verify(
    storage: Storage,
    *,
    checkpoints: Sequence[Checkpoint] = (),
    since: Checkpoint | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> VerificationReport:
    """Verifies a ledger.

    Args:
        storage: The ledger.
        checkpoints: Checkpoints that were kept elsewhere.
        since: A trusted checkpoint; only what came after it is hashed again.
        sample: Hash only so many messages again, drawn with ``seed``; chains and trees are checked whole.
        seed: Seed of the sample.
    """
    report = VerificationReport()
    external = [*checkpoints, *([since] if since else [])]
    report.external = bool(external)
    _check_log(storage, report)
    _check_journals(storage, report)
    seen = _Seen()
    wanted = _Wanted.drawn(storage, since, sample, seed)
    readable = _check_history(storage, wanted, seen, report)
    readable &= _check_run_rows(storage, seen, report)
    _check_heads(storage, external, seen, report, readable=readable)
    if since is None and sample is None:
        _check_artifacts(storage, seen.referenced, report)
        _check_queries(storage, report)
    _check_erasures(storage, seen, report)
    report.limits = _limits(report, wanted)
    return report


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which messages are hashed again."""

    begin: int
    sampled: frozenset[int] | None
    total: int

    @classmethod
    def drawn(cls, storage: Storage, since: Checkpoint | None, sample: int | None, seed: int) -> _Wanted:
        begin, size = (since.size if since else 0), storage.store.size("history")
        population = range(min(begin, size), size)
        if sample is None:
            return cls(begin, None, len(population))
        drawn = random.Random(seed).sample(population, min(sample, len(population)))  # noqa: S311 - a sample, no secret
        return cls(begin, frozenset(drawn), len(population))

    def touches(self, file: LiveFile) -> bool:
        """Whether a file may hold one of them."""
        least, greatest = file.ranges.get("leaf_index", (None, None))
        if least is None or greatest is None:
            return True
        if self.sampled is not None:
            return any(least <= index <= greatest for index in self.sampled)
        return greatest >= self.begin

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Those of some rows; a message's later parts follow its first."""
        index = pl.col("leaf_index")
        chosen = (
            (index >= self.begin) | index.is_null()
            if self.sampled is None
            else index.is_in(list(self.sampled)) | index.is_null()
        )
        if self.begin == 0 and self.sampled is None:
            return rows
        firsts = rows.filter((pl.col("part_index") == 0) & chosen).select(
            "session_id", "run_id", "revision", "sequence_no"
        )
        return rows.join(firsts, on=firsts.columns, how="semi", maintain_order="left")


# History


def _check_history(storage: Storage, wanted: _Wanted, seen: _Seen, report: VerificationReport) -> bool:
    """Hashes messages again, and chains them. Whether all files could be read."""
    readable = True
    partitions: dict[str, list[LiveFile]] = {}
    for file in storage.store.live_files("history"):
        partitions.setdefault(str(file.partition["run_date"]), []).append(file)
    for _, files in sorted(partitions.items()):
        light: list[pl.DataFrame] = []
        for file in files:
            try:
                columns = None if wanted.touches(file) else _HASHES_ONLY
                for rows in whole_messages(_batches(storage, "history", file, columns)):
                    light.append(rows.filter(pl.col("part_index") == 0).select(_LIGHT))
                    _note(rows, seen)
                    if wanted.touches(file):
                        chosen = wanted.of(rows)
                        report.rehashed += chosen.filter(pl.col("part_index") == 0).height
                        report.findings += check_messages(chosen)
            except _UNREADABLE as error:
                readable = False
                report.findings.append(_unreadable("history", file, error))
        messages = (
            pl.concat(light).sort("session_id", "run_id", "revision", "sequence_no", "leaf_index") if light else None
        )
        if messages is not None:
            report.findings += check_chains(messages)
            report.messages += messages.height
            seen.light.append(
                messages.select("session_id", "run_id", "sequence_no", "message_id", "leaf_index", "leaf_hash")
            )
    return readable


def _batches(
    storage: Storage, name: str, file: LiveFile, columns: Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """A file in pieces, its pages checked against their checksums; columns that are not asked for are null."""
    table = tables.TABLES[name]
    for frame in read_batches(storage.store.fetch(name, file.path, anew=True), _BATCH_ROWS, columns):
        if columns is None and storage.store.is_uniform(name):
            wanted = set(table.names) - set(table.partition_by)
            if odd := sorted(wanted.symmetric_difference(frame.columns)):
                raise ValueError(f"Its columns are not those of {name!r}: {', '.join(odd)}.")
        yield complete(frame, table, file.partition)


def whole_messages(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows, cut so that a message is never cut."""
    rest: pl.DataFrame | None = None
    for batch in batches:
        rows = batch if rest is None else pl.concat([rest, batch])
        if rows.is_empty():
            continue
        last = rows.select("session_id", "run_id", "revision", "sequence_no").row(-1)
        is_last = pl.all_horizontal(
            pl.col(name) == value
            for name, value in zip(("session_id", "run_id", "revision", "sequence_no"), last, strict=True)
        )
        tail = int(rows.select(is_last.reverse().cum_prod().sum()).item())
        if rows.height > tail:
            yield rows.head(rows.height - tail)
        rest = rows.tail(tail)
    if rest is not None and rest.height:
        yield rest


def _note(rows: pl.DataFrame, seen: _Seen) -> None:
    """Which artifacts rows refer to, and which of them were erased."""
    seen.referenced.update(rows["artifact_refs"].explode().drop_nulls())
    named = rows["metadata"].drop_nulls()
    seen.referenced.update(named.str.extract_all(_ARTIFACT).explode().drop_nulls().str.strip_prefix("artifact:"))
    erased = rows.filter(pl.col("erased").is_not_null()).select("message_id", "erased").unique()
    seen.erased.update(erased.iter_rows())


def _unreadable(name: str, file: LiveFile, error: BaseException) -> IntegrityFinding:
    ranges = ", ".join(
        f"{column} {least} to {greatest}"
        for column, (least, greatest) in sorted(file.ranges.items())
        if column in ("session_id", "run_id", "sequence_no", "leaf_index", "content_id") and least is not None
    )
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    held = f"It holds {file.rows} rows" + (f" ({ranges})." if ranges else ".")
    return IntegrityFinding(Rule.UNREADABLE_FILE, f"{what[:200]} {held}", file=f"{name}/{file.path}")


# Runs, heads and checkpoints


def _rows(storage: Storage, name: str, report: VerificationReport) -> pl.DataFrame | None:
    """All rows of a small table; ``None`` if a file of it cannot be read."""
    frames: list[pl.DataFrame] = [tables.TABLES[name].empty()]
    is_whole = True
    for file in storage.store.live_files(name):
        try:
            frames += _batches(storage, name, file)
        except _UNREADABLE as error:
            is_whole = False
            report.findings.append(_unreadable(name, file, error))
    return pl.concat(frames) if is_whole else None


def _check_run_rows(storage: Storage, seen: _Seen, report: VerificationReport) -> bool:
    rows = _rows(storage, "runs", report)
    if rows is None:
        return False
    report.runs = rows.height
    report.findings += check_runs(rows)
    erased = rows.filter(pl.col("erased").is_not_null())
    seen.erased_runs.update(erased.select("run_id", "erased").iter_rows())
    return True


def _check_heads(
    storage: Storage, external: Sequence[Checkpoint], seen: _Seen, report: VerificationReport, *, readable: bool
) -> None:
    for name in ("imports", "snapshots", "redactions"):
        _rows(storage, name, report)  # nothing vouches for their rows, but their files can be read or not
    kept = _rows(storage, "checkpoints", report)
    runs = _rows(storage, "runs", VerificationReport())
    if not readable or kept is None or runs is None:
        return  # what cannot be read is missing from the trees, and its file was named
    messages = pl.concat(seen.light) if seen.light else tables.HISTORY.empty()
    messages, runs = messages.sort("leaf_index"), runs.sort("leaf_index")
    report.findings += check_leaves(messages, storage.store.size("history"))
    report.findings += check_leaves(runs, storage.store.size("runs"))
    named = list(_own_checkpoints(storage, kept, report))
    for number, checkpoint in enumerate(external, 1):
        if checkpoint.origin == storage.layout.origin:
            named.append((f"The checkpoint from outside ({number})", checkpoint))
        else:
            detail = f"The checkpoint from outside ({number}) is of {checkpoint.origin}, not {storage.layout.origin}."
            report.findings.append(IntegrityFinding(Rule.FOREIGN_CHECKPOINT, detail))
    report.checkpoints = len(named)
    roots = _roots(messages["leaf_hash"], {checkpoint.size for _, checkpoint in named})
    run_roots = _roots(runs["row_hash"], {checkpoint.runs_size for _, checkpoint in named})
    report.findings += check_checkpoints(named, roots, run_roots)


def _own_checkpoints(
    storage: Storage, rows: pl.DataFrame, report: VerificationReport
) -> Iterator[tuple[str, Checkpoint]]:
    before: str | None = None
    ordered = rows.sort("tree_size", "runs_size", "created_at")
    for number, row in enumerate(ordered.iter_rows(named=True), 1):
        made = checkpoint_of(storage.layout.origin, row)
        name = f"Checkpoint {number} of the ledger ({made.created_at:%Y-%m-%d %H:%M})"
        if made.id != row["checkpoint_id"] or made.previous != before:
            report.findings.append(
                IntegrityFinding(Rule.BROKEN_CHECKPOINT, f"{name} does not fit its id, or the one before it.")
            )
        before = row["checkpoint_id"]
        yield name, made


def _roots(leaves: pl.Series, sizes: Iterable[int]) -> Mapping[int, bytes]:
    """Roots of the tree at some sizes; of those that it does not reach, none."""
    tree = Tree()
    roots: dict[int, bytes] = {}
    hashes = [leaf or b"" for leaf in leaves]
    for size in sorted(sizes):
        if size > len(hashes):
            break
        tree.extend(hashes[tree.size : size])
        roots[size] = tree.root()
    return roots


# Artifacts, erasures, journals, logs


def _check_artifacts(storage: Storage, referenced: set[str], report: VerificationReport) -> None:
    held: set[str] = set()
    is_whole = True
    for file in storage.store.live_files("artifacts"):
        try:
            for rows in _batches(storage, "artifacts", file):
                for content_id, content in rows.select("content_id", "content").iter_rows():
                    held.add(content_id)
                    report.artifacts += 1
                    if content is None or storage.layout.content_id(content) != content_id:
                        report.findings.append(
                            IntegrityFinding(
                                Rule.ALTERED_ARTIFACT,
                                f"The content of artifact {content_id} is not what its id says.",
                                file=f"artifacts/{file.path}",
                            )
                        )
        except _UNREADABLE as error:
            is_whole = False
            report.findings.append(_unreadable("artifacts", file, error))
    for content_id in sorted(referenced - held) if is_whole else ():
        detail = f"Artifact {content_id} is referred to, and is not there."
        report.findings.append(IntegrityFinding(Rule.MISSING_ARTIFACT, detail))


def _check_queries(storage: Storage, report: VerificationReport) -> None:
    """Whether queries can read every file too: their engine reads footers more strictly than the reader above."""
    named = {finding.file for finding in report.findings}
    with duckdb.connect() as connection:
        for name in tables.TABLES:
            for file in storage.store.live_files(name):
                if f"{name}/{file.path}" in named:
                    continue
                path = str(storage.store.fetch(name, file.path))
                try:
                    connection.execute(_EVERY_CELL, [path]).fetchall()
                except (duckdb.Error, UnicodeDecodeError) as error:
                    report.findings.append(_unreadable(name, file, error))


def _check_erasures(storage: Storage, seen: _Seen, report: VerificationReport) -> None:
    """Whether each erasure has a record that names what was erased, and each record was carried out."""
    report.erased = len(seen.erased)
    if report.messages == 0:
        return
    try:
        explained = explained_erasures(storage)
    except (errors.LedgerkitError, duckdb.Error, UnicodeDecodeError) as error:
        report.findings.append(IntegrityFinding(Rule.UNEXPLAINED_ERASURE, f"Records cannot be read: {error}"))
        return
    for message_id, record in sorted(seen.erased.items()):
        if message_id not in explained.get(record, ()):
            report.findings.append(_unexplained(record, message_id=message_id))
    for run_id, record in sorted(seen.erased_runs.items()):
        if run_id not in explained.get(record, ()):
            report.findings.append(_unexplained(record, run_id=run_id))
    named = {message_id: record for record, ids in sorted(explained.items()) for message_id in ids}
    for message_id in sorted(named.keys() & seen.unerased(named)):
        detail = f"Its erasure is recorded ({named[message_id]}), and it still has content: erase it again."
        report.findings.append(IntegrityFinding(Rule.INCOMPLETE_ERASURE, detail, message_id=message_id))


def _unexplained(record: str, *, message_id: str | None = None, run_id: str | None = None) -> IntegrityFinding:
    detail = f"Its content is marked as erased by {record}, which is no record of the run {ERASURES} that names it."
    return IntegrityFinding(Rule.UNEXPLAINED_ERASURE, detail, message_id=message_id, run_id=run_id)


def _check_journals(storage: Storage, report: VerificationReport) -> None:
    kept = [path for path in storage.layout.journals.glob("*.journal*") if path.suffix in (".journal", ".damaged")]
    for path in sorted(kept):  # what a crash left of a journal in the making belongs to nobody
        name = f"journal/{path.name}"
        try:
            content = read_journal(path)
        except FileNotFoundError:  # sealed in the meantime
            continue
        except (errors.JournalError, ValueError) as error:
            report.findings.append(IntegrityFinding(Rule.DAMAGED_JOURNAL, str(error), file=name))
            continue
        if path.suffix == ".journal":
            report.journaled += len(content.records)
        for at, length in content.damaged:
            report.findings.append(
                IntegrityFinding(
                    Rule.DAMAGED_JOURNAL,
                    f"The record at byte {at} ({length} bytes) is damaged; those after it are whole.",
                    session_id=content.header.session_id,
                    run_id=content.header.run_id,
                    file=name,
                )
            )


def _check_log(storage: Storage, report: VerificationReport) -> None:
    handle = storage.store.handle("history")
    if handle.metadata().configuration.get("delta.appendOnly") != "true":
        detail = "The history's append-only property was switched off."
        report.findings.append(IntegrityFinding(Rule.NOT_APPEND_ONLY, detail))
    for entry in handle.history():
        if entry.get("operation") in ("RESTORE", "DELETE", "UPDATE", "MERGE", "SET TBLPROPERTIES", "OPTIMIZE"):
            detail = f"Version {entry['version']} of the history is a {entry['operation']}: no work of this ledger."
            report.findings.append(IntegrityFinding(Rule.NOT_APPEND_ONLY, detail))


def _limits(report: VerificationReport, wanted: _Wanted) -> list[str]:
    limits = [] if report.external else [LIMITS]
    if wanted.sampled is not None and wanted.total:
        limits.append(
            f"{len(wanted.sampled)} of {wanted.total} messages were hashed again: if one in a hundred was altered, "
            f"this finds at least one with probability {1 - 0.99 ** len(wanted.sampled):.3f}."
        )
    if wanted.begin:
        limits.append(
            f"The first {wanted.begin} messages were not hashed again; the checkpoint vouches for their hashes."
        )
    if report.journaled:
        limits.append(f"{report.journaled} messages in journals have checksums, but no leaf yet: seal them.")
    return limits
