"""Charts of comparisons: effects with their intervals and margins, chances of passing, trends over time.

One rule: an interval is drawn wherever there is one, and what has none is not drawn as certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.charts import axes, palette, shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

VERDICT_COLORS: Final = {
    "regressed": palette.FAILURE,
    "improved": palette.THIRD,
    "equivalent": palette.FIRST,
    "inconclusive": palette.REST,
}
"""Colours of verdicts."""
_SIDES: Final = {"baseline": palette.REST, "candidate": palette.FIRST}
_ROW: Final = 34


@needs_altair
def effects(metrics: pl.DataFrame) -> alt.LayerChart:
    """A line per metric: its effect as a dot, its interval as a bar, its margin as the shaded room around no effect.

    Args:
        metrics: Rows of ``comparison.frame("metrics")`` of one kind (shares, or ratios), with ``title``.
    """
    import altair as alt

    shaped = effect_rows(metrics)
    labels = shapes.display_labels(shaped["title"].to_list())
    frame = shaped.with_columns(title=pl.Series(labels, dtype=pl.String))
    is_ratio = bool((metrics["kind"] == "ratio").any())
    scale = alt.Scale(type="log", nice=False) if is_ratio else alt.Scale(nice=True)
    title = "candidate by baseline (ratio)" if is_ratio else "candidate less baseline (percentage points)"
    axis = alt.Axis(title=title, grid=True, format=".2f" if is_ratio else "+.0f", tickCount=6)
    y = alt.Y("title:N", sort=labels, axis=axes.names())
    base = alt.Chart(frame)
    room = base.mark_bar(height=_ROW - 8, color=palette.REST, opacity=0.18).encode(
        x=alt.X("margin_low:Q", scale=scale, axis=axis), x2="margin_high:Q", y=y
    )
    colors = alt.Scale(domain=list(VERDICT_COLORS), range=list(VERDICT_COLORS.values()))
    color = alt.Color("verdict:N", scale=colors, legend=alt.Legend(columns=4))
    span = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=y, color=color)
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("effect:Q", scale=scale), y=y, color=color)
    none = base.mark_rule(color=palette.REST, strokeDash=[3, 3]).encode(x=alt.X("nothing:Q", scale=scale))
    height = _ROW * max(frame.height, 1) + 80
    return alt.LayerChart(layer=[room, none, span, dot]).properties(
        width=palette.WIDTH, height=height, autosize=axes.fitted()
    )


def effect_rows(metrics: pl.DataFrame) -> pl.DataFrame:
    """What is drawn of effects: shares in percentage points, metrics without an effect left out."""
    drawn = metrics.drop_nulls("effect")
    is_ratio, margin = pl.col("kind") == "ratio", pl.col("margin")
    scaled = [
        pl.when(is_ratio).then(pl.col(name)).otherwise(pl.col(name) * 100).alias(name)
        for name in ("effect", "low", "high")
    ]
    return drawn.select(
        "title",
        "verdict",
        *scaled,
        margin_low=pl.when(is_ratio).then(1 / margin).otherwise(-100 * margin),
        margin_high=pl.when(is_ratio).then(margin).otherwise(100 * margin),
        nothing=pl.when(is_ratio).then(1.0).otherwise(0.0),
    )


@needs_altair
def flips(changed: pl.DataFrame) -> alt.LayerChart:
    """A line per task whose success changed: from the share of trials that passed before to the one after.

    Args:
        changed: Rows of ``comparison.frame("flips")``: ``pair``, ``direction``, ``baseline``, ``candidate``.
    """
    import altair as alt

    labels = shapes.display_labels(changed["pair"].to_list())
    shares = pl.col("baseline", "candidate") * 100
    frame = changed.select("direction", shares).with_columns(task=pl.Series(labels, dtype=pl.String))
    sides = frame.unpivot(
        ["baseline", "candidate"], index=["task", "direction"], variable_name="side", value_name="share"
    )
    scale = alt.Scale(domain=[0, 100], nice=False, padding=8)
    axis = alt.Axis(title="trials that passed, %", grid=True, format=".0f", tickCount=5)
    y = alt.Y("task:N", sort=labels, axis=axes.names())
    colors = alt.Scale(domain=["worse", "better"], range=[palette.FAILURE, palette.THIRD])
    color = alt.Color("direction:N", scale=colors, legend=alt.Legend(columns=2))
    way = (
        alt.Chart(frame)
        .mark_rule(strokeWidth=3)
        .encode(x=alt.X("baseline:Q", scale=scale, axis=axis), x2="candidate:Q", y=y, color=color)
    )
    shapes_of = alt.Scale(domain=["baseline", "candidate"], range=["square", "circle"])
    ends = (
        alt.Chart(sides)
        .mark_point(filled=True, size=80, opacity=1, strokeWidth=3)
        .encode(x=alt.X("share:Q", scale=scale), y=y, color=color, shape=alt.Shape("side:N", scale=shapes_of))
    )
    height = _ROW * max(frame.height, 1) + 80
    return alt.LayerChart(layer=[way, ends]).properties(width=palette.WIDTH, height=height, autosize=axes.fitted())


@needs_altair
def chances_over_k(pass_k: pl.DataFrame) -> alt.Chart:
    """Lines over k: the chance that one of k trials passes, and that all of them do, for both sides.

    Args:
        pass_k: Rows of ``comparison.frame("pass_k")``.
    """
    import altair as alt

    frame = pass_k.unpivot(
        ["baseline", "candidate"], index=["measure", "k"], variable_name="side", value_name="chance"
    ).with_columns(chance=pl.col("chance") * 100)
    colors = alt.Scale(domain=list(_SIDES), range=list(_SIDES.values()))
    dashes = alt.Scale(domain=["pass@k", "pass^k"], range=[[1, 0], [5, 3]])
    return (
        alt.Chart(frame)
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("k:Q", axis=axes.across("trials (k)"), scale=alt.Scale(nice=False, zero=False)),
            y=alt.Y("chance:Q", axis=axes.measure("chance, %", ".0f"), scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("side:N", scale=colors),
            strokeDash=alt.StrokeDash("measure:N", scale=dashes),
        )
        .properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
    )


@needs_altair
def trend(frame: pl.DataFrame, value: str, title: str, number_format: str, *, period: str = "week") -> alt.LayerChart:
    """A line over time, with the interval around it where there is one.

    Args:
        frame: Columns ``period`` (its first day), the value and, if there, ``low`` and ``high``. Periods in which the
            value is not known are gaps.
        value: The column to draw.
        title: What is measured.
        number_format: Format of its axis.
        period: ``day``, ``week`` or ``month``.
    """
    import altair as alt

    unit = {"day": "utcyearmonthdate", "week": "utcyearmonthdate", "month": "utcyearmonth"}[period]
    shaped = frame.with_columns(pl.col("period").cast(pl.String), pl.col(value).cast(pl.Float64).alias("value"))
    x = alt.X(f"{unit}(period):T", title=None, axis=axes.dates("day" if period != "month" else "month"))
    y = alt.Y("value:Q", axis=axes.measure(title, number_format), scale=alt.Scale(zero=True))
    line = (
        alt.Chart(shaped).mark_line(color=palette.FIRST, strokeWidth=2, point={"color": palette.FIRST}).encode(x=x, y=y)
    )
    layers: list[alt.Chart] = [line]
    if "low" in frame.columns:
        band = alt.Chart(shaped.drop_nulls(["low", "high"])).mark_errorband(color=palette.FIRST, opacity=0.18)
        layers.insert(0, band.encode(x=x, y=alt.Y("low:Q", axis=axes.measure(title, number_format)), y2="high:Q"))
    return alt.LayerChart(layer=layers).properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
