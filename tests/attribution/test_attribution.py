"""Attribution agrees with a count token by token, and always adds up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.cost.attribution import Attribution, attribute_calls, by_label, by_step
from ledgerkit.cost.attribution.locating import places_of
from ledgerkit.cost.attribution.slopes import nanos
from ledgerkit.errors import StrategyError, UnknownNameError
from ledgerkit.strategies import FullHistory, RunFrames, project
from tests.attribution import brute
from tests.attribution.made import drawn

_PICO = 10**12
seeds = st.integers(0, 2**32)


def _check_equal(found: Attribution, want: brute.Shares) -> None:
    parts = found.parts()
    got = {name: Counter(dict(parts.select("part", f"{name}_pico").rows())) for name in ("carrying", "creation")}
    assert +got["carrying"] == want.of_parts("carried")
    assert +got["creation"] == want.of_parts("created")
    lines: dict[brute.Key, Counter[str]] = {key: Counter() for key in want.lines}
    for session, run, call, _, line, pico in found.lines.iter_rows():
        lines[session, run, call][line] += pico
    assert lines == {key: +counter for key, counter in want.lines.items()}


def _check_closes(found: Attribution) -> None:
    """Parts and lines sum to the recorded cost, for every call, and nothing is below 0."""
    created = dict(found.creation.group_by("call").agg(pl.col("creation_pico").sum()).iter_rows())
    keys = ["session_id", "run_id", "call_id"]
    lined = dict(found.calls.select(*keys, "call").join(found.lines, on=keys).group_by("call").agg(
        pl.col("cost_pico").sum()).iter_rows())  # fmt: skip
    placed = found.calls.filter(pl.col("slot") >= 0)["call"].to_list()
    for call, nano in found.calls.select("call", nanos("cost")).iter_rows():
        carried = np.zeros(1, np.int64)
        if call in placed:
            mask = np.zeros(len(placed), np.bool_)
            mask[placed.index(call)] = True
            carried = found.carrying.costs(mask)
        assert carried.size == 0 or carried.min() >= 0
        assert int(carried.sum()) + created.get(call, 0) + lined.get(call, 0) == nano * 1_000
    assert found.lines.filter(pl.col("cost_pico") < 0).is_empty()
    assert found.creation.filter(pl.col("creation_pico") < 0).is_empty()


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(seeds)
def test_every_part_and_line_is_what_a_count_token_by_token_gives(seed: int) -> None:
    frames, calls, written = drawn(seed, 4)
    _check_equal(attribute_calls(frames, calls, written), brute.shares(frames, calls, written))


@settings(max_examples=12, deadline=None)
@given(seeds)
def test_parts_and_lines_sum_to_the_recorded_cost_of_every_call(seed: int) -> None:
    _check_closes(attribute_calls(*drawn(seed, 3)))


@settings(max_examples=12, deadline=None)
@given(seeds)
def test_where_prompts_are_recorded_nothing_of_the_input_is_left_to_lines(seed: int) -> None:
    found = attribute_calls(*drawn(seed, 4, exact=True))
    assert set(found.lines["line"]) <= {"hidden_output", "no_context"}
    none = found.calls.filter(pl.col("context_tokens") == 0)["call_id"]
    assert set(found.lines.filter(pl.col("line") == "no_context")["call_id"]) <= set(none)
    assert not found.calls["is_scaled"].any()
    assert found.calls["uncounted_tokens"].sum() == 0


_BY = [[], ["kind"], ["section"], ["model"], ["day", "trust_level"], ["run_id", "model", "tool_name"], ["step"]]


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from(_BY))
def test_disjoint_groups_add_up_to_the_total(seed: int, by: list[str]) -> None:
    frames, calls, written = drawn(seed, 4)
    days = calls.with_columns(created_at=pl.col("created_at") + pl.duration(days=pl.col("step").fill_null(0) % 3))
    found = attribute_calls(frames, days, written)
    rows = by_label(found, by, run_facts=frames.runs.select("session_id", "run_id"))
    assert int((rows["cost"].sum() or 0) * _PICO) == found.total_pico
    whole = rows.select(pl.col("carrying_cost", "creation_cost", "cost", "scaled_cost").min()).row(0)
    assert all(value is None or value >= 0 for value in whole)
    assert rows.select(pl.struct([*by, "line"]).is_duplicated().any()).item() in (None, False)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_costs_by_step_are_those_of_the_calls(seed: int) -> None:
    frames, calls, written = drawn(seed, 3)
    found = attribute_calls(frames, calls, written)
    rows = by_step(found, found.projection.placements["section"])
    keys = ["session_id", "run_id", "call_id"]
    got = rows.group_by(keys).agg(pl.col("cost").sum()).sort(keys)
    want = found.calls.filter(pl.col("cost") > 0).select(*keys, "cost").sort(keys)
    assert [row[3] for row in got.iter_rows()] == [row[3] for row in want.iter_rows()]
    assert got.select(keys).equals(want.select(keys))
    by_section = rows.filter(pl.col("line").is_null()).group_by("label").agg(pl.col("cost").sum()).sort("label")
    labels = by_label(found, ["section"], run_facts=frames.runs).filter(pl.col("carrying_cost") > 0)
    other = labels.select(pl.col("section").cast(pl.String), "carrying_cost").sort("section")
    assert by_section.rows() == other.rows()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), min_size=1), st.data())
def test_the_token_that_is_looked_for_is_found(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    values, weights = (np.array(column) for column in zip(*rows, strict=True))
    left = data.draw(st.integers(0, len(rows) - 1))
    right = data.draw(st.integers(left + 1, len(rows)))
    tokens = sorted(v for v, w in rows[left:right] for _ in range(w))
    if not tokens:
        return
    target = data.draw(st.integers(0, len(tokens) - 1))
    place, rest = places_of(values, weights, *(np.array([n]) for n in (left, right, target)))
    assert place.item() == tokens[target]
    assert rest.item() == target - sum(t < tokens[target] for t in tokens)


def test_calls_of_a_group_are_counted_once_however_many_of_its_parts_they_held() -> None:
    frames, calls, written = drawn(11, 3, exact=True)
    found = attribute_calls(frames, calls, written)
    rows = by_label(found, ["run_id"], run_facts=frames.runs).filter(pl.col("parts") > 0)
    placed = found.projection.placements.join(frames.runs, on="run")
    for run, count in rows.select("run_id", "carried_calls").iter_rows():
        mine = placed.filter(pl.col("run_id") == run)
        steps = {s for a, b in mine.select("from_step", "to_step").iter_rows() for s in range(a, b)}
        assert count == len(steps)


def test_another_strategy_than_the_recorded_one_can_be_charged() -> None:
    frames, calls, written = drawn(5, 3)
    answer = project(frames, FullHistory())
    _check_closes(attribute_calls(frames, calls, written, answer))


@pytest.mark.long
def test_the_demo_runs_agree_with_a_count_token_by_token(demo_path: Path) -> None:
    with lk.open(demo_path, create=False) as ledger:
        calls = ledger.calls()
        written = ledger.sql("select session_id, run_id, call_id, message_id, part_index from parts "
                             "where call_id is not null and part_trust_level = 'MODEL_GENERATED'")  # fmt: skip
        runs = sorted(calls["run_id"].unique())[:14]
        frames = ledger.frames(runs)
        mine = calls.filter(pl.col("run_id").is_in(runs))
        found = attribute_calls(frames, mine, written)
        _check_equal(found, brute.shares(frames, mine, written))
        _check_closes(found)


def test_what_a_demo_log_does_not_hold_is_what_its_agent_sent_beside_it(demo_path: Path) -> None:
    """Tool declarations of the first request are unseen; later, messages cost three tokens of framing each."""
    with lk.open(demo_path, create=False) as ledger:
        for found in ledger.attributions():
            calls = found.calls.filter(pl.col("relation").is_null()).sort("run", "step")
            assert calls.filter(pl.col("unseen_tokens") <= 900).is_empty()
            assert not calls["is_scaled"].any()
            beyond = calls.select(pl.col("uncounted_tokens").sum(), pl.col("input_tokens").sum()).row(0)
            assert 0 < beyond[0] / beyond[1] < 0.03


def test_a_run_that_costs_millions_is_refused_and_not_added_up_wrongly() -> None:
    frames, calls, written = drawn(3, 1, exact=True)
    dear = calls.with_columns(pl.lit("5000000").cast(pl.Decimal(18, 9)).alias("cost"))
    with pytest.raises(StrategyError, match="four million"):
        attribute_calls(frames, dear, written)


def test_a_missing_column_is_named() -> None:
    frames, calls, written = drawn(3, 1)
    with pytest.raises(UnknownNameError, match="call_id"):
        attribute_calls(frames, calls.drop("call_id"), written)
    with pytest.raises(UnknownNameError, match="tool_name"):
        by_label(attribute_calls(frames, calls, written), ["tool_nam"], run_facts=frames.runs)


def _empty(frames: RunFrames) -> RunFrames:
    return RunFrames(frames.runs.clear(), frames.steps.clear(), frames.parts.clear())


def test_without_calls_there_is_nothing_to_share() -> None:
    frames, calls, written = drawn(3, 1)
    found = attribute_calls(_empty(frames), calls.clear(), written)
    assert found.total_pico == 0
    assert by_label(found, ["kind"], run_facts=frames.runs).is_empty()
