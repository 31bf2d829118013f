"""What a row of waste is: the same for every kind, so that one frame holds them all."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.tables.money import DOLLARS


class Waste(StrEnum):
    """What was paid for without need, or beside the work. Kinds overlap: do not add them up."""

    REPEATED_READ = "repeated_read"
    """A tool's answer whose content the run had read before."""
    UNUSED_OUTPUT = "unused_output"
    """A tool's answer of which nothing that it brought up first was ever written by the model again."""
    RETRY = "retry"
    """A call that failed and was made again."""
    COMPACTION = "compaction"
    """What writing summaries cost."""
    CACHE_MISS = "cache_miss"
    """What it cost more to send again what had stood in the prompt cache."""
    SUBAGENT = "subagent"
    """What a subagent cost, and its share of the session."""


WASTE: Final = pl.Schema(
    {
        "kind": pl.String(),
        "session_id": pl.String(),
        "run_id": pl.String(),
        "step": pl.Int32(),
        "tool_name": pl.String(),
        "path": pl.String(),
        "tokens": pl.Int64(),
        "carried_calls": pl.Int64(),
        "cost": DOLLARS,
        "detail": pl.String(),
        "refs": pl.List(pl.String()),
    }
)
"""Columns of the frame: ``tokens`` and ``cost`` (US dollars) of what is named, ``carried_calls`` (calls whose context
held it; null where nothing was carried), and ``refs``: evidence references, what the row is about first."""


def rows_of(kind: Waste, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of one kind, with nulls for what it does not say."""
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in WASTE.items() if name not in rows.columns]
    return rows.with_columns(*missing).with_columns(kind=pl.lit(kind.value)).select(*WASTE).cast(WASTE)


def reference(column: str) -> pl.Expr:
    """An evidence reference to a message."""
    return pl.format("message:{}", pl.col(column))
