"""Kept answers: what they say is what the history says now, whatever became of their files."""

from __future__ import annotations

import random
import shutil
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit.store.database import Database
from tests.builders import Log, text, usage
from tests.conftest import NOW


def a_session(name: str, calls: int = 2) -> Log:
    log = Log(name)
    log.asks("Work.")
    for number in range(calls):
        log.answers(text(f"Step {number}."), call=f"{name}-{number}", used=usage(1000 + number, 50))
    return log


def files(ledger: lk.Ledger) -> list[Path]:
    return sorted((ledger.path / "derived" / "answers").rglob("*.answer"))


@pytest.fixture
def asked(ledger: lk.Ledger, tmp_path: Path) -> lk.Ledger:
    ledger.import_logs(a_session("one").write(tmp_path / "one.jsonl"), now=NOW)
    assert ledger.cost()["calls"].to_list() == [2]
    assert len(files(ledger)) == 7
    return ledger


def test_the_next_one_who_asks_has_the_answer_without_a_query(
    asked: lk.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = asked.calls()

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a query ran")

    monkeypatch.setattr(Database, "frame", refused)
    with lk.open(asked.path) as again:
        assert_frame_equal(again.calls(), before)


def test_what_an_import_brings_is_counted(asked: lk.Ledger, tmp_path: Path) -> None:
    with lk.open(asked.path) as other:
        other.import_logs(a_session("two", 3).write(tmp_path / "two.jsonl"), now=NOW + timedelta(hours=1))
        assert other.cost()["calls"].to_list() == [5]
    assert asked.cost()["calls"].to_list() == [5]


def test_what_a_journal_holds_is_counted(asked: lk.Ledger) -> None:
    said = {"type": "text", "text": "Hi.", "trust_level": "MODEL_GENERATED", "visibility": "MODEL_VISIBLE"}
    used = {"call_id": "live", "model": "claude-opus-4-5", "usage": {"input_tokens": 10, "output_tokens": 5}}
    command = {"session_id": "live", "run_id": "live", "kind": "ASSISTANT_RESPONSE", "actor": "agent", "parts": [said]}
    with asked.record("live", "live") as recorder:
        recorder.append(lk.AppendMessageCommand.model_validate({**command, "call": used}))
        with lk.open(asked.path) as other:
            assert int(other.cost()["calls"].sum()) == 3
        assert int(asked.cost()["calls"].sum()) == 3
    assert int(asked.cost()["calls"].sum()) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_lost_and_damaged_files_do_no_harm(asked: lk.Ledger, damage: str) -> None:
    before = asked.calls()
    for path in files(asked):
        content = bytearray(path.read_bytes())
        if damage == "gone":
            path.unlink()
        else:
            content = content[: len(content) // 2] if damage == "cut" else content
            content[len(content) // 3] ^= 0x55
            path.write_bytes(content)
    with lk.open(asked.path) as again:
        assert_frame_equal(again.calls(), before)


@pytest.mark.long
def test_a_restored_copy_has_its_own_answers(asked: lk.Ledger, tmp_path: Path) -> None:
    asked.close()
    shutil.copytree(asked.path, tmp_path / "copy")
    for place, calls in ((asked.path, 3), (tmp_path / "copy", 4)):  # as many commits, other rows
        with lk.open(place) as ledger:
            log = a_session(f"more{calls}", calls).write(tmp_path / f"{calls}.jsonl")
            ledger.import_logs(log, now=NOW + timedelta(hours=1))
            assert ledger.cost()["calls"].to_list() == [2 + calls]
    shutil.rmtree(tmp_path / "copy" / "derived")
    shutil.copytree(asked.path / "derived", tmp_path / "copy" / "derived")
    with lk.open(tmp_path / "copy") as ledger:
        assert ledger.cost()["calls"].to_list() == [6]


def test_an_earlier_state_has_its_own_answer(asked: lk.Ledger, tmp_path: Path) -> None:
    early = asked.commits()["version"].max()
    asked.import_logs(a_session("two", 3).write(tmp_path / "two.jsonl"), now=NOW + timedelta(hours=1))
    assert asked.cost()["calls"].to_list() == [5]
    assert isinstance(early, int)
    with lk.open(asked.path, as_of=early) as past:
        assert past.cost()["calls"].to_list() == [2]
    assert asked.cost()["calls"].to_list() == [5]


@pytest.mark.long
def test_what_was_erased_is_in_no_file(ledger: lk.Ledger, tmp_path: Path) -> None:
    marker = f"marker{random.Random(20261202).getrandbits(64):016x}"
    log = a_session("secret")
    log.bare("summary", summary=marker, leafUuid=log.last)
    log.bare("custom-title", customTitle=marker, sessionId=log.session)
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    ledger.import_logs(a_session("other").write(tmp_path / "b.jsonl"), now=NOW)
    assert ledger.cost()["calls"].to_list() == [4]
    before = {path.name for path in files(ledger)}
    assert before
    theirs = ledger.sql("select message_id from messages where session_id = ?", [log.session])
    ledger.erase(theirs["message_id"].to_list(), reason="a credential")
    assert not before & {path.name for path in files(ledger)}
    assert int(ledger.cost()["calls"].sum()) == 4
    assert Decimal(0) < ledger.cost()["cost"].sum()


@pytest.mark.long
def test_files_of_other_states_do_not_pile_up(asked: lk.Ledger, tmp_path: Path) -> None:
    for number in range(6):
        log = a_session(f"more{number}", 1).write(tmp_path / f"{number}.jsonl")
        asked.import_logs(log, now=NOW + timedelta(hours=number))
        assert asked.cost()["calls"].to_list() == [3 + number]
    assert len(files(asked)) <= 24
