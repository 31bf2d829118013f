"""When results are cleared: from one clearing to the next, runs side by side; by steps where contexts shrink."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import NOWHERE, Ints, counting, ints, tokens_by_step
from ledgerkit.strategies.observations import Observations
from ledgerkit.strategies.placements import RENDITIONS

_STRIDE = NOWHERE + 2
_FEW = 24
"""Runs that are walked through one by one."""


@dataclass(frozen=True)
class Goal:
    """Settings of ``ClearAt``."""

    trigger: int
    target: int
    keep: int
    at_least: int


def clear_all(
    frames: RunFrames,
    placements: pl.DataFrame,
    results: Observations,
    chosen: npt.NDArray[np.bool_],
    goal: Goal,
    cleared: Ints,
) -> None:
    """Runs whose contexts only grow: writes the step at which each result is cleared."""
    grid = frames.grid
    tokens = np.where(grid.is_step, tokens_by_step(grid, placements), NOWHERE - 1) + grid.run * _STRIDE
    arrived = grid.running_sum(grid.sums(grid.slots(results.run, results.enters), np.ones_like(results.run)))
    saved = np.zeros(results.run.size + 1, np.int64)  # by the results before each, over all runs
    np.cumsum(_savings(frames, placements, results), out=saved[1:])
    runs = np.flatnonzero(chosen)
    if runs.size <= _FEW:
        for run in runs.tolist():
            slots = slice(grid.first[run], grid.first[run + 1] - 1)
            mine = slice(results.first[run], results.first[run] + results.count[run])
            before = saved[mine.start : mine.stop + 1] - saved[mine.start]
            _clear_one(tokens[slots] - run * _STRIDE, arrived[slots], before, goal, cleared[mine])
        return
    done = results.first[runs].copy()  # index of the first result that is not cleared
    slot = grid.first[runs].copy()
    while runs.size:
        first = results.first[runs]
        free = saved[done] - saved[first]
        above = np.searchsorted(tokens, goal.trigger + free + runs * _STRIDE, side="right")
        slot = np.maximum(slot, above)
        on = slot < grid.first[runs + 1] - 1
        runs, done, slot, first, free = runs[on], done[on], slot[on], first[on], free[on]
        most = np.maximum(first + arrived[slot] - goal.keep, done)
        size = tokens[slot] - runs * _STRIDE
        enough = np.searchsorted(saved, saved[first] + size - goal.target, side="left")
        until = np.maximum(np.minimum(enough, most), done)
        until = np.where(saved[until] - saved[done] >= goal.at_least, until, done)
        number = until - done
        index = np.repeat(done, number) + counting(number)
        cleared[index] = np.repeat(slot - grid.first[runs], number)
        done = until
        slot = slot + 1


def _clear_one(tokens: Ints, arrived: Ints, saved: Ints, goal: Goal, cleared: Ints) -> None:
    """One run by itself: where runs are few and long, lists are faster than arrays of one number for each run.

    Args:
        tokens: Of each step's context; they never fall.
        arrived: Results by the end of each step.
        saved: By the results before each, from 0.
        goal: The settings.
        cleared: Filled: the step at which each result is cleared.
    """
    sizes, results, savings = tokens.tolist(), arrived.tolist(), saved.tolist()
    done = step = 0
    while True:
        room = goal.trigger + savings[done]
        if step < len(sizes) and sizes[step] <= room:
            step = bisect_right(sizes, room, lo=step)
        if step >= len(sizes):
            return
        most = max(results[step] - goal.keep, done)
        if most > done:
            until = max(bisect_left(savings, sizes[step] - goal.target, hi=most), done)
            if savings[until] - savings[done] >= goal.at_least:
                cleared[done:until] = step
                done = until
        step += 1


def clear_by_steps(
    frames: RunFrames,
    placements: pl.DataFrame,
    results: Observations,
    chosen: npt.NDArray[np.bool_],
    goal: Goal,
    cleared: Ints,
) -> None:
    """Runs in which something ends of itself or results come in pieces: one step after the other."""
    if not chosen.any():
        return
    tokens = tokens_by_step(frames.grid, placements)
    rows = _result_rows(frames, placements)
    for run in np.flatnonzero(chosen):
        mine = rows.filter(pl.col("run") == run)
        there = slice(results.first[run], results.first[run] + results.count[run])
        place = {unit: number for number, unit in enumerate(results.unit[there].tolist())}
        spans: list[list[tuple[int, int, int]]] = [[] for _ in place]
        for unit, start, end, saving in mine.select("unit", "from_step", "to_step", "saving").iter_rows():
            spans[place[unit]].append((start, end, saving))
        slots = slice(frames.grid.first[run], frames.grid.first[run + 1] - 1)
        cleared[there] = _cleared_steps(tokens[slots].copy(), spans, goal, cleared[there])


def _cleared_steps(tokens: Ints, spans: list[list[tuple[int, int, int]]], goal: Goal, never: Ints) -> Ints:
    steps = never.copy()
    for step in range(tokens.size):
        if tokens[step] <= goal.trigger:
            continue
        present = [n for n, rows in enumerate(spans) if any(start <= step < end for start, end, _ in rows)]
        freed, chosen = 0, list[int]()
        for number in present[: max(len(present) - goal.keep, 0)]:
            if steps[number] <= step:
                continue
            if tokens[step] - freed <= goal.target:
                break
            chosen.append(number)
            freed += sum(saving for start, end, saving in spans[number] if start <= step < end)
        if freed < goal.at_least:
            continue
        for number in chosen:
            steps[number] = step
            for start, end, saving in spans[number]:
                tokens[max(start, step) : max(end, step)] -= saving
    return steps


def _result_rows(frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
    """Placements of results, with what a reference in their place would save."""
    units = frames.parts.filter("is_result").select("part", "unit", "reference_tokens")
    gain = pl.max_horizontal(pl.col("tokens") - pl.min_horizontal("tokens", "reference_tokens"), pl.lit(0, pl.Int64))
    is_reference = pl.col("rendition") == pl.lit(Rendition.REFERENCE.value, RENDITIONS)
    return placements.join(units, on="part", maintain_order="left").select(
        "run", "unit", "from_step", "to_step", saving=pl.when(is_reference).then(0).otherwise(gain)
    )


def _savings(frames: RunFrames, placements: pl.DataFrame, results: Observations) -> Ints:
    rows = _result_rows(frames, placements)
    by_unit = np.zeros(frames.parts.height, np.int64)
    np.add.at(by_unit, frames.first_part[ints(rows["run"])] + ints(rows["unit"]), ints(rows["saving"]))
    return by_unit[frames.first_part[results.run] + results.unit]
