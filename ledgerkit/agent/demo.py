"""Makes the demo runs: eight tasks, three configurations, as many seeds as wanted.

The rule: equal arguments give equal bytes. ``data/`` holds what :func:`make_committed` makes: seed 1 as Claude Code
logs and seed 2 in ledgerkit's own format, so that no run is there twice.

    python -m ledgerkit.agent.demo --out DIR --seeds 1-50 --format ledgerkit
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args

from ledgerkit.agent.dead_keys import dead_key
from ledgerkit.agent.record import SessionRecord
from ledgerkit.agent.scripts import plan as plans
from ledgerkit.agent.scripts.plan import CONFIGURATIONS, draw
from ledgerkit.agent.scripts.tasks import TASKS
from ledgerkit.agent.session import Bench, open_bench, run_session, start_of
from ledgerkit.agent.truth import Truth, truth_of
from ledgerkit.agent.writers import claude_code, ledgerkit_jsonl
from ledgerkit.errors import LedgerkitError, UnknownNameError

Format = Literal["claude-code", "ledgerkit"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
COMMITTED: Final[dict[int, Format]] = {1: "claude-code", 2: "ledgerkit"}
"""Seed and format of the runs in ``data/``."""

MADE_WITH: Final = {"pytest": "9.2.0"}
"""Versions whose output stands in ``data/``. Other ones may word a failure differently."""

TRUTH_FILE: Final = "TRUTH.json"

Cell = tuple[int, str, str]
"""Seed, task and configuration of one run."""


def make_demo(
    out: Path,
    *,
    seeds: Iterable[int],
    format: Format = "claude-code",
    tasks: Iterable[str] = tuple(TASKS),
    configurations: Iterable[str] = tuple(CONFIGURATIONS),
    task_per_seed: bool = False,
    jobs: int | None = None,
) -> list[Truth]:
    """Make runs below ``out/<format>/`` and return the truth about each, by seed, task and configuration.

    Args:
        out: A folder; made if it is not there.
        seeds: Seeds; every seed gives one run of each task under each configuration.
        format: Format of the logs.
        tasks: Ids of tasks.
        configurations: Names of configurations.
        task_per_seed: Each seed's run of a task is a task of its own (``fix-discount.7``), so that many seeds make many
            tasks instead of many trials of eight. Only ledgerkit's own format says a run's task.
        jobs: Sessions at work at a time; by default one for each processor.

    Raises:
        UnknownNameError: If there is no such task or configuration.
        MissingExtraError: If pytest is not installed.
    """
    with open_bench() as bench:
        cells = _grid(seeds, tasks, configurations)
        return _make_all(bench, out, format, cells, jobs, task_per_seed=task_per_seed)


def make_committed(out: Path, *, jobs: int | None = None) -> list[Truth]:
    """Make the runs that stand in ``data/``, with their truths in ``TRUTH.json``."""
    truths: list[Truth] = []
    with open_bench() as bench:
        for seed, form in COMMITTED.items():
            truths += _make_all(bench, out, form, _grid([seed], TASKS, CONFIGURATIONS), jobs)
    write_truth(out, truths)
    return truths


def write_truth(out: Path, truths: Iterable[Truth]) -> None:
    """Write ``TRUTH.json``: what was planted with which chances, and the truth about every run."""
    chances = {
        "solves": plans.SOLVES,
        "configurations": {name: _stated(asdict(c)) for name, c in CONFIGURATIONS.items()},
        "every_run": {"loses_result": plans.LOSES_RESULT, "overloaded": plans.OVERLOADED, "follow_up": plans.FOLLOW_UP},
        "obeys_note": plans.OBEYS_NOTE,
        "always": {f"{task}/{name}": sorted(features) for (task, name), features in plans.ALWAYS.items()},
    }
    note = "Planted chances, and what came of them in each run. For tests; never imported."
    document = {
        "version": 1,
        "note": note,
        "made_with": MADE_WITH,
        "chances": chances,
        "runs": [asdict(t) for t in truths],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (out / TRUTH_FILE).write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the generator."""
    options = _parser().parse_args(arguments)
    try:
        if options.committed:
            truths = make_committed(options.out)
        else:
            truths = make_demo(
                options.out, seeds=options.seeds, format=options.format, task_per_seed=options.task_per_seed
            )
            write_truth(options.out, truths)
    except LedgerkitError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{len(truths)} runs in {options.out}\n")
    return 0


def _grid(seeds: Iterable[int], tasks: Iterable[str], configurations: Iterable[str]) -> list[Cell]:
    names = [_known("configuration", name, CONFIGURATIONS) for name in configurations]
    known = [_known("task", name, TASKS) for name in tasks]
    return [(seed, task, name) for seed in seeds for task in known for name in names]


def _make_all(
    bench: Bench, out: Path, form: Format, cells: Sequence[Cell], jobs: int | None, *, task_per_seed: bool = False
) -> list[Truth]:
    make = partial(_make_one, bench, out, form, task_per_seed=task_per_seed)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(make, *zip(*cells, strict=True)))


def _make_one(
    bench: Bench, out: Path, form: Format, seed: int, task_id: str, configuration: str, *, task_per_seed: bool
) -> Truth:
    task, chosen = TASKS[task_id], CONFIGURATIONS[configuration]
    plan = draw(seed, task_id, chosen)
    numbers = (list(TASKS).index(task_id), list(CONFIGURATIONS).index(configuration))
    session = run_session(bench, task, chosen, plan, start_of(seed, *numbers))
    if task_per_seed:
        for run in session.runs:
            run.task_id = f"{task_id}.{seed}"
    for path, content in _files(session, form, seed).items():
        place = out / form / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return truth_of(session, plan, chosen.model, dead_key(seed))


def _files(session: SessionRecord, form: Format, seed: int) -> dict[str, bytes]:
    if form == "claude-code":
        return claude_code.files(session, claude_code.VERSIONS[seed % len(claude_code.VERSIONS)])
    return {ledgerkit_jsonl.file_name(session): ledgerkit_jsonl.to_bytes(session)}


def _known(what: str, name: str, among: Iterable[str]) -> str:
    names = tuple(among)
    if name not in names:
        raise UnknownNameError.among(what, name, names)
    return name


def _stated(configuration: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in configuration.items() if name != "name"}


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ledgerkit.agent.demo", description="Make demo runs.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--seeds", "--seed", type=_seeds, default=range(1, 2), help="a seed, or a range such as 1-50")
    parser.add_argument("--format", choices=FORMATS, default="claude-code", help="format of the logs")
    parser.add_argument("--task-per-seed", action="store_true", help="each seed's run of a task is a task of its own")
    parser.add_argument("--committed", action="store_true", help="make exactly what stands in data/")
    return parser


if __name__ == "__main__":
    sys.exit(main())
