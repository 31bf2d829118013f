"""Charts of money: by day, by model, by repository.

One rule: a bar is what is known.  Labels without any known cost get no bar and say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ledgerkit.charts import axes, palette, shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

_UNITS = {"day": "utcyearmonthdate", "week": "utcyearweek", "month": "utcyearmonth"}


@needs_altair
def cost_by(costs: pl.DataFrame, label: str, *, top: int = 10) -> alt.LayerChart:
    """Horizontal bars: cost by a label, the dearest first, the rest in one bar.

    Args:
        costs: Columns ``label`` and ``cost`` (US dollars), as ``cost.group_costs(priced, [label])`` returns them.
        label: The column to show: ``model``, ``repository``, ``tool_name``, …
        top: Bars before the rest.
    """
    import altair as alt

    shaped = shapes.cost_by_label(costs, label, top=top)
    amounts = shaped["cost"].cast(pl.Float64)
    frame = pl.DataFrame(
        {
            "label": pl.Series(shapes.display_labels(shaped["label"].to_list()), dtype=pl.String),
            "cost": amounts,
            "end": amounts.fill_null(0),
            "amount": amounts.map_elements(axes.dollars, return_dtype=pl.String).fill_null("no price known"),
        }
    )
    longest = max([amount for amount in amounts if amount], default=1.0)
    y = alt.Y("label:N", sort=frame["label"].to_list(), axis=axes.names())
    x = alt.X("end:Q", axis=None, scale=alt.Scale(domain=[0, longest * 1.25]))
    base = alt.Chart(frame)
    bars = base.mark_bar(color=palette.FIRST, height=axes.BAR).encode(
        x=x.stack(None), y=y, tooltip=["label:N", "cost:Q"]
    )
    words = base.mark_text(align="left", dx=5).encode(x=x, y=y, text="amount:N")
    height = axes.ROW * max(frame.height, 1)
    return alt.LayerChart(layer=[bars, words]).properties(width=palette.WIDTH, height=height, autosize=axes.fitted())


@needs_altair
def cost_by_day(costs: pl.DataFrame, *, models: int = 6) -> alt.Chart:
    """Columns over time, stacked by model; of long spans a column is a week or a month.

    Args:
        costs: Columns ``day`` (date), ``model`` and ``cost`` (US dollars), as ``cost.group_costs(priced, ["day",
            "model"])`` returns them. Rows without a day or a cost are not in the picture.
        models: Models with a colour of their own; the others share one.
    """
    import altair as alt

    period, shaped = shapes.cost_by_period(costs, models=models)
    ranks = shaped.select("rank", "model").unique().sort("rank")
    labels = shapes.display_labels(ranks["model"].to_list())
    named = ranks.select("rank", pl.Series("label", labels, dtype=pl.String))
    frame = shaped.join(named, on="rank", maintain_order="left").select(
        pl.col("period").cast(pl.String), "label", "rank", pl.col("cost").cast(pl.Float64)
    )
    highest = frame.group_by("period").agg(pl.col("cost").sum())["cost"].to_list()
    colors = [*palette.CATEGORIES[:models], palette.REST][: len(labels)]
    y_axis = axes.measure(f"US dollars per {period}", axes.dollar_format(max(highest, default=0.0)))
    return (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X(f"{_UNITS[period]}(period):T", title=None, axis=axes.dates(period)),
            y=alt.Y("sum(cost):Q", axis=y_axis),
            color=alt.Color(
                "label:N", sort=labels, scale=alt.Scale(domain=labels, range=colors), legend=alt.Legend(columns=2)
            ),
            order=alt.Order("rank:Q"),
            tooltip=["label:N", "sum(cost):Q"],
        )
        .properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
    )
