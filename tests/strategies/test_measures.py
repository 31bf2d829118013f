"""Measures of arbitrary placements, the cache-aware table of the literature, and what cannot be known."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit import strategies
from ledgerkit.errors import StrategyError
from ledgerkit.protocol.capabilities import PROVIDERS, ProviderInterface
from ledgerkit.strategies import CacheRules, Projection, RunFrames, Strategy
from ledgerkit.strategies.placements import PLACEMENTS, no_calls
from ledgerkit.strategies.ranges import sums_below
from tests.strategies import naive
from tests.strategies.drawn import drawn_frames
from tests.strategies.test_naive import RATES

ALL_RATES = pl.DataFrame([RATES], schema=["rate_input", "rate_cache_read", "rate_cache_write"], orient="row")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(-9, 9)), max_size=60), st.data())
def test_sums_over_ranges_are_sums(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    asked = data.draw(
        st.lists(st.tuples(st.integers(0, len(rows)), st.integers(0, len(rows)), st.integers(0, 70)), max_size=8)
    )
    queries = [(min(a, b), max(a, b), x) for a, b, x in asked]
    columns = [np.array(c, np.int64) for c in zip(*queries, strict=True)] if queries else [np.zeros(0, np.int64)] * 3
    values, weights = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    wanted = [sum(w for v, w in rows[left:right] if v < x) for left, right, x in queries]
    assert sums_below(values, weights, *columns).tolist() == wanted


def _arbitrary(random: Random, frames: RunFrames) -> pl.DataFrame:
    """Placements with gaps, re-entries and renditions of any size, in any place."""
    rows: list[dict[str, Any]] = []
    for run, steps in frames.runs.select("run", "steps").iter_rows():
        positions = random.sample(range(200), 25)
        for part, position in enumerate(positions):
            cuts = sorted(random.sample(range(steps + 1), min(steps + 1, random.randint(2, 6))))
            for start, end in pairwise(cuts):
                if random.random() < 0.7:
                    rows.append({
                        "run": run, "part": part, "rendition": random.choice(["full", "reference", "excerpt"]),
                        "section": "recent_messages", "from_step": start, "to_step": end, "position": position,
                        "tokens": random.randint(0, 400),
                    })  # fmt: skip
    return strategies.merge_equal(pl.DataFrame(rows).select(*PLACEMENTS).cast(PLACEMENTS))


@pytest.mark.parametrize("seed", range(4))
def test_any_placements_are_measured_as_a_rebuild_measures_them(seed: int) -> None:
    random = Random(seed)
    frames = drawn_frames(seed, 40, most_steps=30)
    placements = _arbitrary(random, frames)
    cache = CacheRules(minimum_tokens=random.choice([1, 500]), block_tokens=random.choice([1, 64]))
    measures = strategies.measure(frames, Projection("any", placements, no_calls()), cache=cache, rates=ALL_RATES)
    steps = measures.steps().with_columns(run=frames.steps["run"])
    costs = strategies.attribute(measures).group_by("run", "part").agg(pl.col("cost_pico").sum())
    for run, count in frames.runs.select("run", "steps").iter_rows():
        rows = placements.filter(run=run).sort("position").to_dicts()
        contexts = [[_entry(r) for r in rows if r["from_step"] <= t < r["to_step"]] for t in range(count)]
        wanted = naive.figures(contexts, [None] * count, cache, RATES)
        mine = steps.filter(run=run)
        assert mine["tokens"].to_list() == wanted.tokens
        assert mine["shared_prefix_tokens"].to_list() == wanted.shared
        assert mine["cost_pico"].to_list() == wanted.cost
        assert dict(costs.filter(run=run).select("part", "cost_pico").iter_rows()) == wanted.by_part | {
            part: 0 for part in placements.filter(run=run)["part"] if part not in wanted.by_part
        }


def _entry(row: dict[str, Any]) -> naive.Entry:
    return naive.Entry(
        row["position"], row["part"], row["rendition"], row["tokens"], 0, row["section"], False, False, 0
    )


def _agent_run(steps: int, *, system: int, action: int, observation: int) -> RunFrames:
    """One run of a plain agent: a prompt, then an action and what came back at each step."""
    rows: list[tuple[str, int, int, str | None]] = [("SYSTEM_INSTRUCTION", 0, system, None)]
    for step in range(1, steps):
        rows.append(("TOOL_CALL_REQUEST", step, action, f"c{step}"))
        rows.append(("TOOL_CALL_RESULT", step, observation, f"c{step}"))
    parts = [
        {
            "session_id": "s", "run_id": "r", "message_id": f"m{n}", "part_index": 0, "sequence_no": n, "kind": kind,
            "part_type": "tool_call" if kind == "TOOL_CALL_REQUEST" else "text", "part_trust_level": "TOOL_TRUSTED",
            "part_visibility": "MODEL_VISIBLE", "tool_call_id": call, "step": max(seen - 1, 0), "visible_from": seen,
            "token_count": tokens, "lines": 10**26, "has_content": True,
        }
        for n, (kind, seen, tokens, call) in enumerate(rows)
    ]  # fmt: skip
    frame = pl.DataFrame([{**part, "lines": 100} for part in parts], infer_schema_length=None)
    frames = strategies.run_frames(
        frame, pl.DataFrame([{"session_id": "s", "run_id": "r", "step": t} for t in range(steps)])
    )
    short = frames.parts.with_columns(reference_tokens=pl.min_horizontal("tokens", pl.lit(20)))
    return RunFrames(frames.runs, frames.steps, short)


TABLE: list[tuple[Strategy, float, float, float, float]] = [
    # strategy, millions of prompt tokens, thousands at the peak, cost without and with a cache (full history: 1)
    (strategies.FullHistory(), 11.69, 225.8, 1.00, 1.00),
    (strategies.LastObservations(10), 3.76, 49.6, 0.32, 1.86),
    (strategies.LastObservations(10, polling=5), 4.12, 57, 0.35, 0.75),
    (strategies.LastObservations(10, polling=10), 4.56, 67, 0.39, 0.64),
    (strategies.LastObservations(10, polling=25), 5.75, 97, 0.49, 0.64),
    (strategies.LastObservations(5), 2.85, 39.7, 0.24, 1.05),
    (strategies.ClearAt(100_000, keep=3), 5.62, 98, 0.48, 0.59),
    (strategies.ClearAt(60_000, keep=3), 3.99, 59, 0.34, 0.49),
]


@pytest.mark.parametrize(
    ("strategy", "tokens", "peak", "plain", "cached"), TABLE, ids=lambda v: getattr(v, "label", "")
)
def test_the_cache_turns_the_order_of_strategies_round(
    strategy: Strategy, tokens: float, peak: float, plain: float, cached: float
) -> None:
    """The simulated table of reference figures: 8k system, 200-token actions, 2,000-token observations, 100 steps."""
    frames = _agent_run(100, system=8_000, action=200, observation=2_000)

    def run(one: Strategy, cache: CacheRules) -> dict[str, Any]:
        answer = strategies.project(frames, one)
        return strategies.measure(frames, answer, cache=cache, rates=ALL_RATES).runs().row(0, named=True)

    with_cache, without = CacheRules(minimum_tokens=1), CacheRules(is_on=False)
    mine, full = run(strategy, with_cache), run(strategies.FullHistory(), with_cache)
    assert mine["input_tokens"] / 1e6 == pytest.approx(tokens, rel=0.02)
    assert mine["peak_tokens"] / 1e3 == pytest.approx(peak, rel=0.05)
    bare, bare_full = run(strategy, without), run(strategies.FullHistory(), without)
    assert bare["cost_pico"] / bare_full["cost_pico"] == pytest.approx(plain, abs=0.015)
    assert mine["cost_pico"] / full["cost_pico"] == pytest.approx(cached, abs=0.05)


def test_a_lifetime_needs_times_and_says_where_they_are_missing() -> None:
    frames = drawn_frames(3, 30)
    answer = strategies.project(frames, strategies.FullHistory())
    forever = strategies.measure(frames, answer, cache=CacheRules(minimum_tokens=1)).runs()
    minute = strategies.measure(frames, answer, cache=CacheRules(minimum_tokens=1, lifetime_s=60)).runs()
    assert forever["unknown_gaps"].sum() == 0 < minute["unknown_gaps"].sum()
    assert minute["cache_read_tokens"].sum() < forever["cache_read_tokens"].sum()


def test_the_rules_of_providers_are_taken_from_their_capabilities() -> None:
    (anthropic,) = PROVIDERS[ProviderInterface.ANTHROPIC].cache_rules
    assert CacheRules.of(anthropic) == CacheRules(minimum_tokens=1024, lifetime_s=300, only_whole_prompts=True)
    older = PROVIDERS[ProviderInterface.OPENAI_CHAT].cache_rules[-1]
    assert CacheRules.of(older) == CacheRules(minimum_tokens=1024, block_tokens=128)


def test_unknown_rates_are_counted_and_cost_nothing_that_is_known() -> None:
    frames = drawn_frames(1, 3)
    answer = strategies.project(frames, strategies.FullHistory())
    some = pl.DataFrame({"model": ["other"], "rate_input": [1], "rate_cache_read": [1], "rate_cache_write": [1]})
    measures = strategies.measure(frames, answer, rates=some)
    assert measures.steps()["cost_pico"].null_count() == frames.steps.height
    assert measures.runs()["unpriced_steps"].to_list() == frames.runs["steps"].to_list()
    with pytest.raises(StrategyError, match="one row for all steps"):
        strategies.measure(frames, answer, rates=pl.concat([some.drop("model")] * 2))
    with pytest.raises(StrategyError, match="rate_cache_read"):
        strategies.measure(frames, answer, rates=some.drop("rate_cache_read"))


def test_what_exceeds_the_window_is_overflow() -> None:
    frames = drawn_frames(2, 5)
    answer = strategies.project(frames, strategies.FullHistory())
    steps = strategies.measure(frames, answer, context_window=500).steps()
    assert steps["overflow_tokens"].to_list() == [max(0, tokens - 500) for tokens in steps["tokens"]]
    runs = strategies.measure(frames, answer, context_window=500).runs()
    assert runs["overflowing_steps"].sum() == steps.filter(pl.col("overflow_tokens") > 0).height
    assert strategies.measure(frames, answer).runs()["overflowing_steps"].null_count() == 5


def test_a_summarisers_call_is_a_row_of_its_own() -> None:
    frames = drawn_frames(5, 30)
    answer = strategies.project(frames, strategies.SummariseAt(900, 300, 40))
    measures = strategies.measure(frames, answer, rates=ALL_RATES)
    calls = measures.extra_calls()
    assert calls.height == answer.placements.filter(pl.col("part") < 0).height > 0
    assert (calls["input_tokens"] > 900).all()
    assert calls["cost_pico"].to_list() == [tokens * RATES[0] for tokens in calls["input_tokens"]]
    runs = measures.runs()
    assert runs["extra_cost_pico"].sum() == calls["cost_pico"].sum()
    assert runs["extra_calls"].sum() == calls.height
