"""The numbers behind the pictures: frames in, small frames out, no Altair.

One rule: a picture and the table that stands in for it show the same numbers.  What is unknown is null or counted,
never zero; what does not fit is summed into a last row, never dropped.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import ToolStatus
from ledgerkit.safety.inert import inert_terminal

NOT_RECORDED: Final = "not recorded"
LABEL_LENGTH: Final = 34

_PERIODS: Final = (("day", "1d", 120), ("week", "1w", 840), ("month", "1mo", None))
FAILED: Final = [ToolStatus.FAILED.value, ToolStatus.TIMED_OUT.value]
"""How a call ends that did not work."""


def cost_by_label(costs: pl.DataFrame, label: str, *, top: int = 10) -> pl.DataFrame:
    """Cost by a label, the dearest first, the rest in one row.

    Args:
        costs: Columns ``label``, ``cost`` (US dollars; null where unknown) and, if there, ``calls`` and
            ``unpriced_calls``: what ``cost.group_costs(priced, [label])`` returns.
        label: The column to group by.
        top: Number of labels with a row of their own.

    Returns:
        Columns ``label``, ``cost``, ``calls``, ``unpriced_calls``.
    """
    counts = [name for name in ("calls", "unpriced_calls") if name in costs.columns]
    named = costs.select(_named(label).alias("label"), "cost", *counts).sort(
        pl.col("cost"), "label", descending=[True, False], nulls_last=True
    )
    rest = named.slice(top)
    if rest.height <= 1:
        return named
    total = pl.when(pl.col("cost").is_not_null().any()).then(pl.col("cost").sum()).alias("cost")
    others = rest.select(pl.lit(f"{rest.height} others").alias("label"), total, *(pl.col(c).sum() for c in counts))
    return pl.concat([named.head(top), others.cast(named.schema)])


def cost_by_period(costs: pl.DataFrame, *, models: int = 6) -> tuple[str, pl.DataFrame]:
    """Cost by model and day; by week or month where the days are too many for a picture.

    Args:
        costs: Columns ``day`` (date), ``model`` and ``cost``, as ``cost.group_costs(priced, ["day", "model"])`` returns
            them. Rows without a day or a cost are left out.
        models: Number of models with a name of their own.

    Returns:
        ``day``, ``week`` or ``month``; and columns ``period`` (its first day), ``model``, ``rank`` (place of the model
        by total, from 0; the rest last) and ``cost``, periods ascending and then by rank.
    """
    known = costs.filter(pl.col("day").is_not_null() & pl.col("cost").is_not_null())
    named = known.select("day", _named("model").alias("model"), "cost")
    totals = named.group_by("model").agg(pl.col("cost").sum()).sort("cost", "model", descending=[True, False])
    ranked = _ranked(totals.select(pl.col("model").alias("name")), models)
    days = named.select((pl.col("day").max() - pl.col("day").min()).dt.total_days()).item() or 0
    name, every = next((name, every) for name, every, longest in _PERIODS if longest is None or days < longest)
    shaped = (
        named.join(ranked, left_on="model", right_on="name")
        .group_by(pl.col("day").dt.truncate(every).alias("period"), "rank", "label")
        .agg(pl.col("cost").sum())
        .sort("period", "rank")
    )
    return name, shaped.select("period", pl.col("label").alias("model"), pl.col("rank").cast(pl.Int64), "cost")


def tool_statistics(calls: pl.DataFrame, *, top: int = 12) -> pl.DataFrame:
    """Calls by tool, the most used first, the rest in one row.

    Args:
        calls: One row per call: ``tool_name``, ``status`` and, if there, ``duration_s``, as in the view ``tool_calls``.
        top: Number of tools with a row of their own.

    Returns:
        Columns ``tool``, ``calls``, ``succeeded``, ``failed`` (errors and time-outs), ``other`` (cancelled, or no
        result recorded) and ``median_s``: seconds, null where none is recorded.
    """
    seconds = pl.col("duration_s") if "duration_s" in calls.columns else pl.lit(None, pl.Float64)
    named = calls.select(_named("tool_name").alias("tool"), "status", seconds.alias("seconds"))
    used = named.group_by("tool").len().sort("len", "tool", descending=[True, False])
    failed = pl.col("status").is_in(FAILED).fill_null(value=False)
    succeeded = (pl.col("status") == ToolStatus.SUCCEEDED.value).fill_null(value=False)
    return (
        named.join(_ranked(used.select(pl.col("tool").alias("name")), top), left_on="tool", right_on="name")
        .group_by("rank", pl.col("label").alias("tool"))
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            succeeded.sum().cast(pl.Int64).alias("succeeded"),
            failed.sum().cast(pl.Int64).alias("failed"),
            (~failed & ~succeeded).sum().cast(pl.Int64).alias("other"),
            pl.col("seconds").median().alias("median_s"),
        )
        .sort("rank")
        .drop("rank")
    )


def display_labels(names: list[str], *, length: int = LABEL_LENGTH) -> list[str]:
    """Names as labels of a picture: harmless, of one line, not too long, and no two alike.

    Example:
        >>> display_labels(["src/very/long/path/to/some/module.py", "a"], length=20)
        ['src/ver…me/module.py', 'a']
    """
    labels: list[str] = []
    taken: set[str] = set()
    for name in names:
        line = inert_terminal(name).replace("\n", " ").replace("\t", " ").strip()
        label = _shortened(line or "(empty)", length)
        number = 1
        unique = label
        while unique in taken:
            number += 1
            unique = f"{label} ({number})"
        taken.add(unique)
        labels.append(unique)
    return labels


def _named(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null(NOT_RECORDED)


def _ranked(names: pl.DataFrame, top: int) -> pl.DataFrame:
    """``name`` (in order), its ``rank`` and its ``label``; what comes after the first ones is one rank."""
    if names.height <= top + 1:
        return names.with_row_index("rank").with_columns(pl.col("name").alias("label"))
    rest = pl.lit(f"{names.height - top} others")
    return names.with_row_index("place").select(
        "name",
        pl.min_horizontal("place", pl.lit(top)).alias("rank"),
        pl.when(pl.col("place") < top).then("name").otherwise(rest).alias("label"),
    )


def _shortened(label: str, length: int) -> str:
    if len(label) <= length:
        return label
    head = (length - 1) * 2 // 5
    return f"{label[:head]}…{label[head + 1 - length :]}"
