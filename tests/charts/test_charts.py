"""Charts: frames in, charts and SVG out, the same bytes each time, log text inert."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from xml.etree import ElementTree

import pytest

pytest.importorskip("altair", reason="the extra charts is not installed")
pytest.importorskip("vl_convert", reason="the extra charts is not installed")

import altair as alt
import polars as pl

import ledgerkit as lk
from ledgerkit import charts, cost
from ledgerkit.charts.palette import Theme
from tests.absent import run_without

ATTACK = "</script><script>alert(1)</script>\x1b[2J\u202eabc"
_CALLS = pl.DataFrame(
    {
        "run_id": ["r"] * 3,
        "step": [0, 1, 2],
        "call_id": ["a", "b", "c"],
        "model": ["claude-sonnet-4-5", ATTACK, "claude-sonnet-4-5"],
        "created_at": [datetime(2026, 1, day, tzinfo=UTC) for day in (5, 6, 7)],
        "input_tokens": [1000, 2000, 3000],
        "cache_read_tokens": [0, 500, 2000],
        "cache_write_5m_tokens": [0, 0, 100],
        "cache_write_1h_tokens": [0, 0, 0],
        "output_tokens": [10, 20, 30],
        "billed": [True] * 3,
    },
    schema_overrides={"step": pl.Int32},
)
_PRICED = cost.price_calls(_CALLS)
_TOOLS = pl.DataFrame({"tool_name": ["Bash", "Bash", ATTACK], "status": ["SUCCEEDED", "FAILED", "SUCCEEDED"]})
_MESSAGES = pl.DataFrame(
    {
        "sequence_no": [0, 1, 2],
        "kind": ["USER_TASK", "TOOL_CALL_REQUEST", "TOOL_CALL_RESULT"],
        "status": [None, "REQUESTED", "FAILED"],
        "part_index": [0, 0, 0],
    }
)
_DOLLARS = pl.Decimal(38, 12)
_STEPS = pl.DataFrame(
    {"step": [0, 0, 1, 1], "label": ["repository_data", None, ATTACK, None], "line": [None, "output", None, "unseen"],
     "cost": [Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal("0.05")]},
    schema_overrides={"cost": _DOLLARS},
)  # fmt: skip
_ATTRIBUTED = pl.DataFrame(
    {"tool_name": ["Read", ATTACK, None, None], "line": [None, None, None, "unseen"],
     "carrying_cost": [Decimal(3), Decimal(1), Decimal(1), Decimal(0)],
     "creation_cost": [Decimal(1), Decimal(0), Decimal(2), Decimal(0)],
     "cost": [Decimal(4), Decimal(1), Decimal(3), Decimal(5)]},
    schema_overrides=dict.fromkeys(("carrying_cost", "creation_cost", "cost"), _DOLLARS),
)  # fmt: skip
_EFFECTS = pl.DataFrame(
    {"title": ["Cost", ATTACK], "kind": ["ratio", "ratio"], "verdict": ["regressed", "inconclusive"],
     "effect": [1.2, 0.9], "low": [1.1, None], "high": [1.3, None], "margin": [1.1, 1.1]}
)  # fmt: skip
_FLIPS = pl.DataFrame(
    {
        "pair": ["add-currency", ATTACK],
        "direction": ["worse", "better"],
        "baseline": [1.0, 0.0],
        "candidate": [0.5, 1.0],
    }
)  # fmt: skip
_CHANCES = pl.DataFrame(
    {"measure": ["pass@k", "pass@k", "pass^k", "pass^k"], "k": [1, 2, 1, 2],
     "baseline": [0.5, 0.7, 0.5, 0.3], "candidate": [0.4, 0.6, 0.4, 0.2]}
)  # fmt: skip
_WEEKS = pl.DataFrame(
    {"period": [date(2026, 3, 2), date(2026, 3, 9)], "success": [50.0, 60.0], "low": [40.0, 50.0], "high": [60.0, 70.0]}
)
_CONTEXTS = pl.DataFrame({"step": [0, 1, 1], "label": ["recent_messages", ATTACK, None], "tokens": [5, 9, 2]})
_FRONTIER = pl.DataFrame(
    {"strategy": ["FullHistory()", ATTACK], "runs": [30, 30], "on_frontier": [True, False],
     "cost_equivalent_tokens": [5e3, 6e3], "cost_equivalent_tokens_low": [4e3, 5e3],
     "cost_equivalent_tokens_high": [6e3, 7e3], "retention": [0.9, 0.8], "retention_low": [0.8, 0.7],
     "retention_high": [0.95, 0.9]}
)  # fmt: skip
_ACTIONS = pl.DataFrame(
    {"source_trust_level": ["REPOSITORY_UNTRUSTED", ATTACK], "source_kind": ["FILE_OBSERVATION", ATTACK],
     "sink": ["exec", ATTACK], "severity": ["critical", "high"]}
)  # fmt: skip
_Drawn = tuple[Callable[[pl.DataFrame], alt.TopLevelMixin], pl.DataFrame]
_CHARTS: dict[str, _Drawn] = {
    "cost_by": (lambda frame: charts.cost_by(frame, "model"), cost.group_costs(_PRICED, ["model"])),
    "cost_by_day": (charts.cost_by_day, cost.group_costs(_PRICED, ["day", "model"])),
    "context_by_step": (charts.context_by_step, _PRICED),
    "cost_over_steps": (charts.cost_over_steps, _PRICED),
    "message_timeline": (charts.message_timeline, _MESSAGES),
    "tool_calls": (charts.tool_calls, _TOOLS),
    "cost_by_step": (charts.cost_by_step, _STEPS),
    "cost_waterfall": (lambda frame: charts.cost_waterfall(frame, "tool_name"), _ATTRIBUTED),
    "effects": (charts.effects, _EFFECTS),
    "flips": (charts.flips, _FLIPS),
    "chances_over_k": (charts.chances_over_k, _CHANCES),
    "trend": (lambda frame: charts.trend(frame, "success", "passed, %", ".0f"), _WEEKS),
    "context_composition": (charts.context_composition, _CONTEXTS),
    "strategy_frontier": (charts.strategy_frontier, _FRONTIER),
    "trust_flow": (charts.trust_flow, _ACTIONS),
    "budget_burn_down": (charts.budget_burn_down, cost.burn_down(_PRICED, "0.012")),
}


@pytest.mark.long
@pytest.mark.parametrize("name", _CHARTS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chart_is_the_same_inert_picture_each_time(name: str, theme: Theme) -> None:
    draw, frame = _CHARTS[name]
    picture = charts.to_svg(draw(frame), theme=theme)
    assert picture == charts.to_svg(draw(frame), theme=theme)
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture).iter()}  # noqa: S314 - our own
    assert "path" in tags
    assert tags.isdisjoint({"script", "foreignObject", "image", "a"})
    assert not {"\x1b", "\u202e"} & set(picture)


@pytest.mark.parametrize("name", _CHARTS)
def test_a_frame_without_rows_draws_an_empty_chart(name: str) -> None:
    draw, frame = _CHARTS[name]
    assert charts.to_svg(draw(frame.clear())).startswith("<svg")


@pytest.mark.parametrize("name", _CHARTS)
def test_a_reader_can_change_a_chart(name: str) -> None:
    draw, frame = _CHARTS[name]
    assert "Renamed" in charts.to_svg(draw(frame).properties(title="Renamed"))  # pyright: ignore[reportAttributeAccessIssue]


def test_every_public_chart_is_drawn_here() -> None:
    assert set(_CHARTS) == set(charts.__all__) - {"can_draw", "specification_to_svg", "to_png", "to_svg"}


def test_without_the_extra_a_chart_says_what_to_install() -> None:
    program = """
import polars as pl
from ledgerkit import charts
assert not charts.can_draw()
charts.tool_calls(pl.DataFrame({"tool_name": ["x"], "status": ["FAILED"]}))
"""
    done = run_without("altair,vl_convert", program)
    assert done.returncode == 1
    assert lk.MissingExtraError.__name__ in done.stderr
    assert "agent-ledgerkit[charts]" in done.stderr
