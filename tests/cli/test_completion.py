"""Completion: names, options and runs; from a hostile ledger nothing that a shell would read as more than a word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.cli.completing import completed_ids
from ledgerkit.store.peeking import peek_ids
from tests.cli.conftest import PROGRAM, Call


def _complete(words: str, environment: dict[str, str], *, folder: Path) -> list[str]:
    count = len(words.split(" ")) - 1
    asked = {"_LEDGERKIT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = subprocess.run(
        PROGRAM, env={**environment, **asked}, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.fixture
def ids(small: Path) -> list[str]:
    with lk.open(small) as ledger:
        return sorted(ledger.runs()["run_id"])


@pytest.mark.long
def test_commands_options_and_runs_are_completed(environment: dict[str, str], ids: list[str], tmp_path: Path) -> None:
    assert _complete("ledgerkit ver", environment, folder=tmp_path) == ["verify"]
    assert _complete("ledgerkit runs --rep", environment, folder=tmp_path) == ["--repository"]
    assert _complete("ledgerkit show ", environment, folder=tmp_path) == sorted(one[-8:] for one in ids)
    assert ids[0] in _complete(f"ledgerkit replay {ids[0][:9]}", environment, folder=tmp_path)
    assert _complete("ledgerkit import --redact a", environment, folder=tmp_path) == ["audit"]


@pytest.mark.long
def test_a_ledger_named_on_the_line_or_in_a_file_is_the_one_that_counts(
    environment: dict[str, str], small: Path, ids: list[str], tmp_path: Path
) -> None:
    bare = {name: value for name, value in environment.items() if name != "LEDGERKIT_LEDGER"}
    short = sorted(one[-8:] for one in ids)
    assert _complete("ledgerkit show ", bare, folder=tmp_path) == []
    assert _complete(f"ledgerkit show --ledger {small} ", bare, folder=tmp_path) == short
    shutil.copytree(small, tmp_path / "mine")
    (tmp_path / "ledgerkit.toml").write_text('ledger = "mine"\n', "utf-8")
    assert _complete("ledgerkit show ", bare, folder=tmp_path) == short


@pytest.mark.long
@pytest.mark.parametrize("broken", ["ledger = 3", "ledger = [", "\x00"])
def test_nothing_is_offered_where_something_is_wrong(broken: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ledgerkit.toml").write_text(broken, "utf-8")
    assert _complete("ledgerkit show ", environment, folder=tmp_path) == []
    (tmp_path / "l").mkdir()
    (tmp_path / "l" / "ledger.json").write_text("{}", "utf-8")
    (tmp_path / "l" / "history" / "day").mkdir(parents=True)
    (tmp_path / "l" / "history" / "day" / "x.parquet").write_text("no parquet", "utf-8")
    assert _complete("ledgerkit show --ledger l ", environment, folder=tmp_path) == []


def test_hostile_ids_are_not_offered(tmp_path: Path) -> None:
    hostile = ["$(reboot)", "a;b", "x y", "`id`", "\x1b[2J", "-rf", "'", "tail\nnext", "~root", "good-1"]
    (tmp_path / "history" / "day").mkdir(parents=True)
    (tmp_path / "ledger.json").write_text("{}", "utf-8")
    pl.DataFrame({"run_id": hostile, "session_id": hostile}).write_parquet(tmp_path / "history" / "day" / "1.parquet")
    assert peek_ids(tmp_path).runs == set(hostile)
    offered = {one for start in ("", *"$a`x-'tg~\x1b") for one in completed_ids(tmp_path, start)}
    assert "good-1" in offered
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", one) for one in offered)


def test_completion_writes_nothing(environment: dict[str, str], small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    shutil.rmtree(copy / "derived", ignore_errors=True)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    assert _complete("ledgerkit show ", {**environment, "LEDGERKIT_LEDGER": str(copy)}, folder=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_reads(shell: str, call: Call) -> None:
    script = call("completion", shell).stdout
    assert "_LEDGERKIT_COMPLETE" in script
    if program := shutil.which(shell):
        read = subprocess.run([program, "-n"], input=script, text=True, capture_output=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


def test_the_shell_of_whoever_asks_is_the_default(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_complete" in call("completion").stdout
    assert os.environ["SHELL"] == "/usr/bin/fish"


def test_neither_the_list_of_commands_nor_its_completion_waits_for_polars(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom ledgerkit.cli import main\n"
        "try:\n    main(prog_name='ledgerkit')\nexcept SystemExit:\n    pass\n"
        "print(sorted(sys.modules.keys() & {'polars', 'duckdb', 'pydantic', 'rich'}), file=sys.stderr)"
    )
    asked = {"_LEDGERKIT_COMPLETE": "zsh_complete", "COMP_WORDS": "ledgerkit ver", "COMP_CWORD": "1"}
    for words, more, shown in ((["--help"], {}, "verify"), ([], asked, "Check that nothing")):
        command = [sys.executable, "-c", script, *words]
        done = subprocess.run(
            command, env={**os.environ, **more}, capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert shown in done.stdout
        assert done.stderr.strip() == "[]"


def test_the_package_is_a_program_too(environment: dict[str, str], tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "ledgerkit", "cost", "--by", "model"]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "Total " in done.stdout
