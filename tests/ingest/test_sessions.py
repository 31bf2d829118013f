"""What an import makes of folders, files and sessions: which are read, whose records are whose, what is counted."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from uuid import UUID

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.agent.writers import ledgerkit_jsonl
from tests.builders import (
    START,
    Log,
    append_lines,
    assert_same,
    canonical,
    eventful_session,
    line_of,
    stamp,
    text,
    tool_use,
    uid,
    working_session,
    write_lines,
)
from tests.conftest import NOW


def later(number: int) -> datetime:
    return NOW + timedelta(hours=number)


# Files


@pytest.fixture
def junk(tmp_path: Path) -> Path:
    """A folder of things that are no logs."""
    folder = tmp_path / "junk"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty.jsonl").touch()
    (folder / "blank.jsonl").write_bytes(b"\n\n\n")
    (folder / "notes.md").write_text("# Notes\n\nnothing\n")
    (folder / "deep" / "binary.jsonl").write_bytes(bytes(range(256)) * 50)
    (folder / "deep" / "document.jsonl").write_text(json.dumps({"type": "user", "items": []}, indent=2))
    (folder / "deep" / "er" / "numbers.jsonl").write_text("1\n2\n3\n")
    (folder / "deep" / "er" / "foreign.jsonl").write_text('{"type": "session_meta", "payload": {}}\n')
    (folder / "deep" / "er" / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    (folder / "deep" / "er" / "fake.gz").write_bytes(b"\x1f\x8bnot gzip at all")
    (folder / ".hidden").write_text("{")
    (folder / "folder.jsonl").mkdir()
    (folder / "broken link").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.jsonl")
    return folder


def test_files_of_no_known_format_are_listed_and_cost_nothing(junk: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    log.write(junk / "deep" / "real.jsonl")
    account = ledger.import_logs(junk, now=NOW)
    listed = sorted(Path(path).name for path in account.unsupported)
    assert listed == [
        *(".hidden", "binary.jsonl", "blank.jsonl", "cut.gz", "document.jsonl", "empty.jsonl", "fake.gz"),
        *("foreign.jsonl", "notes.md", "numbers.jsonl"),
    ]
    assert (account.files, account.records, account.new_messages, account.closes) == (1, 14, 14, True)
    assert ledger.sql("select path from import_files")["path"].to_list() == [str(junk / "deep" / "real.jsonl")]


def test_a_folder_without_anything_to_read_is_no_error_but_says_so(junk: Path, ledger: lk.Ledger) -> None:
    account = ledger.import_logs(junk, now=NOW)
    assert (account.files, account.records, account.new_messages, len(account.unsupported)) == (0, 0, 0, 10)
    assert account.details.height == account.damage.height == 0


def test_nothing_to_import_is_an_error_that_names_the_path(tmp_path: Path, ledger: lk.Ledger) -> None:
    with pytest.raises(lk.ImportSourceError, match=r"Nothing at .*logs"):
        ledger.import_logs(tmp_path / "logs", now=NOW)
    (tmp_path / "logs").mkdir()
    with pytest.raises(lk.ImportSourceError, match=r"No files below .*logs"):
        ledger.import_logs(tmp_path / "logs", now=NOW)


def test_a_ledger_among_the_logs_is_passed_over(tmp_path: Path, ledger: lk.Ledger) -> None:
    working_session().write(tmp_path / "a.jsonl")
    assert ledger.path.parent == tmp_path
    account = ledger.import_logs(tmp_path, now=NOW)
    assert (account.files, account.unsupported) == (1, ())
    with pytest.raises(lk.ImportSourceError):
        ledger.import_logs(ledger.path, now=NOW)


def test_a_path_given_twice_is_read_once(tmp_path: Path, ledger: lk.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    path = working_session().write(tmp_path / "logs" / "a.jsonl")
    monkeypatch.chdir(tmp_path)
    account = ledger.import_logs(path, tmp_path / "logs", "logs/a.jsonl", tmp_path / "logs" / "a.jsonl", now=NOW)
    assert (account.files, account.records) == (1, 14)


def test_progress_is_told_after_each_file_and_ends_with_all_bytes(tmp_path: Path, ledger: lk.Ledger) -> None:
    sizes = [working_session(f"p{n}", steps=n).write(tmp_path / f"{n}.jsonl").stat().st_size for n in range(3)]
    told: list[tuple[int, int, str]] = []

    def note(done: int, total: int, path: str) -> None:
        told.append((done, total, Path(path).name))

    ledger.import_logs(tmp_path, now=NOW, progress=note)
    assert told == [(sum(sizes[: n + 1]), sum(sizes), f"{n}.jsonl") for n in range(3)]


def test_the_details_of_an_account_add_up_to_its_totals(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = eventful_session()
    write_lines(tmp_path / "a.jsonl", [*log.records, "noise"], torn='{"type": "us')
    account = ledger.import_logs(tmp_path, now=NOW)
    by_fate = dict(account.details.group_by("fate").agg(pl.col("count").sum()).iter_rows())
    assert by_fate == {
        "accepted": account.accepted,
        "skipped": account.skipped,
        "quarantined": account.quarantined,
    }
    assert (account.records, account.quarantined, account.damage.height) == (33, 2, 2)
    row = ledger.sql("from import_files").row(0, named=True)
    assert row["record_count"] == row["accepted"] + row["duplicate"] + row["skipped"] + row["quarantined"] == 33
    assert sum(fate["count"] for fate in row["fates"]) == 33
    assert [entry["line"] for entry in row["quarantine"]] == [32, 33]


# Sessions


def test_a_session_keeps_its_id_if_it_is_a_uuid_and_else_gets_one(tmp_path: Path, ledger: lk.Ledger) -> None:
    named, plain = Log("named", session=uid("named").upper()), Log("plain", session="ses_42")
    named.asks("one")
    plain.asks("two")
    named.write(tmp_path / "a.jsonl")
    plain.write(tmp_path / "b.jsonl")
    ledger.import_logs(tmp_path, now=NOW)
    ids = dict(ledger.sql("select task, session_id from sessions").iter_rows())
    assert ids["one"] == uid("named")
    assert UUID(ids["two"]).version == 8


def test_a_file_that_names_no_session_is_one_if_it_holds_conversation(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    records = [{key: value for key, value in r.items() if key != "sessionId"} for r in log.records]
    write_lines(tmp_path / "a.jsonl", records)
    write_lines(tmp_path / "copy.jsonl", records)
    account = ledger.import_logs(tmp_path, now=NOW)
    assert (account.accepted, account.duplicate) == (14, 14)
    assert ledger.sql("select count(distinct session_id), count(*) from messages").row(0) == (1, 14)


def test_bookkeeping_of_a_session_that_is_not_in_its_file_is_left_out_until_the_session_comes(
    tmp_path: Path, ledger: lk.Ledger
) -> None:
    title = {"type": "summary", "summary": "Rounding", "leafUuid": uid("elsewhere")}
    path = write_lines(tmp_path / "a.jsonl", [title])
    account = ledger.import_logs(path, now=NOW)
    assert (account.skipped, account.accepted) == (1, 0)
    assert "session that is not in this file" in account.details["reason"].item()
    append_lines(path, working_session().records)
    account = ledger.import_logs(path, now=later(1))
    assert (account.records, account.accepted, account.closes) == (15, 15, True)
    assert ledger.sql("select session_id from messages where text = 'Rounding'").item() == uid("working")


def test_the_head_of_a_file_belongs_to_the_first_session_that_comes(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("headed")
    log.bare("file-history-snapshot", messageId="m", snapshot={"timestamp": stamp(START)})
    log.asks("one")
    log.bare("summary", summary="A title", leafUuid="x")
    log.write(tmp_path / "a.jsonl")
    ledger.import_logs(tmp_path, now=NOW)
    assert ledger.sql("select count(*) from messages where session_id = ?", [log.session]).item() == 3


def test_one_session_in_many_files_and_many_sessions_in_one_file(tmp_path: Path, ledger: lk.Ledger) -> None:
    one, other = working_session("one"), working_session("other")
    write_lines(tmp_path / "a.jsonl", [r for pair in zip(one.records, other.records, strict=True) for r in pair])
    write_lines(tmp_path / "b.jsonl", one.records[3:9])
    account = ledger.import_logs(tmp_path, now=NOW)
    assert (account.accepted, account.duplicate) == (28, 6)
    assert ledger.sql("select session_id, messages, steps from sessions order by 1").rows() == sorted(
        [(uid("one"), 14, 4), (uid("other"), 14, 4)]
    )


def test_numbers_of_messages_are_dense_in_every_run(tmp_path: Path, ledger: lk.Ledger) -> None:
    eventful_session().write(tmp_path / "a.jsonl")
    working_session().write(tmp_path / "b.jsonl")
    ledger.import_logs(tmp_path, now=NOW)
    numbers = ledger.sql("select list(sequence_no order by sequence_no) from messages group by session_id, run_id")
    assert numbers.height == 4
    for (row,) in numbers.iter_rows():
        assert row == list(range(len(row)))


@pytest.mark.long
def test_ids_come_from_the_source_alone_and_are_ordered_by_time(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = eventful_session().write(tmp_path / "a.jsonl")
    ledger.import_logs(path, now=NOW)
    other = lk.open(tmp_path / "other", key=b"another key of 32 bytes, at least")
    other.import_logs(path.rename(tmp_path / "b.jsonl"), now=later(5))
    wanted = "select message_id, part_id, session_id, run_id from parts order by all"
    assert other.sql(wanted).equals(ledger.sql(wanted))
    contents = "select content_id from parts order by all"
    assert not other.sql(contents).equals(ledger.sql(contents))
    timed = ledger.sql("select message_id from messages where created_at is not null order by created_at, message_id")
    ids = timed["message_id"].to_list()
    assert ids == sorted(ids)
    assert {UUID(each).version for each in ids} == {8}
    untimed = ledger.sql("select message_id from messages where created_at is null")["message_id"].to_list()
    assert untimed
    assert all(each.startswith("00000000-0000-") for each in untimed)


# Runs


@pytest.mark.long
def test_growth_rewrites_nothing_that_is_there(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = eventful_session()
    for number, end in enumerate((9, 17, 25, 31)):
        write_lines(tmp_path / "a.jsonl", log.records[:end])
        ledger.import_logs(tmp_path, now=later(number))
    stored = ledger.sql("select max(revision), count(*), count(distinct part_id) from stored_history").row(0)
    assert stored == (0, stored[1], stored[1])


def test_records_that_belong_before_others_make_a_revision_and_the_old_one_stays_stored(
    tmp_path: Path, ledger: lk.Ledger
) -> None:
    log = working_session()
    ledger.import_logs(write_lines(tmp_path / "late.jsonl", log.records[7:]), now=NOW)
    ledger.import_logs(write_lines(tmp_path / "early.jsonl", log.records[:7]), now=later(1))
    stored = ledger.sql("select revision, count(*), count(distinct run_date) from stored_history group by 1 order by 1")
    assert stored.rows() == [(0, 7, 1), (1, 14, 1)]
    assert ledger.sql("select list(distinct run_date) from stored_history").item().to_list() == ["2026-02-01"]
    assert ledger.sql("select count(*) from messages").item() == 14


@pytest.mark.long
def test_a_run_that_a_later_file_shows_not_to_exist_is_gone(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("order")
    answered = (log.asks("one"), log.answers(text("answer")))[1]
    left = log.asks("left", parent=answered)
    right = log.asks("right", parent=answered)
    for record in log.records[2:]:
        record["timestamp"] = stamp(START + timedelta(minutes=1))
    write_lines(tmp_path / "a.jsonl", log.records[:3])
    write_lines(tmp_path / "b.jsonl", [log.records[1], log.records[3]])
    ledger.import_logs(tmp_path, now=NOW)
    branch = "select run_id, task from runs where relation = 'rewind'"
    gone, first = ledger.sql(branch).row(0)
    other = [log.records[3], log.records[2]] if first == "right" else [log.records[2], log.records[3]]
    assert {left, right} == {record["uuid"] for record in other}
    ledger.import_logs(write_lines(tmp_path / "c.jsonl", other), now=later(1))
    now, task = ledger.sql(branch).row(0)
    assert {first, task} == {"left", "right"}
    assert now != gone
    assert ledger.sql("select count(*) from runs").item() == 2
    with pytest.raises(lk.UnknownNameError):
        ledger.run(gone)
    with pytest.raises(lk.UnknownNameError):
        ledger.list_messages(log.session, gone)
    assert ledger.sql("select count(*), count(distinct message_id) from messages").row(0) == (4, 4)


def test_facts_about_a_run_are_the_first_that_its_records_state(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("facts")
    log.asks("one", cwd="/home/dev/shop", gitBranch="main", version="2.1.1")
    log.asks("two", cwd="/home/dev/other", gitBranch="fix", version="2.1.2")
    log.bare("ai-title", aiTitle="First title", sessionId=log.session)
    log.bare("ai-title", aiTitle="Last title", sessionId=log.session)
    log.write(tmp_path / "a.jsonl")
    ledger.import_logs(tmp_path, now=NOW)
    run = ledger.sql("from runs").row(0, named=True)
    assert (run["working_directory"], run["branch"], run["agent_version"]) == ("/home/dev/shop", "main", "2.1.1")
    assert (run["title"], run["agent"]) == ("Last title", "claude-code")


@pytest.mark.long
def test_the_latest_facts_count_when_a_session_arrives_in_many_batches(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = Log("titled")
    log.asks("one")
    log.write(tmp_path / "a.jsonl")
    for number, title in enumerate(("First", "Second", "Third")):
        log.bare("ai-title", aiTitle=title, sessionId=log.session)
        log.write(tmp_path / "a.jsonl")
        ledger.import_logs(tmp_path, now=later(number))
        assert ledger.sql("select title from runs").item() == title


# Formats side by side


def own_format(session: str, folder: Path) -> Path:
    """A session of the same id in ledgerkit's own format, under a run id that is no UUID."""
    part = {
        "type": "text",
        "text": "As the recorder saw it.",
        "trust_level": "USER_TRUSTED",
        "visibility": "MODEL_VISIBLE",
    }
    message = {
        "session_id": session,
        "run_id": "recorded",
        "message_id": uid(session, "own"),
        "sequence_no": 0,
        "kind": "USER_TASK",
        "actor": "user",
        "created_at": stamp(START),
        "parts": [part],
    }
    header = {"type": ledgerkit_jsonl.FORMAT, "version": ledgerkit_jsonl.VERSION, "session_id": session}
    run = {"type": "run", "session_id": session, "run_id": "recorded"}
    whole = lk.AgentMessage.model_validate(message).model_dump(mode="json", exclude_none=True)
    return write_lines(folder / "own.jsonl", [header, run, {"type": "message", "message": whole}])


