"""Trials: workers write to one ledger, are killed at a random instant, and what is left is looked at."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl
from polars.testing import assert_frame_equal

import ledgerkit as lk
from tests.builders import uid, write_lines
from tests.durability.workers import SESSION, Job, log_of, said

ROOT: Final = Path(__file__).resolve().parents[2]
_LONGEST_BATCH: Final = 20
_LIVE: Final = """
    select sequence_no, text, byte_count, idempotency_key, artifact_refs from parts
    where session_id = $session and run_id = $run order by sequence_no
"""
_IMPORTED: Final = """
    select session_id, run_id, sequence_no, message_id, kind, text, source_record, source_line from messages
    where session_id <> $live order by session_id, run_id, sequence_no
"""


class Workers:
    """A process that starts workers. See :mod:`tests.durability.workers`."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.durability.workers"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def start(self, jobs: list[Job]) -> list[int]:
        """Starts workers; gives their process ids."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(jobs) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def kill(self, children: list[int]) -> None:
        """Kills workers, and waits until they are gone.

        Raises:
            AssertionError: If one had ended before, which none does by itself.
        """
        for child in children:
            os.kill(child, signal.SIGKILL)
        assert set(self._answer()) == {-signal.SIGKILL}, self._errors.read_text()

    def _answer(self) -> list[int]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._errors.read_text()
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class Trials:
    """Trials that follow each other on one ledger: each worker takes up what the one before it left.

    Attributes:
        folder: Where the ledger, the logs and the notes stand.
        workers: Who starts workers.
        draw: What the trials draw.
        acknowledged: How much of each operation was acknowledged.
    """

    folder: Path
    workers: Workers
    draw: random.Random
    acknowledged: Counter[str] = field(default_factory=Counter[str])
    _appended: Counter[str] = field(default_factory=Counter[str])
    _imported: Counter[str] = field(default_factory=Counter[str])
    _logs: set[str] = field(default_factory=set[str])

    @property
    def _notes(self) -> Path:
        return self.folder / "notes"

    @property
    def _ledger(self) -> Path:
        return self.folder / "runs.ledger"

    @property
    def _log_folder(self) -> Path:
        return self.folder / "logs"

    def __post_init__(self) -> None:
        self._log_folder.mkdir()
        lk.open(self._ledger, key=bytes(32)).close()

    def run(self, operations: list[str]) -> None:
        """One trial: starts workers, kills them at a random instant, checks what is left.

        The instant comes after the first has acknowledged something; in every other trial, after all have.
        """
        self._notes.write_bytes(b"")
        children = self.workers.start([self._job(operation, place) for place, operation in enumerate(operations)])
        try:
            self._wait_for_notes(set(operations) if self.draw.random() < 0.5 else {operations[0]})
            time.sleep(self.draw.random() ** 2 * 0.8)
        finally:
            self.workers.kill(children)
        before = self.acknowledged.total()
        self._read_notes()
        assert self.acknowledged.total() > before
        self.check()

    def _job(self, operation: str, place: int) -> Job:
        name = f"{operation}{place}"
        begin = self._appended[name] if operation == "append" else len(self._logs)
        paths = (str(self._ledger), str(self._notes), str(self._log_folder))
        return Job(operation, paths[0], name, begin, self.draw.getrandbits(32), paths[1], paths[2])

    def _wait_for_notes(self, wanted: set[str]) -> None:
        end = time.monotonic() + 20
        while not all(f'["{operation}"'.encode() in self._notes.read_bytes() for operation in wanted):
            assert time.monotonic() < end, f"nothing was acknowledged: {wanted}"
            time.sleep(0.002)

    def _read_notes(self) -> None:
        for line in self._notes.read_bytes().splitlines():
            operation, name, count = json.loads(line)
            self.acknowledged[operation] += 1
            if operation == "append":
                assert count >= self._appended[name] - _LONGEST_BATCH
                self._appended[name] = max(count, self._appended[name])
            elif operation == "import":
                self._imported[name] = count

    # Checking

    def check(self) -> None:
        """Opens the ledger as anybody would, and looks whether all that was acknowledged is there, once."""
        with lk.open(self._ledger) as ledger:
            for run in sorted(self._appended):
                self._check_run(ledger, run)
            self._check_imports(ledger)
            ids = ledger.sql("select count(*) as rows, count(distinct message_id) as ids from messages").row(0)
            assert ids[0] == ids[1]
            report = ledger.verify()
            assert report.ok, report.frame()

    def _check_run(self, ledger: lk.Ledger, run: str) -> None:
        rows = ledger.sql(_LIVE, {"session": SESSION, "run": run})
        acknowledged = self._appended[run]
        assert acknowledged <= rows.height <= acknowledged + _LONGEST_BATCH
        texts = [said(run, number) for number in range(rows.height)]
        assert rows["sequence_no"].to_list() == list(range(rows.height))
        assert rows["idempotency_key"].to_list() == [str(number) for number in range(rows.height)]
        assert rows["text"].to_list() == [said if len(said) < 65_536 else said[:4096] for said in texts]
        assert rows["byte_count"].to_list() == [len(said) for said in texts]
        last = rows.filter(pl.col("artifact_refs").is_not_null()).tail(1)
        for number, refs in last.select("sequence_no", "artifact_refs").iter_rows():
            assert ledger.artifact(refs[0])[0].decode() == texts[number]

    def _check_imports(self, ledger: lk.Ledger) -> None:
        rows = ledger.sql(_IMPORTED, {"live": SESSION})
        self._check_dense(rows)
        there = dict(rows.group_by("session_id").len().iter_rows())
        for name, messages in self._imported.items():
            assert there[uid(name)] >= messages, name
        logs = {path.stem for path in self._log_folder.glob("*.jsonl")}
        for name in logs - self._logs:
            write_lines(self._log_folder / f"{name}.jsonl", log_of(name).records)  # the kill may have cut it off
        self._logs = logs
        if logs:
            ledger.import_logs(self._log_folder)
            assert ledger.import_logs(self._log_folder).new_messages == 0

    @staticmethod
    def _check_dense(rows: pl.DataFrame) -> None:
        runs = rows.group_by("session_id", "run_id").agg(pl.col("sequence_no").sort())
        for numbers in runs["sequence_no"]:
            assert numbers.to_list() == list(range(len(numbers)))
        keys = rows.select("session_id", "run_id", "source_record", "kind", "source_line", "text")
        assert keys.is_duplicated().sum() == 0

    def check_against_another_ledger(self) -> None:
        """Whether the imports, however often they were cut off, gave what one import that nobody disturbs gives."""
        with lk.open(self._ledger) as ledger, lk.open(self.folder / "other.ledger", key=bytes(32)) as other:
            if self._logs:
                other.import_logs(self._log_folder)
            found = [one.sql(_IMPORTED, {"live": SESSION}) for one in (ledger, other)]
            assert_frame_equal(*found)
            assert len(self._logs) == found[0]["session_id"].n_unique()
