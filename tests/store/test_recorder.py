"""The recorder: one writer a run, each message once and for good, and readers that do not see where it stands."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit.errors import LedgerError, RunLockedError
from ledgerkit.store.journal import read_journal
from tests.builders import append_lines, canonical, text, usage, working_session
from tests.durability.commands import MODEL, USER, command, dense, held, text_of

pytestmark = pytest.mark.long

LONG = "ä long line\n" * 9_000


@pytest.fixture
def path(ledger: lk.Ledger) -> Path:
    return ledger.path


def journals(folder: Path) -> list[Path]:
    return sorted((folder / "journal").glob("*.journal"))


def said_in_journals(folder: Path) -> int:
    return sum(len(read_journal(path).records) for path in journals(folder))


def sealed(ledger: lk.Ledger) -> int:
    """Messages that have a leaf."""
    return ledger.sql("select count(*) from messages where leaf_index is not null").item()


# Numbers


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_dense_over_seals_resumes_and_single_appends(path: Path, seed: int) -> None:
    draw = random.Random(seed)
    ledger, texts = lk.open(path), list[str]()
    for _ in range(3):
        with ledger.record("s1", "r1") as recorder:
            for _ in range(4):
                batch = [f"{len(texts) + n}" for n in range(draw.choice((0, 1, 1, 5)))]
                written = recorder.append_many([command(said) for said in batch])
                assert [m.sequence_no for m in written] == list(range(len(texts), len(texts) + len(batch)))
                texts += batch
                if draw.random() < 0.3:
                    recorder.seal()
            recorder.close(seal=draw.random() < 0.5)
        if draw.random() < 0.5:
            ledger.close()
            ledger = lk.open(path)
        if draw.random() < 0.7:
            assert ledger.append(command(f"{len(texts)}")).sequence_no == len(texts)
            texts.append(f"{len(texts)}")
        assert held(ledger) == dense(texts)
    assert held(lk.open(path)) == dense(texts)
    assert ledger.verify().ok


def test_a_batch_that_is_refused_leaves_no_number_behind(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1") as recorder:
        recorder.append(command("0", idempotency_key="k"))
        with pytest.raises(lk.IdempotencyError):
            recorder.append_many([command("new"), command("other", idempotency_key="k")])
        with pytest.raises(ValueError, match="not r2 of s1"):
            recorder.append_many([command("new"), command("new", run="r2")])
        assert recorder.append(command("1")).sequence_no == 1
        assert recorder.append_many([]) == []
    assert held(ledger) == dense(["0", "1"])


def test_threads_share_a_recorder_and_every_message_has_its_own_number(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1") as recorder:
        given: list[tuple[int, str]] = []

        def append(thread: int) -> None:
            for number in range(20):
                message = recorder.append(command(f"{thread}/{number}"))
                given.append((message.sequence_no, text_of(message)))
                if (thread, number % 8) == (0, 7):
                    recorder.seal()

        threads = [threading.Thread(target=append, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [number for number, _ in sorted(given)] == list(range(120))
    assert held(ledger) == sorted(given)
    assert sealed(ledger) == 120
    assert journals(ledger.path) == []


def test_a_run_without_an_id_gets_one(ledger: lk.Ledger) -> None:
    with ledger.record() as one, ledger.record(one.session_id) as other:
        assert one.run_id != other.run_id
        other.append(command("hi", session=one.session_id, run=other.run_id))
    assert ledger.runs()["session_id"].to_list() == [one.session_id]


# Idempotency


def test_a_key_is_known_in_the_journal_after_a_seal_a_resume_and_a_new_open(path: Path) -> None:
    ledger = lk.open(path)
    with ledger.record("s1", "r1") as recorder:
        first = recorder.append(command("a", idempotency_key="k"))
        twice = recorder.append_many([command("b", idempotency_key="l"), command("b", idempotency_key="l")])
        assert [m.sequence_no for m in twice] == [1, 1]
        assert recorder.append(command("a", idempotency_key="k")) == first
        recorder.seal()
        assert recorder.append(command("a", idempotency_key="k")).message_id == first.message_id
        recorder.append(command("c", idempotency_key="m"))
        recorder.close(seal=False)
    for opened in (ledger, lk.open(path)):
        with opened.record("s1", "r1") as recorder:
            for said, key, number in (("a", "k", 0), ("b", "l", 1), ("c", "m", 2)):
                assert recorder.append(command(said, idempotency_key=key)).sequence_no == number
                with pytest.raises(lk.IdempotencyError, match=f"'{key}'"):
                    recorder.append(command("another", idempotency_key=key))
            recorder.close(seal=False)
    assert held(ledger) == dense(["a", "b", "c"])


def test_threads_that_send_the_same_key_get_the_same_message(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1") as recorder:
        ids: list[str] = []
        begin = threading.Barrier(6)

        def append() -> None:
            begin.wait()
            ids.extend(recorder.append(command(f"{n}", idempotency_key=f"{n}")).message_id for n in range(10))

        threads = [threading.Thread(target=append) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(ids), len(set(ids))) == (60, 10)
    assert held(ledger) == dense([f"{n}" for n in range(10)])


# One writer a run


def test_a_second_recorder_of_a_run_is_refused_and_another_run_is_not(ledger: lk.Ledger, path: Path) -> None:
    with ledger.record("s1", "r1") as recorder, lk.open(path) as other:
        for second in (ledger, other):
            with pytest.raises(RunLockedError, match=f"r1 of session s1 is being recorded by process {os.getpid()}"):
                second.record("s1", "r1")
        with other.record("s1", "r2") as beside:
            beside.append(command("beside", run="r2"))
        recorder.append(command("0"))
    with lk.open(path).record("s1", "r1") as later:
        assert later.append(command("1")).sequence_no == 1
    assert list((path / "journal").iterdir()) == []


LIVE = """
import os, sys
import ledgerkit as lk
from tests.durability.commands import command
ledger = lk.open(sys.argv[1])
recorder = ledger.record("s1", "r1", agent="dying")
for said in ("0", "1"):
    recorder.append(command(said, idempotency_key=said))
