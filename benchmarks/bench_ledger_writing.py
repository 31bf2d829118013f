"""What a durable append costs, as a ratio to writing and syncing the same bytes by hand, in the same rounds.

Goals: one append after the other reaches half the rate of write and fdatasync; appends that reach the disk together
(a batch of them, or those of many threads) are five times as fast as single ones.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import ledgerkit as lk
from ledgerkit.store.recorder import Recorder

ROUNDS: Final = 15
SEAL_ROUNDS: Final = 3
MESSAGES: Final = 800
SEALED_MESSAGES: Final = 4_000
BATCH: Final = 100
THREADS: Final = 16
TEXT_BYTES: Final = 600
BUILD: Final = Path(__file__).parents[1] / "build"
"""Where the benchmark writes: a folder for temporary files may lie in memory, where a sync costs nothing."""


class Writing:
    """A ledger, and a plain file beside its journals."""

    def __init__(self, folder: Path) -> None:
        self._ledger = lk.open(folder / "runs.ledger")
        self._plain = self._ledger.path / "journal" / "plain"
        self._draw = random.Random(7)  # noqa: S311 - the same texts every time
        self._runs = 0
        self._records = self._journaled()

    def commands(self, number: int) -> list[lk.AppendMessageCommand]:
        """Messages of a new run, each with its own text."""
        self._runs += 1
        words = ("error", "expected", "value", "return", "self", "def", "test", "line", "assert", "import", "path")
        part = {"type": "text", "trust_level": "TOOL_TRUSTED", "visibility": "MODEL_VISIBLE"}
        run = {"session_id": "bench", "run_id": f"run-{self._runs}", "kind": "TOOL_CALL_RESULT", "actor": "bash"}
        texts = [" ".join(self._draw.choices(words, k=TEXT_BYTES // 4))[:TEXT_BYTES] for _ in range(number)]
        return [lk.AppendMessageCommand.model_validate({**run, "parts": [{**part, "text": text}]}) for text in texts]

    def _journaled(self) -> list[bytes]:
        """What the journal writes for each message."""
        commands = self.commands(MESSAGES)
        recorder = self._ledger.record("bench", commands[0].run_id, redact=False)
        (journal,) = (self._ledger.path / "journal").glob("*.journal")
        ends = [journal.stat().st_size]
        for command in commands:
            recorder.append(command)
            ends.append(journal.stat().st_size)
        raw = journal.read_bytes()
        recorder.close()
        return [raw[begin:end] for begin, end in pairwise(ends)]

    def raw(self) -> float:
        """Messages a second of write and fdatasync."""
        with self._plain.open("wb", buffering=0) as file:
            begin = time.perf_counter()
            for record in self._records:
                file.write(record)
                os.fdatasync(file.fileno())
            took = time.perf_counter() - begin
        self._plain.unlink()
        return len(self._records) / took

    def appended(self, how: Callable[[Recorder, Sequence[lk.AppendMessageCommand]], None]) -> float:
        """Messages a second of one way to append; they stay in the journal."""
        commands = self.commands(MESSAGES)
        recorder = self._ledger.record("bench", commands[0].run_id, redact=False)
        begin = time.perf_counter()
        how(recorder, commands)
        took = time.perf_counter() - begin
        recorder.close(seal=False)
        return len(commands) / took

    def sealed(self, how: Callable[[Recorder, Sequence[lk.AppendMessageCommand]], None]) -> float:
        """Messages a second until a whole run stands in the history."""
        commands = self.commands(SEALED_MESSAGES)
        begin = time.perf_counter()
        with self._ledger.record("bench", commands[0].run_id, redact=False) as recorder:
            how(recorder, commands)
        return len(commands) / (time.perf_counter() - begin)


def one_by_one(recorder: Recorder, commands: Sequence[lk.AppendMessageCommand]) -> None:
    """Each append waits for the disk."""
    for command in commands:
        recorder.append(command)


def in_batches(recorder: Recorder, commands: Sequence[lk.AppendMessageCommand]) -> None:
    """A hundred messages wait for the disk once."""
    for begin in range(0, len(commands), BATCH):
        recorder.append_many(commands[begin : begin + BATCH])


def in_threads(recorder: Recorder, commands: Sequence[lk.AppendMessageCommand]) -> None:
    """Sixteen threads append one message after the other; who waits takes the others along."""
    threads = [
        threading.Thread(target=one_by_one, args=(recorder, commands[first::THREADS])) for first in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def line(name: str, rate: float, base: str, ratios: Sequence[float], goal: float) -> None:
    """One row of the table."""
    ratio = statistics.median(ratios)
    verdict = "met" if ratio >= goal else "MISSED"
    print(f"{name:36} {rate:8,.0f}/s  {ratio:6.2f} x {base:18} goal >= {goal:3.1f} x  {verdict}")


def main() -> None:
    """Prints medians of interleaved rounds."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        writing = Writing(Path(folder))
        ways = (one_by_one, in_batches, in_threads)
        rounds = [(writing.raw(), *(writing.appended(way) for way in ways)) for _ in range(ROUNDS + 1)][1:]
        raw, single, batch, threads = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{'write + fdatasync of the same bytes':36} {raw:8,.0f}/s  ({1e6 / raw:.0f} µs each)")
        line("append, one after the other", single, "write + fdatasync", [r[1] / r[0] for r in rounds], 0.5)
        line(f"append_many, {BATCH} at a time", batch, "single appends", [r[2] / r[1] for r in rounds], 5)
        line(f"append in {THREADS} threads", threads, "single appends", [r[3] / r[1] for r in rounds], 5)
        to_raw = [statistics.median(r[at] / r[0] for r in rounds) for at in (2, 3)]
        print(f"For information, to write + fdatasync: {BATCH} at a time {to_raw[0]:.2f} x, threads {to_raw[1]:.2f} x")
        for name, way in (("one after the other", one_by_one), (f"{BATCH} at a time", in_batches)):
            rate = statistics.median(writing.sealed(way) for _ in range(SEAL_ROUNDS))
            print(f"For information: {SEALED_MESSAGES:,} messages {name}, sealed into the history: {rate:,.0f}/s")


if __name__ == "__main__":
    main()
