"""Derived tables: filled when they are needed, never stale, never in part, and nothing is lost with them."""

from __future__ import annotations

import errno
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit import tables
from ledgerkit.store import derived
from tests.builders import Log, text, tool_use
from tests.conftest import NOW

TABLE = tables.PARSED_CHECKS
PARSED = "select * from verifier_results where source = 'parsed' order by session_id, run_id, sequence_no, check_no"
WHOLE = """
    select (select count(*) from tool_calls where result_count > 0) as calls,
        (select count(*) from verifier_results where source = 'parsed') as parsed
"""
PART = {"trust_level": "REPOSITORY_UNTRUSTED", "visibility": "MODEL_VISIBLE"}


def a_session(name: str, *verdicts: str, word: str = "tests") -> Log:
    log = Log(name)
    log.asks("Run them.")
    for number, said in enumerate(verdicts):
        log.answers(tool_use(f"{name}{number}", "Bash", command=f"pytest {word}"), call=f"{name}-{number}")
        fails = "failed" in said
        printed = ("Exit code 1\n" if fails else "") + f"{said} in 0.1s"
        log.returns(f"{name}{number}", printed, is_error=fails, toolUseResult={"stdout": said, "stderr": ""})
    log.answers(text("Done."), call=f"{name}-end")
    return log


def parsed(ledger: lk.Ledger) -> pl.DataFrame:
    return ledger.sql(PARSED)


def files(ledger: lk.Ledger) -> list[Path]:
    return sorted((ledger.path / "derived" / TABLE.name).rglob("*.parquet"))


def command(number: int, kind: str, part: dict[str, object]) -> lk.AppendMessageCommand:
    fields = {"session_id": "live", "run_id": "live", "kind": kind, "actor": "agent"}
    return lk.AppendMessageCommand.model_validate({
        **fields, "idempotency_key": f"{kind}{number}", "parts": [PART | part]
    })  # fmt: skip


def call(number: int) -> lk.AppendMessageCommand:
    part: dict[str, object] = {"type": "tool_call", "tool_call_id": f"c{number}", "tool_name": "Bash"}
    return command(number, "TOOL_CALL_REQUEST", part | {"arguments": {"command": "pytest tests && ruff check"}})


def result(number: int, said: str = "3 passed in 0.1s\nAll checks passed!") -> lk.AppendMessageCommand:
    part: dict[str, object] = {"type": "tool_result", "tool_call_id": f"c{number}", "tool_name": "Bash"}
    return command(number, "TOOL_CALL_RESULT", part | {"status": "SUCCEEDED", "text": said})


# What the view says


@pytest.mark.long
def test_a_check_is_read_with_its_numbers_and_its_evidence(ledger: lk.Ledger, tmp_path: Path) -> None:
    ledger.import_logs(a_session("one", "1 failed, 2 passed", "3 passed").write(tmp_path / "a.jsonl"), now=NOW)
    rows = parsed(ledger)
    assert rows.columns == list(tables.VIEWS["verifier_results"].names)
    assert rows.select("verdict", "actor", "scope", "targets", "passed", "failed", "step").rows() == [
        ("failed", "pytest", "pytest tests", "tests", 2, 1, 0),
        ("passed", "pytest", "pytest tests", "tests", 3, None, 1),
    ]
    assert rows["evidence_refs"].to_list() == [["tool-call:one0#L2-L2"], ["tool-call:one1#L1-L1"]]
    assert set(rows["extractor_version"]) == {TABLE.version}
    results = ledger.sql("select part_id from parts where part_type = 'tool_result' order by sequence_no")
    assert rows["part_id"].to_list() == results["part_id"].to_list()
    assert ledger.scan("verifier_results").collect().height == 2
    assert ledger.run(rows["run_id"][0]).verifier_results().height == 2
    assert ledger.runs()["last_check"].to_list() == ["passed"]
    assert [step.verdicts["verdict"].to_list() for step in ledger.run(rows["run_id"][0]).replay()] == [
        ["failed"], ["passed"], [],
    ]  # fmt: skip
    assert "read from the output" in ledger.run(rows["run_id"][0]).report(generated_at=NOW)


