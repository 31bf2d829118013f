"""Snapshots are a cache: current ones are used, stale or lost ones are computed again and say the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.store.snapshots import PROJECTIONS, RUN, Projection
from tests.builders import working_session
from tests.conftest import NOW

pytestmark = pytest.mark.long

COMMAND = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user"}
PART = {"type": "text", "text": "hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


@pytest.fixture
def imported(tmp_path: Path, ledger: lk.Ledger) -> tuple[lk.Ledger, str]:
    ledger.import_logs(working_session().write(tmp_path / "a.jsonl"), now=NOW)
    return ledger, ledger.runs()["run_id"][0]


def test_a_snapshot_is_the_projection_and_names_its_source(imported: tuple[lk.Ledger, str]) -> None:
    ledger, run = imported
    taken = ledger.snapshot(run)
    row = ledger.sql("select * from runs where run_id = $run", {"run": run}).to_dicts()[0]
    assert taken.value["messages"] == row["messages"]
    assert taken.value["started_at"] == row["started_at"].isoformat()
    ids = ledger.sql("select message_id from messages order by sequence_no")["message_id"]
    assert taken.source == ((ids[0], ids[-1]),)
    assert (taken.cached, taken.snapshot_version) == (False, 1)
    assert canonical_json(taken.value) == taken.content


def test_a_current_snapshot_is_used(imported: tuple[lk.Ledger, str]) -> None:
    ledger, run = imported
    first, second = ledger.snapshot(run), ledger.snapshot(run)
    assert (second.cached, second.content, second.snapshot_version) == (True, first.content, 1)
    assert second.created_at == first.created_at
    with lk.open(ledger.path) as again:
        assert again.snapshot(run).cached
    assert ledger.sql("from snapshots").height == 1


def test_a_lost_snapshot_is_computed_again_byte_for_byte(imported: tuple[lk.Ledger, str]) -> None:
    ledger, run = imported
    before = ledger.snapshot(run)
    ledger.close()
    for path in (ledger.path / "snapshots").glob("*.parquet"):
        path.unlink()
    shutil.rmtree(ledger.path / "snapshots" / "_delta_log")
    with pytest.raises(lk.LedgerFormatError, match="'snapshots'"):
        lk.open(ledger.path)
    shutil.rmtree(ledger.path / "snapshots")
    fresh = lk.open(ledger.path.parent / "fresh", key=bytes(32))
    shutil.copytree(fresh.path / "snapshots", ledger.path / "snapshots")
    with lk.open(ledger.path) as again:
        after = again.snapshot(run)
    assert (after.content, after.source, after.cached) == (before.content, before.source, False)


def test_a_stale_snapshot_is_computed_again(imported: tuple[lk.Ledger, str], tmp_path: Path) -> None:
    ledger, run = imported
    before = ledger.snapshot(run)
    ledger.import_logs(working_session("other").write(tmp_path / "b.jsonl"), now=NOW)
    after = ledger.snapshot(run)
    assert (after.cached, after.snapshot_version, after.content) == (False, 2, before.content)
    log = working_session()
    log.asks("More.")
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    grown = ledger.snapshot(run)
    assert (grown.snapshot_version, grown.value["messages"]) == (3, before.value["messages"] + 1)
    assert grown.source[0][0] == before.source[0][0]
    assert grown.source[0][1] != before.source[0][1]


def test_another_version_of_the_rules_makes_it_stale(
    imported: tuple[lk.Ledger, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, run = imported
    ledger.snapshot(run)
    newer = Projection(RUN.name, RUN.version + 1, lambda database, session, of: {"newer": True})
    monkeypatch.setitem(PROJECTIONS, RUN.name, newer)
    assert ledger.snapshot(run).value == {"newer": True}
    assert ledger.sql("select projection_version from snapshots order by 1")["projection_version"].to_list() == [1, 2]


def test_a_run_that_is_being_recorded_is_not_cached(ledger: lk.Ledger) -> None:
    command = lk.AppendMessageCommand.model_validate({**COMMAND, "parts": [PART]})
    with ledger.record("s", "r") as recorder:
        for count in (1, 2):
            recorder.append(command)
            taken = ledger.snapshot("r")
            assert (taken.value["messages"], taken.snapshot_version) == (count, None)
        recorder.seal()
        recorder.append(command)
        assert ledger.snapshot("r").value["messages"] == 3
    assert ledger.snapshot("r").snapshot_version == 1
    assert ledger.sql("select source_size from snapshots")["source_size"].dtype == pl.Int64


def test_an_unknown_projection_or_run_is_refused(imported: tuple[lk.Ledger, str]) -> None:
    ledger, run = imported
    with pytest.raises(lk.UnknownNameError, match="'run'"):
        ledger.snapshot(run, "runn")
    with pytest.raises(lk.UnknownNameError):
        ledger.snapshot("nothing")
