"""The numbers behind the pictures of attributed costs: frames in, small frames out, no Altair.

One rule: what does not fit is summed into a last row, so that every picture shows the whole amount.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.charts.run_shapes import MAX_STEPS
from ledgerkit.charts.shapes import NOT_RECORDED

_MONEY: Final = pl.Decimal(38, 12)
LINE_NAMES: Final = {
    "unseen": "unseen before the log's parts",
    "uncounted": "beyond what parts were counted as",
    "opaque": "sealed content",
    "no_context": "no context recorded",
    "hidden_output": "hidden output",
    "output": "output",
    "fee": "fees",
}
"""What named lines are called in a picture."""


def costs_over_steps(costs: pl.DataFrame, *, most: int = MAX_STEPS, top: int = 6) -> pl.DataFrame:
    """What the calls of a run paid for, by step.

    Args:
        costs: Rows of ``ledger.cost_by_step``: ``step``, ``label``, ``line``, ``cost``.
        most: Columns of the picture; neighbours share one where there are more steps.
        top: Names with a row of their own, the dearest first.

    Returns:
        ``from_step``, ``to_step`` (exclusive), ``name``, ``rank`` (by cost over the whole run) and ``cost``. Calls
        outside the steps are left out.
    """
    rows = costs.filter(pl.col("step").is_not_null()).select(
        pl.col("step").cast(pl.Int64), pl.col("cost").cast(_MONEY), name=_name("label")
    )
    names = rows.group_by("name").agg(pl.col("cost").sum()).sort("cost", "name", descending=[True, False])
    ranked = names.with_row_index("rank").select(
        "name",
        rank=pl.min_horizontal("rank", pl.lit(top)).cast(pl.Int64),
        shown=pl.when(pl.col("rank") < top).then("name").otherwise(pl.lit("others")),
    )
    last = rows["step"].max() if rows.height else 0
    width = max(-(-(int(str(last)) + 1) // most), 1)
    first = pl.col("step") // width * width
    return (
        rows.join(ranked, on="name")
        .group_by(first.alias("from_step"), (first + width).alias("to_step"), "rank", pl.col("shown").alias("name"))
        .agg(pl.col("cost").sum())
        .select("from_step", "to_step", "name", "rank", "cost")
        .sort("from_step", "rank")
    )


def waterfall(costs: pl.DataFrame, label: str, *, top: int = 10) -> pl.DataFrame:
    """Attributed costs one behind the other, up to the whole.

    Args:
        costs: Rows of ``ledger.attribute_cost(label)``: ``label``, ``line``, ``carrying_cost``, ``creation_cost``,
            ``cost``.
        label: The label.
        top: Parts and lines with a row of their own.

    Returns:
        ``name``, ``kind`` (``carrying``, ``creation`` or ``no part``), ``begin`` and ``end``: US dollars, each row
        from where the one before ended; then one row of the kind ``total``. Amounts of 0 have no row.
    """
    is_line = pl.col("line").is_not_null()
    named = costs.select(
        "cost", name=_name(label), carrying=pl.when(~is_line).then("carrying_cost"),
        creation=pl.when(~is_line).then("creation_cost"), other=pl.when(is_line).then("cost"),
    ).sort("cost", "name", descending=[True, False])  # fmt: skip
    rest = named.slice(top)
    if rest.height > 1:
        sums = rest.select(pl.col("cost", "carrying", "creation", "other").fill_null(0).sum().cast(_MONEY))
        others = sums.with_columns(name=pl.lit(f"{rest.height} others"))
        named = pl.concat([named.head(top), others], how="diagonal_relaxed")
    kinds = {"carrying": "carrying", "creation": "creation", "other": "no part"}
    rows = pl.concat(
        named.with_row_index("row").select(
            "row", "name", pl.lit(kind).alias("kind"), pl.lit(place).alias("place"), amount=pl.col(column).cast(_MONEY)
        )
        for place, (column, kind) in enumerate(kinds.items())
    )
    rows = rows.filter(pl.col("amount") > 0).sort("row", "place")
    end = pl.col("amount").cum_sum().cast(_MONEY)
    steps = rows.select("name", "kind", begin=(end - pl.col("amount")).cast(_MONEY), end=end)
    whole = steps.select(
        pl.lit("total").alias("name"), pl.lit("total").alias("kind"), pl.lit(0).cast(_MONEY).alias("begin"),
        pl.col("end").max(),
    )  # fmt: skip
    return pl.concat([steps, whole.drop_nulls()])


def left_of_budget(burned: pl.DataFrame, *, most: int = MAX_STEPS) -> pl.DataFrame:
    """What was left of a budget, at so many calls at most.

    Args:
        burned: Rows of ``ledger.burn_down``: ``number``, ``left``, ``spent``, ``is_over``, ``unpriced_calls``.
        most: Points of the picture; of neighbours the last one stands for all.

    Returns:
        The same columns.
    """
    width = max(-(-burned.height // most), 1)
    kept = burned.filter((pl.col("number") % width == 0) | (pl.col("number") == pl.col("number").max()))
    return kept.select("number", "left", "spent", "is_over", "unpriced_calls")


def _name(label: str) -> pl.Expr:
    line = pl.col("line").replace_strict(LINE_NAMES, default=pl.col("line"), return_dtype=pl.String)
    return pl.when(pl.col("line").is_not_null()).then(line).otherwise(pl.col(label).cast(pl.String)).fill_null(
        NOT_RECORDED
    )  # fmt: skip
