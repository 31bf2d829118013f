"""``ledgerkit export``: what people read, what machines read, and what an error says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ledgerkit as lk
from ledgerkit.cli import main

Invoke = Callable[..., Result]


@pytest.fixture
def run(demo_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(demo_path))

    def invoke(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(main, ["export", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture
def one(demo_path: Path) -> str:
    with lk.open(demo_path) as ledger:
        return str(ledger.runs().sort("run_id")["run_id"][0])


def test_a_run_becomes_a_file_and_people_see_what_is_lost(run: Invoke, one: str, tmp_path: Path) -> None:
    target = tmp_path / "it.json"
    out = run(one, "--format", "atif", "--out", target).output
    assert out.startswith(f"Wrote {target} (1 run, ")
    assert "Left out, or said in another way:" in out
    assert "part_trust_level" in out
    assert json.loads(target.read_text("utf-8"))["trajectory_id"] == one


def test_machines_get_the_whole_account(run: Invoke, one: str, tmp_path: Path) -> None:
    found = json.loads(run(one[:13], "--format", "jsonl", "-o", tmp_path / "out", "--audit", "--json").output)
    assert found["format"] == "jsonl"
    assert [Path(file).suffix for file in found["files"]] == [".jsonl"]
    assert found["runs"] == 1
    assert {"kind", "field", "reason", "count"} == set().union(*found["losses"])


@pytest.mark.slow
def test_nothing_is_overwritten_unasked(run: Invoke, one: str, tmp_path: Path) -> None:
    given = (one, "--format", "scout", "-o", tmp_path / "t.parquet")
    run(*given)
    assert "is there already" in run(*given, code=2).output
    run(*given, "--overwrite")


def test_an_unknown_run_is_refused(run: Invoke, tmp_path: Path) -> None:
    assert "No run" in run("nope-nope", "--format", "atif", "-o", tmp_path, code=2).output
    assert list(tmp_path.iterdir()) == []
