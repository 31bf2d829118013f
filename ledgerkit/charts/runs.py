"""Charts of one run over its steps and messages.

One rule: a step whose usage is not recorded leaves a gap, and a step without a known cost is marked; neither is zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.charts import axes, palette, run_shapes, shapes
from ledgerkit.charts.extra import needs_altair

if TYPE_CHECKING:
    import altair as alt

_SOURCES: Final = {
    "read from cache": ("cache_read", palette.FIRST),
    "written to cache": ("cache_write", palette.THIRD),
    "not cached": ("fresh", palette.SECOND),
}
_FAMILY_COLORS: Final = {
    "instructions and people": palette.THIRD,
    "model": palette.FIRST,
    "tools and repository": palette.SECOND,
    "checks and records": palette.FOURTH,
    "failures": palette.FAILURE,
}


@needs_altair
def context_by_step(calls: pl.DataFrame) -> alt.Chart:
    """Columns over the steps of a run: input tokens, by whether they were read from a cache, written to it, or neither.

    Of more than 400 steps, neighbours share a column: that of the step that read most.

    Args:
        calls: Model calls of one run: ``step``, ``input_tokens``, ``cache_read_tokens`` and, if there,
            ``cache_write_5m_tokens`` and ``cache_write_1h_tokens``.
    """
    import altair as alt

    steps = run_shapes.thinned(run_shapes.steps_of(calls))
    columns = {column: name for name, (column, _) in _SOURCES.items()}
    frame = (
        steps.unpivot(list(columns), index=["from_step", "to_step"], variable_name="column", value_name="tokens")
        .filter(pl.col("tokens") > 0)
        .select(
            pl.col("from_step", "to_step").cast(pl.Float64),
            pl.col("column").replace_strict(columns, return_dtype=pl.String).alias("source"),
            pl.col("column")
            .replace_strict(list(columns), list(range(len(columns))), return_dtype=pl.Int64)
            .alias("rank"),
            "tokens",
        )
    )
    colors = alt.Scale(domain=list(_SOURCES), range=[color for _, color in _SOURCES.values()])
    return (
        alt.Chart(frame)
        .mark_bar(binSpacing=0.5)
        .encode(
            x=alt.X("from_step:Q", bin="binned", axis=axes.across("step"), scale=alt.Scale(nice=False)),
            x2="to_step:Q",
            y=alt.Y("tokens:Q", stack="zero", axis=axes.measure("input tokens per step", "~s")),
            color=alt.Color("source:N", scale=colors),
            order=alt.Order("rank:Q"),
            tooltip=["from_step:Q", "source:N", "tokens:Q"],
        )
        .properties(width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted())
    )


@needs_altair
def cost_over_steps(calls: pl.DataFrame) -> alt.LayerChart:
    """A line over the steps of a run: its cost so far, with a mark under each step that has no known cost.

    Args:
        calls: Priced model calls of one run: ``step``, ``input_tokens``, ``cache_read_tokens``, ``cost``.
    """
    import altair as alt

    steps = run_shapes.thinned(run_shapes.steps_of(calls))
    frame = steps.select(
        pl.col("from_step").alias("step"), pl.col("cost_so_far").cast(pl.Float64), "cost_unknown"
    ).with_columns(zero=pl.lit(0.0))
    highest = max(frame["cost_so_far"].to_list(), default=0.0)
    x = alt.X("step:Q", axis=axes.across("step"), scale=alt.Scale(nice=False))
    axis = axes.measure("US dollars so far", axes.dollar_format(highest))
    y = alt.Y("cost_so_far:Q", axis=axis, scale=alt.Scale(domain=[0, highest or 1.0]))
    line = {"color": palette.FIRST, "strokeWidth": 2}
    spent = (
        alt.Chart(frame)
        .mark_area(interpolate="step-after", color=palette.FIRST, fillOpacity=0.18, line=line)
        .encode(x=x, y=y, tooltip=["step:Q", "cost_so_far:Q"])
    )
    unknown = (
        alt.Chart(frame.filter("cost_unknown"))
        .mark_point(shape="triangle-up", color=palette.FAILURE, filled=True, size=40, opacity=1)
        .encode(x=x, y=alt.Y("zero:Q"))
    )
    return alt.LayerChart(layer=[spent, unknown]).properties(
        width=palette.WIDTH, height=axes.HEIGHT, autosize=axes.fitted()
    )


@needs_altair
def message_timeline(messages: pl.DataFrame) -> alt.Chart:
    """One line per kind of message: where in the run messages of that kind stand; failed results stand out.

    Args:
        messages: Messages (or parts) of one run: ``sequence_no``, ``kind`` and, if there, ``status``.
    """
    import altair as alt

    shaped = run_shapes.timeline(messages)
    frame = shaped.with_columns(
        pl.col("kind").str.replace_all("_", " ").str.to_lowercase().str.to_titlecase().alias("name"),
        pl.col("from_sequence", "to_sequence").cast(pl.Float64),
    )
    rows = frame["name"].unique(maintain_order=True).to_list()
    labels = shapes.display_labels(rows)
    named = frame.with_columns(pl.col("name").replace_strict(rows, labels, return_dtype=pl.String))
    named = named.sort(pl.col("family") == "failures", maintain_order=True)  # drawn last, so that they are seen
    present = [name for name in _FAMILY_COLORS if name in set(named["family"])]
    colors = alt.Scale(domain=present, range=[_FAMILY_COLORS[name] for name in present])
    return (
        alt.Chart(named)
        .mark_rect()
        .encode(
            x=alt.X("from_sequence:Q", axis=axes.across("message"), scale=alt.Scale(nice=False)),
            x2="to_sequence:Q",
            y=alt.Y("name:N", sort=labels, axis=axes.names()),
            color=alt.Color("family:N", scale=colors),
            tooltip=["name:N", "from_sequence:Q", "messages:Q"],
        )
        .properties(width=palette.WIDTH, height=20 * len(labels) + 60, autosize=axes.fitted())
    )
