"""Snapshots of memories are caches: with them, without them and after them memory says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.memory.working import projector
from ledgerkit.protocol.memory import MemorySnapshot
from ledgerkit.protocol.vocabulary import MemoryKind
from tests.conftest import NOW
from tests.memory.test_working import Work, imported, worked

COMMAND = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user"}
PART = {"type": "text", "text": "Make it so.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


@pytest.mark.slow
def test_a_snapshot_of_every_run_is_its_memory_and_changes_nothing(demo_path: Path, tmp_path: Path) -> None:
    """The property: replacing the snapshot of any run by a rebuild changes nothing."""
    import shutil

    shutil.copytree(demo_path, tmp_path / "demo.ledger")
    with lk.open(tmp_path / "demo.ledger") as ledger:
        runs = ledger.runs()["run_id"].to_list()[::4]
        before = {run: ledger.memory(run) for run in runs}
        kept = {run: ledger.memory_snapshot(run) for run in runs}
        assert {run: one.content for run, one in kept.items()} == before
        assert {run: ledger.memory_snapshot(run) for run in runs} == kept  # read from the cache, created_at and all
        assert {run: ledger.memory(run) for run in runs} == before
        for run, one in kept.items():
            asked = "select min(sequence_no), max(sequence_no) from messages where run_id = ?"
            first, last = ledger.sql(asked, [run]).row(0)
            assert [(s.run_id, s.messages.first, s.messages.last) for s in one.sources] == [(run, first, last)]
        assert ledger.sql("select count(*) from snapshots").item() == len(runs)


@pytest.mark.long
def test_sessions_and_repositories_have_snapshots_of_all_their_runs(ledger: lk.Ledger, tmp_path: Path) -> None:
    first, second = worked("one"), worked("two")
    second.session = first.session
    other = Work("three", session=first.session, agent="a1")
    other.asks("Look.", parent=None)
    other.shell("pytest tests/test_b.py", "1 passed in 0.1s")
    (tmp_path / first.session / "subagents").mkdir(parents=True)
    other.write(tmp_path / first.session / "subagents" / "agent-a1.jsonl")
    imported(ledger, tmp_path, first)
    taken = ledger.memory_snapshot(session_id=first.session)
    assert taken.projection_type is MemoryKind.SESSION_SUMMARY
    assert taken.content == ledger.session_summary(first.session)
    assert {source.run_id for source in taken.sources} == set(ledger.runs()["run_id"])
    assert ledger.memory_snapshot(session_id=first.session) == taken
    with pytest.raises(lk.UnknownNameError, match="No run of 'nothing'"):
        ledger.memory_snapshot(repository="nothing")


@pytest.mark.slow
def test_a_grown_ledger_or_newer_rules_make_a_snapshot_stale(
    ledger: lk.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = worked()
    imported(ledger, tmp_path, log)
    (run,) = ledger.runs()["run_id"]
    first = ledger.memory_snapshot(run)
    assert first.snapshot_version == 1
    log.shell("pytest tests/test_a.py", "5 passed in 0.10s")
    imported(ledger, tmp_path, log)
    second = ledger.memory_snapshot(run)
    assert second.snapshot_version == 2
    assert second.content == ledger.memory(run) != first.content
    assert second.sources[0].messages.last > first.sources[0].messages.last
    monkeypatch.setattr(projector, "VERSION", projector.VERSION + 1)
    third = ledger.memory_snapshot(run)
    assert (third.snapshot_version, third.content) == (3, second.content)


def test_a_run_that_is_being_recorded_is_computed_each_time(ledger: lk.Ledger) -> None:
    with ledger.record("s", "r") as recorder:
        recorder.append(lk.AppendMessageCommand.model_validate({**COMMAND, "parts": [PART]}))
        taken = ledger.memory_snapshot("r")
        assert isinstance(taken, MemorySnapshot)
        assert taken.content == ledger.memory("r")
        assert ledger.sql("select count(*) from snapshots").item() == 0


def test_one_thing_is_asked_for(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path, worked())
    with pytest.raises(ValueError, match="one of run, session_id and repository"):
        ledger.memory_snapshot()
    with pytest.raises(ValueError, match="one of run, session_id and repository"):
        ledger.memory_snapshot("x", repository="y")


def test_an_old_state_of_a_ledger_reads_memory_and_writes_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    imported(ledger, tmp_path, worked())
    (run,) = ledger.runs()["run_id"]
    with lk.open(ledger.path, as_of=NOW.replace(year=2999)) as past:
        assert past.memory_snapshot(run).content == past.memory(run)
    assert ledger.sql("select count(*) from snapshots").item() == 0