def test_two_formats_in_one_import(tmp_path: Path, ledger: lk.Ledger) -> None:
    working_session().write(tmp_path / "a.jsonl")
    own_format(uid("own session"), tmp_path)
    account = ledger.import_logs(tmp_path, now=NOW)
    assert (account.files, account.accepted, account.closes) == (2, 15, True)
    assert ledger.sql("select source_format, messages from runs order by 1").rows() == [
        ("claude-code", 14),
        ("ledgerkit-jsonl", 1),
    ]


@pytest.mark.long
def test_a_session_that_two_programs_logged_keeps_the_runs_of_both_apart(tmp_path: Path, ledger: lk.Ledger) -> None:
    log = working_session()
    log.write(tmp_path / "a.jsonl")
    own_format(log.session, tmp_path)
    ledger.import_logs(tmp_path, now=NOW)
    before = ledger.sql("select run_id, source_format, messages from runs order by 2").rows()
    assert [row[1:] for row in before] == [("claude-code", 14), ("ledgerkit-jsonl", 1)]
    log.asks("More.")
    log.write(tmp_path / "a.jsonl")
    ledger.import_logs(tmp_path, now=later(1))
    after = ledger.sql("select run_id, source_format, messages from runs order by 2").rows()
    assert after == [(*before[0][:2], 15), before[1]]
    assert ledger.sql("select max(revision) from stored_history").item() == 0


