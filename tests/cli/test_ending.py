"""How the program ends: exit codes, closed pipes, Ctrl-C, and what is printed where."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.builders import stamp, uid, write_lines
from tests.cli.conftest import PROGRAM, Call, rows
from tests.conftest import NOW, ROOT


@pytest.mark.long
@pytest.mark.parametrize("query", ["select * from range(5000)", "select repeat('x', 200000)"])
@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_a_reader_that_leaves_gets_no_traceback(query: str, form: tuple[str, ...], environment: dict[str, str]) -> None:
    program = subprocess.Popen(
        [*PROGRAM, "sql", query, *form], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stderr is not None
    assert program.stdout.read(1)
    program.stdout.close()
    said = program.stderr.read().decode()
    program.stderr.close()
    assert program.wait(60) in (0, 141)  # 0 where all of it was in the pipe already
    assert said == ""


def _large_logs(folder: Path, count: int) -> Path:
    """Sessions of which each fills a batch of its own."""
    for number in range(count):
        said = f"session {number} " + "some words of a long text " * 360_000
        record = {
            "type": "user",
            "uuid": uid(number),
            "sessionId": uid("session", number),
            "timestamp": stamp(NOW),
            "cwd": "/home/dev/shop",
            "message": {"role": "user", "content": said},
        }
        write_lines(folder / f"{number}.jsonl", [record])
    return folder


@pytest.mark.slow
def test_ctrl_c_in_an_import_leaves_the_ledger_whole(tmp_path: Path, environment: dict[str, str]) -> None:
    logs, where = _large_logs(tmp_path / "logs", 8), tmp_path / "l"
    command = [*PROGRAM, "import", str(logs), "--ledger", str(where), "--no-token-counts", "--redact", "off"]
    command += ["--jobs", "1"]
    program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (where / "history" / "_delta_log" / f"{1:020}.json").exists():
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 130, said
    assert len(said.strip().splitlines()) == 1
    assert "Interrupted" in said
    with lk.open(where) as ledger:
        there = ledger.runs().height
        assert 0 < there < 8
        assert ledger.verify().ok
    again = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
    account = json.loads(again.stdout)
    assert account["closes"]
    with lk.open(where) as ledger:
        assert ledger.runs().height == 8
        assert ledger.verify().ok


@pytest.mark.parametrize("command", ["runs", "cost", "compare"])
def test_ctrl_c_is_130_and_one_line(command: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lk, "open", interrupted)
    result = call(command, *(["label=a", "label=b"] if command == "compare" else []), code=130)
    assert result.stdout == ""
    assert result.stderr.strip() == "Interrupted. What was committed stays; the same command can be run again."


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("runs",), 0),
        (("verify",), 0),
        (("--help",), 0),
        (("runs", "--help"), 0),
        (("rusn",), 2),
        (("runs", "--nope"), 2),
        (("runs", "--ledger", "none"), 2),
        (("runs", "--as-of", "yesterday"), 2),
        (("show", "no-such-run"), 2),
        (("sql", "select"), 2),
        (("report", "-o", "no/such/folder.html"), 2),
        (("sql", "select 1", "--parquet", "no/such/folder.parquet"), 2),
        (("cost", "--by", "nothing"), 2),
        (("evaluate", "NoStrategy"), 2),
        (("context", "first", "--strategy", "NoStrategy"), 2),
        (("compare", "label=a"), 3),
        (("compare", "nonsense", "label=b"), 3),
        (("compare", "label=a", "label=b", "--ledger", "none"), 3),
    ],
)
def test_exit_codes_are_those_of_the_page(arguments: tuple[str, ...], code: int, call: Call) -> None:
    result = call(*arguments, code=code)
    assert "Traceback" not in result.output
    if code:
        assert result.stdout == ""
        assert "Error: " in result.stderr


def test_a_ledger_that_was_changed_fails_verification(call: Call, small: Path, tmp_path: Path) -> None:
    with lk.open(small) as ledger:
        kept = tmp_path / "checkpoint"
        kept.write_text(str(ledger.checkpoint()), "utf-8")
    with lk.open(tmp_path / "other", key=bytes(32)) as other:
        other.import_logs(small.parent / "logs" / "first.jsonl", now=NOW)
    report = call("verify", "--checkpoint", kept, "--ledger", tmp_path / "other", "--json", code=1)
    assert json.loads(report.stdout)["ok"] is False


@pytest.mark.long
def test_no_to_a_question_is_one_and_nothing_happened(call: Call, small: Path) -> None:
    with lk.open(small) as ledger:
        run = ledger.runs()["run_id"][0]
    refused = call("erase", "--run", run, "--reason", "test", answer="n\n", code=1)
    assert "Aborted" in refused.stderr
    assert call("show", run).stdout.count("Done.")


def test_a_ledger_that_is_a_file_is_said_to_be_one(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    assert "is a file" in call("runs", "--ledger", tmp_path / "file", code=2).stderr


def test_every_command_has_quiet(call: Call) -> None:
    listed = call("--help").stdout.split("Commands:")[1]
    for line in listed.strip().splitlines():
        assert "-q, --quiet" in call(line.split()[0], "--help").stdout


@pytest.mark.long
@pytest.mark.parametrize("where", [("runs", "-n", "1", "-q"), ("-q", "runs", "-n", "1")])
def test_quiet_leaves_the_rows_and_nothing_else(where: tuple[str, ...], call: Call) -> None:
    loud, quiet = call("runs", "-n", "1"), call(*where)
    assert "2 runs" in loud.stdout
    assert loud.stdout.startswith(quiet.stdout)
    assert len(quiet.stdout.splitlines()) == 2
    assert quiet.stderr == ""


def test_notes_are_no_results(call: Call, tmp_path: Path) -> None:
    written = call("sql", "select 1", "--parquet", tmp_path / "one.parquet")
    assert written.stdout == ""
    assert "1 row written" in written.stderr
    assert call("sql", "select 1", "--parquet", tmp_path / "two.parquet", "-q").output == ""


@pytest.mark.long
def test_no_colour_reaches_a_pipe(environment: dict[str, str]) -> None:
    done = subprocess.run([*PROGRAM, "runs"], env=environment, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


@pytest.mark.long
def test_names_that_are_nearly_right_are_offered(call: Call, small: Path) -> None:
    assert "Did you mean 'search'?" in call("serach", code=2).stderr
    assert "There are: import, runs" in call("xyzzy", code=2).stderr
    assert "Did you mean '--limit'" in call("runs", "--limi", code=2).stderr
    assert "Did you mean 'HeadTail'" in call("evaluate", "HeadTial", code=2).stderr
    assert "Did you mean 'runs'" in call("sql", "select * from rusn", code=2).stderr
    with lk.open(small) as ledger:
        shown = ledger.runs()["run_id"][0][-8:]
    assert shown in call("show", shown[:5]).stdout
    wrong = shown[:-1] + ("0" if shown[-1] != "0" else "1")
    assert f"Did you mean {shown}?" in call("show", wrong, code=2).stderr


@pytest.mark.long
def test_reviews_stand_behind_an_option(call: Call, tmp_path: Path, small: Path) -> None:
    where = tmp_path / "judged"
    with lk.open(where, key=bytes(32)) as ledger:
        ledger.import_logs(small.parent / "logs", now=NOW)
        ledger.annotate(ledger.runs()["run_id"][0], label="passed", by="tester")
        assert ledger.runs().height == 3
    listed = call("runs", "--ledger", where)
    assert "2 runs" in listed.stdout
    assert "1 review left out (--reviews)" in listed.stdout
    assert len(rows(call("runs", "--ledger", where, "--json"))) == 2
    assert {row["relation"] for row in rows(call("runs", "--ledger", where, "--json", "--reviews"))} == {None, "review"}


def test_csv_has_nested_values_as_json(call: Call) -> None:
    printed = call("sql", "select [1, 2] as a, {'x': null} as b, 3 as c", "--csv").stdout
    assert printed == 'a,b,c\n"[1, 2]","{""x"": null}",3\n'


def test_json_has_no_number_that_is_none(call: Call) -> None:
    query = "select 'nan'::double as a, 'inf'::double as b, 1.5::double as c"
    assert rows(call("sql", query, "--json")) == [{"a": None, "b": None, "c": 1.5}]


def test_the_page_names_every_exit_code() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for code in (0, 1, 2, 3, 130, 141):
        assert f"| {code} |" in page
