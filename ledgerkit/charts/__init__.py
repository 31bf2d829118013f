"""Frames to Altair charts, and charts to SVG (extra ``charts``).

::

    chart = charts.cost_by(cost.group_costs(priced, ["model"]), "model")
    svg = charts.to_svg(chart, theme="dark")

Each function takes a documented frame and returns a chart that the caller can change further. The numbers in a picture
come from ``charts.shapes``, which needs no Altair, so that a table can show the same ones.
"""

from __future__ import annotations

from ledgerkit.charts.costs import cost_by, cost_by_day
from ledgerkit.charts.extra import can_draw
from ledgerkit.charts.runs import context_by_step, cost_over_steps, message_timeline
from ledgerkit.charts.spending import budget_burn_down, cost_by_step, cost_waterfall
from ledgerkit.charts.svg import to_svg
from ledgerkit.charts.tools import tool_calls

__all__ = [
    "budget_burn_down",
    "can_draw",
    "context_by_step",
    "cost_by",
    "cost_by_day",
    "cost_by_step",
    "cost_over_steps",
    "cost_waterfall",
    "message_timeline",
    "to_svg",
    "tool_calls",
]
