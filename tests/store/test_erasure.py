"""Erased content is nowhere any more; that it was there stays provable."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.errors import RunLockedError
from ledgerkit.store import removal
from ledgerkit.store.integrity.findings import Rule
from tests.builders import Log, append_lines, assert_same, canonical, text, tool_use, working_session
from tests.conftest import NOW

pytestmark = pytest.mark.long

PART = {"type": "text", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


@pytest.fixture
def marker() -> str:
    return f"marker{random.Random(20261201).getrandbits(64):016x}"


def a_log(marker: str) -> Log:
    log = Log("secret")
    log.asks(f"Use {marker}.")
    log.answers(text("I see."), tool_use("c", "Bash", command=f"login {marker}"))
    log.returns("c", f"{marker}\n" * 9_000, toolUseResult={"stdout": f"{marker} there", "stderr": ""})
    log.answers(text("Done."))
    log.bare("ai-title", aiTitle=f"Login with {marker}", sessionId=log.session)
    return log


def everything(folder: Path) -> bytes:
    """All bytes below a folder, and every cell of every Parquet file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    cells = [str(pl.read_parquet(path, glob=False).to_dicts()).encode() for path in files if path.suffix == ".parquet"]
    return b"\n".join([path.read_bytes() for path in files] + cells)


def holding(ledger: lk.Ledger, marker: str) -> list[str]:
    query = """
        select distinct p.message_id from parts p left join messages m using (message_id)
        where concat_ws(' ', p.text, p.data, m.metadata) like '%' || ? || '%' order by 1
    """
    return ledger.sql(query, [marker])["message_id"].to_list()


@pytest.fixture
def held(tmp_path: Path, ledger: lk.Ledger, marker: str) -> lk.Ledger:
    ledger.import_logs(a_log(marker).write(tmp_path / "a.jsonl"), now=NOW)
    ledger.import_logs(working_session("other").write(tmp_path / "b.jsonl"), now=NOW)
    ledger.snapshot(str(ledger.sql("select run_id from runs where title is not null").item()))
    ledger.compact(everything=True)
    fields = {"session_id": "live", "run_id": "live", "kind": "USER_TASK", "actor": "user"}
    command = {**fields, "parts": [{**PART, "text": f"live {marker}"}], "metadata": {"x": marker}}
    ledger.append(lk.AppendMessageCommand.model_validate(command))
    return ledger


def test_erased_content_is_in_no_file_any_more(held: lk.Ledger, marker: str) -> None:
    assert marker.encode() in everything(held.path)
    head = held.checkpoint()
    before = held.sql("select message_id, leaf_hash from messages where leaf_hash is not null order by 1")
    done = held.erase(holding(held, marker), reason="a credential", actor="security")
    assert marker.encode() not in everything(held.path)
    assert (done.artifacts, done.runs) == (1, 1)
    report = held.verify(checkpoints=[head])
    assert report.ok
    assert report.erased == done.messages
    after = held.sql("select message_id, leaf_hash from messages where leaf_hash is not null order by 1")
    assert before.join(after, on=before.columns, how="anti").is_empty()
    for message in before["message_id"]:
        assert held.prove(message, head).holds(head)


def test_the_decision_is_a_message_of_its_own(held: lk.Ledger, marker: str) -> None:
    wanted = holding(held, marker)
    done = held.erase(wanted, reason="a credential", actor="security")
    record = held.find_by_id(done.record_id or "")
    assert record is not None
    assert (record.kind, record.actor, record.visibility) == ("APPROVAL_DECISION", "security", "AUDIT_ONLY")
    data: dict[str, Any] = record.parts[0].model_dump()["data"]
    assert (data["reason"], data["messages"]) == ("a credential", wanted)
    assert held.runs().filter(pl.col("title") == "Erasures").height == 1
    for message in wanted:
        found = held.find_by_id(message)
        assert found is not None


