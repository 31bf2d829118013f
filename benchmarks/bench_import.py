"""What an import costs: CPU seconds as a ratio to a bare orjson parse of the same bytes, memory, bytes on disk.

Trees are made of sample logs (``make_tree.py``): those of ``LEDGERKIT_CORPUS``, or of this project's demo runs. Each
job is a command of its own, run in interleaved rounds; CPU seconds are those of the whole command with all processes
that it starts, peak memory is the greatest sum of their resident sets. DuckDB reads the same files with a schema, for
information; so does Inspect Scout where it is installed (``LEDGERKIT_SCOUT_PYTHON`` may name an interpreter that has
it).

    LEDGERKIT_CORPUS=corpus python benchmarks/bench_import.py --megabytes 70,500 --rounds 3

Goals, from 70 MB on: import without redaction and token counts 6 x the parse, with token counts 10 x, with redaction
too 20 x; at most 1 GB of memory, and no more for 500 MB than for 70.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.make_tree import MEGABYTE, Sample, make_tree, samples_of

ROOT: Final = Path(__file__).parents[1]
_JUDGED_FROM: Final = 70 * MEGABYTE
_MOST_MEMORY: Final = 1e9
_SAMPLED_EVERY: Final = 0.02
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def parse(tree: Path, ledger: Path) -> Mapping[str, Any]:
    """The floor: every line through orjson."""
    import orjson

    del ledger
    lines = bad = 0
    for path in sorted(tree.rglob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                lines += 1
                try:
                    orjson.loads(line)
                except ValueError:
                    bad += 1
    return {"lines": lines, "bad": bad}


def read_with_duckdb(tree: Path, ledger: Path) -> Mapping[str, Any]:
    """DuckDB over the same files, given the columns."""
    import duckdb

    del ledger
    columns = "{type: 'VARCHAR', uuid: 'VARCHAR', sessionId: 'VARCHAR', timestamp: 'VARCHAR', message: 'JSON'}"
    files = [str(path) for path in sorted(tree.rglob("*.jsonl"))]
    query = f"""
        select count(*), sum(length(message::varchar)) from read_json($files, format = 'newline_delimited',
            ignore_errors = true, maximum_object_size = 67108864, columns = {columns})
    """
    with duckdb.connect() as connection:
        row = connection.execute(query, {"files": files}).fetchone()
    return {"lines": row[0] if row else None}


def imported(tree: Path, ledger: Path, *, redact: str, count_tokens: bool, jobs: int | None) -> Mapping[str, Any]:
    """An import into a new ledger."""
    import ledgerkit as lk

    with lk.open(ledger, key=bytes(32)) as opened:
        begin = cpu_seconds()
        account = opened.import_logs(tree, redact=redact, count_tokens=count_tokens, jobs=jobs)
        took = cpu_seconds() - begin
    return {"call": took, "records": account.records, "closes": account.closes, "messages": account.new_messages}


def scout_import(tree: Path, ledger: Path) -> Mapping[str, Any]:
    """Inspect Scout's import of the same sessions; a file that stops it is left out and counted."""
    transcripts_db: Any = importlib.import_module("inspect_scout").transcripts_db
    claude_code: Any = importlib.import_module("inspect_scout.sources").claude_code
    counts = {"transcripts": 0, "left_out": 0}

    async def transcripts() -> AsyncIterator[Any]:
        for path in sorted(tree.rglob("*.jsonl")):
            if path.parent.name == "subagents" or path.name.startswith("agent-"):
                continue
            try:
                async for one in claude_code(str(path)):
                    counts["transcripts"] += 1
                    yield one
            except Exception:
                counts["left_out"] += 1

    async def run() -> None:
        async with transcripts_db(str(ledger)) as database:
            await database.insert(transcripts())

    asyncio.run(run())
    return counts


def _import_job(redact: str, *, count_tokens: bool, jobs: int | None) -> Callable[[Path, Path], Mapping[str, Any]]:
    return lambda tree, ledger: imported(tree, ledger, redact=redact, count_tokens=count_tokens, jobs=jobs)