def test_a_check_that_a_source_recorded_too_is_marked_and_not_counted_twice(ledger: lk.Ledger) -> None:
    said: dict[str, object] = {"type": "verification", "verdict": "passed", "check": "pytest", "tool_call_id": "c0"}
    whole: dict[str, object] = {"type": "verification", "verdict": "failed", "check": "score", "scope": "run"}
    with ledger.record("live", "live") as recorder:
        recorder.append(call(0))
        recorder.append(result(0))
        recorded = recorder.append(command(0, "VERIFIER_RESULT", said))
        recorder.append(command(1, "VERIFIER_RESULT", whole | {"evidence_refs": ["tool-call:c0"]}))
        recorder.append(call(1))
        recorder.append(result(1))
        by_reference = said | {"check": "all", "tool_call_id": None, "evidence_refs": ["tool-call:c1#L1-L1"]}
        other = recorder.append(command(2, "VERIFIER_RESULT", by_reference))
    query = "select tool, superseded_by from verifier_results where source = 'parsed' order by sequence_no, check_no"
    assert ledger.sql(query).rows() == [
        ("pytest", recorded.message_id),
        ("ruff", None),  # the record names the tool that it is about
        ("pytest", other.message_id),
        ("ruff", other.message_id),
    ]
    assert ledger.runs()["last_check"].to_list() == ["passed"]


def test_who_may_not_see_the_call_does_not_see_what_was_read_from_it(ledger: lk.Ledger) -> None:
    hidden = call(0).model_dump(mode="json")
    hidden["parts"][0]["visibility"] = "AUDIT_ONLY"
    ledger.append(lk.AppendMessageCommand.model_validate(hidden))
    ledger.append(result(0))
    assert set(parsed(ledger)["part_visibility"]) == {"AUDIT_ONLY"}
    assert "ruff" not in ledger.run("live").report(generated_at=NOW)


def test_the_extractor_must_give_what_the_table_declares(ledger: lk.Ledger, tmp_path: Path) -> None:
    ledger.import_logs(a_session("one", "3 passed").write(tmp_path / "a.jsonl"), now=NOW)
    ledger._storage.database.derived.serve({TABLE.name: lambda parts: parts})  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(TypeError, match="other columns"):
        parsed(ledger)


# Filled when it is needed


def agree(verdicts: list[str], cuts: set[int], *, compacted: bool) -> None:
    """A log that is imported in pieces, with questions in between, gives what it gives at once and when built anew."""
    log = a_session("grows", *verdicts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grows.jsonl"
        with lk.open(f"{folder}/grown", key=bytes(32)) as grown, lk.open(f"{folder}/whole", key=bytes(32)) as whole:
            records = list(log.records)
            for hour, end in enumerate([*sorted(cut for cut in cuts if cut < len(records)), len(records)]):
                log.records = records[:end]
                grown.import_logs(log.write(path), now=NOW + timedelta(hours=hour))
                calls, checks = grown.sql(WHOLE).row(0)
                assert calls == checks
            if compacted:
                grown.compact(everything=True)
            whole.import_logs(path, now=NOW)
            assert_frame_equal(parsed(grown), parsed(whole))
            before = parsed(grown)
            assert grown.rebuild_derived()["rows"].to_list() == [before.height]
            assert_frame_equal(parsed(grown), before)


@pytest.mark.slow
def test_in_batches_asked_in_between_it_is_the_same_as_at_once_and_as_built_anew() -> None:
    agree(["1 failed, 2 passed", "3 passed"], {2, 3, 4}, compacted=True)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(["3 passed", "1 failed, 2 passed", "no tests ran", "nothing"]), min_size=1, max_size=4),
    st.sets(st.integers(1, 11), max_size=4),
    st.booleans(),
)
def test_so_it_is_in_any_batches(verdicts: list[str], cuts: set[int], compacted: bool) -> None:
    agree(verdicts, cuts, compacted=compacted)


