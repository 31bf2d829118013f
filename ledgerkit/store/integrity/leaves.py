r"""Leaves: one hash for each message of ``history`` and for each row of ``runs``.

::

    content_commit = SHA-256(salt ‖ canonical content columns)
    leaf_hash      = SHA-256(0x00 ‖ "ledgerkit/message/1\n" ‖ prev_hash ‖ content_commit ‖ canonical fixed columns)

where both canonical forms are those of the message's rows (its parts, in order), each with its length before it.
``prev_hash`` chains the messages of a revision of a run. A row of ``runs`` is hashed likewise, under
``ledgerkit/run/1`` and with zeros for ``prev_hash``. Erasing content removes the salt and the content columns;
the commitment stays, and with it every hash. The leading 0x00 is that of a leaf in RFC 6962.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store.integrity.canonical import canonical_row, netstring
from ledgerkit.tables import Role, Table

ZEROS: Final = bytes(32)
SALT_BYTES: Final = 16
RUN_KEY: Final = ("session_id", "run_id", "revision")
MESSAGE_KEY: Final = (*RUN_KEY, "sequence_no", "message_id")

_MESSAGE_TAG: Final = b"\x00ledgerkit/message/1\n"
_RUN_TAG: Final = b"\x00ledgerkit/run/1\n"

RunKey = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Heads:
    """Where new leaves join what is there.

    Attributes:
        size: Leaves that the tree has.
        last: Leaf hash of the last message of each run and revision that goes on.
    """

    size: int
    last: Mapping[RunKey, bytes]


def commitment(salt: bytes, content: str) -> bytes:
    """The commitment to a content."""
    return sha256(salt + content.encode()).digest()


def message_leaf(prev_hash: bytes, content_commit: bytes, fixed: str) -> bytes:
    """The leaf hash of a message."""
    return sha256(_MESSAGE_TAG + prev_hash + content_commit + fixed.encode()).digest()


def run_leaf(content_commit: bytes, fixed: str) -> bytes:
    """The hash of a row of ``runs``."""
    return sha256(_RUN_TAG + ZEROS + content_commit + fixed.encode()).digest()


def canonical_messages(rows: pl.DataFrame) -> pl.DataFrame:
    """The canonical forms of messages.

    Args:
        rows: Rows of ``history``, those of a message next to each other and in order of ``part_index``.

    Returns:
        One row a message, in the same order: its keys, its proof columns, ``content`` and ``fixed``.
    """
    proofs = [c.name for c in tables.HISTORY.of_role(Role.PROOF)]
    forms = rows.select(*MESSAGE_KEY, *proofs, *_forms(tables.HISTORY, rows))
    return forms.group_by(MESSAGE_KEY, maintain_order=True).agg(
        *(pl.col(name).first() for name in proofs),
        *(netstring(pl.col(name)).str.join("") for name in ("content", "fixed")),
    )


def canonical_runs(rows: pl.DataFrame) -> pl.DataFrame:
    """The canonical forms of rows of ``runs``, in the same order: keys, proof columns, ``content`` and ``fixed``."""
    proofs = [c.name for c in tables.RUNS.of_role(Role.PROOF)]
    return rows.select("session_id", "run_id", "recorded_at", *proofs, *_forms(tables.RUNS, rows))


def _forms(table: Table, rows: pl.DataFrame) -> Iterator[pl.Expr]:
    """The canonical forms of rows. Columns that are null in all of them are left out at once: they leave no trace."""
    for name, role in (("content", Role.CONTENT), ("fixed", Role.FIXED)):
        columns = [column for column in table.of_role(role) if rows[column.name].null_count() < rows.height]
        yield (canonical_row(columns) if columns else pl.lit("")).alias(name)


def with_message_leaves(rows: pl.DataFrame, heads: Heads, random: Callable[[int], bytes]) -> pl.DataFrame:
    """Rows of ``history`` with their proof columns.

    Args:
        rows: New rows, in any order. Those whose content was ``erased`` keep the commitment that they bring.
        heads: What they go on from.
        random: Gives so many random bytes.

    Returns:
        The rows in the table's order. Proof columns stand on part 0 of a message.
    """
    rows = rows.sort(tables.HISTORY.sort_by)
    messages = canonical_messages(rows)
    salts = _salts(messages, random)
    commits = _commits(messages, salts)
    prevs: list[bytes] = []
    leaves: list[bytes] = []
    last = dict(heads.last)
    for session, run, revision, commit, fixed in zip(
        *(messages[name] for name in RUN_KEY), commits, messages["fixed"], strict=True
    ):
        prevs.append(last.get((session, run, revision), ZEROS))
        leaves.append(message_leaf(prevs[-1], commit, fixed))
        last[session, run, revision] = leaves[-1]
    proofs = messages.select(MESSAGE_KEY).with_columns(
        pl.lit(0, tables.SMALL_INT).alias("part_index"),
        pl.int_range(heads.size, heads.size + len(leaves), dtype=tables.INT).alias("leaf_index"),
        pl.Series("leaf_hash", leaves, tables.BYTES),
        pl.Series("prev_hash", prevs, tables.BYTES),
        pl.Series("salt", salts, tables.BYTES),
        pl.Series("content_commit", commits, tables.BYTES),
    )
    bare = rows.drop("leaf_index", "leaf_hash", "prev_hash", "salt", "content_commit", strict=False)
    return bare.join(proofs, on=[*MESSAGE_KEY, "part_index"], how="left", maintain_order="left").select(
        tables.HISTORY.names
    )


def with_run_leaves(rows: pl.DataFrame, size: int, random: Callable[[int], bytes]) -> pl.DataFrame:
    """Rows of ``runs`` with their proof columns, in the table's order; ``size`` rows are there already."""
    rows = rows.sort(tables.RUNS.sort_by)
    forms = canonical_runs(rows)
    salts = _salts(forms, random)
    commits = _commits(forms, salts)
    leaves = [run_leaf(commit, fixed) for commit, fixed in zip(commits, forms["fixed"], strict=True)]
    return rows.with_columns(
        pl.int_range(size, size + len(leaves), dtype=tables.INT).alias("leaf_index"),
        pl.Series("row_hash", leaves, tables.BYTES),
        pl.Series("salt", salts, tables.BYTES),
        pl.Series("content_commit", commits, tables.BYTES),
    ).select(tables.RUNS.names)


def _salts(forms: pl.DataFrame, random: Callable[[int], bytes]) -> list[bytes | None]:
    erased: Sequence[str | None] = forms["erased"].to_list()
    drawn = random(SALT_BYTES * len(erased))
    cut = range(0, len(drawn), SALT_BYTES)
    return [drawn[at : at + SALT_BYTES] if mark is None else None for at, mark in zip(cut, erased, strict=True)]


def _commits(forms: pl.DataFrame, salts: Iterable[bytes | None]) -> list[bytes]:
    """Commitments to contents; an erased content cannot be committed to again, and keeps what it has."""
    kept: Sequence[bytes | None] = forms["content_commit"].to_list()
    return [
        commitment(salt, content) if salt is not None else (old or ZEROS)
        for salt, content, old in zip(salts, forms["content"], kept, strict=True)
    ]
