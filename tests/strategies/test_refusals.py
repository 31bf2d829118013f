"""What no strategy, frame or cache rule can be, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from ledgerkit.errors import StrategyError, UnknownNameError
from ledgerkit.strategies import (
    CacheRules,
    ClearAt,
    EvidenceFirst,
    FullHistory,
    HeadTail,
    LastObservations,
    SummariseAt,
    TokenWindow,
    project,
)
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.windows import by_falling_key
from tests.strategies.drawn import drawn_frames

EVIDENCE = pl.DataFrame(
    schema={"run_id": pl.String, "message_id": pl.String, "from_step": pl.Int64, "to_step": pl.Int64}
)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: TokenWindow(0), "at least 1 token"),
        (lambda: EvidenceFirst(0, EVIDENCE), "at least 1 token"),
        (lambda: EvidenceFirst(9, EVIDENCE.drop("to_step")), "no column 'to_step'"),
        (lambda: LastObservations(0), "n and polling are at least 1"),
        (lambda: LastObservations(1, polling=0), "n and polling are at least 1"),
        (lambda: HeadTail(100, 51), "at most half of limit"),
        (lambda: HeadTail(100, 0), "more than 0"),
        (lambda: ClearAt(100, target=101), "lies between 0 and trigger"),
        (lambda: ClearAt(100, keep=-1), "not below 0"),
        (lambda: ClearAt(100, at_least=-1), "not below 0"),
        (lambda: SummariseAt(0), "at least 1"),
        (lambda: SummariseAt(100, -1), "at least 0"),
        (lambda: SummariseAt(100, 10, 0), "at least 1"),
        (lambda: CacheRules(minimum_tokens=0), "at least 1"),
        (lambda: CacheRules(block_tokens=0), "at least 1"),
        (lambda: CacheRules(lifetime_s=-1), "at least 0"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused(made: Callable[[], object], said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        made()


def test_frames_need_all_columns_and_may_not_be_too_large() -> None:
    frames = drawn_frames(1, 2)
    with pytest.raises(UnknownNameError, match="tokens"):
        RunFrames(frames.runs, frames.steps, frames.parts.drop("tokens"))
    heavy = frames.parts.with_columns(tokens=pl.lit(1 << 61, frames.parts.schema["tokens"]))
    with pytest.raises(StrategyError, match="too many for one batch"):
        RunFrames(frames.runs, frames.steps, heavy)


def test_excerpts_need_somebody_who_counts_them() -> None:
    frames = drawn_frames(3, 4)
    uncounted = RunFrames(frames.runs, frames.steps, frames.parts)
    with pytest.raises(StrategyError, match="count_excerpts"):
        project(uncounted, HeadTail(4, 2))


def test_a_chain_shows_excerpts_as_its_first_link_that_cuts() -> None:
    text = "\n".join("x" * 50 for _ in range(20))
    short, long = HeadTail(40, 20), HeadTail(400, 200)

    assert (FullHistory() | short | long).excerpt(text) == short.excerpt(text) != long.excerpt(text)
    with pytest.raises(StrategyError, match="says nothing about excerpts"):
        (LastObservations(1) | TokenWindow(9)).excerpt(text)
    assert repr(short | LastObservations(1)) == f"{short.label} | {LastObservations(1).label}"


def test_no_runs_at_all_have_a_projection() -> None:
    frames = drawn_frames(1, 1)
    nothing = RunFrames(frames.runs.clear(), frames.steps.clear(), frames.parts.clear())
    assert project(nothing, TokenWindow(10)).placements.is_empty()


@pytest.mark.parametrize("high", [9, 1 << 40])
def test_rows_are_ordered_by_group_and_falling_key_however_large_the_keys(high: int) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 1 << 24 if high > 9 else 3, 200)
    key = rng.integers(-high, high, 200)

    order = by_falling_key(group, key)

    assert order.tolist() == sorted(range(200), key=lambda at: (group[at], -key[at], at))
    assert by_falling_key(group[:0], key[:0]).size == 0