def test_what_was_read_is_kept_and_only_the_rest_is_read_next_time(
    ledger: lk.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    from ledgerkit.extract.verifiers import verifier_frame

    def watched(parts: pl.DataFrame) -> pl.DataFrame:
        seen.append(set(parts["session_id"]))
        return verifier_frame(parts)

    monkeypatch.setattr("ledgerkit.extract.verifiers.verifier_frame", watched)
    one, two = a_session("one", "3 passed"), a_session("two", "2 passed")
    ledger.import_logs(one.write(tmp_path / "a.jsonl"), now=NOW)
    ledger.sql("select * from runs")
    assert (seen, files(ledger)) == ([], [])
    assert parsed(ledger).height == parsed(ledger).height == 1
    ledger.import_logs(two.write(tmp_path / "b.jsonl"), now=NOW)
    with lk.open(ledger.path) as again:
        assert (parsed(again).height, parsed(ledger).height) == (2, 2)
    assert seen == [{one.session}, {two.session}]
    (facts,) = ledger.info().filter(pl.col("table") == "derived/parsed_checks").to_dicts()
    assert (facts["version"], facts["files"], facts["rows"]) == (TABLE.version, 2, 2)


@pytest.mark.long
def test_many_small_files_become_one_without_what_no_longer_counts(
    ledger: lk.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived, "MANY_FILES", 3)
    log = a_session("grows", *["3 passed"] * 4)
    records = list(log.records)
    for number in range(4):
        log.records = records[: 3 + 2 * number]
        ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW + timedelta(hours=number))
        assert parsed(ledger).height == number + 1
    (one,) = map(pl.read_parquet, files(ledger))
    assert (one["state"].n_unique(), one.height) == (1, 5)


def test_lost_damaged_and_foreign_files_do_no_harm(ledger: lk.Ledger, tmp_path: Path) -> None:
    ledger.import_logs(a_session("one", "3 passed").write(tmp_path / "a.jsonl"), now=NOW)
    before = parsed(ledger)
    (kept,) = files(ledger)
    whole = kept.read_bytes()
    kept.unlink()
    assert_frame_equal(parsed(ledger), before)  # taken away while the views still name it
    kept.with_name("half.new").write_bytes(whole[:99])
    kept.with_name("half.parquet").write_bytes(whole[:-99])
    pl.DataFrame({"session_id": ["x"]}).write_parquet(kept.with_name("other.parquet"))
    kept.write_bytes(whole)
    with lk.open(ledger.path) as again:
        assert_frame_equal(parsed(again), before)  # two files say the same
    for path in files(ledger):
        flipped = bytearray(path.read_bytes())
        flipped[40] ^= 255
        path.write_bytes(flipped)
    with lk.open(ledger.path) as again:
        assert_frame_equal(parsed(again), before)


