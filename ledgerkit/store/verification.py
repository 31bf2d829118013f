"""Verification of a ledger: files, hashes, chains, trees, checkpoints, artifacts, journals and logs.

The history is read file by file, in row groups, so that memory does not grow with it; only leaf hashes are kept.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store.deltacommits import LiveFile
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
from ledgerkit.store.storage import Storage
from ledgerkit.store.verifiedfiles import UNREADABLE, Seen, all_rows, batches, unreadable
from ledgerkit.store.verifiedsides import check_artifacts, check_erasures, check_journals, check_log, check_queries

_LIGHT: Final = (
    "session_id", "run_id", "revision", "sequence_no", "message_id", "leaf_index", "leaf_hash", "prev_hash", "erased",
)  # fmt: skip
_HASHES_ONLY: Final = (*_LIGHT, "part_index")
_MESSAGE: Final = ("session_id", "run_id", "revision", "sequence_no")
_KEPT: Final = ("session_id", "run_id", "sequence_no", "message_id", "leaf_index", "leaf_hash")
_ARTIFACT: Final = r"artifact:([0-9a-f]{32})"


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
    check_log(storage, report)
    check_journals(storage, report)
    seen = Seen()
    wanted = _Wanted.drawn(storage, since, sample, seed)
    readable = _check_history(storage, wanted, seen, report)
    readable &= _check_run_rows(storage, seen, report)
    is_compared = _check_heads(storage, external, seen, report, readable=readable)
    if since is None and sample is None:
        check_artifacts(storage, seen.referenced, report)
        check_queries(storage, report)
    check_erasures(storage, seen, report)
    report.limits = _limits(report, wanted, is_compared=is_compared)
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


def _check_history(storage: Storage, wanted: _Wanted, seen: Seen, report: VerificationReport) -> bool:
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
                for rows in whole_messages(batches(storage, "history", file, columns)):
                    light.append(rows.filter(pl.col("part_index") == 0).select(_LIGHT))
                    _note(rows, seen)
                    if wanted.touches(file):
                        chosen = wanted.of(rows)
                        report.rehashed += chosen.filter(pl.col("part_index") == 0).height
                        report.findings += check_messages(chosen)
            except UNREADABLE as error:
                readable = False
                report.findings.append(unreadable("history", file, error))
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


def _note(rows: pl.DataFrame, seen: Seen) -> None:
    """Which artifacts rows refer to, and which of them were erased."""
    seen.referenced.update(rows["artifact_refs"].explode().drop_nulls())
    named = rows["metadata"].drop_nulls()
    seen.referenced.update(named.str.extract_all(_ARTIFACT).explode().drop_nulls().str.strip_prefix("artifact:"))
    erased = rows.filter(pl.col("erased").is_not_null()).select("message_id", "erased").unique()
    seen.erased.update(erased.iter_rows())


# Runs, heads and checkpoints


def _check_run_rows(storage: Storage, seen: Seen, report: VerificationReport) -> bool:
    rows = all_rows(storage, "runs", report)
    if rows is None:
        return False
    report.runs = rows.height
    report.findings += check_runs(rows)
    erased = rows.filter(pl.col("erased").is_not_null())
    seen.erased_runs.update(erased.select("run_id", "erased").iter_rows())
    return True


def _check_heads(
    storage: Storage, external: Sequence[Checkpoint], seen: Seen, report: VerificationReport, *, readable: bool
) -> bool:
    """Holds trees against heads and checkpoints; whether that could be done."""
    for name in ("imports", "snapshots", "redactions"):
        all_rows(storage, name, report)  # nothing vouches for their rows, but their files can be read or not
    kept = all_rows(storage, "checkpoints", report)
    runs = all_rows(storage, "runs", VerificationReport())
    if not readable or kept is None or runs is None:
        return False  # what cannot be read is missing from the trees, and its file was named
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
    return True


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


def _limits(report: VerificationReport, wanted: _Wanted, *, is_compared: bool) -> list[str]:
    limits = [] if report.external else [LIMITS]
    if not is_compared:
        limits.append(
            "A file cannot be read, so nothing was held against any checkpoint. Restore it, and verify again."
        )
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
