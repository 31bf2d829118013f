"""Live capture: a log that another process writes ends in the ledger as if it had been imported once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.builders import Log, assert_same, canonical, line_of, text, tool_use
from tests.conftest import NOW

WRITER = """
import sys
data, size = open(sys.argv[1], "rb").read(), int(sys.argv[3])
with open(sys.argv[2], "ab", buffering=0) as out:
    for at in range(0, len(data), size):
        sys.stdin.readline()
        out.write(data[at : at + size])  # lines are torn wherever it falls
        print("written", flush=True)
"""


def session(name: str, answers: int) -> Log:
    log = Log(name)
    log.asks("Mend the shop.")
    for number in range(answers):
        log.answers(text(f"Step {number}."), tool_use(f"call{number}", "Read", file_path=f"f{number}.py"))
        log.returns(f"call{number}", f"content {number}\n" * 5)
    log.answers(text("Done."))
    return log


@pytest.mark.slow
@pytest.mark.parametrize("size", [901, 2503])
def test_a_file_that_another_process_grows_ends_in_the_same_views(tmp_path: Path, ledger: lk.Ledger, size: int) -> None:
    whole = session("growing", 6).write(tmp_path / "whole" / "a.jsonl")
    live = tmp_path / "live"
    live.mkdir()
    command = [sys.executable, "-c", WRITER, whole, live / "a.jsonl", str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as writer:
        go, done = writer.stdin, writer.stdout
        assert go is not None
        assert done is not None

        def until() -> bool:
            """Lets the writer write its next piece; true when there is none."""
            try:
                go.write(b"go\n")
            except BrokenPipeError:
                return True
            return not done.readline()

        rounds = sum(bool(account.new_messages) for account in ledger.follow(live, until=until, interval=0, now=NOW))
    assert rounds > 2
    with lk.open(tmp_path / "once.ledger", key=bytes(32)) as once:
        once.import_logs(tmp_path / "whole", now=NOW)
        assert_same(canonical(once), canonical(ledger))


def test_what_is_unchanged_is_not_looked_into_again_and_new_files_are(tmp_path: Path, ledger: lk.Ledger) -> None:
    logs = tmp_path / "logs"
    session("one", 1).write(logs / "one.jsonl")
    counts, rounds = list[tuple[int, int, int]](), iter(range(6))

    def until() -> bool:
        number = next(rounds)
        if number == 2:
            session("two", 2).write(logs / "two.jsonl")
        return number == 5

    for account in ledger.follow(logs, until=until, sleep=lambda _: None, now=NOW):
        counts.append((account.files, account.unchanged, account.new_messages))
    assert counts == [(1, 0, 5), (1, 0, 8)]


def test_a_path_that_is_not_there_is_an_error(ledger: lk.Ledger, tmp_path: Path) -> None:
    with pytest.raises(lk.ImportSourceError, match="Nothing at"):
        next(ledger.follow(tmp_path / "nothing"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_command_follows_until_it_is_stopped(tmp_path: Path) -> None:
    log = session("live", 1)
    path = log.write(tmp_path / "logs" / "live.jsonl")
    command = [Path(sys.executable).with_name("ledgerkit"), "import", path, "--follow", "--interval", "0.1"]
    process = subprocess.Popen(
        [*command, "--ledger", tmp_path / "l"], stdout=subprocess.PIPE, text=True, bufsize=1,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    lines = list[str]()
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Following"):
            log.answers(text("And more."))
            with path.open("a") as out:
                out.write(line_of(log.records[-1]) + "\n")
        if "1 new message" in line:
            break
    process.send_signal(signal.SIGINT)
    assert "Stopped" in process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    with lk.open(tmp_path / "l") as ledger:
        assert ledger.sql("select count(*) as n from messages where kind = 'ASSISTANT_RESPONSE'")["n"][0] == 3
