"""How many model calls × strategies are scored a second, evidence retention included, and how that grows with runs.

``python benchmarks/bench_evaluation.py [RUNS [STEPS]]``; without arguments the table of 1,000, 10,000 and 100,000 runs
of 100 steps. Runs are made in batches of 500 as workers get them, so that memory does not grow with their number; what
is timed begins where frames, needs and mentions are there. A rebuild in plain Python stands beside it.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.bench_strategies import CACHE, PER_STEP, RATES, made_frames
from ledgerkit import strategies
from ledgerkit.evaluation.evidence import Evidence
from ledgerkit.evaluation.material import VERDICTS, Material
from ledgerkit.evaluation.needs import Needs
from ledgerkit.evaluation.schema import METRICS
from ledgerkit.evaluation.scoring import Options, Prepared, score_prepared
from ledgerkit.strategies import RunFrames, Strategy

BATCH = 500
COMPARED: list[Strategy] = [
    strategies.FullHistory(),
    strategies.LastObservations(10),
    strategies.LastObservations(10, polling=10),
    strategies.TokenWindow(60_000),
    strategies.ClearAt(60_000),
    strategies.SummariseAt(60_000),
    strategies.SectionBudgets.of_window(100_000),
    strategies.RandomDrop(60_000),
]
FAMILIES = {
    "tokens, cost, retention": ("tokens", "peak", "cost", "recency_distance"),
    "and lift over the control": ("tokens", "peak", "cost", "evidence_retention", "recency_distance"),
    "and labels, validity": ("tokens", "peak", "cost", "evidence_retention", "recency_distance", "policy_retention",
                             "untrusted_share", "validity"),
}  # fmt: skip
NEEDS_PER_STEP = 2
MENTIONS_PER_KEY = 3


@dataclass(frozen=True)
class Made:
    """A batch, ready to be scored."""

    prepared: Prepared
    needs: Needs


def made_batch(runs: int, steps: int, seed: int) -> Made:
    """Frames with two needs a step, each of a token that three results of the run mention, most of them recent."""
    frames = made_frames(runs, steps)
    material = Material(
        frames,
        pl.DataFrame(schema={"session_id": pl.String, "run_id": pl.String, "message_id": pl.String,
                             "part_index": pl.Int32, "inherited": pl.Int32, "text": pl.String, "data": pl.String,
                             "path": pl.String}),
        pl.DataFrame(schema={"session_id": pl.String, "run_id": pl.String, "working_directory": pl.String}),
        pl.DataFrame(schema=VERDICTS),
        pl.DataFrame(schema={"session_id": pl.String, "run_id": pl.String, "step": pl.Int32,
                             "cache_read_tokens": pl.Int64}),
        RATES,
    )  # fmt: skip
    needs = _needs(frames, runs, steps, np.random.default_rng(seed))
    prepared = Prepared(material)
    prepared.__dict__["evidence"] = Evidence(needs, np.full(needs.needs.height, -1, np.int64))
    return Made(prepared, needs)


def _needs(frames: RunFrames, runs: int, steps: int, random: np.random.Generator) -> Needs:
    keys = runs * steps * NEEDS_PER_STEP
    run = np.repeat(np.arange(runs), steps * NEEDS_PER_STEP)
    step = np.tile(np.repeat(np.arange(steps), NEEDS_PER_STEP), runs)
    age = np.minimum(random.geometric(0.15, (MENTIONS_PER_KEY, keys)) - 1, np.maximum(step - 1, 0))
    at = np.maximum(step - age, 1)  # the step that sees the result: results of step s stand in contexts from s on
    part = np.where(step > 0, frames.first_part[run] + at * PER_STEP, frames.first_part[run])
    mentions = pl.DataFrame({"key": np.tile(np.arange(keys), MENTIONS_PER_KEY), "part": part.ravel(),
                             "visible_from": at.ravel().astype(np.int32)})  # fmt: skip
    mentions = mentions.unique(["key", "part"]).sort("part", "key")
    mentions = mentions.with_columns(is_source=pl.lit(value=True), is_by_model=pl.lit(value=False))
    table = pl.DataFrame({"run": run.astype(np.uint32), "step": step.astype(np.int32), "key": np.arange(keys),
                          "age": age.min(axis=0), "source": part[0]})  # fmt: skip
    named = pl.DataFrame({"key": np.arange(keys), "run": run, "type": "path", "value": "x", "weight": 1.0})
    return Needs(named, table, mentions)


def timed(made: Made, metrics: tuple[str, ...]) -> float:
    """CPU seconds (of all threads) for all strategies on one batch."""
    options = Options(metrics, CACHE, budget=200_000, lost=False)
    start = time.process_time()
    for strategy in COMPARED:
        score_prepared(made.prepared, strategy, options)
    return time.process_time() - start


def rebuilt(made: Made, steps: int, runs: int = 2) -> float:
    """Calls × strategies a second of a rebuild: every context as a list, every need looked for in it."""
    frames = made.prepared.material.frames
    placements = strategies.project(frames, strategies.LastObservations(10)).placements
    rows = placements.filter(pl.col("run") < runs).to_dicts()
    held: dict[int, set[int]] = {}
    for key, part in made.needs.mentions.select("key", "part").iter_rows():
        held.setdefault(part, set()).add(key)
    wanted = made.needs.needs.filter(pl.col("run") < runs).select("run", "step", "key").rows()
    start = time.process_time()
    for run in range(runs):
        mine = [row for row in rows if row["run"] == run]
        for step in range(steps):
            context = [row for row in mine if row["from_step"] <= step < row["to_step"]]
            sum(row["tokens"] for row in context)
            there = [held.get(row["part"], set()) for row in context if row["rendition"] == "full"]
            [any(key in keys for keys in there) for r, s, key in wanted if r == run and s == step]
    return runs * steps / (time.process_time() - start)


def table(sizes: list[int], steps: int) -> None:
    """Prints one line per number of runs and family of metrics."""
    print(f"{steps} steps a run, {len(COMPARED)} strategies, CPU seconds of all threads")
    print(f"{'metrics':<28}{'runs':>9}{'s':>9}{'ms a run':>10}{'calls x strategies / s':>24}{'peak MB':>9}")
    for name, metrics in FAMILIES.items():
        for runs in sizes:
            seconds = 0.0
            for batch in range(0, runs, BATCH):
                seconds += timed(made_batch(min(BATCH, runs - batch), steps, batch), metrics)
            rate = runs * steps * len(COMPARED) / seconds
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name:<28}{runs:>9,}{seconds:>9.1f}{seconds / runs * 1e3:>10.2f}{rate:>24,.0f}{peak:>9,.0f}",
                flush=True,
            )
    made = made_batch(4, steps, 0)
    print(f"a rebuild in plain Python: {rebuilt(made, steps):,.0f} calls x strategies / s (tokens and retention alone)")


def main() -> None:
    """Prints the table."""
    assert all(name in METRICS for names in FAMILIES.values() for name in names)  # noqa: S101
    given = [int(one) for one in sys.argv[1:]]
    table([given[0]] if given else [1_000, 10_000, 100_000], given[1] if len(given) > 1 else 100)


if __name__ == "__main__":
    main()
