"""The numbers behind the pictures of contexts: frames in, small frames out, no Altair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from ledgerkit.charts.run_shapes import MAX_STEPS
from ledgerkit.charts.shapes import NOT_RECORDED

_TRUST: Final = {
    "PLATFORM_TRUSTED": "platform", "ORG_TRUSTED": "organisation", "USER_TRUSTED": "user", "TOOL_TRUSTED": "tool",
    "MODEL_GENERATED": "model", "REPOSITORY_UNTRUSTED": "repository", "NETWORK_UNTRUSTED": "network",
    "UNKNOWN": "origin unknown",
}  # fmt: skip
_SEVERITIES: Final = ("critical", "high", "medium", "low")
_MARGIN: Final = 0.08


def composition(tokens: pl.DataFrame, *, most: int = MAX_STEPS, top: int = 7) -> pl.DataFrame:
    """What contexts consist of, at so many steps at most.

    Args:
        tokens: ``step``, ``label``, ``tokens``.
        most: Columns of the picture; of neighbours that share one, the last step stands for all.
        top: Labels with a row of their own, the largest first.

    Returns:
        ``from_step``, ``to_step`` (exclusive), ``name``, ``rank`` and ``tokens``. Trust levels are in words.
    """
    named = tokens.select(
        pl.col("step").cast(pl.Int64),
        "tokens",
        name=pl.col("label").cast(pl.String).replace(_TRUST).str.replace_all("_", " ").fill_null(NOT_RECORDED),
    )
    ranks = named.group_by("name").agg(pl.col("tokens").sum()).sort("tokens", "name", descending=[True, False])
    ranked = ranks.with_row_index("rank").select(
        "name",
        rank=pl.min_horizontal("rank", pl.lit(top)).cast(pl.Int64),
        shown=pl.when(pl.col("rank") < top).then("name").otherwise(pl.lit("others")),
    )
    last = int(str(named["step"].max())) + 1 if named.height else 0
    width = max(-(-last // most), 1)
    first = pl.col("step") // width * width
    shown = named.filter(pl.col("step") == pl.min_horizontal(first + width - 1, pl.lit(last - 1)))
    return (
        shown.join(ranked, on="name")
        .group_by(first.alias("from_step"), (first + width).alias("to_step"), "rank", pl.col("shown").alias("name"))
        .agg(pl.col("tokens").sum())
        .select("from_step", "to_step", "name", "rank", "tokens")
        .sort("from_step", "rank")
    )


def flows(actions: pl.DataFrame) -> pl.DataFrame:
    """How many actions untrusted text of each kind led to: ``flow`` in words, ``severity``, ``rank``, ``actions``."""
    order = {name: rank for rank, name in enumerate(_SEVERITIES)}
    source = pl.col("source_trust_level").replace(_TRUST)
    kind = pl.col("source_kind").str.to_lowercase().str.replace_all("_", " ")
    return (
        actions.group_by(
            flow=pl.concat_str(source, pl.lit(", "), kind, pl.lit(" → "), pl.col("sink")),
            severity=pl.col("severity").str.to_lowercase(),
        )
        .agg(actions=pl.len().cast(pl.Int64))
        .with_columns(rank=pl.col("severity").replace_strict(order, default=len(order), return_dtype=pl.Int64))
        .sort("flow", "rank")
    )


def padded(frame: pl.DataFrame, columns: Sequence[str], *, least: float, most: float) -> list[float]:
    """From the lowest to the highest of some columns, with a margin, within bounds."""
    values = pl.concat([frame[name].cast(pl.Float64).rename("v") for name in columns]).drop_nulls()
    if not values.len():
        return [least, most]
    low, high = float(str(values.min())), float(str(values.max()))
    margin = max((high - low) * _MARGIN, 0.01)
    return [max(low - margin, least), min(high + margin, most)]


def at_both_ends(name: str) -> tuple[str, str]:
    """The columns that hold an estimate's interval."""
    return f"{name}_low", f"{name}_high"
