"""``ledgerkit import`` without a path: what is found, what is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ledgerkit.cli import main
from ledgerkit.ingest.places import places_looked_at, usual_places
from tests.builders import working_session


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "OPENHANDS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / ".claude/projects/shop").mkdir(parents=True)
    (tmp_path / ".codex/sessions").mkdir(parents=True)  # there, and empty
    working_session().write(tmp_path / ".claude/projects/shop/a.jsonl")
    return tmp_path


def run(*arguments: str | Path, answer: str = "", code: int = 0) -> str:
    result = CliRunner().invoke(main, [str(one) for one in arguments], input=answer)
    assert result.exit_code == code, result.output
    return result.output


def test_folders_that_hold_files_are_found(home: Path) -> None:
    (place,) = usual_places()
    assert (place.agent, place.path, place.files) == ("Claude Code", home / ".claude/projects", 1)
    assert place.size == (home / ".claude/projects/shop/a.jsonl").stat().st_size


def test_a_variable_moves_an_agents_folder(home: Path, tmp_path: Path) -> None:
    assert usual_places(environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}) == []
    assert tmp_path / "moved/projects" in places_looked_at(home, {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")})


def test_what_was_found_is_shown_and_asked_about(home: Path, tmp_path: Path) -> None:
    shown = run("import", "--ledger", tmp_path / "l", answer="y\n")
    assert "Claude Code" in shown
    assert str(home / ".claude/projects") in shown
    assert "1 file read" in shown
    refused = run("import", "--ledger", tmp_path / "other", answer="n\n", code=1)
    assert "read" not in refused.split("?")[1]
    assert not (tmp_path / "other").exists()


def test_a_path_that_is_not_there_makes_no_ledger(tmp_path: Path) -> None:
    assert "Nothing at" in run("import", tmp_path / "nowhere", "--ledger", tmp_path / "l", code=2)
    assert not (tmp_path / "l").exists()


def test_an_import_of_nothing_new_says_so_without_a_table(home: Path, tmp_path: Path) -> None:
    first = run("import", home / ".claude", "--ledger", tmp_path / "l")
    assert "claude-code" in first
    again = run("import", home / ".claude", "--ledger", tmp_path / "l")
    assert "0 files read, 1 unchanged" in again
    assert "accepted" not in again


def test_yes_does_not_ask(home: Path, tmp_path: Path) -> None:
    assert "1 file read" in run("import", "--yes", "--ledger", tmp_path / "l")
    assert json.loads(run("import", "--json", "--ledger", tmp_path / "m"))["files"] == 1


def test_where_nothing_is_it_says_where_it_looked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    monkeypatch.setattr(Path, "home", lambda: empty)
    assert str(empty / ".claude/projects") in run("import", "--ledger", tmp_path / "l", code=2)
    assert home.exists()


def test_several_formats_have_a_table(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    working_session().write(tmp_path / "logs/a.jsonl")
    line = {"type": "ledgerkit-jsonl", "version": 1, "session_id": "s"}
    (tmp_path / "logs/b.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    shown = json.loads(run("import", tmp_path / "logs", "--json", "--ledger", tmp_path / "l"))["formats"]
    assert [row["format"] for row in shown] == ["claude-code", "ledgerkit-jsonl"]
    assert sum(row["records"] for row in shown) == sum(row[name] for row in shown for name in (
        "accepted", "duplicate", "skipped", "quarantined"))  # fmt: skip
