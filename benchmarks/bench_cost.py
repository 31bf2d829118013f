"""Attribution of a million parts in one pass, whether it is linear, and the cost query beside a scan of the logs.

``bench_cost.py`` makes runs as agents have them and shares out what they cost; then it makes a tree of Claude Code logs
(``LEDGERKIT_BENCH_MEGABYTES``, of ``LEDGERKIT_CORPUS`` or the example runs), imports it and asks what it cost. With
ccusage in ``LEDGERKIT_CCUSAGE`` (its program, as ``make peers`` installs it), both answer in turns. ``bench_cost.py
LEDGER [LOGS]`` asks a ledger that is there.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import ledgerkit as lk
from benchmarks.bench_strategies import made_frames
from benchmarks.make_tree import MEGABYTE, make_tree, samples_of
from ledgerkit import cost, strategies
from ledgerkit.cost.attribution import Attribution, attribute_calls, by_label
from ledgerkit.strategies import RunFrames
from ledgerkit.strategies.grid import tokens_by_step
from tests.conftest import NOW

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
_IDS = ["session_id", "run_id", "step"]


def made_calls(frames: RunFrames, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Priced calls of a little more input than their contexts, most of it read from the cache; what they wrote."""
    random = np.random.default_rng(seed)
    placements = strategies.project(frames, strategies.AsRecorded()).placements
    context = tokens_by_step(frames.grid, placements)[frames.grid.is_step]
    total = context + 3_000 + context // 20
    read = np.where(random.random(total.size) < 0.05, 0, (total * random.uniform(0.8, 1, total.size)).astype(np.int64))
    steps = frames.steps.select("run", "step").join(frames.runs, on="run", maintain_order="left")
    calls = steps.select("session_id", "run_id", "step").with_columns(
        call_id=pl.format("c{}", pl.int_range(pl.len())),
        created_at=pl.lit(NOW),
        model=pl.lit("gpt-5-nano"),
        input_tokens=pl.Series(total),
        cache_read_tokens=pl.Series(read),
        cache_write_5m_tokens=pl.Series(total - read),
        output_tokens=pl.Series(random.integers(50, 600, total.size)),
        billed=pl.lit(value=True),
    )
    parts = frames.parts.filter(pl.col("kind").is_in(["ASSISTANT_RESPONSE", "TOOL_CALL_REQUEST"]))
    written = parts.join(frames.runs, on="run").with_columns(step=pl.col("step") - 1).join(calls, on=_IDS)
    return cost.price_calls(calls), written.select("session_id", "run_id", "call_id", "message_id", "part_index")


def shared_out(runs: int, steps: int) -> float:
    """CPU seconds of one pass over so many runs, and its answer by tool."""
    frames = made_frames(runs, steps)
    ids = pl.format("m{}", "part")
    frames = RunFrames(frames.runs, frames.steps, frames.parts.with_columns(message_id=ids))
    calls, written = made_calls(frames)
    start = time.process_time()
    found = attribute_calls(frames, calls, written)
    rows = by_label(found, ["kind", "section"], run_facts=frames.runs)
    seconds = time.process_time() - start
    _check(found, rows)
    print(
        f"{runs:>7,} runs of {steps:>6,} steps, {frames.parts.height:>9,} parts: {seconds:6.2f} CPU s, "
        f"{frames.parts.height / seconds:>9,.0f} parts/s",
        flush=True,
    )
    return seconds / frames.parts.height


def _check(found: Attribution, rows: pl.DataFrame) -> None:
    if int(rows["cost"].sum() * 10**12) != found.total_pico:
        raise SystemExit("attributed costs do not sum to the cost of the calls")


def imported() -> float:
    """CPU seconds per part of importing the demo runs, in this process alone."""
    with tempfile.TemporaryDirectory() as folder, lk.open(Path(folder) / "l", key=bytes(32)) as ledger:
        start = time.process_time()
        ledger.import_logs(ROOT / "data", now=NOW, jobs=1)
        seconds = time.process_time() - start
        parts = ledger.sql("select count(*) from parts").item()
    print(f"import: {parts:,} parts in {seconds:.2f} CPU s, {parts / seconds:,.0f} parts/s")
    return seconds / parts


def asked(path: Path, logs: Path | None) -> None:
    """The cost query on a ledger, first and again, the command, and ccusage on the logs, in turns."""
    with lk.open(path, create=False) as ledger:
        first = _cpu(ledger.cost)
        again = min(_cpu(ledger.cost) for _ in range(ROUNDS))
        tools = _cpu(lambda: ledger.attribute_cost("tool_name"))
        print(
            f"in a process: cost() {first:.2f} CPU s at first, {again:.3f} again; "
            f"attribute_cost('tool_name') {tools:.2f}"
        )
    commands = {"ledgerkit cost": [str(Path(sys.executable).with_name("ledgerkit")), "cost", "--ledger", str(path)]}
    if logs is not None and (ccusage := os.environ.get("LEDGERKIT_CCUSAGE")):
        commands["ccusage daily"] = [ccusage, "daily", "--offline", "--json"]
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            spent[name].append(_cpu_of(command, {"CLAUDE_CONFIG_DIR": str(logs)} if logs else {}))
    for name, seconds in spent.items():
        print(f"{name}: {min(seconds):.2f} CPU s (best of {ROUNDS})")


def asked_of_a_tree() -> None:
    """Makes logs, imports them, and asks."""
    megabytes = float(os.environ.get("LEDGERKIT_BENCH_MEGABYTES", "8"))
    samples = samples_of(Path(os.environ.get("LEDGERKIT_CORPUS", ROOT / "data")), ["claude-code"])
    with tempfile.TemporaryDirectory() as folder:
        tree = make_tree(samples, Path(folder) / "projects", megabytes)
        with lk.open(Path(folder) / "tree.ledger") as ledger:
            ledger.import_logs(tree.root, now=NOW)
        print(f"{tree.size / MEGABYTE:.0f} MB of logs in {tree.files} files")
        if not os.environ.get("LEDGERKIT_CCUSAGE"):
            print("ccusage is not installed (make peers, or LEDGERKIT_CCUSAGE may name it).")
        asked(Path(folder) / "tree.ledger", Path(folder))


def _cpu(ask: Callable[[], object]) -> float:
    start = time.process_time()
    ask()
    return time.process_time() - start


def _cpu_of(command: list[str], settings: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, **settings}, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints the figures."""
    if len(sys.argv) > 1:
        asked(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
        return
    small, large = shared_out(334, 100), shared_out(3_345, 100)
    few = shared_out(34, 9_950)
    print(f"per part, ten times the runs: {large / small:.2f}; a hundred times the steps of a run: {few / large:.2f}")
    print(f"a part is imported in {imported() / large:,.0f} times what attributing it takes")
    asked_of_a_tree()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
