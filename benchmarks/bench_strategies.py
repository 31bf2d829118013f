"""Strategies as intervals: model calls × strategies per second, beside a replay that rebuilds every context.

Runs are made: a step is a text, a tool call and its result, of sizes as agents have them. Sizes can be given:
``bench_strategies.py RUNS STEPS``.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from multiprocessing import get_context
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import numpy as np
import polars as pl

from ledgerkit import strategies
from ledgerkit.strategies import CacheRules, RunFrames, Strategy
from tests.strategies import naive

RATES = pl.DataFrame({"rate_input": [1_000_000], "rate_cache_read": [100_000], "rate_cache_write": [1_250_000]})
CACHE = CacheRules(minimum_tokens=1024, lifetime_s=300)
PER_STEP = 3


def made_frames(runs: int, steps: int, seed: int = 0) -> RunFrames:
    """Runs of so many steps: a task, then text, call and result at each step."""
    random = np.random.default_rng(seed)
    each = 1 + PER_STEP * (steps - 1)
    place = np.tile(np.arange(each), runs)
    step = np.where(place == 0, 0, (place - 1) // PER_STEP + 1)
    role = np.where(place == 0, 0, (place - 1) % PER_STEP + 1)  # 0 task, 1 text, 2 call, 3 result
    sizes = np.select(
        [role == 0, role == 1, role == 2],
        [8_000, random.integers(20, 200, place.size), random.integers(30, 300, place.size)],
        random.lognormal(6.5, 1.2, place.size).astype(np.int64),
    )
    run = np.repeat(np.arange(runs), each)
    call = pl.Series(np.where(role >= 2, run * each + step, -1))
    parts = pl.DataFrame(
        {
            "session_id": "s", "run_id": pl.Series(run).cast(pl.String).str.zfill(8), "message_id": "m",
            "part_index": 0, "sequence_no": place, "part_trust_level": "TOOL_TRUSTED",
            "kind": pl.Series(role).replace_strict(dict(enumerate(KINDS)), return_dtype=pl.String),
            "part_type": pl.Series(role).replace_strict(dict(enumerate(TYPES)), return_dtype=pl.String),
            "part_visibility": "MODEL_VISIBLE", "step": step, "visible_from": step, "token_count": sizes,
            "lines": sizes // 10 + 1, "characters": sizes * 4, "has_content": True,
        }
    ).with_columns(tool_call_id=pl.when(call >= 0).then(call.cast(pl.String)))  # fmt: skip
    calls = pl.DataFrame({"session_id": "s", "run_id": pl.Series(np.repeat(np.arange(runs), steps)).cast(pl.String)
                          .str.zfill(8), "step": np.tile(np.arange(steps), runs)})  # fmt: skip
    return strategies.run_frames(parts, calls, lambda rows, keep: rows["characters"].clip(0, 2 * keep) // 4)


KINDS = ("USER_TASK", "ASSISTANT_RESPONSE", "TOOL_CALL_REQUEST", "TOOL_CALL_RESULT")
TYPES = ("text", "text", "tool_call", "tool_result")
COMPARED: list[tuple[Strategy, list[naive.Naive]]] = [
    (strategies.FullHistory(), []),
    (strategies.LastObservations(10), [naive.last_observations(10, 1)]),
    (strategies.LastObservations(10, polling=10), [naive.last_observations(10, 10)]),
    (strategies.TokenWindow(60_000), [naive.evict(60_000, naive.unit_of)]),
    (strategies.ClearAt(60_000), [naive.clear_at(60_000, 0, 3, 0)]),
    (strategies.SummariseAt(60_000), [naive.summarise_at(60_000, 20_000, 2_000)]),
    (strategies.SectionBudgets.of_window(100_000), []),
    (strategies.RandomDrop(60_000), []),
    (strategies.HeadTail() | strategies.ClearAt(), []),
]


def _named(strategy: Strategy) -> str:
    return strategy.label if len(strategy.label) <= 64 else strategy.label.split("(")[0]


def measured(frames: RunFrames, strategy: Strategy) -> tuple[float, int]:
    """CPU seconds (of all threads) for placements, all measures and attribution, and the cost of all runs."""
    start = time.process_time()
    projection = strategies.project(frames, strategy)
    measures = strategies.measure(frames, projection, cache=CACHE, rates=RATES, context_window=200_000)
    table = measures.runs()
    costs = strategies.attribute(measures)
    seconds = time.process_time() - start
    total = int(table["cost_pico"].sum())
    if int(costs["cost_pico"].sum()) + int(strategies.unattributed(measures)["cost_pico"].sum()) != total:
        raise SystemExit("attributed costs do not sum to the cost of the steps")
    return seconds, total


def replayed(frames: RunFrames, apply: list[naive.Naive], runs: int) -> tuple[float, int]:
    """CPU seconds for a rebuild of some runs, without attribution by placement, and their cost."""
    full = [naive.full(frames, run) for run in range(runs)]
    times = [frames.steps.filter(run=run)["created_at"].to_list() for run in range(runs)]
    start = time.process_time()
    total = 0
    for contexts, when in zip(full, times, strict=True):
        now = contexts
        for one in apply:
            now = one(now)
        total += sum(naive.figures(now, when, CACHE, (1_000_000, 100_000, 1_250_000)).cost)
    return time.process_time() - start, total


def compare(runs: int, steps: int, replay_runs: int) -> float:
    """Prints one table; gives the seconds of all strategies together."""
    frames = made_frames(runs, steps)
    print(f"\n{runs:,} runs of {steps:,} steps, {frames.parts.height:,} parts")
    print(f"{'strategy':<66}{'s':>8}{'calls/s':>12}{'replay calls/s':>16}{'ratio':>8}")
    whole = 0.0
    for strategy, apply in COMPARED:
        seconds = min(measured(frames, strategy)[0] for _ in range(2))
        whole += seconds
        line = f"{_named(strategy):<66}{seconds:>8.2f}{runs * steps / seconds:>12,.0f}"
        if replay_runs and (apply or isinstance(strategy, strategies.FullHistory)):
            naive_s, cost = replayed(frames, apply, replay_runs)
            some = strategies.measure(frames, strategies.project(frames, strategy), cache=CACHE, rates=RATES)
            if int(some.runs()["cost_pico"].head(replay_runs).sum()) != cost:
                raise SystemExit(f"{strategy.label}: the replay has another cost")
            rate = replay_runs * steps / naive_s
            line += f"{rate:>16,.0f}{runs * steps / seconds / rate:>8,.0f}"
        print(line, flush=True)
    print(
        f"{'all':<66}{whole:>8.2f}{runs * steps * len(COMPARED) / whole:>12,.0f}  model calls x strategies per second"
    )
    return whole


def _half(runs: int, steps: int, barrier: Barrier, answers: Queue[float]) -> None:
    """A process of its own: makes its runs, waits for the others, and gives its seconds for all strategies."""
    frames = made_frames(runs, steps)
    measured(frames, strategies.FullHistory())
    barrier.wait()
    start = time.perf_counter()
    for strategy, _ in COMPARED:
        measured(frames, strategy)
    answers.put(time.perf_counter() - start)


def side_by_side(runs: int, steps: int, jobs: int = 2) -> None:
    """Prints what so many processes do together by the clock: runs are divided among them, as batches are."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # one core each; a process that is made now sees it
    context = get_context("spawn")
    barrier, answers = context.Barrier(jobs), context.Queue()
    workers = [context.Process(target=_half, args=(runs // jobs, steps, barrier, answers)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    slowest = max(answers.get() for _ in workers)
    for worker in workers:
        worker.join()
    rate = runs // jobs * jobs * steps * len(COMPARED) / slowest
    print(f"{runs:,} runs of {steps:,} steps on {jobs} processes: {rate:,.0f} model calls x strategies per second")


def main() -> None:
    """Prints the tables."""
    if len(sys.argv) == 3:
        compare(int(sys.argv[1]), int(sys.argv[2]), 0)
        side_by_side(int(sys.argv[1]), int(sys.argv[2]))
        return
    small = compare(1_000, 100, 3)
    large = compare(10_000, 100, 0)
    compare(20, 5_000, 0)
    print(f"\n10,000 runs take {large / small:.1f} times as long as 1,000 (linear: 10)")
    short, long = compare(400, 500, 0), compare(20, 10_000, 0)
    print(f"20 runs of 10,000 steps take {long / short:.1f} times as long as 400 of 500 (linear: 1)")
    side_by_side(10_000, 100)
    side_by_side(20, 5_000)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
