"""Pictures with the numbers behind them.

One rule: the picture is never the only way to the numbers.  Where the extra ``charts`` is missing, the table stands
alone and the report says so.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from ledgerkit import charts
from ledgerkit.charts import run_shapes, shapes
from ledgerkit.formatting import format_count, format_duration, format_money, format_share
from ledgerkit.reports.blocks import Cell, Column, Figure, Table, code, left, right
from ledgerkit.reports.labels import kind_name

if TYPE_CHECKING:
    import altair as alt

_TABLE_STEPS = 24


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, and how to draw it."""

    figure: Figure
    chart: Callable[[], alt.TopLevelMixin]

    def drawn(self) -> Figure:
        """The figure with its picture, where pictures can be made."""
        if not charts.can_draw() or not self.figure.table.rows:
            return self.figure
        chart = self.chart()
        return replace(self.figure, light=_uri(charts.to_svg(chart)), dark=_uri(charts.to_svg(chart, theme="dark")))


def context_picture(calls: pl.DataFrame) -> Figure:
    """What each step of a run read."""
    steps = run_shapes.thinned(run_shapes.steps_of(calls), most=_TABLE_STEPS)
    rows = [
        [
            _span(row["from_step"], row["to_step"]),
            format_count(row["input_tokens"]),
            format_count(row["cache_read"]),
            format_count(row["cache_write"]),
            format_count(row["fresh"]),
        ]
        for row in steps.iter_rows(named=True)
    ]
    table = Table(right("Steps", "Input tokens", "Read from cache", "Written to cache", "Not cached"), rows)
    caption = "Tokens that the model read at each step; of steps that share a bar or row, the one that read most."
    return Picture(Figure("Context", caption, table), lambda: charts.context_by_step(calls)).drawn()


def cost_so_far_picture(calls: pl.DataFrame) -> Figure:
    """What a run had cost after each step."""
    steps = run_shapes.thinned(run_shapes.steps_of(calls), most=_TABLE_STEPS)
    rows = [
        [_span(row["from_step"], row["to_step"]), format_money(row["cost_so_far"])]
        for row in steps.iter_rows(named=True)
    ]
    caption = "Cost up to each step. A red mark: a step without a known cost."
    table = Table(right("Steps", "Cost so far"), rows)
    return Picture(Figure("Cost", caption, table), lambda: charts.cost_over_steps(calls)).drawn()


def tools_picture(calls: pl.DataFrame) -> Figure:
    """Which tools were called, and how the calls ended."""
    rows = [
        [
            code(row["tool"]),
            format_count(row["calls"]),
            format_count(row["failed"]),
            format_count(row["other"]),
            format_duration(row["median_s"]),
        ]
        for row in shapes.tool_statistics(calls, top=30).iter_rows(named=True)
    ]
    columns = [Column("Tool", wide=True), *right("Calls", "Failed", "Other", "Median time")]
    caption = "Calls by tool. Other: cancelled, or no result recorded."
    table = Table(columns, rows, empty="No tool calls.")
    return Picture(Figure("Tools", caption, table), lambda: charts.tool_calls(calls)).drawn()


def timeline_picture(parts: pl.DataFrame) -> Figure:
    """Where in a run each kind of message stands."""
    messages = parts.select("sequence_no", "kind", "status").unique().sort("sequence_no", "kind", "status")
    spans = (
        run_shapes.timeline(messages)
        .group_by("kind", maintain_order=True)
        .agg(pl.col("messages").sum(), pl.col("from_sequence").min(), pl.col("to_sequence").max())
    )
    rows: list[list[Cell | str]] = [
        [kind_name(kind), format_count(count), f"{first:,d} – {end - 1:,d}"]
        for kind, count, first, end in spans.iter_rows()
    ]
    caption = "Kinds of messages over the run, by their number in it. Red: failures."
    table = Table([*left("Kind"), *right("Messages", "From – to")], rows)
    return Picture(Figure("Messages", caption, table), lambda: charts.message_timeline(messages)).drawn()


def cost_by_picture(costs: pl.DataFrame, label: str, title: str) -> Figure:
    """Cost by a label."""
    shaped = shapes.cost_by_label(costs, label, top=30)
    total = costs["cost"].sum()
    rows = [
        [
            code(row["label"]),
            format_count(row["calls"]),
            format_money(row["cost"]),
            format_share(row["cost"], total),
        ]
        for row in shaped.iter_rows(named=True)
    ]
    table = Table([Column(title, wide=True), *right("Calls", "Cost", "Share")], rows)
    figure = Figure(f"Cost by {title.lower()}", "US dollars, the dearest first.", table)
    return Picture(figure, lambda: charts.cost_by(costs, label)).drawn()


def cost_by_day_picture(costs: pl.DataFrame) -> Figure:
    """Cost over time by model. ``costs`` is ``group_costs(priced, ["day", "model"])``."""
    days = costs.group_by("day").agg(pl.col("cost").sum(), pl.col("calls").sum()).sort("day", nulls_last=True)
    rows = [
        [str(day) if day else shapes.NOT_RECORDED, format_count(calls), format_money(cost)]
        for day, cost, calls in days.iter_rows()
    ]
    table = Table([*left("Day (UTC)"), *right("Calls", "Cost")], rows)
    figure = Figure("Cost over time", "US dollars by model. Calls without a time are not in the picture.", table)
    return Picture(figure, lambda: charts.cost_by_day(costs)).drawn()


def _span(first: int, end: int) -> str:
    return f"{first:,d}" if end - first == 1 else f"{first:,d} – {end - 1:,d}"


def _uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + b64encode(svg.encode()).decode("ascii")
