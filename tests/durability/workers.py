"""Processes that write to a ledger until somebody kills them, and note what it acknowledged.

``python -m tests.durability.workers`` loads the library once and forks a process for each job that it reads, so that
a test that kills many of them does not wait for each to start. It may do so as long as it opens no ledger itself: the
libraries below have no threads of their own until then.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import ledgerkit as lk
from ledgerkit.tokens import TokenCounter
from tests.builders import Log, append_lines, working_session, write_lines
from tests.durability.commands import command

SESSION: Final = "live"
SECONDS: Final = 30.0
"""A worker ends by itself after so long: none outlives the test that forgot to kill it."""
_RESENT: Final = 4


class Job(NamedTuple):
    """What a worker does.

    Attributes:
        operation: A name in ``OPERATIONS``.
        ledger: The ledger's folder.
        name: Names the run that it records, or the logs that it writes.
        begin: Number of the first message or log that was not acknowledged yet.
        seed: Seed of what it draws.
        notes: The file where it notes what was acknowledged.
        logs: The folder for logs.
    """

    operation: str
    ledger: str
    name: str
    begin: int
    seed: int
    notes: str
    logs: str


class Notes:
    """Notes what the ledger acknowledged, after it did: a line each, which a kill cannot take back."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, *note: object) -> None:
        os.write(self._file, (json.dumps(note) + "\n").encode())


def said(run: str, number: int) -> str:
    """The text of a message of a run; some are so long that they become artifacts."""
    return f"{run} says {number}" + (" at length" * 7_000 if number % 60 == 17 else "")


def _commands(run: str, first: int, count: int) -> list[lk.AppendMessageCommand]:
    return [
        command(said(run, number), session=SESSION, run=run, idempotency_key=str(number))
        for number in range(first, first + count)
    ]


def append(job: Job) -> None:
    """Records a run, in every way there is: one by one, in batches, with seals, closed and opened again.

    It begins with messages that were acknowledged before the last kill: their keys keep them from being doubled.
    """
    draw, notes, number = random.Random(job.seed), Notes(job.notes), max(0, job.begin - _RESENT)

    def note(written: list[lk.AgentMessage]) -> None:
        nonlocal number
        assert [message.sequence_no for message in written] == list(range(number, number + len(written)))
        number += len(written)
        notes.add("append", job.name, number)

    end = time.monotonic() + SECONDS
    with lk.open(job.ledger) as ledger:
        while time.monotonic() < end:
            recorder = ledger.record(SESSION, job.name, agent="worker")
            for _ in range(draw.randint(1, 30)):
                count = draw.choice((1, 1, 1, 1, 5, 20))
                commands = _commands(job.name, number, count)
                note(recorder.append_many(commands) if count > 1 else [recorder.append(commands[0])])
                if draw.random() < 0.06:
                    recorder.seal()
                    notes.add("seal", job.name, number)
            recorder.close(seal=draw.random() < 0.6)
            for _ in range(draw.randint(0, 2)):
                note([ledger.append(_commands(job.name, number, 1)[0])])


def log_of(name: str) -> Log:
    """The log of a name, as it is when its session has ended."""
    return working_session(name, steps=random.Random(name).randint(1, 4))


def import_logs(job: Job) -> None:
    """Writes logs and imports each twice: when a part of it is there, and when it has grown to its end."""
    draw, notes, folder = random.Random(job.seed), Notes(job.notes), Path(job.logs)
    end = time.monotonic() + SECONDS
    number = job.begin
    with lk.open(job.ledger) as ledger:
        while time.monotonic() < end:
            log = log_of(f"{job.name}-{number}")
            file, cut = folder / f"{log.name}.jsonl", draw.randint(1, len(log.records))
            write_lines(file, log.records[:cut])
            messages = ledger.import_logs(file).new_messages
            notes.add("import", log.name, messages)
            append_lines(file, log.records[cut:])
            messages += ledger.import_logs(file).new_messages
            notes.add("import", log.name, messages)
            number += 1


def compact(job: Job) -> None:
    """Compacts again and again."""
    draw, notes = random.Random(job.seed), Notes(job.notes)
    end = time.monotonic() + SECONDS
    with lk.open(job.ledger) as ledger:
        while time.monotonic() < end:
            ledger.compact(everything=draw.random() < 0.5)
            notes.add("compact", job.name, 1)
            time.sleep(draw.random() / 20)


OPERATIONS: Final[dict[str, Callable[[Job], None]]] = {"append": append, "import": import_logs, "compact": compact}


def _started(job: Job) -> int:
    child = os.fork()
    if child:
        return child
    try:
        OPERATIONS[job.operation](job)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _warm_up() -> None:
    """Loads what a ledger loads when it is opened, and opens none."""
    for module in ("ingest.importing", "store.delta", "store.journaled", "store.maintenance", "store.recorder"):
        import_module(f"ledgerkit.{module}")
    TokenCounter().count_many(["warm"])


def _answer(numbers: list[int]) -> None:
    sys.stdout.write(json.dumps(numbers) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Starts the workers of each line of jobs: says their process ids, and when all have ended how they did."""
    _warm_up()
    for line in sys.stdin:
        given: list[list[Any]] = json.loads(line)
        children = [_started(Job(*job)) for job in given]
        _answer(children)
        _answer([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])


if __name__ == "__main__":
    main()
