"""Files that grow, are cut, are rewritten or move: importing again continues, and adds nothing twice."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from tests.builders import (
    Log,
    append_lines,
    assert_same,
    canonical,
    eventful_session,
    line_of,
    text,
    tool_use,
    uid,
    working_session,
    write_lines,
)
from tests.conftest import NOW

Views = dict[str, pl.DataFrame]


def later(number: int) -> datetime:
    return NOW + timedelta(hours=number)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Views]:
    """The bytes of an eventful session, and the views of a ledger that read them at once."""
    folder = tmp_path_factory.mktemp("whole")
    path = eventful_session().write(folder / "a.jsonl")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(path, now=NOW)
    return path.read_bytes(), canonical(ledger)


def grow(ledger: lk.Ledger, path: Path, content: bytes, cuts: list[int]) -> list[lk.ImportAccount]:
    """Imports a file each time that it has grown to one of some sizes, and at last whole."""
    accounts: list[lk.ImportAccount] = []
    for number, cut in enumerate([*cuts, len(content)]):
        path.write_bytes(content[:cut])
        accounts.append(ledger.import_logs(path, now=later(number)))
    return accounts


def test_importing_again_adds_nothing(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = working_session().write(tmp_path / "a.jsonl")
    first = ledger.import_logs(path, now=NOW)
    again = ledger.import_logs(path, now=later(1))
    assert (first.files, first.new_messages, first.runs) == (1, 14, 1)
    assert (again.files, again.unchanged, again.records, again.new_messages) == (0, 1, 0, 0)
    assert ledger.sql("select count(*), count(distinct message_id) from messages").row(0) == (14, 14)


def test_a_file_that_has_grown_continues_where_it_ended(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    before = len(log.records)
    log.asks("And the tax?")
    log.answers(text("It too."))
    append_lines(path, log.records[before:])
    account = ledger.import_logs(path, now=later(1))
    assert (account.new_messages, account.records, account.accepted) == (2, 16, 16)
    state = ledger.sql("from import_files").row(0, named=True)
    assert state["begin"] == len("".join(line_of(r) + "\n" for r in log.records[:before]).encode())
    assert state["cursor"] == state["byte_count"] == path.stat().st_size
    numbers = ledger.sql("select sequence_no, source_line from messages order by all").rows()
    assert numbers == [(n, n + 1) for n in range(16)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_file_read_in_pieces_gives_what_it_gives_at_once(
    tmp_path: Path, ledger: lk.Ledger, whole: tuple[bytes, Views], seed: int
) -> None:
    content, views = whole
    cuts = sorted(random.Random(seed).sample(range(1, len(content)), 4))
    accounts = grow(ledger, tmp_path / "a.jsonl", content, cuts)
    assert all(account.closes for account in accounts)
    assert_same(canonical(ledger), views)
    last = accounts[-1]
    assert (last.records, last.quarantined) == (content.count(b"\n"), 0)


@pytest.mark.slow
def test_a_file_read_line_by_line_gives_what_it_gives_at_once(
    tmp_path: Path, ledger: lk.Ledger, whole: tuple[bytes, Views]
) -> None:
    content, views = whole
    ends = [at + 1 for at, byte in enumerate(content) if byte == 0x0A]
    grow(ledger, tmp_path / "a.jsonl", content, ends[:-1])
    assert_same(canonical(ledger), views)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [-1, 1, 40])
def test_a_file_cut_beside_every_newline_gives_what_it_gives_at_once(
    tmp_path: Path, ledger: lk.Ledger, whole: tuple[bytes, Views], shift: int
) -> None:
    content, views = whole
    ends = [at + 1 + shift for at, byte in enumerate(content) if byte == 0x0A]
    grow(ledger, tmp_path / "a.jsonl", content, ends[:-1])
    assert_same(canonical(ledger), views)


def test_a_torn_last_line_is_reported_and_picked_up_later(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    tail = line_of(log.records[-1])
    path = write_lines(tmp_path / "a.jsonl", log.records[:-1], torn=tail[:50])
    size = path.stat().st_size
    first = ledger.import_logs(path, now=NOW)
    assert first.damage.select("line", "offset", "bytes", "reason").rows() == [(14, size - 50, 50, "cut off")]
    assert ledger.sql("select cursor from import_files").item() == size - 50
    assert ledger.import_logs(path, now=later(1)).unchanged == 1
    log.write(path)
    second = ledger.import_logs(path, now=later(2))
    assert (second.new_messages, second.quarantined, second.damage.height) == (1, 0, 0)
    assert ledger.sql("select line_count, record_count from import_files").row(0) == (14, 14)


def test_a_line_that_was_torn_behind_a_glued_record_is_picked_up_later(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    glued, tail = line_of(log.records[-2]), line_of(log.records[-1])
    path = write_lines(tmp_path / "a.jsonl", log.records[:-2], torn=glued + tail[:50])
    first = ledger.import_logs(path, now=NOW)
    assert (first.accepted, first.quarantined, first.closes) == (13, 1, True)
    write_lines(path, log.records[:-2], torn=glued + tail + "\n")
    second = ledger.import_logs(path, now=later(1))
    assert (second.records, second.accepted, second.quarantined, second.new_messages) == (14, 14, 0, 1)
    assert ledger.sql("select line_count from import_files").item() == 13
    assert ledger.sql("select text from messages order by sequence_no desc limit 1").item() == "Done."


def test_a_file_that_ended_without_newline_continues(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    path = write_lines(tmp_path / "a.jsonl", log.records[:-1], torn=line_of(log.records[-1]))
    assert ledger.import_logs(path, now=NOW).accepted == 14
    log.asks("More.")
    log.write(path)
    account = ledger.import_logs(path, now=later(1))
    assert (account.new_messages, account.records, account.quarantined) == (1, 15, 0)
    assert ledger.sql("select max(source_line) from messages").item() == 15


def test_growth_that_holds_nothing_for_the_history_is_counted(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    log.add("progress", data={"type": "hook_progress"})
    path.write_bytes(path.read_bytes() + b"\n\n" + line_of(log.records[-1]).encode() + b"\nnoise\n")
    account = ledger.import_logs(path, now=later(1))
    assert (account.skipped, account.quarantined, account.new_messages, account.closes) == (1, 1, 0, True)
    assert account.damage["line"].to_list() == [18]
    path.write_bytes(path.read_bytes() + b"\n")
    assert ledger.import_logs(path, now=later(2)).new_messages == 0


def test_a_call_and_its_result_may_be_read_apart(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("apart")
    log.asks()
    log.answers(tool_use("c1", "Read", file_path="shop.py"), tool_use("c2", "mcp__tracker__get", id="7"))
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    assert ledger.sql("select status from tool_calls").to_series().to_list() == ["UNKNOWN", "UNKNOWN"]
    log.returns("c1", "x = 1")
    log.returns("c2", "a ticket")
    log.write(path)
    ledger.import_logs(path, now=later(1))
    results = ledger.sql("from parts where part_type = 'tool_result' order by sequence_no").to_dicts()
    assert [(r["kind"], r["tool_name"], r["path"], r["part_trust_level"], r["step"]) for r in results] == [
        ("FILE_OBSERVATION", "Read", "shop.py", "REPOSITORY_UNTRUSTED", 0),
        ("TOOL_CALL_RESULT", "mcp__tracker__get", None, "NETWORK_UNTRUSTED", 0),
    ]


def test_equal_records_without_an_id_are_told_apart_by_their_place(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    for mode in ("plan", "default", "plan"):
        log.bare("permission-mode", permissionMode=mode, sessionId=log.session)
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    log.bare("permission-mode", permissionMode="plan", sessionId=log.session)
    log.write(path)
    assert ledger.import_logs(path, now=later(1)).new_messages == 1
    assert ledger.import_logs(path, now=later(2)).unchanged == 1
    assert ledger.sql("select count(*) from messages where kind = 'ORG_POLICY'").item() == 4


def test_a_record_without_session_belongs_to_the_one_that_the_file_held_last(tmp_path: Path, ledger: lk.Ledger) -> None:
    first, last = Log("z", session="f" * 8 + uid("z")[8:]), Log("a", session="0" * 8 + uid("a")[8:])
    first.asks("one")
    last.asks("two")
    path = write_lines(tmp_path / "a.jsonl", [*first.records, *last.records])
    ledger.import_logs(path, now=NOW)
    append_lines(path, [{"type": "summary", "summary": "A title", "leafUuid": "x"}])
    ledger.import_logs(path, now=later(1))
    assert ledger.sql("select session_id from messages where kind = 'RUN_SUMMARY'").item() == last.session


def test_a_file_that_was_rewritten_is_read_anew_and_the_history_keeps_both(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = working_session().write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    other = working_session("another")
    other.write(path)
    account = ledger.import_logs(path, now=later(1))
    assert (account.records, account.new_messages, account.duplicate) == (14, 14, 0)
    assert ledger.sql("select count(distinct session_id) from messages").item() == 2
    assert ledger.import_logs(path, now=later(2)).unchanged == 1


def test_a_file_that_was_cut_short_takes_nothing_away(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    before = canonical(ledger)
    write_lines(path, log.records[:5])
    account = ledger.import_logs(path, now=later(1))
    assert (account.records, account.duplicate, account.new_messages) == (5, 5, 0)
    assert_same(canonical(ledger), before)
    log.write(path)
    assert ledger.import_logs(path, now=later(2)).new_messages == 0


def test_a_copy_elsewhere_is_all_duplicates(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = eventful_session().write(tmp_path / "old" / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    before = canonical(ledger)
    moved = path.rename(tmp_path / "b.jsonl")
    account = ledger.import_logs(moved, now=later(1))
    assert (account.accepted, account.new_messages, account.closes) == (0, 0, True)
    assert account.duplicate + account.skipped == account.records == 31
    assert_same(canonical(ledger), before)


def test_a_moved_file_goes_on_growing(tmp_path: Path, ledger: lk.Ledger, whole: tuple[bytes, Views]) -> None:
    content, views = whole
    (tmp_path / "a.jsonl").write_bytes(content[:4000])
    ledger.import_logs(tmp_path / "a.jsonl", now=NOW)
    (tmp_path / "a.jsonl").rename(tmp_path / "b.jsonl")
    grow(ledger, tmp_path / "b.jsonl", content, [9000])
    assert_same(canonical(ledger), views)


def test_what_was_appended_to_an_imported_run_stays_where_it_is_when_its_file_grows(
    tmp_path: Path, ledger: lk.Ledger
) -> None:
    log = working_session()
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    session, run = ledger.sql("select session_id, run_id from runs").row(0)
    note = ledger.append(_note(session, run, "looks right"))
    review = ledger.append(_note(session, "0-review", "reviewed"))
    log.asks("More.")
    log.write(path)
    assert ledger.import_logs(path, now=later(1)).new_messages == 1
    found = ledger.find_by_id(note.message_id)
    assert found is not None
    assert (found.sequence_no, _texts([found])) == (note.sequence_no, ["looks right"])
    reviews = ledger.list_messages(session, "0-review")
    assert ([m.message_id for m in reviews], _texts(reviews)) == ([review.message_id], ["reviewed"])
    assert [m.sequence_no for m in ledger.list_messages(session, run)] == list(range(16))


@pytest.mark.long
def test_what_was_appended_to_an_imported_run_survives_a_new_revision_of_it(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    late = write_lines(tmp_path / "late.jsonl", log.records[6:])
    early = write_lines(tmp_path / "early.jsonl", log.records[:6])
    ledger.import_logs(late, now=NOW)
    session, run = ledger.sql("select session_id, run_id from runs").row(0)
    note = ledger.append(_note(session, run, "looks right"))
    review = ledger.append(_note(session, "0-review", "reviewed"))
    ledger.import_logs(early, now=later(1))
    messages = ledger.list_messages(session, run)
    assert [m.sequence_no for m in messages] == list(range(15))
    assert (messages[-1].message_id, messages[0].parts[0].model_dump()["text"]) == (
        note.message_id,
        "Make total() round to cents.",
    )
    assert [m.message_id for m in ledger.list_messages(session, "0-review")] == [review.message_id]


def _texts(messages: list[lk.AgentMessage]) -> list[str]:
    return [message.parts[0].model_dump()["text"] for message in messages]


def _note(session: str, run: str, said: str) -> lk.AppendMessageCommand:
    part = {"type": "text", "text": said, "trust_level": "USER_TRUSTED", "visibility": "HUMAN_VISIBLE"}
    return lk.AppendMessageCommand.model_validate(
        {"session_id": session, "run_id": run, "kind": "JUDGE_RESULT", "actor": "reviewer", "parts": [part]}
    )
