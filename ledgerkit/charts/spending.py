"""Charts of attributed costs: what each step paid for, what things cost one behind the other, what a budget has left.

One rule: a picture shows the whole amount, what belongs to no part included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.charts import axes, palette, shapes, spending_shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

_KINDS: Final = {
    "carrying": palette.FIRST,
    "creation": palette.SECOND,
    "no part": palette.REST,
    "total": palette.THIRD,
}


@needs_altair
def cost_by_step(costs: pl.DataFrame, *, top: int = 6) -> alt.Chart:
    """Columns over the steps of a run: what each call paid, stacked by section of its context, output and lines.

    Args:
        costs: Rows of ``ledger.cost_by_step(run)``: ``step``, ``label``, ``line``, ``cost``.
        top: Names with a colour of their own; the others share one.
    """
    import altair as alt

    shaped = spending_shapes.costs_over_steps(costs, top=top)
    names = shaped.select("rank", "name").unique().sort("rank")["name"].to_list()
    labels = shapes.display_labels(names)
    frame = shaped.select(
        pl.col("from_step", "to_step", "cost").cast(pl.Float64),
        "rank",
        pl.col("name").replace_strict(names, labels, return_dtype=pl.String),
    )
    highest = frame.group_by("from_step").agg(pl.col("cost").sum())["cost"].to_list()
    colors = [*palette.CATEGORIES[:top], palette.REST][: len(labels)]
    axis = axes.measure("US dollars per step", axes.dollar_format(max(highest, default=0.0)))
    return (
        alt.Chart(frame)
        .mark_bar(binSpacing=0.5)
        .encode(
            x=alt.X("from_step:Q", bin="binned", axis=axes.across("step"), scale=alt.Scale(nice=False)),
            x2="to_step:Q",
            y=alt.Y("cost:Q", stack="zero", axis=axis),
            color=alt.Color(
                "name:N", sort=labels, scale=alt.Scale(domain=labels, range=colors), legend=alt.Legend(columns=2)
            ),
            order=alt.Order("rank:Q"),
            tooltip=["from_step:Q", "name:N", "cost:Q"],
        )
        .properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
    )


@needs_altair
def cost_waterfall(costs: pl.DataFrame, label: str, *, top: int = 10) -> alt.LayerChart:
    """Horizontal bars, each from where the one before ended: carrying and creation cost of each, lines, and the whole.

    Args:
        costs: Rows of ``ledger.attribute_cost(label)``.
        label: The label: ``tool_name``, ``path``, ``section``, …
        top: Rows before the rest.
    """
    import altair as alt

    shaped = spending_shapes.waterfall(costs, label, top=top)
    names = shaped["name"].unique(maintain_order=True).to_list()
    labels = shapes.display_labels(names)
    frame = shaped.select(
        "kind",
        pl.col("begin", "end").cast(pl.Float64),
        label=pl.col("name").replace_strict(names, labels, return_dtype=pl.String),
    )
    reach = frame.group_by("label", maintain_order=True).agg(
        pl.col("end").max(), amount=(pl.col("end") - pl.col("begin")).sum()
    )
    words = reach.with_columns(amount=pl.col("amount").map_elements(axes.dollars, return_dtype=pl.String))
    longest = max(frame["end"].to_list(), default=1.0) or 1.0
    y = alt.Y("label:N", sort=labels, axis=axes.names())
    scale = alt.Scale(domain=[0, longest * 1.25])
    present = [kind for kind in _KINDS if kind in set(frame["kind"])]
    colors = alt.Scale(domain=present, range=[_KINDS[kind] for kind in present])
    bars = (
        alt.Chart(frame)
        .mark_bar(height=axes.BAR)
        .encode(
            x=alt.X("begin:Q", axis=None, scale=scale),
            x2="end:Q",
            y=y,
            color=alt.Color("kind:N", scale=colors),
            tooltip=["label:N", "kind:N", "begin:Q", "end:Q"],
        )
    )
    amounts = (
        alt.Chart(words)
        .mark_text(align="left", dx=5)
        .encode(x=alt.X("end:Q", axis=None, scale=scale), y=y, text="amount:N")
    )
    height = axes.ROW * max(len(labels), 1) + 40
    return alt.LayerChart(layer=[bars, amounts]).properties(width=palette.WIDTH, height=height, autosize=axes.fitted())


@needs_altair
def budget_burn_down(burned: pl.DataFrame) -> alt.LayerChart:
    """A line over the calls of a task: what was left of its budget; what lies below 0 stands out.

    Args:
        burned: Rows of ``ledger.burn_down(budget, task=…)``.
    """
    import altair as alt

    frame = spending_shapes.left_of_budget(burned).select(
        pl.col("number").cast(pl.Float64), pl.col("left").cast(pl.Float64), "is_over", zero=pl.lit(0.0)
    )
    lefts = frame["left"].to_list()
    low, high = min([0.0, *lefts]), max([0.0, *lefts])
    axis = axes.measure("US dollars left", axes.dollar_format(max(high, -low)))
    x = alt.X("number:Q", axis=axes.across("call"), scale=alt.Scale(nice=False))
    y = alt.Y("left:Q", axis=axis, scale=alt.Scale(domain=[low, high if high > low else low + 1]))
    line = {"color": palette.FIRST, "strokeWidth": 2}
    base = alt.Chart(frame)
    left = base.mark_area(interpolate="step-after", color=palette.FIRST, fillOpacity=0.18, line=line).encode(
        x=x, y=y, y2="zero:Q", tooltip=["number:Q", "left:Q"]
    )
    over = (
        alt.Chart(frame.filter("is_over"))
        .mark_point(shape="circle", color=palette.FAILURE, filled=True, size=24, opacity=1)
        .encode(x=x, y=y)
    )
    return alt.LayerChart(layer=[left, over]).properties(
        width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted()
    )