JOBS: Final[Mapping[str, Callable[[Path, Path], Mapping[str, Any]]]] = {
    "orjson": parse,
    "duckdb": read_with_duckdb,
    "bare": _import_job("off", count_tokens=False, jobs=1),
    "tokens": _import_job("off", count_tokens=True, jobs=1),
    "redacted": _import_job("on", count_tokens=True, jobs=1),
    "parallel": _import_job("on", count_tokens=True, jobs=None),
    "scout": scout_import,
}
NAMES: Final = {
    "orjson": "orjson, every line",
    "duckdb": "DuckDB read_json, columns given",
    "bare": "import, no redaction, no token counts",
    "tokens": "import, token counts",
    "redacted": "import, token counts and redaction",
    "parallel": "the same, as many jobs as by default",
    "scout": "Inspect Scout import",
}
GOALS: Final = {"bare": 6.0, "tokens": 10.0, "redacted": 20.0}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took.

    Attributes:
        cpu: CPU seconds of all its processes.
        wall: Seconds.
        memory: Greatest sum of resident sets that was seen, in bytes.
        disk: Bytes that it left.
        said: What it said.
    """

    cpu: float
    wall: float
    memory: int
    disk: int
    said: Mapping[str, Any]


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run(job: str, tree: Path, interpreter: str) -> Cost:
    """Runs a job as a command."""
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        ledger = Path(folder) / "ledger"
        command = [interpreter, str(Path(__file__)), "--child", job, str(tree), str(ledger)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LEDGERKIT_REDACTION_KEY": "public"}
        # Modules are compiled once, as those of an installed package are, and not anew for every command.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        peak = 0
        while True:
            process, status, usage = os.wait4(child.pid, os.WNOHANG)
            if process:
                break
            peak = max(peak, _resident(child.pid))
            time.sleep(_SAMPLED_EVERY)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        said = child.stdout.read() if child.stdout else b""
        if child.returncode:
            raise SystemExit(f"{job} failed ({child.returncode}): {' '.join(command)}")
        disk = sum(path.stat().st_size for path in ledger.rglob("*") if path.is_file()) if ledger.exists() else 0
    return Cost(usage.ru_utime + usage.ru_stime, wall, peak, disk, json.loads(said.splitlines()[-1]))


def _resident(process: int) -> int:
    """Resident bytes of a process and its descendants, shared pages counted in each; 0 where there is no /proc."""
    own = 0
    with contextlib.suppress(OSError, IndexError):
        own = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    children: list[str] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            children += (task / "children").read_text().split()
    return own + sum(_resident(int(child)) for child in children)


def scout_interpreter() -> str | None:
    """An interpreter that has Inspect Scout."""
    named = os.environ.get("LEDGERKIT_SCOUT_PYTHON")
    return named or (sys.executable if importlib.util.find_spec("inspect_scout") else None)


def compare(tree: Path, size: int, jobs: Sequence[str], rounds: int) -> dict[str, int]:
    """Runs jobs in interleaved rounds and prints the medians; the greatest memory of each is returned."""
    scout = scout_interpreter()
    interpreters = {job: (scout or "") if job == "scout" else sys.executable for job in jobs}
    taken = [{job: run(job, tree, interpreters[job]) for job in jobs} for _ in range(rounds)]
    for job in jobs:
        costs = [one[job] for one in taken]
        ratio = statistics.median(one[job].cpu / one["orjson"].cpu for one in taken)
        last = costs[-1]
        line = f"  {NAMES[job]:40} {statistics.median(c.cpu for c in costs):8.2f} CPU s  {ratio:6.1f} x"
        line += (
            f"  {statistics.median(c.wall for c in costs):7.1f} s  {max(c.memory for c in costs) / MEGABYTE:6.0f} MB"
        )
        line += f"  {last.disk / MEGABYTE:6.1f} MB on disk" if last.disk else ""
        if "call" in last.said:
            calls = statistics.median(one[job].said["call"] / one["orjson"].cpu for one in taken)
            line += f"  (the call alone {calls:.1f} x)"
        if job in GOALS and size >= _JUDGED_FROM:
            line += f"  goal {GOALS[job]:.0f} x: {'met' if ratio <= GOALS[job] else 'MISSED'}"
        print(line)
        if job == "scout" and last.said["left_out"]:
            print(f"    it left out {last.said['left_out']} files whose records it does not read")
        if last.said.get("closes") is False:
            raise SystemExit("The account of an import does not close.")
    return {job: max(one[job].memory for one in taken) for job in jobs}


def warm_up(samples: Sequence[Sample], folder: Path, jobs: Sequence[str]) -> None:
    """Runs what is measured once on next to nothing, so that no round compiles modules or reads them from a disk."""
    tree = make_tree(samples, folder, 0.1)
    for job in ("orjson", "redacted" if set(jobs) & GOALS.keys() else "orjson"):
        run(job, tree.root, sys.executable)


def judge_memory(peaks: Mapping[float, Mapping[str, int]]) -> None:
    """Says whether memory is bounded, and flat where there are several trees."""
    measured = peaks[max(peaks)]
    for job in (job for job in ("bare", "tokens", "redacted", "parallel") if job in measured):
        seen = [peaks[size][job] for size in sorted(peaks)]
        shown = " -> ".join(f"{peak / MEGABYTE:.0f}" for peak in seen)
        print(
            f"memory, {NAMES[job]}: {shown} MB (goal: at most 1000): {'met' if max(seen) <= _MOST_MEMORY else 'MISSED'}"
        )


def main() -> None:
    """Makes trees and compares on each."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--megabytes", default=os.environ.get("LEDGERKIT_BENCH_MEGABYTES", "8"))
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--formats", default="claude-code")
    options.add_argument("--samples", type=Path, default=Path(os.environ.get("LEDGERKIT_CORPUS", ROOT / "data")))
    options.add_argument("--only", help="jobs, with commas between")
    given = options.parse_args()
    jobs = [job for job in JOBS if job != "scout" or scout_interpreter()]
    if given.only:
        jobs = [job for job in jobs if job == "orjson" or job in given.only.split(",")]
    if "scout" not in jobs:
        print("Inspect Scout is not installed (make peers, or name one that has it in LEDGERKIT_SCOUT_PYTHON).")
    samples = samples_of(given.samples, given.formats.split(","))
    peaks: dict[float, dict[str, int]] = {}
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    for size in map(float, given.megabytes.split(",")):
        folder = Path(tempfile.mkdtemp(dir=build))
        try:
            tree = make_tree(samples, folder / "tree", size)
            print(f"{tree.size / MEGABYTE:.0f} MB in {tree.files} files ({given.formats}), {given.rounds} round(s)")
            warm_up(samples, folder / "small", jobs)
            peaks[size] = compare(tree.root, tree.size, jobs, given.rounds)
        finally:
            shutil.rmtree(folder)
    judge_memory(peaks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(JOBS[sys.argv[2]](Path(sys.argv[3]), Path(sys.argv[4]))))
    else:
        main()
