"""The zip files of Inspect AI: newer packing, killed evaluations, damage of any kind."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import inspect_ai
from ledgerkit.importers.archives import ArchiveDamage, read_archive
from ledgerkit.importers.registry import recognise
from ledgerkit.importers.shapes import is_list, is_object
from tests.conftest import NOW
from tests.importers.inspect_ai.logs import (
    archive,
    archive_with_zstd,
    asked,
    call,
    event,
    header,
    log,
    message,
    sample,
)

USER: Final = message("user", "Do it.", source="input")
DONE: Final = message("assistant", "Done.")


def made(number: int) -> dict[str, Any]:
    return sample([asked([USER], DONE)], [USER, DONE], id=number, uuid=f"u{number}")


def members(*numbers: int) -> dict[str, Any]:
    listed: list[Any] = [{"id": n, "epoch": 1, "uuid": f"u{n}", "input": "Do it.", "scores": {}} for n in numbers]
    return {
        "_journal/start.json": {k: v for k, v in header().items() if k != "status"},
        **{f"samples/{n}_epoch_1.json": made(n) for n in numbers},
        "_journal/summaries/1.json": listed, "summaries.json": listed, "reductions.json": [], "header.json": header(),
    }  # fmt: skip


def size(content: bytes | str) -> str:
    return str(len(content))


@pytest.mark.parametrize("write", [archive, archive_with_zstd])
def test_each_sample_is_a_run_whatever_packs_it(write: Any, ledger: lk.Ledger, tmp_path: Path) -> None:
    path = write(tmp_path / "log.eval", members(1, 2))
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    assert ledger.sql("select task_id, steps, outcome from runs order by 1").rows() == [
        ("ctf/1", 1, "passed"), ("ctf/2", 1, "passed"),
    ]  # fmt: skip
    left_out = account.details.filter(account.details["fate"] == "skipped")["record_type"].to_list()
    assert {"header.json", "summaries.json", "_journal/start.json", "_journal/summaries/1.json"} <= set(left_out)
    places = "select distinct source_line, source_offset from messages order by 1"
    assert [line for line, _ in ledger.sql(places).rows()] == [2, 3]


def test_a_killed_evaluation_is_read_by_its_journal(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    whole = members(1, 2)
    early = {
        name: whole[name] for name in ("_journal/start.json", "samples/1_epoch_1.json", "_journal/summaries/1.json")
    }
    ledger.import_logs(archive(path, early), now=NOW)
    rows = "select task_id, steps from runs order by 1"
    # The second sample's own member is not there: what the journal says of it is.
    assert ledger.sql(rows).rows() == [("ctf/1", 1), ("ctf/2", 0)]
    ledger.import_logs(archive(path, whole), now=NOW)
    assert ledger.sql(rows).rows() == [("ctf/1", 1), ("ctf/2", 1)]


def test_a_damaged_member_costs_only_itself(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", members(1, 2, 3) | {"samples/2_epoch_1.json": "{no JSON"})
    third = next(m for m in read_archive(path).members if m.name == "samples/3_epoch_1.json")
    raw = bytearray(path.read_bytes())
    raw[third.offset + 60] ^= 0xFF
    path.write_bytes(bytes(raw))
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert [reason.partition(":")[0] for reason in account.damage["reason"]] == [
        "samples/2_epoch_1.json", "samples/3_epoch_1.json",
    ]  # fmt: skip
    assert ledger.sql("select task_id, steps from runs order by 1").rows() == [("ctf/1", 1), ("ctf/2", 0), ("ctf/3", 0)]


def test_a_file_without_its_list_is_searched(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", members(1, 2))
    second = next(m for m in read_archive(path).members if m.name == "samples/2_epoch_1.json")
    path.write_bytes(path.read_bytes()[: second.offset + 80])
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.damage["reason"].str.contains("cut off").all()
    assert ledger.sql("select task_id, steps from runs").rows() == [("ctf/1", 1)]


def test_the_last_of_two_members_of_one_name_counts(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", members(1))
    changed = {**made(1), "scores": {"includes": {"value": "I"}}}
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("samples/1_epoch_1.json", json.dumps(changed))
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert ledger.sql("select outcome from runs").rows() == [("failed",)]


def test_other_archives_are_no_logs(tmp_path: Path) -> None:
    assert recognise(archive(tmp_path / "a.zip", {"header.json": {}, "a.txt": "x"})) is None
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04")
    assert recognise(tmp_path / "b.zip") is None


def test_a_member_of_an_unknown_packing_says_so(tmp_path: Path) -> None:
    path = archive_with_zstd(tmp_path / "a.eval", {"a": 1})
    (member,) = read_archive(path).members
    with pytest.raises(ArchiveDamage, match="method 12"):
        read_archive(path).content(type(member)(member.name, member.offset, member.size, 12, None))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_breaks_a_reading_nor_changes_other_members(data: st.DataObject, tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", members(1, 2))
    whole = {record.digest for record in inspect_ai.read(path, measure=size).records}
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 2))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw[: data.draw(st.integers(8, len(raw)))]))
    recognise(path)
    parsed = inspect_ai.read(path, measure=size)
    assert parsed.records or parsed.quarantined
    known = [record for record in parsed.records if record.record_type.startswith(("event/", "message/", "input/"))]
    assert all(record.digest in whole for record in known)


ODD: Final = ("null", "0", "-1", "1e300", '""', '"x"', "[]", "{}", "[1]", '{"a": 1}', "[[]]", "[{}]", "[[0, 9]]")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_fail_no_file(data: st.DataObject, tmp_path: Path) -> None:
    wants = message("assistant", [{"type": "tool_use", "id": "w"}], tool_calls=[call("c", cmd="ls")])
    told = message("tool", [{"type": "text", "text": "a"}], tool_call_id="c", error={"type": "timeout", "message": "m"})
    events = [
        event("span_begin", id="s", span_id="s", type="scorer", name="n"), event("step", action="begin", type="scorer"),
        asked([USER, wants, told], wants, span_id="s", error="e"), event("tool", id="c", function="bash", result="a"),
        asked([], DONE, input_refs=[[0, 1]]), event("approval", call=call("c"), approver="human", decision="approve"),
        event("score", score={"value": 1}, intermediate=True), event("sandbox", action="read_file", output="x"),
        event("error", error={"message": "m"}), event("sample_limit", type="token"), event("subtask", events=[1]),
    ]  # fmt: skip
    retries = [{"message": "m", "events": [asked([USER], DONE)]}]
    one = sample(events, [USER, wants, told], error_retries=retries, error={"message": "m"}, limit={"type": "t"},
                 attachments={"h": "t"}, events_data={"messages": [USER]}, files={"a": "b"})  # fmt: skip
    document = json.loads(json.dumps(log(one)))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(_places(document)))
        container[key] = json.loads(data.draw(st.sampled_from(ODD)))
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    inspect_ai.sniff([document])
    parsed = inspect_ai.read(path, measure=size)
    assert parsed.records or parsed.quarantined
    for record in parsed.records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(each.parts and isinstance(each.actor, str) and each.actor for each in record.messages)


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys: list[Any] = list(value) if is_object(value) else list(range(len(value))) if is_list(value) else []
    return [(value, key) for key in keys] + [found for key in keys for found in _places(value[key])]
