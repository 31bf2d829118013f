"""Many processes at once: no message is lost, none is there twice, and nobody who reads meanwhile sees otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import ledgerkit as lk
from tests.durability.many import COUNTS, RUNS
from tests.durability.trials import ROOT

MESSAGES: Final = 100_000
WRITERS: Final = 8


class Beside(NamedTuple):
    """Processes that go on while others write."""

    readers: int
    compactors: int


@contextmanager
def _started(ledger: Path, stop: Path, role: str, name: str, messages: int = 0) -> Generator[subprocess.Popen[str]]:
    program = [sys.executable, "-m", "tests.durability.many", str(ledger), str(stop), role, name, str(messages)]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _said(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    return json.loads(output)


def write_at_once(folder: Path, writers: int, messages: int, beside: Beside) -> None:
    """Lets processes write so many messages in all, while others read and compact; checks what is there then."""
    ledger, stop = folder / "runs.ledger", folder / "stop"
    lk.open(ledger, key=bytes(32)).close()
    began = time.monotonic()
    with ExitStack() as stack:

        def start(role: str, count: int, each: int = 0) -> list[subprocess.Popen[str]]:
            return [
                stack.enter_context(_started(ledger, stop, role, f"{role[0]}{number}", each)) for number in range(count)
            ]

        readers, compactors = start("read", beside.readers), start("compact", beside.compactors)
        written: dict[str, int] = {}
        for writer in start("write", writers, messages // writers):
            written |= _said(writer)
        took = time.monotonic() - began
        stop.touch()
        reads, rewritten = [_said(one) for one in readers], [_said(one) for one in compactors]
    check(ledger, written, messages)
    assert len(written) == writers * RUNS
    assert min(reads) > 0
    sys.stdout.write(f"{messages} messages in {took:.0f} s; reads {reads}, partitions compacted {rewritten}\n")


def check(path: Path, written: dict[str, int], messages: int) -> None:
    """Whether a ledger holds what was written: each message once, in order, and chained."""
    with lk.open(path) as ledger:
        counts = {run: count for run, *_, count in ledger.sql(COUNTS).iter_rows()}
        assert counts == {run: count for run, count in written.items() if count}
        assert sum(counts.values()) == messages
        whole = "select count(*), count(distinct message_id), count(distinct (run_id, sequence_no)) from messages"
        assert ledger.sql(whole).row(0) == (messages, messages, messages)
        wrong = "select count(*) from messages where text <> run_id || ' ' || sequence_no"
        assert ledger.sql(wrong).item() == 0
        report = ledger.verify()
        assert report.ok, report.frame()
        ledger.compact()
        assert ledger.sql("select count(*) from messages where leaf_index is null").item() == 0
        assert ledger.sql(whole).row(0) == (messages, messages, messages)


@pytest.mark.long
def test_a_few_processes_write_read_and_compact_at_once(tmp_path: Path) -> None:
    write_at_once(tmp_path, 2, MESSAGES // 500, Beside(readers=1, compactors=1))


@pytest.mark.slow
def test_eight_processes_write_a_hundred_thousand_messages(tmp_path: Path) -> None:
    write_at_once(tmp_path, WRITERS, MESSAGES, Beside(readers=1, compactors=1))
