"""Joins along the messages of runs: what came before, how much lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

RUN: Final = ["session_id", "run_id"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What runs did, in the forms of ``ledgerkit.memory.evidence``."""

    calls: pl.DataFrame
    changes: pl.DataFrame
    checks: pl.DataFrame

    @property
    def code_changes(self) -> pl.DataFrame:
        """Changes that a check may depend on: not of documents, and not known to have failed."""
        return self.changes.filter(~pl.col("is_doc"), pl.col("is_ok").fill_null(value=True))


def count_before(
    rows: pl.DataFrame, things: pl.DataFrame, at: str, name: str, *, inclusive: bool = False
) -> pl.DataFrame:
    """Adds how many things of the same run were seen before a place.

    Args:
        rows: With the keys of a run and the column ``at``.
        things: With the keys of a run and ``seen_at``.
        at: The sequence number up to which things count; 0 things where it is null.
        name: The column to add.
        inclusive: Whether things seen at the very place count.
    """
    counted = (
        things.select(*RUN, "seen_at").sort("seen_at").with_columns(pl.int_range(1, pl.len() + 1).over(RUN).alias(name))
    )
    counted = counted.unique([*RUN, "seen_at"], keep="last", maintain_order=True)
    placed = rows.with_row_index("_row").with_columns(pl.col(at).cast(pl.Int64).fill_null(-1).alias("_at")).sort("_at")
    joined = placed.join_asof(
        counted.sort("seen_at"), left_on="_at", right_on="seen_at", by=RUN, strategy="backward",
        allow_exact_matches=inclusive,
        suffix="_counted", check_sortedness=False,
    )  # fmt: skip
    dropped = [column for column in ("_row", "_at", "seen_at_counted") if column in joined.columns]
    if "seen_at" not in rows.columns:
        dropped += [column for column in ("seen_at",) if column in joined.columns]
    return joined.sort("_row").drop(dropped).with_columns(pl.col(name).fill_null(0))


def count_between(rows: pl.DataFrame, things: pl.DataFrame, since: str, until: str, name: str) -> pl.DataFrame:
    """Adds how many things of the same run were seen after one place and before another; null where the first is."""
    counted = count_before(rows, things, until, "_until")
    counted = count_before(counted, things, since, "_since", inclusive=True)
    number = pl.when(pl.col(since).is_not_null()).then((pl.col("_until") - pl.col("_since")).clip(0))
    return counted.with_columns(number.alias(name)).drop("_until", "_since")


def with_changes_since(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Adds ``changes_since`` (from ``seen_at`` to the claim), and ``changed_path`` and ``changed_at`` of the last."""
    changes = evidence.code_changes
    counted = count_between(rows, changes, "seen_at", "sequence_no", "changes_since")
    last = (
        counted.select("claim_id", *RUN, "sequence_no")
        .join(changes.select(*RUN, changed_at="seen_at", changed_path="path"), on=RUN, how="inner")
        .filter(pl.col("changed_at") < pl.col("sequence_no"))
        .sort("claim_id", "changed_at", "changed_path")
        .unique("claim_id", keep="last", maintain_order=True)
        .select("claim_id", "changed_path", "changed_at")
    )
    return counted.join(last, on="claim_id", how="left", maintain_order="left")


def before(rows: pl.DataFrame, things: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a claim and a thing of its run that was seen before it."""
    return rows.join(things, on=RUN, how="inner", maintain_order="left_right").filter(
        pl.col("seen_at") < pl.col("sequence_no")
    )


def after(rows: pl.DataFrame, things: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a claim and a thing of its run that was seen at or after it."""
    return rows.join(things, on=RUN, how="inner", maintain_order="left_right").filter(
        pl.col("seen_at") >= pl.col("sequence_no")
    )


def marks(rows: pl.DataFrame, pairs: pl.DataFrame, name: str) -> pl.DataFrame:
    """Adds whether a claim stands in some pairs."""
    found = pairs.select("claim_id").unique().with_columns(pl.lit(value=True).alias(name))
    return rows.join(found, on="claim_id", how="left", maintain_order="left").with_columns(
        pl.col(name).fill_null(value=False)
    )
