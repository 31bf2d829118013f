"""What is checked, on frames: each check gives findings and names the message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from ledgerkit import tables
from ledgerkit.store.integrity.checkpoints import Checkpoint
from ledgerkit.store.integrity.findings import IntegrityFinding, Rule
from ledgerkit.store.integrity.leaves import (
    ZEROS,
    canonical_messages,
    canonical_runs,
    commitment,
    message_leaf,
    run_leaf,
)
from ledgerkit.tables import Role, Table

_ON_FIRST_PART = ("leaf_hash", "leaf_index", "salt", "content_commit", "prev_hash")
_PLACE = ("session_id", "run_id", "sequence_no", "message_id")


def check_messages(rows: pl.DataFrame) -> Iterator[IntegrityFinding]:
    """Hashes messages again.

    Args:
        rows: Whole messages: rows of ``history`` in the table's order.
    """
    yield from _check_parts(rows)
    yield from _check_erased(rows)
    for row in canonical_messages(rows).iter_rows(named=True):
        place = {name: row[name] for name in _PLACE}
        if row["leaf_hash"] is None or row["content_commit"] is None or row["prev_hash"] is None:
            yield IntegrityFinding(Rule.MISSING_PROOF, "The message has no hashes.", **place)
            continue
        if not _content_fits(row):
            yield IntegrityFinding(Rule.ALTERED_CONTENT, "Its content is not what was committed to.", **place)
        if message_leaf(row["prev_hash"], row["content_commit"], row["fixed"]) != row["leaf_hash"]:
            yield IntegrityFinding(Rule.ALTERED_MESSAGE, "The message is not what its leaf hash says.", **place)


def _content_fits(row: Mapping[str, Any]) -> bool:
    """Whether the content is what was committed to; of what was erased the salt is gone."""
    if row["erased"] is not None:
        return row["salt"] is None
    return row["salt"] is not None and commitment(row["salt"], row["content"]) == row["content_commit"]


def _left_content(table: Table) -> pl.Expr:
    """Whether a row that is marked as erased still has content. Its place among other records stays, as it must."""
    names = [column.name for column in table.of_role(Role.CONTENT) if column.name != "metadata"]
    left = pl.any_horizontal(pl.col(name).is_not_null() for name in names)
    if "metadata" in table.names:
        left |= ~pl.col("metadata").str.starts_with('{"record":').fill_null(value=True)
    return pl.col("erased").is_not_null() & left


def _check_erased(rows: pl.DataFrame) -> Iterator[IntegrityFinding]:
    """Erased is erased whole: no content is left, and all parts say so."""
    marks = pl.col("erased").n_unique().over("session_id", "run_id", "revision", "sequence_no", "message_id")
    wrong = rows.filter(_left_content(tables.HISTORY) | (marks > 1)).select(_PLACE).unique(maintain_order=True)
    for row in wrong.iter_rows(named=True):
        yield IntegrityFinding(
            Rule.ALTERED_CONTENT, "It is marked as erased, and content is left in it, or in a part of it.", **row
        )


def _check_parts(rows: pl.DataFrame) -> Iterator[IntegrityFinding]:
    """Parts are numbered 0, 1, 2, … and only the first has hashes."""
    keys = ["session_id", "run_id", "revision", "sequence_no", "message_id"]
    wrong = (
        rows.group_by(keys, maintain_order=True)
        .agg(
            (pl.col("part_index") == pl.int_range(pl.len(), dtype=pl.Int32)).all().alias("dense"),
            pl.col(_ON_FIRST_PART).slice(1).is_null().all().name.suffix("_bare"),
        )
        .filter(~pl.all_horizontal(pl.col("dense"), pl.col("^.*_bare$")))
    )
    for row in wrong.iter_rows(named=True):
        yield IntegrityFinding(
            Rule.MISSING_PART,
            "Its parts are not numbered 0, 1, 2, …, or a later part carries hashes.",
            **{name: row[name] for name in _PLACE},
        )


def check_runs(rows: pl.DataFrame) -> Iterator[IntegrityFinding]:
    """Hashes rows of ``runs`` again."""
    for row in rows.filter(_left_content(tables.RUNS)).iter_rows(named=True):
        place = {"session_id": row["session_id"], "run_id": row["run_id"]}
        yield IntegrityFinding(Rule.ALTERED_RUN, "The facts are marked as erased, and some are left.", **place)
    for row in canonical_runs(rows).iter_rows(named=True):
        place = {"session_id": row["session_id"], "run_id": row["run_id"]}
        commit = row["content_commit"]
        if row["row_hash"] is None or commit is None:
            yield IntegrityFinding(Rule.MISSING_PROOF, "The row of runs has no hashes.", **place)
        elif not _content_fits(row) or run_leaf(commit, row["fixed"]) != row["row_hash"]:
            yield IntegrityFinding(Rule.ALTERED_RUN, "The facts of the run are not what was committed to.", **place)


def check_chains(messages: pl.DataFrame) -> Iterator[IntegrityFinding]:
    """Whether the messages of each revision of each run are numbered without gaps and follow each other's hashes.

    Args:
        messages: One row a message: ``session_id, run_id, revision, sequence_no, message_id, leaf_hash, prev_hash``,
            of whole runs, sorted by the first four.
    """
    run = ["session_id", "run_id", "revision"]
    before = messages.with_columns(
        pl.col("sequence_no").shift(1).over(run).fill_null(-1).alias("number_before"),
        pl.col("leaf_hash").shift(1).over(run).fill_null(ZEROS).alias("hash_before"),
    )
    step = pl.col("sequence_no") - pl.col("number_before")
    wrong = before.filter((step != 1) | (pl.col("prev_hash") != pl.col("hash_before")))
    for row in wrong.iter_rows(named=True):
        place = {name: row[name] for name in _PLACE}
        number, last = row["sequence_no"], row["number_before"]
        if number == last:
            yield IntegrityFinding(Rule.DUPLICATE_MESSAGE, f"Number {number} is taken twice in the run.", **place)
        elif number > last + 1:
            gap = f"{last + 1}" if number == last + 2 else f"{last + 1} to {number - 1}"
            yield IntegrityFinding(
                Rule.MISSING_MESSAGE,
                f"Before this message, {gap} of its run {'is' if number == last + 2 else 'are'} missing "
                f"(revision {row['revision']}).",
                **place,
            )
        else:
            yield IntegrityFinding(
                Rule.BROKEN_CHAIN, "The message does not follow the one that stands before it.", **place
            )


def check_leaves(leaves: pl.DataFrame, size: int) -> Iterator[IntegrityFinding]:
    """Whether the leaves of a tree are 0, 1, 2, … without gaps.

    Args:
        leaves: One row a leaf, sorted by ``leaf_index``; ``session_id``, ``run_id``, and for messages
            ``sequence_no`` and ``message_id``.
        size: Leaves that the table's log says there are.
    """
    names = [name for name in _PLACE if name in leaves.columns]
    stepped = leaves.with_columns(pl.col("leaf_index").shift(1).fill_null(-1).alias("before"))
    wrong = stepped.filter(pl.col("leaf_index").is_null() | (pl.col("leaf_index") - pl.col("before") != 1))
    for row in wrong.iter_rows(named=True):
        here = {name: row[name] for name in names}
        index, before = row["leaf_index"], row["before"]
        if index is None:
            yield IntegrityFinding(Rule.MISSING_PROOF, "The row has no place in the tree.", **here)
        elif index == before:
            yield IntegrityFinding(Rule.DUPLICATE_MESSAGE, f"Leaf {index} is there twice.", **here)
        else:
            gap = f"Leaf {before + 1} is" if index == before + 2 else f"Leaves {before + 1} to {index - 1} are"
            yield IntegrityFinding(
                Rule.MISSING_MESSAGE, f"{gap} missing, just before this one in order of commit.", **here
            )
    last = leaves["leaf_index"].max() if leaves.height else -1
    if isinstance(last, int) and last + 1 < size:
        one = last + 2 == size
        gap = f"Leaf {size - 1} is" if one else f"Leaves {last + 1} to {size - 1} are"
        gone = f"{size} were committed, the last {'is' if one else 'are'} gone."
        yield IntegrityFinding(Rule.CUT_TAIL, f"{gap} missing: {gone}")


def check_checkpoints(
    checkpoints: Iterable[tuple[str, Checkpoint]], roots: Mapping[int, bytes], run_roots: Mapping[int, bytes]
) -> Iterator[IntegrityFinding]:
    """Whether the trees have the roots that checkpoints state.

    Args:
        checkpoints: What each is called, and the checkpoint.
        roots: Roots of the tree of messages at the sizes that they state; a size that is not there is too large.
        run_roots: The same for ``runs``.
    """
    for name, checkpoint in checkpoints:
        for what, size, stated, known in (
            ("messages", checkpoint.size, checkpoint.root, roots),
            ("rows of runs", checkpoint.runs_size, checkpoint.runs_root, run_roots),
        ):
            if size not in known:
                yield IntegrityFinding(
                    Rule.CUT_TAIL, f"{name} covers {size} {what}; the ledger holds fewer: its tail was cut."
                )
            elif known[size] != stated:
                yield IntegrityFinding(
                    Rule.ROOT_MISMATCH,
                    f"{name} states another root over the first {size} {what}: one of them was changed, moved or "
                    "replaced, together with its hashes.",
                )
