"""Earlier states of a ledger: opened by time or version, read only, and gone when their files are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.builders import working_session
from tests.conftest import NOW

COMMAND = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user"}
PART = {"type": "text", "text": "hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


def command() -> lk.AppendMessageCommand:
    return lk.AppendMessageCommand.model_validate({**COMMAND, "parts": [PART]})


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """A ledger of three states: empty, one session, two sessions; what was appended last stands in a journal."""
    folder = tmp_path / "l"
    with lk.open(folder, key=bytes(32)) as ledger:
        for name in ("a", "b"):
            ledger.import_logs(working_session(name).write(tmp_path / f"{name}.jsonl"), now=NOW)
        ledger.append(command())
    return folder


def sessions(folder: Path, as_of: datetime | int | None) -> int:
    with lk.open(folder, as_of=as_of) as ledger:
        return ledger.sql("from sessions").height


@pytest.mark.long
def test_each_version_shows_what_the_ledger_held_then(grown: Path) -> None:
    assert [sessions(grown, version) for version in (0, 1, 2)] == [0, 1, 2]
    assert sessions(grown, None) == 3


@pytest.mark.slow
def test_a_moment_shows_the_last_state_before_it(grown: Path) -> None:
    with lk.open(grown) as ledger:
        times = ledger.commits().sort("version")["committed_at"].to_list()
    assert [sessions(grown, moment) for moment in times] == [0, 1, 2]
    assert sessions(grown, times[1] + (times[2] - times[1]) / 2) == 1
    assert sessions(grown, datetime.now(UTC) + timedelta(days=1)) == 2


def test_what_no_state_is_there_for_is_an_error(grown: Path) -> None:
    with pytest.raises(lk.LedgerkitError, match="did not exist"):
        lk.open(grown, as_of=datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(lk.LedgerkitError, match="no version 99"):
        lk.open(grown, as_of=99)
    with pytest.raises(ValueError, match="time zone"):
        lk.open(grown, as_of=datetime(2026, 1, 1))
    with pytest.raises(lk.LedgerNotFoundError):
        lk.open(grown.parent / "nothing", as_of=1)


def test_an_earlier_state_can_only_be_read(grown: Path, tmp_path: Path) -> None:
    with lk.open(grown, as_of=1) as past:
        for write in (
            lambda: past.append(command()),
            lambda: past.record("s", "r"),
            lambda: past.import_logs(tmp_path / "a.jsonl"),
            lambda: past.erase("m", reason="x"),
            past.compact,
            past.vacuum,
            past.checkpoint,
        ):
            with pytest.raises(lk.LedgerkitError, match="earlier state"):
                write()
        assert past.snapshot(past.runs()["run_id"][0]).snapshot_version is None


@pytest.mark.slow
def test_compaction_keeps_earlier_states_and_vacuum_ends_them(grown: Path) -> None:
    with lk.open(grown) as ledger:
        ledger.compact(everything=True)
        assert [sessions(grown, version) for version in (0, 1, 2)] == [0, 1, 2]
        listed = ledger.vacuum(hours=0, dry_run=True)
        assert [sessions(grown, version) for version in (0, 1, 2)] == [0, 1, 2]
        gone = ledger.vacuum(hours=0)
        assert gone.height > 0
        assert gone.equals(listed)
        assert ledger.sql("from sessions").height == 3
        assert ledger.verify().ok
    assert sessions(grown, 0) == 0
    with pytest.raises(lk.LedgerkitError, match="is no more"):
        lk.open(grown, as_of=1)


def test_files_that_a_crash_left_behind_are_vacuumed(grown: Path) -> None:
    left = grown / "history" / "run_date=2026-02-01" / "left-behind.parquet"
    left.write_bytes(b"half a file")
    with lk.open(grown) as ledger:
        assert str(left.relative_to(grown / "history")) in ledger.vacuum(hours=0)["file"].to_list()
        assert not left.exists()
        with pytest.raises(ValueError, match="not negative"):
            ledger.vacuum(hours=-1)
