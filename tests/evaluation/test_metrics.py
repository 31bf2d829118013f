"""Metric values equal those of a slow independent implementation, on drawn runs and on runs of the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit import strategies
from ledgerkit.errors import UnknownNameError
from ledgerkit.evaluation import Material, Options, score
from ledgerkit.evaluation.edits import quoted_lines
from ledgerkit.evaluation.lexemes import find_tokens
from ledgerkit.evaluation.refetching import only_reads
from ledgerkit.strategies import RunFrames, Strategy
from tests.evaluation import naive
from tests.evaluation.drawn import TOKENS, drawn_material


@dataclass(frozen=True)
class Torn(Strategy):
    """Loses single parts of units, and moves others: what no strategy may do, and validity has to see."""

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        del frames
        kept = placements.filter(pl.col("part") % 5 != 0)
        far = pl.when(pl.col("part") % 7 == 0).then(100_000 + pl.col("position")).otherwise("position")
        return kept.with_columns(far.cast(pl.Int32).alias("position"))


STRATEGIES: list[Strategy] = [
    strategies.FullHistory(),
    strategies.LastObservations(2),
    strategies.TokenWindow(1_500),
    strategies.HeadTail(60, 25) | strategies.ClearAt(1_000, keep=1),
    strategies.SummariseAt(1_500, 600, 100),
    strategies.SectionBudgets.of_window(4_000),
    strategies.RandomDrop(900),
    Torn(),
]


def tokens_of_drawn(material: Material) -> dict[int, set[tuple[str, str]]]:
    """What was put into the arguments, as it was drawn."""
    found: dict[int, set[tuple[str, str]]] = {}
    for part, kind, data in (
        material.texts.join(material.frames.parts.select("part", "part_type"), on="part")
        .select("part", "part_type", "data")
        .iter_rows()
    ):
        said = json.loads(data)["command"] if kind == "tool_call" and data else ""
        found[part] = {token for raw, meant in TOKENS.items() if f" {raw} " in f"{said} " for token in meant}
    return found


def lines_of_drawn(material: Material) -> dict[int, set[str]]:
    """The lines that the drawn edits quote, but for very short ones."""
    return {
        part: {line.rstrip() for line in json.loads(data or "{}").get("old_string", "").split("\n")
               if len(line.strip()) >= 4}
        for part, data in material.texts.select("part", "data").iter_rows()
    }  # fmt: skip


def tokens_as_read(material: Material) -> dict[int, set[tuple[str, str]]]:
    calls = material.texts.select("data", "root", call="part")
    found: dict[int, set[tuple[str, str]]] = {part: set() for part in material.texts["part"]}
    for call, kind, value in find_tokens(calls).iter_rows():
        found[call].add((kind, value))
    return found


def reads_as_drawn(part: dict[str, Any]) -> bool:
    """Drawn calls that only read: of ``Read``, and shell lines that begin with ``cat``."""
    if part["part_type"] != "tool_call" or part["data"] is None:
        return False
    return part["tool_name"] == "Read" or json.loads(part["data"])["command"].split()[0] == "cat"


def reads_as_read(part: dict[str, Any]) -> bool:
    return part["part_type"] == "tool_call" and only_reads(part["tool_name"], part["data"])


def check(
    material: Material,
    strategy: Strategy,
    tokens: dict[int, set[tuple[str, str]]],
    lines: dict[int, set[str]],
    reads: Callable[[dict[str, Any]], bool] = reads_as_drawn,
) -> list[dict[str, Any]]:
    """Compares every metric of every run, and gives them."""
    table = score(material, [strategy], Options()).runs.to_dicts()
    for run, mine in zip(naive.runs_of(material), table, strict=True):
        slow = naive.Scored(material, run, strategy, tokens, lines)
        wanted = {**slow.evidence(), **slow.control(), **slow.edits(), **slow.failures(), **slow.labels(),
                  **slow.files(), **slow.refetching(reads), **slow.validity()}  # fmt: skip
        sizes = [sum(row["tokens"] for row in rows) for rows in slow.contexts]
        wanted |= {"input_tokens": sum(sizes), "peak_tokens": max(sizes), "steps": run.steps}
        for name, value in wanted.items():
            assert mine[name] == (value if value is None else pytest.approx(value)), (run.number, strategy.label, name)
    return table


_FAST = (strategies.FullHistory, strategies.Chain, Torn)


@pytest.mark.parametrize(
    "strategy",
    [pytest.param(one, marks=() if isinstance(one, _FAST) else pytest.mark.slow) for one in STRATEGIES],
    ids=lambda one: one.label.split("(")[0],
)
def test_metrics_of_drawn_runs_equal_a_slow_implementation(strategy: Strategy) -> None:
    material = drawn_material(5, 3, most_steps=24)
    rows = check(material, strategy, tokens_of_drawn(material), lines_of_drawn(material))
    assert sum(row["needs"] for row in rows) > 20
    if isinstance(strategy, strategies.FullHistory):  # the runs show what is to be measured
        assert all(sum(row[name] or 0 for row in rows) for name in ("staleness", "contradictions", "edit_support"))
    if isinstance(strategy, strategies.Chain):
        assert any(row["refetch_tokens"] for row in rows)
        assert any(row["repeated_reads"] for row in rows)
    if isinstance(strategy, Torn):
        assert sum(row["missing_needs"] for row in rows)
        assert any(row["validity"] < 1 for row in rows)


@pytest.mark.slow
@settings(deadline=None)
@given(seed=st.integers(0, 10_000), number=st.integers(0, len(STRATEGIES) - 1))
def test_metrics_of_any_drawn_runs_equal_a_slow_implementation(seed: int, number: int) -> None:
    material = drawn_material(seed, 3)
    check(material, STRATEGIES[number], tokens_of_drawn(material), lines_of_drawn(material))


@pytest.mark.corpus
@pytest.mark.slow
def test_metrics_of_recorded_runs_equal_a_slow_implementation(corpus_import: tuple[Path, lk.ImportAccount]) -> None:
    from ledgerkit.buckets import BucketReader, BucketTask

    with lk.open(corpus_import[0], create=False) as ledger:
        runs = ledger.sql("select run_id from runs where steps between 3 and 25 order by run_id")["run_id"][::7]
        task = BucketTask("", tuple(runs[:12]), b"", Options(), None)
        material = BucketReader(ledger._storage, None).material(task)  # pyright: ignore[reportPrivateUsage]
        tokens = tokens_as_read(material)
        lines = {
            part: set(quoted_lines(data or "")) for part, data in material.texts.select("part", "data").iter_rows()
        }
        for strategy in (strategies.LastObservations(3), strategies.HeadTail(2_000, 500) | strategies.ClearAt(8_000)):
            check(material, strategy, tokens, lines, reads_as_read)


@pytest.mark.long
def test_the_fidelity_of_summaries_is_what_counting_their_items_gives(demo_path: Path) -> None:
    with lk.open(demo_path, create=False) as ledger:
        items = ledger.check_compactions().to_dicts()
        table = ledger.evaluate(["FullHistory"], ["summary_fidelity"], jobs=1).runs.to_dicts()
    assert len({item["run_id"] for item in items}) > 1
    for row in table:
        said = [item["verdict"] for item in items if item["run_id"] == row["run_id"]]
        sure = [verdict for verdict in said if verdict not in ("unknown", "unverified")]
        names = ("summary_items", "failure_omissions", "invented_items", "summary_fidelity")
        if not said:
            assert [row[name] for name in names] == [None] * 4
            continue
        share = sum(verdict == "kept" for verdict in sure) / len(sure) if sure else None
        wanted = [len(sure), said.count("hidden"), said.count("invented"), share]
        assert [row[name] for name in names] == wanted


@dataclass(frozen=True)
class Restless(Strategy):
    """Gives other placements each time that it is asked."""

    asked: list[int]

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        self.asked.append(0)
        first = placements.join(frames.parts.select("part", "run"), on="part").filter(pl.col("run") == 0)
        lost = first["part"].unique().sort()[: len(self.asked) % 2]
        return placements.filter(~pl.col("part").is_in(lost.implode()))


def test_a_strategy_that_answers_otherwise_when_asked_again_is_found_out() -> None:
    material = drawn_material(5, 3, most_steps=8)
    told = score(material, [Restless([])], Options(metrics=("validity",))).runs
    assert told["determinism"].to_list() == [0.0, 1.0, 1.0]
    steady = score(material, [strategies.FullHistory()], Options(metrics=("validity",))).runs
    assert steady["determinism"].to_list() == [1.0, 1.0, 1.0]


def test_a_metric_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="No metric 'speed'"):
        Options(metrics=("speed",))
