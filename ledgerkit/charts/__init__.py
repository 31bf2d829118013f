"""Frames to Altair charts, and charts to SVG (extra ``charts``).

::

    chart = charts.cost_by(cost.group_costs(priced, ["model"]), "model")
    svg = charts.to_svg(chart, theme="dark")

Each function takes a documented frame and returns a chart that the caller can change further. The numbers in a picture
come from ``charts.shapes``, which needs no Altair, so that a table can show the same ones.
"""

from __future__ import annotations

from ledgerkit.charts.comparisons import chances_over_k, effects, flips, trend
from ledgerkit.charts.contexts import context_composition, strategy_frontier, trust_flow
from ledgerkit.charts.costs import cost_by, cost_by_day
from ledgerkit.charts.extra import can_draw
from ledgerkit.charts.runs import context_by_step, cost_over_steps, message_timeline
from ledgerkit.charts.spending import budget_burn_down, cost_by_step, cost_waterfall
from ledgerkit.charts.svg import specification_to_svg, to_png, to_svg
from ledgerkit.charts.tools import tool_calls

__all__ = [
    "budget_burn_down",
    "can_draw",
    "chances_over_k",
    "context_by_step",
    "context_composition",
    "cost_by",
    "cost_by_day",
    "cost_by_step",
    "cost_over_steps",
    "cost_waterfall",
    "effects",
    "flips",
    "message_timeline",
    "specification_to_svg",
    "strategy_frontier",
    "to_png",
    "to_svg",
    "tool_calls",
    "trend",
    "trust_flow",
]