def test_importing_again_brings_nothing_back_and_growth_goes_on(held: lk.Ledger, marker: str, tmp_path: Path) -> None:
    held.erase(holding(held, marker), reason="a credential")
    assert held.import_logs(tmp_path / "a.jsonl", now=NOW + timedelta(hours=1)).new_messages == 0
    (tmp_path / "copy").mkdir()
    copied = a_log(marker).write(tmp_path / "copy" / "a.jsonl")
    assert held.import_logs(copied, now=NOW + timedelta(hours=2)).new_messages == 0
    log = a_log(marker)
    already = len(log.records)
    log.asks("And now?")
    append_lines(tmp_path / "a.jsonl", log.records[already:])
    assert held.import_logs(tmp_path / "a.jsonl", now=NOW + timedelta(hours=3)).new_messages == 1
    assert marker.encode() not in everything(held.path)
    with lk.open(tmp_path / "whole", key=bytes(32)) as whole:
        whole.import_logs([tmp_path / "a.jsonl", tmp_path / "b.jsonl"][0], now=NOW)
        query = "select kind, step, sequence_no from messages where session_id = ? order by sequence_no"
        assert held.sql(query, [log.session]).equals(whole.sql(query, [log.session]))
    assert held.verify().ok


def test_earlier_states_with_the_content_are_gone(held: lk.Ledger, marker: str) -> None:
    versions = held.commits()["version"].to_list()
    held.erase(holding(held, marker), reason="a credential")
    for version in versions[:-1]:
        with pytest.raises(lk.LedgerkitError, match="is no more"):
            lk.open(held.path, as_of=version)
    assert lk.open(held.path, as_of=0).sql("from messages").height == 0


def test_a_whole_run_is_erased(held: lk.Ledger, marker: str) -> None:
    run = str(held.sql("select run_id from runs where title like ? || '%'", ["Login"]).item())
    done = held.erase(runs=run, reason="asked to")
    rows = held.sql("select text, data, erased from parts where run_id = ?", [run])
    assert rows["text"].null_count() == rows["data"].null_count() == rows.height > 0
    assert set(rows["erased"]) == {done.record_id}
    facts = held.run(run).facts
    assert (facts["title"], facts["repository"], facts["working_directory"]) == (None, None, None)
    assert facts["agent"] == "claude-code"
    assert held.verify().ok


def test_erasing_twice_is_harmless(held: lk.Ledger, marker: str) -> None:
    wanted = holding(held, marker)
    held.erase(wanted, reason="a credential")
    before = canonical(held)
    again = held.erase(wanted, reason="a credential")
    assert (again.record_id, again.messages) == (None, 0)
    assert_same(canonical(held), before)


@pytest.mark.parametrize(
    "step",
    ["history", *(pytest.param(step, marks=pytest.mark.slow) for step in ("artifacts", "snapshots", "runs", "files"))],
)
def test_an_erasure_that_was_cut_off_is_found_and_finished_by_erasing_again(
    held: lk.Ledger, marker: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutError(Exception):
        pass

    real = removal._rewrite  # pyright: ignore[reportPrivateUsage]

    def cut(storage: Any, name: str, *rest: Any) -> None:
        if name == step:
            raise CutError
        real(storage, name, *rest)

    def no_files(*_: object) -> int:
        raise CutError

    wanted = holding(held, marker)
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_rewrite", cut)
        if step == "files":
            patch.setattr(removal, "clean_up", no_files)
        with pytest.raises(CutError):
            held.erase(wanted, reason="a credential")
    if step != "files":
        assert Rule.INCOMPLETE_ERASURE in {finding.rule for finding in held.verify().findings}
    held.erase(wanted, reason="a credential")
    assert marker.encode() not in everything(held.path)
    assert held.verify().ok


def test_a_run_that_is_being_recorded_is_refused(held: lk.Ledger, marker: str) -> None:
    with held.record("live", "live"):
        live = held.sql("select message_id from messages where run_id = 'live'").item()
        with pytest.raises(RunLockedError, match="being recorded"):
            held.erase(live, reason="x")


def test_what_is_not_there_and_what_has_no_reason_is_refused(held: lk.Ledger, marker: str) -> None:
    wanted = holding(held, marker)
    with pytest.raises(lk.UnknownNameError, match="'nothing'"):
        held.erase("nothing", reason="x")
    with pytest.raises(lk.UnknownNameError, match="run"):
        held.erase(runs="nothing", reason="x")
    with pytest.raises(ValueError, match="reason"):
        held.erase(wanted, reason=" ")
    done = held.erase(wanted, reason="x")
    with pytest.raises(lk.LedgerkitError, match="cannot be erased"):
        held.erase(done.record_id or "", reason="x")
