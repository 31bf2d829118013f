"""Costs by label and by step are those of a count call by call and part by part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

import polars as pl
import pytest

from ledgerkit.cost import price_calls
from ledgerkit.cost.attribution import (
    CALL_LABELS,
    LABELS,
    PART_LABELS,
    RUN_LABELS,
    attribute_calls,
    by_label,
    by_step,
    summed,
)
from ledgerkit.errors import UnknownNameError
from tests.attribution import brute
from tests.attribution.made import BOOK, SCHEMA, drawn

_PICO = 10**12
Labels = tuple[object, ...]


@dataclass
class Group:
    """What stands in a row of the answer; money in pico-dollars."""

    carrying: int = 0
    creation: int = 0
    line: int = 0
    parts: set[int] = field(default_factory=set[int])
    calls: set[brute.Key] = field(default_factory=set[brute.Key])


class Case:
    """Drawn runs whose calls are of several days and providers, and facts about their parts and runs."""

    def __init__(self, seed: int, *, exact: bool) -> None:
        self.frames, calls, self.written = drawn(seed, 4, exact=exact)
        later = pl.duration(days=pl.col("step").fill_null(0) % 3 * 9)
        self.calls = calls.with_columns(
            created_at=pl.col("created_at") + later,
            provider=pl.when(pl.col("step") > 2).then(pl.lit("late")),
            service_tier=pl.lit("batch"),
        )
        keys = self.frames.parts.select("message_id", "part_index").unique(maintain_order=True)
        number = pl.int_range(pl.len()) % 3
        self.part_facts = keys.with_columns(
            path=pl.when(number > 0).then(pl.format("{}.py", number)), artifact=pl.format("a{}", number % 2)
        )
        runs = self.frames.runs.select("session_id", "run_id")
        odd = pl.int_range(pl.len()) % 2
        facts = {n: pl.format(f"{n} {{}}", odd) for n in RUN_LABELS if n not in runs.columns}
        self.run_facts = runs.with_columns(**facts)

        self.shares = brute.shares(self.frames, self.calls, self.written)
        self.found = attribute_calls(self.frames, self.calls, self.written)
        self._runs = {(r["session_id"], r["run_id"]): r for r in self.run_facts.to_dicts()}
        places = {(r["message_id"], r["part_index"]): r for r in self.part_facts.to_dicts()}
        parts = self.frames.parts.to_dicts()
        self._parts = {r["part"]: r | places[r["message_id"], r["part_index"]] for r in parts}

    def expected(self, by: Sequence[str]) -> dict[Labels, Group]:
        shares = self.shares
        calls = {(r["session_id"], r["run_id"], r["call_id"]): r for r in self.calls.to_dicts()}
        groups: dict[Labels, Group] = defaultdict(Group)
        for key, part, pico in _cells(shares.carried):
            group = groups[self._labels(by, calls[key], part)]
            group.carrying += pico
            group.parts.add(part)
            group.calls.add(key)
        for key, part, pico in _cells(shares.created):
            groups[self._labels(by, calls[key], part)].creation += pico
        for key, line, pico in _cells(shares.lines):
            if pico:
                groups[self._labels(by, calls[key], line)].line += pico
        return groups

    def _labels(self, by: Sequence[str], call: dict[str, Any], what: int | str) -> Labels:
        known: dict[str, Any] = dict(call)
        day = call["created_at"].date()
        known |= {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}
        known |= self._runs[call["session_id"], call["run_id"]] | dict.fromkeys(PART_LABELS)
        known |= self._parts[what] if isinstance(what, int) else {}
        return (*(known[name] for name in by), None if isinstance(what, int) else what)

    def rows(self, by: Sequence[str]) -> pl.DataFrame:
        return by_label(self.found, by, part_facts=self.part_facts, run_facts=self.run_facts)


def _cells(table: Mapping[brute.Key, Mapping[Any, int]]) -> Iterator[tuple[brute.Key, Any, int]]:
    for key, counter in table.items():
        for what, pico in counter.items():
            yield key, what, pico


@cache
def drawn_case(seed: int, *, exact: bool) -> Case:
    """Drawn once for all tests that read it."""
    return Case(seed, exact=exact)


BY = [
    [], ["kind"], ["section", "model"], ["tool_name", "day"], ["path"], ["artifact", "month"], ["repository", "week"],
    ["agent", "kind", "provider"], ["message_id", "part_index"], ["step", "trust_level"], ["run_id", "model", "day"],
    ["session_id", "part_type", "service_tier"], ["task_id"], ["subagent", "relation", "branch", "source_format"],
]  # fmt: skip


@pytest.mark.parametrize("by", BY, ids=" ".join)
@pytest.mark.parametrize("seed", [3, 8])
def test_each_group_has_the_amounts_of_its_calls_and_parts(seed: int, by: list[str]) -> None:
    case = drawn_case(seed, exact=False)
    found = {
        row[: len(by) + 1]: tuple(int(amount * _PICO) for amount in row[-3:])
        for row in case.rows(by).select(*by, "line", "carrying_cost", "creation_cost", "cost").iter_rows()
    }
    want = {
        labels: (group.carrying, group.creation, group.carrying + group.creation + group.line)
        for labels, group in case.expected(by).items()
    }
    assert {key: one for key, one in found.items() if any(one)} == {key: one for key, one in want.items() if any(one)}


@pytest.mark.parametrize("by", BY, ids=" ".join)
def test_each_group_counts_its_parts_tokens_and_calls_once(by: list[str]) -> None:
    case = drawn_case(8, exact=True)
    tokens = dict(case.frames.parts.select("part", "tokens").iter_rows())
    rows = case.rows(by).filter(pl.col("line").is_null(), pl.col("parts") > 0)
    found = {row[: len(by)]: row[len(by) :] for row in rows.select(*by, "parts", "tokens", "carried_calls").iter_rows()}
    want = {labels[:-1]: group for labels, group in case.expected(by).items() if group.parts}
    # A group of several labels of calls counts the tokens of a part once for each of them.
    if not set(by) & set(CALL_LABELS):
        assert {key: one[1] for key, one in found.items()} == {
            key: sum(tokens[part] for part in group.parts) for key, group in want.items()
        }
        assert {key: one[0] for key, one in found.items()} == {key: len(one.parts) for key, one in want.items()}
    assert {key: one[2] for key, one in found.items()} == {key: len(one.calls) for key, one in want.items()}


def test_what_was_scaled_down_is_told_and_is_no_more_than_what_was_carried() -> None:
    case = drawn_case(3, exact=False)
    rows = case.rows(["run_id"])
    found, shares = case.found, case.shares
    keys = found.calls.filter("is_scaled").select("session_id", "run_id", "call_id").rows()
    want = sum(sum(shares.carried[key].values()) for key in keys)
    assert int((rows["scaled_cost"].sum() or 0) * _PICO) == want > 0
    assert drawn_case(3, exact=True).rows([])["scaled_cost"].sum() == 0


def test_rows_are_sorted_dearest_first_and_add_up_over_tables() -> None:
    case = drawn_case(8, exact=False)
    rows = case.rows(["kind"])
    assert rows.columns == [
        "kind", "line", "parts", "tokens", "carried_calls", "carrying_cost", "creation_cost", "cost", "scaled_cost",
    ]  # fmt: skip
    assert rows["cost"].to_list() == sorted(rows["cost"], reverse=True)
    twice = summed([rows, rows.clear(), rows], ["kind"])
    assert twice.columns == rows.columns
    assert twice.schema == rows.schema
    assert twice["cost"].to_list() == [cost * 2 for cost in rows["cost"]]
    assert twice["tokens"].to_list() == [tokens * 2 for tokens in rows["tokens"]]
    assert summed([rows.clear()], ["kind"]).equals(rows.clear())


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"^No column to group by 'knd'\. Did you mean 'kind'"):
        drawn_case(8, exact=True).rows(["knd"])
    assert len(set(LABELS)) == len(LABELS)


@pytest.mark.parametrize("seed", [3, 8])
def test_each_call_pays_for_each_section_and_line_what_a_count_says(seed: int) -> None:
    case = drawn_case(seed, exact=False)
    found, shares = case.found, case.shares
    sections = found.projection.placements["section"]
    rows = by_step(found, sections)
    assert rows.columns == ["session_id", "run_id", "call_id", "step", "label", "line", "cost"]
    assert rows.equals(rows.sort("session_id", "run_id", "step", "call_id", "label", "line", nulls_last=True))
    want: dict[tuple[object, ...], int] = defaultdict(int)
    of_part = dict(case.frames.parts.select("part", pl.col("section").cast(pl.String)).iter_rows())
    for key, part, pico in _cells(shares.carried):
        want[*key, of_part[part], None] += pico
    for key, _, pico in _cells(shares.created):
        want[*key, None, "output"] += pico
    for key, line, pico in _cells(shares.lines):
        want[*key, None, "output" if line == "hidden_output" else line] += pico
    got = {(*row[:3], *row[4:6]): int(row[6] * _PICO) for row in rows.iter_rows()}
    assert got == {key: pico for key, pico in want.items() if pico}
    steps = dict(case.calls.select("call_id", "step").iter_rows())
    assert all(steps[call] == step for call, step in rows.select("call_id", "step").iter_rows())


def test_frames_of_other_runs_leave_their_calls_without_a_context() -> None:
    case = drawn_case(8, exact=False)
    moved = case.calls.with_columns(run_id=pl.lit("elsewhere"))
    found = attribute_calls(case.frames, moved, case.written)
    assert found.calls["run"].is_null().all()
    assert set(found.lines["line"]) <= {"no_context", "hidden_output", "fee"}
    assert int(found.lines["cost_pico"].sum()) == found.total_pico
    assert by_step(found, found.projection.placements["section"])["label"].is_null().all()


NEEDED = [
    "session_id",
    "run_id",
    "call_id",
    "step",
    "input_tokens",
    "output_tokens",
    "cost",
    "cost_input",
    "cost_output",
]


def test_only_the_needed_columns_are_needed() -> None:
    frames, calls, written = drawn(8, 4, exact=True)
    usage = [name for name in calls.columns if name in SCHEMA]
    plain = {name: None for name in usage if name.startswith("cache_") or name == "reasoning_tokens"}
    whole = price_calls(calls.select(usage).with_columns(**plain), BOOK)
    found = attribute_calls(frames, whole, written)
    for other in (whole.select(NEEDED), whole.with_columns(cost_request=None, cost_cache_read=None, is_opaque=None)):
        same = attribute_calls(frames, other, written)
        assert same.total_pico == found.total_pico > 0
        assert same.parts().equals(found.parts())
        assert same.lines.equals(found.lines)
    assert not {"first", "steps"} & set(found.calls.columns)
    for name in NEEDED:
        with pytest.raises(UnknownNameError, match=rf"^No column '{name}'\."):
            attribute_calls(frames, whole.drop(name), written)
