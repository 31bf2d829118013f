"""What a program does whose system calls are traced: it notes what the ledger acknowledged, right after it did.

``python -m tests.durability.traced LEDGER NOTES LOGS SCENARIO``
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import ledgerkit as lk
from tests.builders import append_lines, working_session, write_lines
from tests.durability.commands import command

SESSION: Final = "live"
OLD_COMMITS: Final = 46
"""Commits of a ledger that is not new: its logs get a checkpoint of their own while the calls are traced."""


class Program:
    """One program over one ledger."""

    def __init__(self, ledger: str, notes: str, logs: str) -> None:
        self._path = ledger
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._logs = Path(logs)
        self._numbers: Counter[str] = Counter()
        self.ledger = lk.open(ledger, key=bytes(32))
        self._note("opened")

    def _note(self, *note: object) -> None:
        os.write(self._notes, (json.dumps(note) + "\n").encode())

    def commands(self, run: str, count: int) -> list[lk.AppendMessageCommand]:
        """The next commands of a run; every fifth is so long that it becomes an artifact."""
        first = self._numbers[run]
        self._numbers[run] += count
        return [
            command(text_of_number(run, number), session=SESSION, run=run, idempotency_key=f"{number}")
            for number in range(first, first + count)
        ]

    def acknowledge(self, run: str, written: list[lk.AgentMessage]) -> None:
        """Notes messages that an append gave back."""
        self._note("messages", run, written[-1].sequence_no + 1)

    def record(self, run: str, batches: list[int], *, seal_after: int = -1, close: bool = True) -> None:
        """Records batches of messages; a batch of one is appended by itself."""
        recorder = self.ledger.record(SESSION, run, agent="traced")
        for place, count in enumerate(batches):
            commands = self.commands(run, count)
            self.acknowledge(run, recorder.append_many(commands) if count > 1 else [recorder.append(commands[0])])
            if place == seal_after:
                recorder.seal()
        recorder.close(seal=close)

    def append(self, run: str) -> None:
        """Appends one message without a recorder."""
        self.acknowledge(run, [self.ledger.append(self.commands(run, 1)[0])])

    def import_twice(self, name: str) -> None:
        """Imports a log when half of it is there, and when all of it is."""
        log = working_session(name, steps=2)
        half = len(log.records) // 2
        file = write_lines(self._logs / f"{name}.jsonl", log.records[:half])
        messages = self.ledger.import_logs(file).new_messages
        self._note("import", log.session, messages)
        append_lines(file, log.records[half:])
        self._note("import", log.session, messages + self.ledger.import_logs(file).new_messages)

    def import_again(self) -> None:
        """Imports all logs that are there."""
        if any(self._logs.iterdir()):
            self.ledger.import_logs(self._logs)

    def compact(self) -> None:
        """Compacts the ledger."""
        assert self.ledger.compact(everything=True).height
        self._note("compact")

    def acknowledge_all(self) -> None:
        """Notes what a reader of the ledger sees: it may act on that."""
        seen = "select session_id, run_id, count(*) from messages group by all order by all"
        for session, run, count in self.ledger.sql(seen).iter_rows():
            self._note(*(("messages", run, count) if session == SESSION else ("import", session, count)))


def text_of_number(run: str, number: int) -> str:
    """The text of a message of a run."""
    return f"{run} says {number}" + (" at length" * 7_000 if number % 5 == 3 else "")


def beginning(program: Program) -> None:
    """A new ledger: a live run with a seal in it, others that are left in their journals, an import, a compaction."""
    program.record("r1", [1, 3, 1], seal_after=1)
    program.append("r2")
    program.record("r3", [2], close=False)
    program.record("r3", [1, 1])
    program.import_twice("one")
    program.append("r2")
    program.compact()
    program.append("r2")


def short(program: Program) -> None:
    """A new ledger, two messages and a seal."""
    program.record("r1", [1, 1])


def going_on(program: Program) -> None:
    """A ledger that is not new: seals, appends, imports and a compaction, while its logs get a checkpoint."""
    for _ in range(3):
        program.record("r1", [2, 1], seal_after=0)
    program.append("r2")
    program.import_twice("one")
    program.compact()
    program.record("r2", [1])


def resuming(program: Program) -> None:
    """After a kill: what is there is looked at, sealed, imported again; nothing new is said."""
    for run in ("r1", "r2", "r3"):
        program.ledger.record(SESSION, run).close()
    program.import_again()
    program.acknowledge_all()


SCENARIOS: Final[dict[str, Callable[[Program], None]]] = {
    "beginning": beginning, "short": short, "going on": going_on, "resuming": resuming,
}  # fmt: skip


def main() -> None:
    """Plays a scenario."""
    ledger, notes, logs, scenario = sys.argv[1:]
    program = Program(ledger, notes, logs)
    SCENARIOS[scenario](program)
    program.ledger.close()


if __name__ == "__main__":
    main()
