"""Reading a large ledger, against hand-written DuckDB over plain sorted Parquet of the same rows, in the same rounds.

Goals: one session's messages and one message by id within 3 times, a group-by over all within 1.5 times, and memory
that does not grow with the ledger.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

import ledgerkit as lk
from benchmarks.ledgers import LEDGER, PLAIN, build, open_ledger, open_plain

ROUNDS: Final = 11
_NEAR: Final = 3.0
_GROUPED: Final = 1.5
_FLAT: Final = 1.3
_COLUMNS: Final = "sequence_no, message_id, kind, trust_level, created_at, text, token_count"
_GROUP_BY: Final = "select kind, part_trust_level, count(*), sum(token_count) from {} group by all order by all"
_PEAK: Final = """
import sys
import ledgerkit as lk
def print_peak():
    with open("/proc/self/status") as status:
        print(int(status.read().split("VmHWM:")[1].split()[0]) // 1024)
"""
_READS: Final = f"""{_PEAK}
session, run, message = sys.argv[2:]
with lk.open(sys.argv[1], create=False) as ledger:
    ledger.sql("select * from messages where session_id = ? order by run_id, sequence_no", [session])
    ledger.sql("select * from parts where session_id = ? order by run_id, sequence_no", [session])
    ledger.list_messages(session, run)
    ledger.find_by_id(message)
    ledger.sql("{_GROUP_BY.format("parts")}")
print_peak()
"""
_APPENDS: Final = f"""{_PEAK}
part = {{"type": "text", "text": "x" * 600, "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}}
fields = {{"session_id": "live", "run_id": "live", "kind": "USER_TASK", "actor": "user", "parts": [part]}}
command = lk.AppendMessageCommand.model_validate(fields)
with lk.open(sys.argv[1], create=False) as ledger, ledger.record("live", "live") as recorder:
    for _ in range(1000):
        recorder.append(command)
print_peak()
"""


class Place(NamedTuple):
    """A message that is asked for, and where it stands."""

    session: str
    run: str
    message: str


_Question = Callable[[Place], Any]


def main() -> None:
    """Builds what is missing, and compares."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=2_000_000)
    options.add_argument("--cache", type=Path, help="folder in which the ledgers that were built are kept")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root: Path = given.cache or Path(temporary)
        small, large = (built(root, size) for size in (given.messages // 10, given.messages))
        compare_times(large)
        compare_memory(small, large)
        with hard_linked(large) as copy:
            time_after_append(copy)


def built(root: Path, messages: int) -> Path:
    """A folder with a ledger and its plain file, which are built if they are not there."""
    folder = root / str(messages)
    if not (folder / PLAIN).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build(folder, messages)
    return folder


# Time


def compare_times(folder: Path) -> None:
    """Asks the questions that the goals name."""
    plain, table = open_plain(folder)
    places = some_places(folder)
    begin = time.perf_counter()
    with plain, open_ledger(folder) as ledger:
        ledger.find_by_id(places[0].message)
        print(f"Open a ledger and find one message: {time.perf_counter() - begin:.2f} s. Warm, in milliseconds:")
        print(f"{'':36} {'ledger':>8} {'plain':>8} {'ratio':>7}  goal")

        def sql(query: Callable[[str, Place], str], view: str) -> tuple[_Question, _Question]:
            return lambda at: ledger.sql(query(view, at)), lambda at: plain.sql(query(table, at)).pl()

        def objects(at: Place) -> object:
            return ledger.list_messages(at.session, at.run)

        def found(at: Place) -> object:
            return ledger.find_by_id(at.message)

        def by_hand(query: Callable[[str, Place], str]) -> _Question:
            return lambda at: plain.sql(query(table, at)).pl()

        for query in (_session, _grouped):
            check_same_answers(*(ask(places[0]) for ask in sql(query, "parts")))
        for name, ours, theirs, goal in (
            ("one session's messages, sql", *sql(_session, "messages"), _NEAR),
            ("one session's parts, sql", *sql(_session, "parts"), _NEAR),
            ("one run, list_messages", objects, by_hand(_run), _NEAR),
            ("one message, find_by_id", found, by_hand(_whole), _NEAR),
            ("one message, sql on messages", *sql(_message, "messages"), _NEAR),
            ("one message, sql on parts", *sql(_message, "parts"), _NEAR),
            ("group-by over all, sql on parts", *sql(_grouped, "parts"), _GROUPED),
        ):
            compare(name, ours, theirs, places, goal)


def _session(source: str, at: Place) -> str:
    return f"select {_COLUMNS} from {source} where session_id = '{at.session}' order by run_id, sequence_no"


def _run(source: str, at: Place) -> str:
    where = f"session_id = '{at.session}' and run_id = '{at.run}'"
    return f"select * from {source} where {where} order by sequence_no, part_index"


def _message(source: str, at: Place) -> str:
    return f"select {_COLUMNS} from {source} where message_id = '{at.message}'"


def _whole(source: str, at: Place) -> str:
    return f"select * from {source} where message_id = '{at.message}' order by part_index"


def _grouped(source: str, _: Place) -> str:
    return _GROUP_BY.format(source)


def some_places(folder: Path) -> Sequence[Place]:
    """A message for each round, from all over the ledger."""
    plain, table = open_plain(folder)
    asked = f"select session_id, run_id, message_id from {table} order by hash(message_id) limit {ROUNDS}"
    with plain:
        return [Place(*row) for row in plain.execute(asked).fetchall()]


def check_same_answers(ours: pl.DataFrame, theirs: pl.DataFrame) -> None:
    """Stops where the two sides do not say the same."""
    if Counter(ours.rows()) != Counter(theirs.rows()):
        raise SystemExit("The ledger and the plain file give different answers.")


def compare(name: str, ours: _Question, theirs: _Question, places: Sequence[Place], goal: float) -> None:
    """Times both in the same rounds, first the one and then the other, and prints the medians."""
    ours(places[-1])
    theirs(places[-1])
    rounds: list[tuple[float, float]] = []
    for number, at in enumerate(places):
        if number % 2:
            other, mine = _milliseconds(theirs, at), _milliseconds(ours, at)
        else:
            mine, other = _milliseconds(ours, at), _milliseconds(theirs, at)
        rounds.append((mine, other))
    mine, other = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(mine / other for mine, other in rounds)
    print(f"{name:36} {mine:8.1f} {other:8.1f} {ratio:7.2f}  {verdict(ratio, goal)}")


_Asked = TypeVar("_Asked")


def _milliseconds(question: Callable[[_Asked], object], asked: _Asked) -> float:
    begin = time.perf_counter()
    question(asked)
    return (time.perf_counter() - begin) * 1e3


def verdict(ratio: float, goal: float) -> str:
    """A goal, and whether it is met."""
    return f"<= {goal:.1f}  {'met' if ratio <= goal else 'MISSED'}"


# Memory


def compare_memory(small: Path, large: Path) -> None:
    """Peak memory of processes that ask the same questions of a ledger and of one ten times as large, and append."""
    print(f"{'Peak memory, in MB, of messages:':36} {int(large.name):>8,} {int(small.name):>8,}")
    reading = [peak_mb(_READS, folder / LEDGER, *some_places(folder)[0]) for folder in (large, small)]
    print_memory("open, and the questions above", reading)
    appending: list[int] = []
    for folder in (large, small):
        with hard_linked(folder) as copy:
            appending.append(peak_mb(_APPENDS, copy))
    print_memory("open, append 1,000 messages, seal", appending)


def print_memory(name: str, peaks: Sequence[int]) -> None:
    """One row of the table."""
    ratio = peaks[0] / peaks[1]
    print(f"{name:36} {peaks[0]:8} {peaks[1]:8} {ratio:7.2f}  {verdict(ratio, _FLAT)}")


def peak_mb(program: str, ledger: Path, *arguments: str) -> int:
    """The most memory that a program of its own had at a time."""
    command = [sys.executable, "-c", program, str(ledger), *arguments]
    return int(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


@contextmanager
def hard_linked(folder: Path) -> Generator[Path]:
    """A copy of a ledger to append to; its files are never changed in place, so that links to them do."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / LEDGER, copy, copy_function=os.link)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def time_after_append(copy: Path) -> None:
    """What a reader pays for one message more."""
    part = {"type": "text", "text": "x", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    fields = {"session_id": "live", "run_id": "live", "kind": "USER_TASK", "actor": "user", "parts": [part]}
    command = lk.AppendMessageCommand.model_validate(fields)
    question = "select count(*) from parts where session_id = 'live'"
    with lk.open(copy, create=False) as ledger, ledger.record("live", "live") as recorder:
        rounds: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            recorder.append(command)
            rounds.append((_milliseconds(ledger.sql, question), _milliseconds(ledger.sql, question)))
    after, again = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"For information: after one append to a journal a question takes {after:.0f} ms, the next {again:.0f} ms.")


if __name__ == "__main__":
    main()
