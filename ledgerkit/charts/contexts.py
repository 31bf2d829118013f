"""Charts of contexts: what they consist of step by step, which strategies are worth a trial, where untrusted text led.

One rule: an estimate is drawn with its interval, and a step that holds nothing is drawn as nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.charts import axes, context_shapes, palette, shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

_TRUST_COLORS: Final = {
    "platform": "#2a9d8f", "organisation": "#4fb3a6", "user": "#4c86d9", "tool": "#7aa5e0", "model": "#9b6dd6",
    "repository": "#d9822b", "network": "#d64545", "origin unknown": palette.REST,
}  # fmt: skip
"""Trusted in blue and green, the model in violet, untrusted in orange and red."""
_SEVERITIES: Final = {
    "critical": palette.FAILURE,
    "high": palette.SECOND,
    "medium": palette.FOURTH,
    "low": palette.REST,
}


@needs_altair
def context_composition(tokens: pl.DataFrame, *, top: int = 7) -> alt.Chart:
    """Areas over the steps of a run: what each context consists of.

    Args:
        tokens: Rows of ``replay.composition(strategy, by)``: ``step``, ``label``, ``tokens``.
        top: Labels with a colour of their own; the others share one.
    """
    import altair as alt

    shaped = context_shapes.composition(tokens, top=top)
    names = shaped.select("rank", "name").unique().sort("rank")["name"].to_list()
    labels = shapes.display_labels(names)
    frame = shaped.with_columns(pl.col("name").replace_strict(names, labels, return_dtype=pl.String))
    colors = [_TRUST_COLORS.get(name, [*palette.CATEGORIES, palette.REST][rank]) for rank, name in enumerate(names)]
    return (
        alt.Chart(frame)
        .mark_bar(binSpacing=0)
        .encode(
            x=alt.X("from_step:Q", bin="binned", axis=axes.across("step"), scale=alt.Scale(nice=False)),
            x2="to_step:Q",
            y=alt.Y("tokens:Q", stack="zero", axis=axes.measure("tokens in the context", ",d")),
            color=alt.Color(
                "name:N", sort=labels, scale=alt.Scale(domain=labels, range=colors), legend=alt.Legend(columns=3)
            ),
            order=alt.Order("rank:Q"),
            tooltip=["from_step:Q", "name:N", "tokens:Q"],
        )
        .properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
    )


@needs_altair
def strategy_frontier(table: pl.DataFrame) -> alt.LayerChart:
    """Retention over cost of strategies, with their 95 % intervals; those that no other beats are filled.

    Args:
        table: ``Recommendation.table``, of one family: ``strategy``, ``cost_equivalent_tokens`` and ``retention`` with
            ``…_low`` and ``…_high``, ``on_frontier``.
    """
    import altair as alt

    labels = shapes.display_labels(table["strategy"].to_list(), length=44)
    frame = table.with_columns(
        pl.Series("strategy", labels, dtype=pl.String),
        beaten=pl.when("on_frontier").then(pl.lit("not beaten")).otherwise(pl.lit("beaten by another")),
    )
    names = context_shapes.at_both_ends("cost_equivalent_tokens")
    low, high = names
    span = context_shapes.padded(frame, ["retention_low", "retention_high"], least=0.0, most=1.0)
    x_axis = alt.Axis(
        title="tokens per run, in fresh input tokens of the same price", grid=False, format="~s", tickCount=5
    )
    x = alt.X("cost_equivalent_tokens:Q", axis=x_axis, scale=alt.Scale(zero=False, nice=True, padding=24))
    y_axis = axes.measure("share of needs that stand in the context", ".2f")
    y = alt.Y("retention:Q", axis=y_axis, scale=alt.Scale(domain=span))
    colors = [*palette.CATEGORIES, palette.REST]
    scale = alt.Scale(domain=labels, range=[colors[min(n, len(colors) - 1)] for n in range(len(labels))])
    stroke = alt.Stroke("strategy:N", sort=labels, scale=scale, legend=None)
    color = alt.Color(
        "strategy:N",
        sort=labels,
        scale=scale,
        legend=alt.Legend(columns=1, labelLimit=420, symbolType="circle"),
    )
    base = alt.Chart(frame)
    across = base.mark_rule(strokeWidth=1.5, opacity=0.8).encode(
        x=alt.X(f"{low}:Q", axis=x_axis), x2=f"{high}:Q", y=y, color=color
    )
    up = base.mark_rule(strokeWidth=1.5, opacity=0.8).encode(
        x=x, y=alt.Y("retention_low:Q", axis=y_axis), y2="retention_high:Q", color=color
    )
    filled = alt.condition(alt.datum.on_frontier, alt.value(1.0), alt.value(0.15))
    points = base.mark_point(size=90, filled=True, strokeWidth=2).encode(
        x=x, y=y, color=color, stroke=stroke, fillOpacity=filled,
        tooltip=["strategy:N", "cost_equivalent_tokens:Q", "retention:Q", "beaten:N", "runs:Q"],
    )  # fmt: skip
    return alt.LayerChart(layer=[across, up, points]).properties(
        width=palette.WIDTH, height=300, autosize=axes.fitted()
    )


@needs_altair
def trust_flow(actions: pl.DataFrame) -> alt.LayerChart:
    """From where untrusted text came into what was done: a bar per source and sink, by severity.

    Args:
        actions: Rows of ``ledger.tainted_actions()``: ``source_trust_level``, ``source_kind``, ``sink``, ``severity``.
    """
    import altair as alt

    flows = context_shapes.flows(actions)
    order = (
        flows.group_by("flow")
        .agg(pl.col("actions").sum())
        .sort("actions", "flow", descending=[True, False])["flow"]
        .to_list()
    )
    severities = [name for name in _SEVERITIES if name in flows["severity"].to_list()]
    totals = flows.group_by("flow").agg(pl.col("actions").sum(), words=pl.format("{}", pl.col("actions").sum()))
    longest = int(totals["actions"].max() or 1)  # pyright: ignore[reportArgumentType]
    y = alt.Y("flow:N", sort=order, axis=axes.names())
    scale = alt.Scale(domain=[0, longest * 1.15])
    bars = (
        alt.Chart(flows)
        .mark_bar(height=axes.BAR)
        .encode(
            x=alt.X("actions:Q", axis=None, scale=scale),
            y=y,
            color=alt.Color("severity:N", sort=severities,
                            scale=alt.Scale(domain=severities, range=[_SEVERITIES[name] for name in severities])),
            order=alt.Order("rank:Q"),
            tooltip=["flow:N", "severity:N", "actions:Q"],
        )
    )  # fmt: skip
    words = (
        alt.Chart(totals)
        .mark_text(align="left", dx=5)
        .encode(x=alt.X("actions:Q", axis=None, scale=scale), y=y, text="words:N")
    )
    height = axes.ROW * max(len(order), 1) + axes.ROW
    return alt.LayerChart(layer=[bars, words]).properties(width=palette.WIDTH, height=height, autosize=axes.fitted())
