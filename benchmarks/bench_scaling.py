"""How the work grows with the ledger: seconds and peak memory at several sizes, and the exponent of the growth.

What looks for one session should not grow (exponent 0), what reads everything should grow as the ledger does (1) and
never faster. Each question is asked in a process of its own, three times; the fastest counts. The largest size is ten
million messages with ``--largest 10000000`` (some 20 minutes to build).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import polars as pl

import ledgerkit as lk
from benchmarks.ledgers import LEDGER, build, open_ledger

ROUNDS: Final = 3
QUESTIONS: Final = {
    "open, and count the messages": ("ledger.sql('select count(*) from messages')", 1.0),
    "one session's parts": ("ledger.sql('select * from parts where session_id = ?', [session])", 0.5),
    "one message by its id": ("ledger.find_by_id(message)", 0.5),
    "one run: its parts and calls": ("ledger.run(run).parts(), ledger.run(run).calls()", 0.5),
    "one run, replayed to its first step": ("next(iter(ledger.run(run).replay()))", 0.5),
    "all runs, with their cost": ("ledger.runs()", 1.1),
    "cost by model and day": ("ledger.cost(by=['model', 'day'])", 1.1),
    "a group-by over all parts": ("ledger.sql('select kind, count(*), sum(token_count) from parts group by all')", 1.1),
    "search for a word": ("ledger.search('error7')", 1.1),
    "verify": ("ledger.verify()", 1.1),
}
"""What is asked, and the exponent that it must not exceed."""
_CHILD: Final = """
import json, sys, time
begin = time.perf_counter()
import ledgerkit as lk
loaded = time.perf_counter() - begin
path, session, run, message, question = sys.argv[1:]
begin = time.perf_counter()
with lk.open(path, create=False) as ledger:
    eval(question)
taken = time.perf_counter() - begin
with open("/proc/self/status") as status:
    peak = int(status.read().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps([taken, peak]))
"""


def main() -> None:
    """Builds ledgers of several sizes, asks, and says how the answers grew."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--largest", type=int, default=1_000_000, choices=(1_000_000, 10_000_000))
    options.add_argument("--cache", type=Path, help="folder in which the ledgers that were built are kept")
    given = options.parse_args()
    sizes = [size for size in (100_000, 1_000_000, 10_000_000) if size <= given.largest]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {size: _built(given.cache or Path(temporary), size) for size in sizes}
        rows = [_grown(name, folders) for name in QUESTIONS]
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_str_lengths=40, tbl_hide_dataframe_shape=True):
        print(pl.DataFrame(rows))


def _built(root: Path, size: int) -> Path:
    folder = root / f"scaling-{size}"
    if not (folder / LEDGER).exists():
        folder.mkdir(parents=True)
        build(folder, size)
    return folder / LEDGER


def _grown(name: str, folders: dict[int, Path]) -> dict[str, object]:
    question, most = QUESTIONS[name]
    measured = {size: _asked(path, question) for size, path in folders.items()}
    least, largest = min(measured), max(measured)
    growth = math.log(measured[largest][0] / measured[least][0]) / math.log(largest / least)
    row: dict[str, object] = {"question": name}
    for size, (seconds, peak) in measured.items():
        row |= {f"s, 10^{round(math.log10(size))}": round(seconds, 3), f"MB, 10^{round(math.log10(size))}": peak}
    return {**row, "exponent": round(growth, 2), "at most": most, "met": growth <= most}


def _asked(path: Path, question: str) -> tuple[float, int]:
    """Seconds of the fastest round, and the peak memory of the process in MB."""
    with open_ledger(path.parent) as ledger:
        session, run, message = ledger.sql("select session_id, run_id, message_id from messages limit 1").row(0)
    rounds: list[tuple[float, int]] = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", _CHILD, str(path), session, run, message, question]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise lk.LedgerError(f"{question} failed:\n{done.stderr}")
        taken, peak = json.loads(done.stdout)
        rounds.append((float(taken), int(peak)))
    return min(rounds)


if __name__ == "__main__":
    main()
