"""What every finder gives: one frame of places, before values are known."""

from __future__ import annotations

from typing import Final

import polars as pl

FOUND: Final = {
    "key": pl.UInt32,
    "kind": pl.String,
    "raw": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "role": pl.String,
    "program": pl.String,
    "base": pl.String,
}


def as_found(found: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Places of a pattern as entities of a kind."""
    return found.with_columns(kind=pl.lit(kind), role=pl.lit(None), program=pl.lit(None), base=pl.lit(""))


def spanning(whole: pl.DataFrame) -> pl.DataFrame:
    """Whole texts as entities; their kind stands beside them."""
    lengths = pl.col("raw").str.len_chars().cast(pl.Int64)
    return as_found(whole.with_columns(start=pl.lit(0, pl.Int64), end=lengths), "path").with_columns(whole["kind"])
