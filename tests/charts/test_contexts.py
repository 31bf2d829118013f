"""Charts of contexts: the numbers behind them, and pictures that are drawn offline and hold text as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("altair", reason="the extra charts is not installed")
pytest.importorskip("vl_convert", reason="the extra charts is not installed")

import altair as alt
import polars as pl

import ledgerkit as lk
from ledgerkit import charts
from ledgerkit.charts import context_shapes
from ledgerkit.charts.palette import Theme
from ledgerkit.notebook.pictures import chart_html, use_charts
from ledgerkit.replay.composition import LABELS

ATTACK = "</script><script>alert(1)</script>\x1b[2J\u202eabc"


def test_a_composition_sums_to_the_size_of_each_context(demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        longest = ledger.runs().sort("steps", "run_id", descending=True)["run_id"][0]
        frames = ledger.frames([longest])
        replay = ledger.run(longest).replay()
        for name in ("FullHistory", "LastObservations(1)", "SummariseAt(1500)", "TokenWindow(1200)"):
            strategy = lk.strategies.parse_strategy(name)
            sizes = (
                lk.strategies.measure(frames, lk.strategies.project(frames, strategy)).steps().select("step", "tokens")
            )
            for by in LABELS:
                sums = replay.composition(strategy, by).group_by("step").agg(pl.col("tokens").sum()).sort("step")
                assert sums.equals(sizes), (name, by)
        with pytest.raises(lk.UnknownNameError, match="section"):
            replay.composition("FullHistory", "sections")


def test_a_long_composition_is_thinned_to_the_last_step_of_each_column() -> None:
    tokens = pl.DataFrame({"step": range(1_000), "label": ["recent_messages"] * 1_000, "tokens": range(1_000)})
    shaped = context_shapes.composition(tokens)
    assert shaped.height <= 400
    assert shaped["from_step"].to_list() == list(range(0, 1_000, 3))
    assert shaped["tokens"].to_list() == [min(step + 2, 999) for step in range(0, 1_000, 3)]


def test_flows_count_every_action() -> None:
    rows = [("REPOSITORY_UNTRUSTED", "FILE_OBSERVATION", "exec", "CRITICAL")] * 3
    rows += [("NETWORK_UNTRUSTED", "TOOL_CALL_RESULT", "network", "high")]
    actions = pl.DataFrame(rows, schema=["source_trust_level", "source_kind", "sink", "severity"], orient="row")
    flows = context_shapes.flows(actions)
    assert flows["actions"].sum() == 4
    assert flows["flow"].to_list() == ["network, tool call result → network", "repository, file observation → exec"]


def frontier() -> pl.DataFrame:
    row = {"strategy": f"Mine('{ATTACK}')", "runs": 30, "cost_equivalent_tokens": 5000.0, "retention": 0.9}
    bounds = {"cost_equivalent_tokens_low": 4000.0, "cost_equivalent_tokens_high": 6500.0}
    bounds |= {"retention_low": 0.8, "retention_high": 0.95}
    return pl.DataFrame(
        [{**row, **bounds, "on_frontier": True}, {**row, **bounds, "strategy": "Other()", "on_frontier": False}]
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_hold_hostile_names_as_text(theme: Theme) -> None:
    tokens = pl.DataFrame({"step": [0, 1], "label": [ATTACK, ATTACK], "tokens": [5, 9]})
    actions = pl.DataFrame(
        {"source_trust_level": [ATTACK], "source_kind": [ATTACK], "sink": [ATTACK], "severity": ["high"]}
    )
    made = (charts.context_composition(tokens), charts.strategy_frontier(frontier()), charts.trust_flow(actions))
    for chart in made:
        svg = charts.to_svg(chart, theme=theme)
        assert svg == charts.to_svg(chart, theme=theme)
        tags = {element.tag.split("}")[-1] for element in ElementTree.fromstring(svg).iter()}  # noqa: S314 - our own
        assert "script" not in tags


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    empty = pl.DataFrame(
        schema={"source_trust_level": pl.String, "source_kind": pl.String, "sink": pl.String, "severity": pl.String}
    )
    assert charts.to_svg(charts.trust_flow(empty)).startswith("<svg")


def test_a_chart_is_the_readers_to_change_and_to_export() -> None:
    chart = charts.strategy_frontier(frontier()).properties(width=300, title="mine")
    assert charts.to_png(chart, scale=1).startswith(b"\x89PNG")


def test_a_cell_shows_a_chart_as_two_pictures_and_nothing_else() -> None:
    use_charts()
    try:
        frame = pl.DataFrame({"x": [ATTACK], "y": pl.Series(["1.5"]).cast(pl.Decimal(9, 2))})
        chart: Any = alt.Chart(frame).mark_bar().encode(x="x:N", y="y:Q")
        bundle = chart._repr_mimebundle_()
        html = str(bundle["text/html"])
    finally:
        alt.renderers.enable("default")
    assert html.count("<img ") == 2
    assert "<script" not in html
    assert chart_html({"mark": "point", "data": {"values": []}}).count("<img ") == 2
