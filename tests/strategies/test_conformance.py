"""Every strategy keeps the rules of placements, and the check finds one that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
import pytest

from ledgerkit import strategies
from ledgerkit.errors import StrategyError
from ledgerkit.strategies import PLACEMENTS, RunFrames, Strategy
from ledgerkit.strategies.conformance import Rule, check_strategy, difficult_runs, violations
from tests.strategies.drawn import drawn_frames
from tests.strategies.test_naive import STRATEGIES, pairs


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_keeps_the_rules(name: str) -> None:
    for frames in (difficult_runs(), drawn_frames(7, 20)):
        check_strategy(pairs(frames)[name][0], frames)


def test_the_difficult_runs_are_difficult() -> None:
    frames = difficult_runs()
    answers = {
        name: strategies.project(frames, strategy)
        for name, (strategy, _) in pairs(frames).items()
        if "|" not in name and name != "recorded"
    }
    full = answers.pop("full").placements
    assert all(not answer.placements.equals(full) for answer in answers.values())
    assert frames.parts["absence"].n_unique() > 2


@dataclass(frozen=True)
class _Broken(Strategy):
    """A strategy that breaks one rule."""

    rule: Rule

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        first = pl.col("part") == placements.filter(from_step=3)["part"][0]
        return _BREAKS[self.rule](frames, placements, first)


def _hidden_part(frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
    hidden = frames.parts.filter(~pl.col("is_eligible")).row(0, named=True)
    row = placements[:1].with_columns(part=pl.lit(hidden["part"]), position=pl.lit(hidden["position"]))
    return pl.concat([placements, row.cast(PLACEMENTS)])


def _two_halves(placements: pl.DataFrame, first: pl.Expr) -> pl.DataFrame:
    rows = placements.filter(first)
    halves = [rows.with_columns(to_step=pl.lit(5, pl.Int32)), rows.with_columns(from_step=pl.lit(5, pl.Int32))]
    return pl.concat([placements.filter(~first), *halves])


def _call(frames: RunFrames) -> int:
    return frames.parts.filter("is_eligible", kind="TOOL_CALL_REQUEST")["part"][0]


_BREAKS: dict[Rule, Callable[[RunFrames, pl.DataFrame, pl.Expr], pl.DataFrame]] = {
    Rule.BOUNDS: lambda _, p, first: p.with_columns(to_step=pl.when(first).then("from_step").otherwise("to_step")),
    Rule.FUTURE: lambda _, p, first: p.with_columns(from_step=pl.when(first).then(0).otherwise("from_step")),
    Rule.ALLOWLIST: lambda frames, p, _: _hidden_part(frames, p),
    Rule.PLACE: lambda _, p, first: pl.concat([p, p.filter(first)]),
    Rule.UNIT: lambda frames, p, _: p.filter(pl.col("part") != _call(frames)),
    Rule.PINNED: lambda frames, p, _: p.filter(pl.col("part") != frames.parts.filter("is_pinned")["part"][0]),
    Rule.TOKENS: lambda _, p, first: p.with_columns(
        tokens=pl.when(first).then(pl.col("tokens") + 1).otherwise("tokens")
    ),
    Rule.CHANGE: lambda _, p, first: _two_halves(p, first),
}


@pytest.mark.parametrize("rule", list(Rule))
def test_a_broken_rule_is_found_and_named(rule: Rule) -> None:
    with pytest.raises(StrategyError, match=rule.value):
        check_strategy(_Broken(rule))
    frames = difficult_runs()
    found = violations(frames, strategies.project(frames, _Broken(rule)))
    assert rule.value in found["rule"].to_list()


def test_a_strategy_with_two_answers_is_found() -> None:
    class Wavering(Strategy):
        calls = 0

        def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
            self.calls += 1
            return placements.head(placements.height - 1) if self.calls > 1 else placements

    with pytest.raises(StrategyError, match="two answers"):
        check_strategy(Wavering())
