"""Processes of the test with many writers.

``python -m tests.durability.many LEDGER STOP ROLE NAME MESSAGES``, where a role is in ``ROLES``. A writer ends when it
has written its messages; the others go on until there is a file STOP. Each says at its end what it did.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import ledgerkit as lk
from tests.durability.commands import command

SESSION: Final = "many"
RUNS: Final = 5
"""Runs that each writer writes."""
_BATCH: Final = 250
_PATIENCE: Final = 900.0
COUNTS: Final = """
    select run_id, count(*) as messages, count(distinct message_id) as ids, count(distinct sequence_no) as numbers,
        max(sequence_no) + 1 as "end"
    from messages where session_id = 'many' group by all order by all
"""


def text_of(run: str, number: int) -> str:
    """The text of a message of a run."""
    return f"{run} {number}"


def write(folder: str, _stop: Path, name: str, messages: int) -> object:
    """Writes to several runs in turn: batches and single messages, with seals, each run recorded several times."""
    draw = random.Random(name)
    written = {f"{name}-{run}": 0 for run in range(RUNS)}
    with lk.open(folder) as ledger:
        while (left := messages - sum(written.values())) > 0:
            run = draw.choice(sorted(written))
            recorder = ledger.record(SESSION, run, agent=name)
            for _ in range(draw.randint(1, 8)):
                count = min(left, draw.choice((1, 1, 10, _BATCH)))
                begin = written[run]
                commands = [
                    command(text_of(run, number), session=SESSION, run=run) for number in range(begin, begin + count)
                ]
                given = [recorder.append(commands[0])] if count == 1 else recorder.append_many(commands)
                assert [message.sequence_no for message in given] == list(range(begin, begin + count))
                written[run] += count
                left -= count
                if draw.random() < 0.1:
                    recorder.seal()
            recorder.close(seal=draw.random() < 0.7)
            if left > 0 and draw.random() < 0.3:
                said = command(text_of(run, written[run]), session=SESSION, run=run)
                assert ledger.append(said).sequence_no == written[run]
                written[run] += 1
    return written


def read(folder: str, stop: Path, _name: str, _messages: int) -> object:
    """Reads again and again: no run ever loses a message, none has a gap or a double."""
    before: dict[str, int] = {}
    end, reads = time.monotonic() + _PATIENCE, 0
    with lk.open(folder) as ledger:
        while not stop.exists() and time.monotonic() < end:
            now: dict[str, int] = {}
            for run, messages, ids, numbers, after in ledger.sql(COUNTS).iter_rows():
                assert messages == ids == numbers == after, (run, messages, ids, numbers, after)
                now[run] = messages
            assert all(now.get(run, 0) >= count for run, count in before.items()), (before, now)
            before, reads = now, reads + 1
    return reads


def compact(folder: str, stop: Path, _name: str, _messages: int) -> object:
    """Compacts again and again."""
    end, rewritten = time.monotonic() + _PATIENCE, 0
    with lk.open(folder) as ledger:
        while not stop.exists() and time.monotonic() < end:
            rewritten += ledger.compact().height
            time.sleep(0.1)
    return rewritten


ROLES: Final[dict[str, Callable[[str, Path, str, int], object]]] = {"write": write, "read": read, "compact": compact}


def main() -> None:
    """Plays a role, and says what was done."""
    folder, stop, role, name, messages = sys.argv[1:]
    sys.stdout.write(json.dumps(ROLES[role](folder, Path(stop), name, int(messages))))


if __name__ == "__main__":
    main()
