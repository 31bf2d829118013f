"""Opening a run's replay and stepping through it: the largest run of the corpus, or one of 5,000 steps without one.

    PYTHONPATH=. python benchmarks/bench_replay.py

Goals: the first step in under a second, a step under 50 ms. Beside them, as a floor, the run's parts read by one query.
The ledger is opened anew each time; the page that stands alone and its size are measured too.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import ledgerkit as lk
from ledgerkit.notebook import export_replay
from tests.conftest import NOW, corpus_path
from tests.notebook.long import long_ledger

_T = TypeVar("_T")
_ROUNDS = 5


def main() -> None:
    """Measures, and prints what it measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _made(folder)
        with lk.open(path) as ledger:
            counted = ledger.sql("select run_id, count(*) as parts from parts group by all order by parts desc, run_id")
            run, parts = counted.row(0)
        times = [_opened(path, run) for _ in range(_ROUNDS)]
        with lk.open(path) as ledger:
            replay = ledger.run(run).replay()
            steps = [_timed(lambda at=at: replay.step(at))[1] for at in range(len(replay))]
            page, took = _timed(lambda: export_replay(replay, folder / "page.html", allow=["all"]))
            print(f"the largest run: {parts:,} parts, {len(replay):,} steps")
            print(f"opened to its first step: {_middle(times)} (its parts alone: {_middle([_read(path, run)])})")
            print(f"a step: median {1e3 * statistics.median(steps):.1f} ms, slowest {1e3 * max(steps):.1f} ms")
            print(f"as a page: {took:.1f} s, {page.stat().st_size / 1e6:.1f} MB")


def _made(folder: Path) -> Path:
    corpus = corpus_path()
    if not corpus.is_dir():
        long_ledger(folder, 5_000).close()
        return folder / "long.ledger"
    with lk.open(folder / "corpus.ledger", key=bytes(32)) as ledger:
        ledger.import_logs(corpus, redact="off", now=NOW)
        ledger.sql(
            "from verifier_results limit 0"
        )  # filled at the first question after an import, whatever it is about
    return folder / "corpus.ledger"


def _opened(path: Path, run: str) -> float:
    def first_step() -> None:
        with lk.open(path) as ledger:
            ledger.run(run).replay().step(0)

    return _timed(first_step)[1]


def _read(path: Path, run: str) -> float:
    def parts() -> None:
        with lk.open(path) as ledger:
            ledger.run(run).parts()

    return _timed(parts)[1]


def _timed(act: Callable[[], _T]) -> tuple[_T, float]:
    begin = time.perf_counter()
    return act(), time.perf_counter() - begin


def _middle(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} s"


if __name__ == "__main__":
    main()
