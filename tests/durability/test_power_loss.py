"""Power loss: whatever a disk may have kept of what was not synced, all that was acknowledged is there, once.

A program runs under strace. After every prefix of its system calls the folder is made as a power loss would leave it,
and opened. See :mod:`tests.durability.disk` for what may be lost.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

import ledgerkit as lk
from tests.durability.commands import command
from tests.durability.disk import Disk, Tree, write_tree
from tests.durability.strace import STRACE, Call, Note, traced
from tests.durability.traced import OLD_COMMITS, SESSION, text_of_number
from tests.durability.trials import ROOT

pytestmark = pytest.mark.skipif(not STRACE.exists(), reason="needs strace, to see which writes were synced")
SAMPLE: Final = 25
"""States of a program's disk that are opened where not all are."""
_SEEN: Final = """
    select idempotency_key, text, byte_count, artifact_refs[1] as ref from parts
    where session_id = $session and run_id = $run order by sequence_no
"""


@dataclass
class Acknowledged:
    """What the program was told is durable."""

    is_open: bool = False
    messages: Counter[str] = field(default_factory=Counter[str])
    imports: Counter[str] = field(default_factory=Counter[str])

    def take(self, note: Note) -> None:
        kind, *rest = json.loads(note.text)
        self.is_open = True
        if kind == "messages":
            self.messages[rest[0]] = rest[1]
        elif kind == "import":
            self.imports[rest[0]] = rest[1]

    @property
    def key(self) -> str:
        return json.dumps([self.is_open, sorted(self.messages.items()), sorted(self.imports.items())])