def test_another_version_of_the_extractor_reads_everything_again(
    ledger: lk.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.import_logs(a_session("one", "3 passed").write(tmp_path / "a.jsonl"), now=NOW)
    before = parsed(ledger)
    old = files(ledger)
    monkeypatch.setitem(tables.DERIVED, TABLE.name, replace(TABLE, version=TABLE.version + 1))
    with lk.open(ledger.path) as newer:
        assert_frame_equal(parsed(newer), before)
        assert len(files(newer)) == 2
        assert newer.vacuum(dry_run=True)["file"].to_list() == [f"{one.parent.name}/{one.name}" for one in old]
        newer.vacuum()
        assert set(files(newer)).isdisjoint(old)
        assert_frame_equal(parsed(newer), before)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_where_nothing_can_be_written_it_is_kept_in_memory(
    ledger: lk.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    @contextmanager
    def refused(*_: object) -> Generator[None]:
        raise OSError(code, "read-only")
        yield

    ledger.import_logs(a_session("one", "3 passed").write(tmp_path / "a.jsonl"), now=NOW)
    monkeypatch.setattr(derived, "exclusive", refused)
    assert parsed(ledger).height == parsed(ledger).height == 1
    assert files(ledger) == []


# With history


def test_an_earlier_state_has_its_own_rows_and_writes_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = a_session("grows", "1 failed", "3 passed")
    records, log.records = log.records, log.records[:3]
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    early = ledger.commits()["version"].max()
    log.records = records
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW + timedelta(hours=1))
    assert parsed(ledger)["verdict"].to_list() == ["failed", "passed"]
    there = files(ledger)
    assert isinstance(early, int)
    with lk.open(ledger.path, as_of=early) as past:
        assert parsed(past)["verdict"].to_list() == parsed(past)["verdict"].to_list() == ["failed"]
        with pytest.raises(lk.LedgerkitError, match="earlier state"):
            past.rebuild_derived()
    assert files(ledger) == there


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tool_call", "tool_result"])
def test_what_was_read_from_erased_content_is_gone(ledger: lk.Ledger, tmp_path: Path, kind: str) -> None:
    marker = f"marker{random.Random(20261202).getrandbits(64):016x}"
    said = f"FAILED {marker}.py::test - no\n1 failed"
    ledger.import_logs(a_session("secret", said, word=f"{marker}.py").write(tmp_path / "a.jsonl"), now=NOW)
    ledger.import_logs(a_session("other", "3 passed").write(tmp_path / "b.jsonl"), now=NOW)
    assert parsed(ledger).height == 2
    holding = "select message_id from parts where part_type = ? and concat(text, data) like '%' || ? || '%'"
    erased = ledger.sql(holding, [kind, marker])["message_id"].to_list()
    with lk.open(ledger.path) as other:
        assert parsed(other).height == 2
        ledger.erase(erased, reason="a credential")
        rest = pl.concat([pl.read_parquet(path).select("session_id", "command", "failing") for path in files(ledger)])
        assert set(rest["session_id"]) == {Log("other").session}
        assert parsed(ledger)["session_id"].to_list() == parsed(other)["session_id"].to_list() == [Log("other").session]


def test_a_live_run_is_read_from_its_journal_and_kept_once_it_is_sealed(ledger: lk.Ledger) -> None:
    recorder = ledger.record("live", "live")
    with recorder:
        recorder.append(call(0))
        assert parsed(ledger).height == 0
        recorder.append(result(0))
        assert parsed(ledger)["tool"].to_list() == ["pytest", "ruff"]
        assert files(ledger) == []
    assert parsed(ledger)["tool"].to_list() == ["pytest", "ruff"]
    assert len(files(ledger)) == 1
    with ledger.record("live", "live") as recorder:
        recorder.append(call(1))
        recorder.append(result(1, "1 failed in 0.1s"))
        assert parsed(ledger)["tool"].to_list() == ["pytest", "ruff"] * 2


# Together


@pytest.mark.slow
def test_no_query_sees_a_part_of_it_while_others_write_and_ask(ledger: lk.Ledger) -> None:
    ledger.append(call(0))
    ledger.append(result(0))
    wrong: list[tuple[int, ...]] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def asks(query: str) -> None:
        try:
            while not done.is_set():
                row = ledger.sql(query).row(0)
                if len(row) == 2 and row[1] != 2 * row[0]:
                    wrong.append(row)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=asks, args=(query,)) for query in (WHOLE, WHOLE, "select 1 from messages")]
    for thread in threads:
        thread.start()
    for number in range(1, 6):
        with ledger.record("live", "live") as recorder:
            recorder.append(call(number))
            recorder.append(result(number))
    done.set()
    for thread in threads:
        thread.join()
    assert (wrong, failed) == ([], [])
    assert ledger.sql(WHOLE).row(0) == (6, 12)


@pytest.mark.slow
def test_processes_that_ask_at_once_get_the_same(ledger: lk.Ledger, tmp_path: Path) -> None:
    for number in range(4):
        log = a_session(f"s{number}", "3 passed", "1 failed")
        ledger.import_logs(log.write(tmp_path / f"{number}.jsonl"), now=NOW)
    program = f"import sys, ledgerkit as lk; print(lk.open(sys.argv[1]).sql({PARSED!r}).hash_rows().sum())"
    asked = [
        subprocess.Popen([sys.executable, "-c", program, str(ledger.path)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    answers = {process.communicate()[0] for process in asked}
    assert answers == {f"{parsed(ledger).hash_rows().sum()}\n".encode()}
    assert len(files(ledger)) == 1
    assert parsed(ledger).height == 8
