"""A chart of tool calls and how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.charts import axes, palette, shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

_ENDINGS: Final = {"succeeded": palette.FIRST, "failed": palette.FAILURE, "other": palette.REST}


@needs_altair
def tool_calls(calls: pl.DataFrame, *, top: int = 12) -> alt.LayerChart:
    """Horizontal bars: calls by tool, split into those that succeeded, failed, and have no result or were cancelled.

    Args:
        calls: One row per call, with ``tool_name`` and ``status`` as in the view ``tool_calls``.
        top: Tools with a bar of their own.
    """
    import altair as alt

    statistics = shapes.tool_statistics(calls, top=top)
    labels = pl.Series("label", shapes.display_labels(statistics["tool"].to_list()), dtype=pl.String)
    frame = statistics.with_columns(
        labels,
        pl.format("{}", "calls").alias("total"),
        pl.when(pl.col("failed") > 0).then(pl.format(" · {} failed", "failed")).otherwise(pl.lit("")).alias("failures"),
    ).with_columns(pl.concat_str("total", "failures").alias("words"))
    endings = frame.unpivot(list(_ENDINGS), index=["label"], variable_name="ending", value_name="count").with_columns(
        pl.col("ending").replace_strict(list(_ENDINGS), list(range(len(_ENDINGS))), return_dtype=pl.Int64).alias("rank")
    )
    longest = max(frame["calls"].to_list(), default=1)
    order = labels.to_list()
    y = alt.Y("label:N", sort=order, axis=axes.names())
    scale = alt.Scale(domain=[0, longest * 1.3])
    colors = alt.Scale(domain=list(_ENDINGS), range=list(_ENDINGS.values()))
    bars = (
        alt.Chart(endings.filter(pl.col("count") > 0))
        .mark_bar(height=axes.BAR)
        .encode(
            x=alt.X("count:Q", axis=None, scale=scale),
            y=y,
            color=alt.Color("ending:N", scale=colors),
            order=alt.Order("rank:Q"),
            tooltip=["label:N", "ending:N", "count:Q"],
        )
    )
    words = alt.Chart(frame).mark_text(align="left", dx=5).encode(x=alt.X("calls:Q", scale=scale), y=y, text="words:N")
    height = axes.ROW * max(frame.height, 1) + axes.ROW
    return alt.LayerChart(layer=[bars, words]).properties(width=palette.WIDTH, height=height, autosize=axes.fitted())