# Several importers at once


def _import(folder: Path, logs: Path, number: int) -> tuple[int, int]:
    with lk.open(folder) as ledger:
        account = ledger.import_logs(logs, now=later(number))
        return account.new_messages, account.accepted + account.duplicate


@pytest.mark.slow
def test_two_processes_that_import_the_same_files_at_once_double_nothing(tmp_path: Path) -> None:
    for number in range(4):
        working_session(f"s{number}", steps=20).write(tmp_path / "logs" / f"{number}.jsonl")
    lk.open(tmp_path / "l", key=bytes(32)).close()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(_import, [tmp_path / "l"] * 2, [tmp_path / "logs"] * 2, range(2)))
    assert sum(new for new, _ in results) == 4 * 82
    with lk.open(tmp_path / "l") as ledger:
        assert ledger.sql("select count(*), count(distinct part_id) from parts").row(0) == (328, 328)


@pytest.mark.long
def test_the_same_logs_give_equal_ledgers(tmp_path: Path) -> None:
    for name in ("a", "b"):
        eventful_session(name).write(tmp_path / "logs" / f"{name}.jsonl")
    call = tool_use("c", "Bash", command="x" * 70_000)
    log = Log("long")
    log.asks("long")
    log.answers(call)
    (tmp_path / "logs" / "c.jsonl").write_text("".join(line_of(record) + "\n" for record in log.records))
    ledgers = [lk.open(tmp_path / f"l{n}", key=bytes(32)) for n in range(2)]
    for number, ledger in enumerate(ledgers):
        ledger.import_logs(tmp_path / "logs", now=later(number))
    assert_same(canonical(ledgers[0]), canonical(ledgers[1]))