recorder.seal()
recorder.append(command("2", idempotency_key="2"))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def live(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that records run r1, and has acknowledged three messages."""
    program = [sys.executable, "-c", LIVE, str(path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_run_that_another_process_records_is_refused_and_seen(ledger: lk.Ledger, live: subprocess.Popen[str]) -> None:
    with pytest.raises(RunLockedError, match=f"process {live.pid}"):
        ledger.record("s1", "r1")
    assert held(ledger) == dense(["0", "1", "2"])
    assert ledger.sql("select status from sessions").item() == "open"


def test_the_run_of_a_killed_writer_is_taken_up_where_it_ended(ledger: lk.Ledger, live: subprocess.Popen[str]) -> None:
    live.send_signal(signal.SIGKILL)
    live.wait()
    assert held(ledger) == dense(["0", "1", "2"])
    with ledger.record("s1", "r1") as recorder:
        assert [recorder.append(command(f"{n}", idempotency_key=f"{n}")).sequence_no for n in range(4)] == [0, 1, 2, 3]
    assert held(ledger) == dense(["0", "1", "2", "3"])
    assert ledger.runs()["agent"].to_list() == ["dying"]
    assert (sealed(ledger), ledger.verify().ok) == (4, True)


def test_a_lock_that_a_dead_writer_left_behind_does_not_hold(ledger: lk.Ledger, live: subprocess.Popen[str]) -> None:
    live.send_signal(signal.SIGKILL)
    live.wait()
    assert [path.read_text() for path in (ledger.path / "journal").glob("*.lock")] == [str(live.pid)]
    assert ledger.append(command("3")).sequence_no == 3


def test_compaction_seals_what_a_dead_writer_left_and_no_recorder_is_refused_for_it(path: Path) -> None:
    lk.open(path).close()
    stop = threading.Event()
    failures: list[BaseException] = []

    def compact() -> None:
        try:
            with lk.open(path) as ledger:
                while not stop.is_set():
                    ledger.compact()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=compact)
    thread.start()
    try:
        with lk.open(path) as ledger:
            for number in range(12):
                recorder = ledger.record("s1", "r1")
                assert recorder.append(command(f"{number}")).sequence_no == number
                recorder.close(seal=False)
    finally:
        stop.set()
        thread.join()
    assert failures == []
    assert held(lk.open(path)) == dense([f"{n}" for n in range(12)])


def test_single_appends_wait_for_each_other(path: Path) -> None:
    given: list[int] = []

    def append() -> None:
        with lk.open(path) as ledger:
            given.extend(ledger.append(command("x")).sequence_no for _ in range(4))

    threads = [threading.Thread(target=append) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(12))


# Readers


def conversation() -> list[lk.AppendMessageCommand]:
    call = {"call_id": "c1", "model": "claude-sonnet-4-5-20250929", "provider": "anthropic"}
    figures = {"input_tokens": 1000, "output_tokens": 100}
    use = {"type": "tool_call", "tool_call_id": "t1", "tool_name": "bash", "arguments": {"command": "ls"}, **MODEL}
    result = {"type": "tool_result", "tool_call_id": "t1", "status": "FAILED", "text": LONG, "data": [1], **USER}
    verdict = {"type": "verification", "verdict": "failed", "check": "pytest", "scope": "run", "exit_code": 1, **USER}
    parts = [{"type": "text", "text": "Two", **USER}, {"type": "json", "data": {"a": [1, None]}, **MODEL}]
    return [
        command("Round it.", step=0, visible_from=0, metadata={"a": 1}),
        command(use, kind="TOOL_CALL_REQUEST", step=0, visible_from=1, call={**call, "usage": figures}),
        command(result, kind="TOOL_CALL_RESULT", step=0, visible_from=1),
        command(verdict, kind="VERIFIER_RESULT"),
        command(parts=parts, kind="ASSISTANT_RESPONSE", step=1, call={"call_id": "c2", "model": "m", "usage": figures}),
        command("Elsewhere", session="s2", run="r9"),
    ]


def record_all(ledger: lk.Ledger, *, seal: bool) -> None:
    for run in (("s1", "r1"), ("s2", "r9")):
        with ledger.record(*run, agent="mine", repository="shop") as recorder:
            recorder.append_many([said for said in conversation() if (said.session_id, said.run_id) == run])
            recorder.close(seal=seal)


def seal_all(ledger: lk.Ledger) -> None:
    for run in (("s1", "r1"), ("s2", "r9")):
        ledger.record(*run).close()


def answers(ledger: lk.Ledger) -> dict[str, Any]:
    """What every way of reading says."""
    ids: list[str] = ledger.sql("select message_id from messages order by message_id")["message_id"].to_list()
    refs = ledger.sql("select distinct unnest(artifact_refs) as ref from parts order by ref")["ref"].to_list()
    return {
        "by id": [ledger.find_by_id(message_id) for message_id in ids],
        "lists": [ledger.list_messages("s1", "r1"), ledger.list_messages("s2", "r9")],
        "range": ledger.list_messages("s1", "r1", lk.MessageRange(first=1, last=2)),
        "runs": ledger.runs().sort("run_id").to_dicts(),
        "search": [ledger.search(sought).to_dicts() for sought in ("LONG line", "ls", "two")],
        "artifacts": [ledger.artifact(ref) for ref in refs],
        "scan": ledger.scan("messages")
        .filter(pl.col("run_id") == "r1")
        .collect()
        .drop("leaf_index", "leaf_hash")
        .rows(),
        "cost": ledger.cost().to_dicts(),
    }


def test_readers_see_journaled_and_sealed_messages_alike(ledger: lk.Ledger, path: Path) -> None:
    record_all(ledger, seal=False)
    with lk.open(path) as other:
        before = [answers(ledger), answers(other)]
        assert (sealed(ledger), said_in_journals(path)) == (0, 6)
        assert [bytes(whole).decode() for whole, _, _ in before[0]["artifacts"]] == [LONG]
        seal_all(ledger)
        assert (sealed(ledger), said_in_journals(path)) == (6, 0)
        assert [answers(ledger), answers(other)] == before


@pytest.mark.slow
def test_every_view_shows_journaled_and_sealed_messages_alike(ledger: lk.Ledger) -> None:
    record_all(ledger, seal=False)
    before = canonical(ledger)
    assert {name for name, frame in before.items() if frame.is_empty()} == {"file_changes"}
    seal_all(ledger)
    after = canonical(ledger)
    sessions = [frames.pop("sessions").drop("status") for frames in (before, after)]
    assert_frame_equal(*sessions)
    for name, frame in before.items():
        assert_frame_equal(frame, after[name])


@pytest.mark.slow
def test_a_reader_in_the_middle_sees_the_sealed_and_the_journaled_part_of_a_run_once(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1") as recorder:
        texts: list[str] = []
        for number in range(9):
            texts.append(f"{number} {LONG if number % 4 == 1 else ''}"[:70_000])
            recorder.append(command(texts[-1]))
            if number % 3 == 2:
                recorder.seal()
            numbers = ledger.sql("select sequence_no from messages order by 1")["sequence_no"].to_list()
            assert numbers == list(range(number + 1))
            assert ledger.search(f"{number} ").height >= 1
        assert sealed(ledger) == 9


def test_a_session_is_open_while_a_journal_holds_a_run_of_it(ledger: lk.Ledger) -> None:
    status = "select session_id, status from sessions order by 1"
    recorder = ledger.record("s1", "r1")
    assert ledger.sql(status).rows() == []
    recorder.append(command("0"))
    ledger.append(command("x", session="s2"))
    assert ledger.sql(status).rows() == [("s1", "open"), ("s2", "open")]
    recorder.seal()
    assert ledger.sql(status).rows() == [("s1", "open"), ("s2", "open")]
    recorder.close()
    assert ledger.sql(status).rows() == [("s1", "closed"), ("s2", "open")]
    ledger.compact()
    assert ledger.sql(status).rows() == [("s1", "closed"), ("s2", "closed")]


# Facts


@pytest.mark.slow
def test_the_facts_of_a_run_are_seen_at_once_and_kept(ledger: lk.Ledger) -> None:
    names = ["agent", "repository", "title", "source_format"]
    with ledger.record("s1", "r1", agent="mine", repository="shop") as recorder:
        recorder.append(command())
        assert ledger.runs().select(names).rows() == [("mine", "shop", None, "recorder")]
    assert ledger.runs().select(names).rows() == [("mine", "shop", None, "recorder")]
    with ledger.record("s1", "r1", title="Rounding") as recorder:
        recorder.append(command())
    assert ledger.runs().select(names).rows() == [("mine", "shop", "Rounding", "recorder")]
    with ledger.record("s1", "r1", agent="mine") as recorder:
        recorder.append(command())
    assert ledger.runs().select(names).rows() == [("mine", "shop", "Rounding", "recorder")]
    assert [row["rows"] for row in ledger.info().to_dicts() if row["table"] == "runs"] == [2]


def test_new_facts_of_a_run_whose_journal_lies_open_do_not_take_the_old_ones_away(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1", agent="mine", repository="shop") as recorder:
        recorder.append(command("0"))
        recorder.close(seal=False)
    with ledger.record("s1", "r1", agent="yours", branch="main") as recorder:
        recorder.append(command("1"))
        assert ledger.runs().select("agent", "repository", "branch").rows() == [("yours", "shop", "main")]
    assert ledger.runs().select("agent", "repository", "branch").rows() == [("yours", "shop", "main")]
    assert held(ledger) == dense(["0", "1"])


def test_facts_that_are_added_to_a_sealed_run_leave_the_others_as_they_were(ledger: lk.Ledger) -> None:
    with ledger.record("s1", "r1", agent="mine", repository="shop") as recorder:
        recorder.append(command("0"))
    with ledger.record("s1", "r1", branch="main") as recorder:
        recorder.append(command("1"))
        assert ledger.runs().select("agent", "repository", "branch").rows() == [("mine", "shop", "main")]


# Sealing exactly once


@pytest.mark.parametrize("closing", [True, False])
def test_a_journal_that_is_there_again_after_it_was_sealed_is_not_sealed_twice(path: Path, closing: bool) -> None:
    ledger = lk.open(path)
    recorder = ledger.record("s1", "r1")
    recorder.append_many([command("0", idempotency_key="k"), command("1")])
    (journal,) = journals(path)
    kept = shutil.copy(journal, path.with_name("kept"))
    if not closing:
        recorder.seal()
    recorder.close(seal=closing)
    shutil.copy(kept, journal)  # as if the process had died before the old journal went
    again = lk.open(path)
    assert held(again) == dense(["0", "1"])
    with again.record("s1", "r1") as resumed:
        assert resumed.append(command("0", idempotency_key="k")).sequence_no == 0
        assert resumed.append(command("2")).sequence_no == 2
    shutil.copy(kept, journal)
    again.compact()
    assert held(again) == dense(["0", "1", "2"])
    assert journals(path) == []
    assert again.verify().ok


def test_a_journal_of_which_an_import_sealed_a_part_goes_on_with_the_rest(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = working_session(steps=1)
    with ledger.record(log.session, "beside") as recorder:
        said = [command(f"{n}", session=log.session, run="beside") for n in range(4)]
        recorder.append_many(said[:2])
        ledger.import_logs(log.write(tmp_path / "log.jsonl"))
        assert held(ledger, log.session, "beside") == dense(["0", "1"])
        assert (
            ledger.sql("select count(*) from messages where run_id = 'beside' and leaf_index is not null").item() == 2
        )
        assert recorder.append(said[2]).sequence_no == 2
        assert held(ledger, log.session, "beside") == dense(["0", "1", "2"])
        recorder.close(seal=False)
    with ledger.record(log.session, "beside") as recorder:
        assert recorder.append(said[3]).sequence_no == 3
    assert held(ledger, log.session, "beside") == dense(["0", "1", "2", "3"])
    assert ledger.verify().ok


# Runs that were imported


def test_messages_are_appended_to_a_run_of_an_imported_session(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = working_session(steps=1)
    file = log.write(tmp_path / "log.jsonl")
    ledger.import_logs(file)
    facts = ledger.runs().drop("messages", "finished_at", "duration_s")
    session, run, count = ledger.runs().select("session_id", "run_id", "messages").row(0)
    with ledger.record(session, run) as recorder:
        assert recorder.append(command("noted", session=session, run=run)).sequence_no == count
        assert held(ledger, session, run)[-1] == (count, "noted")
    before = held(ledger, session, run)
    assert before[-1] == (count, "noted")
    assert_same_facts(ledger.runs(), facts)
    ledger.import_logs(file)
    assert held(ledger, session, run) == before
    assert ledger.verify().ok


def assert_same_facts(runs: pl.DataFrame, facts: pl.DataFrame) -> None:
    assert runs.select(facts.columns).to_dicts() == facts.to_dicts()


@pytest.mark.slow
def test_an_imported_run_that_grows_under_a_recorder_keeps_both(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = working_session(steps=1)
    file = log.write(tmp_path / "log.jsonl")
    ledger.import_logs(file)
    session, run, count = ledger.runs().select("session_id", "run_id", "messages").row(0)
    with ledger.record(session, run) as recorder:
        for number in range(3):
            recorder.append(command(f"noted {number}", session=session, run=run))
            already = len(log.records)
            log.asks(f"And this, {number}?")
            log.answers(text(f"Yes, {number}."), used=usage())
            append_lines(file, log.records[already:])
            ledger.import_logs(file)
            recorder.append(command(f"noted after {number}", session=session, run=run))
            numbers = [at for at, _ in held(ledger, session, run)]
            said = [message for message in (m for _, m in held_texts(ledger, session, run)) if "noted" in message]
            assert numbers == list(range(len(numbers)))
            assert said == [f"noted{after} {n}" for n in range(number + 1) for after in ("", " after")]
    numbers = [at for at, _ in held_texts(ledger, session, run)]
    assert numbers == list(range(count + 3 * 2 + 3 * 2))
    assert ledger.verify().ok


def held_texts(ledger: lk.Ledger, session: str, run: str) -> list[tuple[int, str]]:
    rows = ledger.sql(
        "select sequence_no, coalesce(text, '') from messages where session_id = ? and run_id = ? order by 1",
        [session, run],
    )
    return rows.rows()


# Damage


def spoiled(journal: Path, said: str) -> None:
    """Changes a byte of a text in a journal."""
    raw = journal.read_bytes()
    journal.write_bytes(raw.replace(f'"{said}"'.encode(), f'"{said[:-1]}?"'.encode()))


def test_a_damaged_record_costs_no_other_and_the_file_is_kept(ledger: lk.Ledger, path: Path) -> None:
    with ledger.record("s1", "r1") as recorder:
        recorder.append_many([command(f"said {n}") for n in range(5)])
        recorder.close(seal=False)
    (journal,) = journals(path)
    spoiled(journal, "said 2")
    raw = journal.read_bytes()
    texts = ["said 0", "said 1", "said 3", "said 4"]
    again = lk.open(path)
    assert [said for _, said in held(again)] == texts
    assert not again.verify().ok
    with again.record("s1", "r1") as recorder:
        assert recorder.append(command("said 5")).sequence_no == 4
    assert held(again) == dense([*texts, "said 5"])
    assert [kept.read_bytes() for kept in (path / "journal").glob("*.damaged")] == [raw]
    assert journals(path) == []


def test_a_record_that_is_damaged_under_a_living_recorder_is_kept_aside_too(ledger: lk.Ledger, path: Path) -> None:
    with ledger.record("s1", "r1") as recorder:
        recorder.append_many([command(f"said {n}") for n in range(3)])
        (journal,) = journals(path)
        with journal.open("r+b") as file:
            file.seek(journal.read_bytes().index(b'"said 1"') + 1)
            file.write(b"S")
    assert held(ledger) == dense(["said 0", "said 2"])
    assert len(list((path / "journal").glob("*.damaged"))) == 1


def test_a_journal_without_its_head_is_refused_and_stands_in_nobodys_way(ledger: lk.Ledger, path: Path) -> None:
    ledger.append(command("lost"))
    (journal,) = journals(path)
    raw = journal.read_bytes()
    journal.write_bytes(b"?" + raw[1:])
    again = lk.open(path)
    assert again.append(command("another run", run="r2")).sequence_no == 0
    with pytest.raises(LedgerError, match=journal.name):
        again.record("s1", "r1")
    with pytest.raises(LedgerError, match=journal.name):
        again.append(command("more"))
    assert [finding.rule.value for finding in again.verify().findings] == ["damaged_journal"]
    journal.write_bytes(raw)
    assert again.append(command("found")).sequence_no == 1
    assert held(again) == dense(["lost", "found"])


# Recorders that are no more


def test_a_closed_recorder_takes_nothing(ledger: lk.Ledger) -> None:
    recorder = ledger.record("s1", "r1")
    recorder.append(command("0"))
    recorder.close()
    recorder.close()
    for use in (lambda: recorder.append(command("1")), lambda: recorder.append_many([]), recorder.seal):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert held(ledger) == dense(["0"])


FORK = """
import os, sys
import ledgerkit as lk
from tests.durability.commands import command
ledger = lk.open(sys.argv[1])
with ledger.record("s1", "r1") as recorder:
    recorder.append(command("0"))
    if (child := os.fork()) == 0:
        for use in (lambda: recorder.append(command("x")), recorder.seal):
            try:
                use()
                os._exit(1)
            except ValueError as error:
                if "belongs to the process that opened it" not in str(error):
                    os._exit(2)
        recorder.close()  # as a with block does at its end
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the child could use the recorder")
    recorder.append(command("1"))
    try:
        lk.open(sys.argv[1]).record("s1", "r1")
        sys.exit("the child gave the lock away")
    except lk.errors.RunLockedError:
        recorder.append(command("2"))
    os.kill(os.getpid(), 9)
"""


def test_a_recorder_in_a_forked_process_is_refused_and_harms_nothing(ledger: lk.Ledger, path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK, str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")
    assert held(ledger) == dense(["0", "1", "2"])


def test_a_long_journal_is_sealed_by_itself(ledger: lk.Ledger, path: Path) -> None:
    with ledger.record("s1", "r1") as recorder:
        texts = [f"{n} " + "word " * 300_000 for n in range(14)]
        for said in texts:
            recorder.append(command(said))
        assert 0 < sealed(ledger) < 14
        assert sum(journal.stat().st_size for journal in journals(path)) < 16 * 1024 * 1024
        assert [m.sequence_no for m in ledger.list_messages("s1", "r1")] == list(range(14))
    refs = ledger.sql("select artifact_refs[1] as ref from parts order by sequence_no")["ref"]
    assert [ledger.artifact(ref)[0].decode() for ref in refs] == texts
