"""Outcomes and labels that come from a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit.cli import main
from tests.builders import working_session

pytestmark = pytest.mark.long


@pytest.fixture
def runs(ledger: lk.Ledger, tmp_path: Path) -> list[str]:
    (tmp_path / "logs").mkdir()
    for name in ("alpha-trial", "gamma-trial"):
        working_session(name).write(tmp_path / f"logs/{name}.jsonl")
    ledger.import_logs(tmp_path / "logs")
    return sorted(ledger.runs()["run_id"].to_list())


def _csv(frame: pl.DataFrame, path: Path) -> None:
    frame.write_csv(path)


def _json(frame: pl.DataFrame, path: Path) -> None:
    frame.write_json(path)


def _ndjson(frame: pl.DataFrame, path: Path) -> None:
    frame.write_ndjson(path)


def _parquet(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path)


@pytest.mark.parametrize("write", [_csv, _json, _ndjson, _parquet])
def test_a_table_of_any_form_gives_outcomes_and_labels(
    write: Callable[[pl.DataFrame, Path], None], ledger: lk.Ledger, runs: list[str], tmp_path: Path
) -> None:
    table = pl.DataFrame(
        {"run_id": [*runs, "other"], "outcome": ["passed", "failed", "passed"], "split": ["a", None, "b"]}
    )
    write(table, tmp_path / "labels")
    account = ledger.import_labels(tmp_path / "labels")
    assert (account.rows, account.labelled, account.messages, account.unmatched) == (3, 2, 3, ("other",))
    assert dict(ledger.runs().select("run_id", "outcome").rows()) == dict(zip(runs, ("passed", "failed"), strict=True))
    (data,) = ledger.sql("select data from parts where kind = 'JUDGE_RESULT'")["data"]
    assert json.loads(data) == {"labels": {"split": "a"}}
    assert ledger.import_labels(tmp_path / "labels").messages == 0
    assert ledger.verify().ok


def test_words_for_outcomes_are_read_and_others_refused(ledger: lk.Ledger, runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"run_id,outcome\n{runs[0]},True\n{runs[1]},unresolved\n", "utf-8")
    ledger.import_labels(tmp_path / "a.csv")
    assert sorted(ledger.runs()["outcome"].to_list()) == ["failed", "passed"]
    (tmp_path / "b.csv").write_text(f"run_id,outcome\n{runs[0]},failed\n{runs[1]},maybe\n", "utf-8")
    with pytest.raises(lk.ImportSourceError, match=r"b\.csv, row 2: 'maybe' is no outcome"):
        ledger.import_labels(tmp_path / "b.csv")
    assert sorted(ledger.runs()["outcome"].to_list()) == ["failed", "passed"]  # nothing of it was taken


@pytest.mark.parametrize("column", ["run_id", "session_id"])
def test_ids_may_be_shortened_to_what_fits_one_run(
    column: str, ledger: lk.Ledger, runs: list[str], tmp_path: Path
) -> None:
    ids = {row["run_id"]: row[column] for row in ledger.runs().iter_rows(named=True)}
    (tmp_path / "a.csv").write_text(
        f"{column},outcome\n{ids[runs[0]][-8:].upper()},failed\nnone,passed\n,failed\n", "utf-8"
    )
    account = ledger.import_labels(tmp_path / "a.csv")
    assert (account.labelled, account.unmatched) == (1, ("none", "None"))
    assert dict(ledger.runs().select("run_id", "outcome").rows())[runs[0]] == "failed"


def test_a_shortened_id_that_fits_two_runs_labels_neither(ledger: lk.Ledger, tmp_path: Path) -> None:
    for name in ("alpha-trial", "gamma-trial"):
        part = {"type": "text", "text": "Go on.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
        told = {"session_id": f"{name}-session", "run_id": name, "kind": "USER_TASK", "actor": "user", "parts": [part]}
        ledger.append(lk.AppendMessageCommand.model_validate(told))
    (tmp_path / "a.csv").write_text("run_id,outcome\ntrial,failed\nha-trial,passed\n", "utf-8")
    assert ledger.import_labels(tmp_path / "a.csv").unmatched == ("trial",)
    assert dict(ledger.runs().select("run_id", "outcome").rows()) == {"alpha-trial": "passed", "gamma-trial": None}


def test_a_table_that_fits_no_run_is_an_error_of_the_command(
    ledger: lk.Ledger, runs: list[str], tmp_path: Path
) -> None:
    table = tmp_path / "a.csv"
    table.write_text("run_id,outcome\nelsewhere,passed\n", "utf-8")
    result = CliRunner().invoke(main, ["import", "--labels", str(table), "--ledger", str(ledger.path)])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "0 of 1 row found their runs, 0 new messages; none, or more than one, for elsewhere" in said
    assert "none of its rows found a run" in said
    table.write_text(f"run_id,outcome\nelsewhere,passed\n{runs[0]},passed\n", "utf-8")
    assert CliRunner().invoke(main, ["import", "--labels", str(table), "--ledger", str(ledger.path)]).exit_code == 0


def test_a_later_label_counts_and_both_stay(ledger: lk.Ledger, runs: list[str], tmp_path: Path) -> None:
    for outcome in ("failed", "passed"):
        (tmp_path / "a.csv").write_text(f"session_id,outcome\n{ledger.runs()['session_id'][0]},{outcome}\n", "utf-8")
        ledger.import_labels(tmp_path / "a.csv")
    assert ledger.sql("select count(*) from verifier_results where actor = 'labels'").item() == 2
    assert "passed" in ledger.runs()["outcome"].to_list()
    assert runs


def test_what_is_no_table_or_names_no_runs_is_refused(ledger: lk.Ledger, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,outcome\nx,passed\n", "utf-8")
    with pytest.raises(lk.ImportSourceError, match="names no runs"):
        ledger.import_labels(tmp_path / "a.csv")
    (tmp_path / "b.json").write_text("[{", "utf-8")
    with pytest.raises(lk.ImportSourceError, match="no table"):
        ledger.import_labels(tmp_path / "b.json")
    with pytest.raises(lk.ImportSourceError, match="no table"):
        ledger.import_labels(tmp_path / "missing.csv")


@pytest.mark.slow
def test_the_command_takes_logs_and_labels_together(tmp_path: Path) -> None:
    working_session("one").write(tmp_path / "one.jsonl")
    with lk.open(tmp_path / "l") as made:
        made.import_logs(tmp_path / "one.jsonl")
        (run,) = made.runs()["run_id"]
    (tmp_path / "labels.csv").write_text(f"run_id,outcome\n{run},passed\nnone,failed\n", "utf-8")
    arguments = ["import", "--labels", str(tmp_path / "labels.csv"), "--ledger", str(tmp_path / "l")]
    shown = " ".join(CliRunner().invoke(main, arguments).output.split())
    assert "labels.csv: 1 of 2 rows found their runs, 1 new message; none, or more than one, for none" in shown
    both = CliRunner().invoke(main, [*arguments, str(tmp_path / "one.jsonl"), "--json"])
    assert json.loads(both.output)["labels"][0]["messages"] == 0


def test_labels_that_are_given_later_do_not_make_a_run_longer(
    ledger: lk.Ledger, runs: list[str], tmp_path: Path
) -> None:
    times = ("run_id", "started_at", "finished_at", "duration_s")
    before = ledger.runs().select(times)
    table = tmp_path / "given.csv"
    table.write_text(f"run_id,outcome,task_id\n{runs[0]},passed,the same\n", "utf-8")
    assert ledger.import_labels(table).messages == 2
    assert ledger.runs().select(times).equals(before)
    assert ledger.runs().filter(run_id=runs[0])["outcome"].item() == "passed"
