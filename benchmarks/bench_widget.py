"""The replay widget on a run of 5,000 steps, in a real browser: first paint, step change, bytes per message.

    PYTHONPATH=. python benchmarks/bench_widget.py [steps]

The page is the widget's own module with answers from Python, without Jupyter's transport, which adds some ten
milliseconds a message (docs/notebooks.md).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ledgerkit.notebook.pages import ReplayPages
from tests.browsing import browser
from tests.notebook.long import long_ledger
from tests.ui.bare import Bare, bare_page

_STRATEGIES = ("AsRecorded", "FullHistory", "LastObservations(10)")


def main(steps: int) -> None:
    """Measures, and prints what it measured."""
    with tempfile.TemporaryDirectory() as folder, long_ledger(Path(folder), steps) as ledger:
        run = ledger.run(ledger.runs()["run_id"][0])
        begin = time.perf_counter()
        pages = ReplayPages(run.replay(strategies=list(_STRATEGIES)))
        pages.answer({"kind": "look", "id": 0, "strategy": 0, "step": 0})
        print(
            f"{steps:,} steps, {pages.replay.parts.height:,} parts: ready in Python {time.perf_counter() - begin:.2f} s"
        )
        with browser() as started:
            begin = time.perf_counter()
            bare = bare_page(started, pages)
            print(f"first paint, all of it drawn: {time.perf_counter() - begin:.2f} s")
            bare.page.locator(".lkr-timeline").focus()
            times = [_step(bare, at) for at in range(1, 41)]
            print(f"step change: median {1e3 * statistics.median(times):.0f} ms, slowest {1e3 * max(times):.0f} ms")
            begin = time.perf_counter()
            bare.page.keyboard.press("End")
            bare.at(steps - 1)
            print(f"to the last step: {1e3 * (time.perf_counter() - begin):.0f} ms")
            begin = time.perf_counter()
            bare.set("strategy", 2)
            bare.at(steps - 1, 2)
            print(f"another strategy: {1e3 * (time.perf_counter() - begin):.0f} ms")
            rows = bare.page.locator(".lkr-row").count()
            print(f"{rows} rows and {bare.page.locator('.lkr-column').count()} columns in the page")
            sizes = sorted(bare.sizes)
            print(f"{len(sizes)} messages: median {sizes[len(sizes) // 2]:,} bytes, largest {sizes[-1]:,} bytes")


def _step(bare: Bare, at: int) -> float:
    begin = time.perf_counter()
    bare.page.keyboard.press("j")
    bare.at(at)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
