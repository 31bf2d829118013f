"""Commands that care for a ledger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.store.integrity.proofs import InclusionProof

Invoke = Callable[..., Result]


@pytest.fixture
def path(demo_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_path, tmp_path / "copy.ledger"))


@pytest.fixture
def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(path))

    def invoke(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        return result

    return invoke


def a_message(path: Path) -> str:
    with lk.open(path) as ledger:
        query = "select message_id from parts where part_type = 'text' and length(text) > 40 order by 1 limit 1"
        return str(ledger.sql(query).item())


def test_an_untouched_ledger_is_verified_with_what_that_cannot_show(run: Invoke) -> None:
    out = run("verify").output
    assert "Nothing found." in out
    assert "Only a checkpoint that was kept outside" in out
    found = json.loads(run("verify", "--json").output)
    assert (found["ok"], found["findings"], found["messages"]) == (True, [], 1830)
    sampled = json.loads(run("verify", "--json", "--sample", "10").output)
    assert sampled["rehashed"] == 10


def test_a_kept_checkpoint_is_compared(run: Invoke, path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text(run("checkpoint").output)
    assert "Only a checkpoint" not in run("verify", "--checkpoint", str(kept)).output
    since = json.loads(run("verify", "--since", str(kept), "--json").output)
    assert (since["ok"], since["rehashed"]) == (True, 0)
    kept.write_text(kept.read_text().replace("\n1830\n", "\n1829\n"))
    wrong = run("verify", "--checkpoint", str(kept), code=1)
    assert "root_mismatch" in wrong.output
    kept.write_text("no checkpoint")
    assert "six lines" in run("verify", "--checkpoint", str(kept), code=2).output


def test_a_proof_is_printed_that_can_be_checked(run: Invoke, path: Path) -> None:
    proof = InclusionProof.from_json(run("prove", a_message(path)).output)
    assert proof.holds()
    assert "No sealed message" in run("prove", "nothing", code=2).output


@pytest.mark.long
def test_a_message_is_erased_after_a_question(run: Invoke, path: Path) -> None:
    message = a_message(path)
    assert run("erase", message, "--reason", "it named somebody", code=1).output.count("for good?") == 1
    assert "Erased 1 message" in run("erase", message, "--reason", "it named somebody", "--yes").output
    with lk.open(path) as ledger:
        text, mark = ledger.sql("select text, erased from messages where message_id = ?", [message]).row(0)
        assert text is None
        assert mark is not None
    assert json.loads(run("verify", "--json").output)["erased"] == 1
    assert "Name messages" in run("erase", "--reason", "x", code=2).output


@pytest.mark.slow
def test_small_files_are_put_together_and_old_ones_removed(run: Invoke, path: Path) -> None:
    assert "Nothing to put together" in run("compact").output
    with lk.open(path) as ledger:
        ledger.append(a_command())
        ledger.snapshot(ledger.runs()["run_id"][0])
    done = {row["table"]: row for row in json.loads(run("compact", "--json").output)}
    assert (done["runs"]["files_before"], done["runs"]["files_after"], done["runs"]["rows"]) == (2, 1, 56)
    assert run("vacuum", "--dry-run").output.startswith("0 files would be removed")
    assert "files removed" in run("vacuum", "--hours", "0").output
    assert json.loads(run("verify", "--json").output)["ok"]


def a_command() -> lk.AppendMessageCommand:
    part = {"type": "text", "text": "hi", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    fields = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user", "parts": [part]}
    return lk.AppendMessageCommand.model_validate(fields)


def test_tables_and_commits_are_listed(run: Invoke) -> None:
    tables = {row["table"]: row for row in json.loads(run("info", "--json").output)}
    assert tables["history"]["leaves"] == 1830
    assert "history" in run("info").output
    commits = json.loads(run("info", "--commits", "--json").output)
    assert [row["version"] for row in commits] == [1, 0]
    assert commits[0]["rows_added"] == tables["history"]["rows"]
    assert json.loads(run("info", "--commits", "runs", "--json").output)[0]["rows_added"] == 55
    assert "Did you mean 'runs'" in run("info", "--commits", "rnus", code=2).output


def test_an_earlier_state_is_looked_at(run: Invoke) -> None:
    assert json.loads(run("runs", "--as-of", "0", "--json").output) == []
    assert len(json.loads(run("runs", "--as-of", "1", "-n", "0", "--json").output)) == 55
    assert "did not exist" in run("runs", "--as-of", "2020-01-01", code=2).output
    assert "neither a time" in run("runs", "--as-of", "soon", code=2).output


def test_a_query_is_written_as_parquet(run: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "tools.parquet"
    run("sql", "select tool_name, count(*) as n from tool_calls group by 1 order by 1", "--parquet", str(target))
    assert pl.read_parquet(target).columns == ["tool_name", "n"]