class Checker:
    """Opens what a power loss left. The same tree is opened once for the same acknowledgements."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[int] = set()
        self.opened = 0

    def check(self, tree: Tree, acknowledged: Acknowledged) -> None:
        known = hash((acknowledged.key, frozenset(tree.items())))
        if known in self._known:
            return
        self._known.add(known)
        self.opened += 1
        write_tree(self._folder, {"runs.ledger": None} | {f"runs.ledger/{path}": data for path, data in tree.items()})
        with lk.open(self._folder / "runs.ledger", key=bytes(32)) as ledger:
            _check_acknowledged(ledger, acknowledged)
            if self.opened % 4 == 0:
                self._go_on(ledger)
        shutil.rmtree(self._folder)

    def _go_on(self, ledger: lk.Ledger) -> None:
        """Whether the ledger can be used as if nothing had been."""
        for run in ("r1", "new"):
            before = ledger.sql("select count(*) from messages where run_id = ?", [run]).item()
            assert ledger.append(command("more", session=SESSION, run=run)).sequence_no == before
        ledger.record(SESSION, "r1").close()
        assert ledger.verify().findings == []


def _check_acknowledged(ledger: lk.Ledger, acknowledged: Acknowledged) -> None:
    wrong = """
        select session_id, run_id, count(*) as messages, count(distinct message_id) as ids, max(sequence_no) + 1 as end
        from messages group by all having messages <> ids or messages <> "end"
    """
    assert ledger.sql(wrong).rows() == []
    there = dict(ledger.sql("select session_id, count(*) from messages group by 1").iter_rows())
    for session, messages in acknowledged.imports.items():
        assert there.get(session, 0) >= messages
    for run in ("r1", "r2", "r3"):
        _check_run(ledger, run, acknowledged.messages[run])


def _check_run(ledger: lk.Ledger, run: str, acknowledged: int) -> None:
    rows = ledger.sql(_SEEN, {"session": SESSION, "run": run})
    assert rows.height >= acknowledged
    said = [text_of_number(run, number) for number in range(rows.height)]
    assert rows["idempotency_key"].to_list() == [f"{number}" for number in range(rows.height)]
    assert rows["text"].to_list() == [text if len(text) < 65_536 else text[:4096] for text in said]
    assert rows["byte_count"].to_list() == [len(text) for text in said]
    for number, ref in list(enumerate(rows["ref"]))[-1:3:-5]:
        assert ref is None or ledger.artifact(ref)[0].decode() == said[number]


@dataclass
class Traced:
    """A program that was traced, and the disk that it began with."""

    disk: Callable[[], Disk]
    calls: list[Call | Note]
    logs: Path

    @property
    def syncs(self) -> list[int]:
        """Places of calls after which more is on disk for sure."""
        disk, places = self.disk(), list[int]()
        for place, call in enumerate(self.calls):
            if isinstance(call, Call):
                before = disk.changes
                disk.apply(call)
                if disk.changes != before:
                    places.append(place)
        return places


def trace(folder: Path, scenario: str, disk: Callable[[], Disk] | None = None) -> Traced:
    """Plays a scenario under strace: on a new ledger, or on the one that stands in a folder."""
    ledger, notes, logs = folder / "runs.ledger", folder / "notes", folder / "logs"
    logs.mkdir(exist_ok=True)
    begin = disk
    if begin is None:
        copy = folder / "before"
        if ledger.exists():
            shutil.copytree(ledger, copy)
        else:
            copy.mkdir()
            ledger.mkdir()
        begin = lambda: Disk.of(copy)  # noqa: E731
    program = [sys.executable, "-m", "tests.durability.traced", str(ledger), str(notes), str(logs), scenario]
    calls = traced(program, folder=ledger, notes=notes, output=folder / "trace", cwd=ROOT)
    assert any(isinstance(call, Call) and call.name == "fdatasync" for call in calls) or scenario == "resuming"
    return Traced(begin, calls, logs)


def replay(run: Traced, check: Callable[[int, Disk, Acknowledged], None]) -> Disk:
    """Does what the program did, call by call, and looks at the disk after each."""
    disk, acknowledged = run.disk(), Acknowledged()
    for place, call in enumerate(run.calls):
        if isinstance(call, Note):
            acknowledged.take(call)
        else:
            disk.apply(call)
        check(place, disk, acknowledged)
    assert acknowledged.messages
    return disk


def report(run: Traced, checker: Checker) -> None:
    sys.stdout.write(f"{len(run.calls)} calls, {len(run.syncs)} that synced, {checker.opened} states opened\n")


# What is lost


@pytest.mark.long
def test_a_power_loss_at_any_sync_of_a_short_run_loses_nothing(tmp_path: Path) -> None:
    run = trace(tmp_path, "short")
    checker, draw = Checker(tmp_path / "after"), random.Random(3)
    chosen = set(draw.sample(run.syncs, 4)) | {len(run.calls) - 1}

    def check(place: int, disk: Disk, acknowledged: Acknowledged) -> None:
        if place in chosen:
            checker.check(disk.after_power_loss(), acknowledged)

    replay(run, check)
    assert checker.opened >= 4


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    return trace(tmp_path_factory.mktemp("begun"), "beginning")


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("gone_on")
    with lk.open(folder / "runs.ledger", key=bytes(32)) as ledger, ledger.record("old", "old") as recorder:
        for number in range(OLD_COMMITS):
            recorder.append(command(f"{number}", session="old", run="old"))
            recorder.seal()
        recorder.close()
        ledger.compact()  # one file, and a log that is long
    run = trace(folder, "going on")
    made = [call.paths for call in run.calls if isinstance(call, Call) and call.name == "rename"]
    assert any("_last_checkpoint" in path for paths in made for path in paths)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["begun", "gone_on"])
def test_nothing_is_lost_with_all_that_was_not_synced(
    tmp_path: Path, request: pytest.FixtureRequest, scenario: str
) -> None:
    run: Traced = request.getfixturevalue(scenario)
    checker = Checker(tmp_path / "after")
    seen: object = None

    def check(place: int, disk: Disk, acknowledged: Acknowledged) -> None:
        nonlocal seen
        if seen != (seen := (disk.changes, acknowledged.key)):  # nothing else changes what is on disk for sure
            checker.check(disk.after_power_loss(), acknowledged)

    replay(run, check)
    report(run, checker)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["begun", "gone_on"])
@pytest.mark.parametrize(("data", "names"), [("kept", "lost"), ("lost", "kept"), ("kept", "kept")])
def test_nothing_is_lost_if_only_names_or_only_data_reached_the_disk(
    tmp_path: Path, request: pytest.FixtureRequest, scenario: str, data: str, names: str
) -> None:
    run: Traced = request.getfixturevalue(scenario)
    checker = Checker(tmp_path / "after")
    before_syncs = {place - 1 for place in random.Random(data + names).sample(run.syncs, SAMPLE)}

    def check(place: int, disk: Disk, acknowledged: Acknowledged) -> None:
        if place in before_syncs:  # here most is not synced yet
            checker.check(disk.after_power_loss(data=data, names=names), acknowledged)

    replay(run, check)
    report(run, checker)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_whatever_part_of_it_reached_the_disk(tmp_path: Path, begun: Traced, seed: int) -> None:
    checker, draw = Checker(tmp_path / "after"), random.Random(seed)
    writes = {"write", "link", "rename", "unlink", "mkdir", "fsync", "fdatasync"}
    changing = [at for at, call in enumerate(begun.calls) if isinstance(call, Call) and call.name in writes]
    chosen = set(draw.sample(changing, SAMPLE))

    def check(place: int, disk: Disk, acknowledged: Acknowledged) -> None:
        if place in chosen:
            checker.check(disk.after_some_power_loss(draw), acknowledged)

    replay(begun, check)
    report(begun, checker)


# A kill first


def _commits(run: Traced, table: str) -> list[int]:
    """Places of the calls that put a commit into the log of a table; what it holds is not synced yet."""
    log = f"{table}/_delta_log/"
    return [
        place
        for place, call in enumerate(run.calls)
        if isinstance(call, Call) and call.name == "link" and call.paths[1].startswith(log)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "which"), [("history", 1), ("history", 2), ("history", 4), ("runs", 1)])
def test_what_is_acknowledged_after_a_kill_outlives_a_power_loss(
    tmp_path: Path, begun: Traced, table: str, which: int
) -> None:
    """A process is killed between a commit and its sync; the next one finds its messages there and says so."""
    killed_at = _commits(begun, table)[which]

    def disk() -> Disk:
        left = begun.disk()
        for call in begun.calls[: killed_at + 1]:
            if isinstance(call, Call):
                left.apply(call)
        left.power_off()
        return left

    write_tree(tmp_path / "runs.ledger", disk().after_power_loss(data="kept", names="kept"))
    shutil.copytree(begun.logs, tmp_path / "logs")
    run = trace(tmp_path, "resuming", disk)
    checker = Checker(tmp_path / "after")
    seen: object = None

    def check(_: int, disk: Disk, acknowledged: Acknowledged) -> None:
        nonlocal seen
        if acknowledged.messages and seen != (seen := (disk.changes, acknowledged.key)):
            checker.check(disk.after_power_loss(), acknowledged)

    replay(run, check)
    assert checker.opened
