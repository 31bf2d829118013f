"""Every command: what people read, what machines read, and what an error says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ledgerkit as lk
from ledgerkit.cli import main
from tests.builders import working_session
from tests.conftest import ROOT

Invoke = Callable[..., Result]


@pytest.fixture
def run(demo_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("LEDGERKIT_LEDGER", str(demo_path))

    def invoke(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture(scope="session")
def dearest(demo_path: Path) -> str:
    with lk.open(demo_path) as ledger:
        return str(ledger.runs().sort("cost", descending=True, nulls_last=True)["run_id"][0])


def test_runs_are_listed_with_their_total(run: Invoke) -> None:
    out = run("runs", "-n", "0").output
    assert out.splitlines()[0].split()[:4] == ["run", "started", "(UTC)", "kind"]
    assert "55 runs, $" in out.splitlines()[-1]
    found = json.loads(run("runs", "-n", "0", "--json").output)
    assert len(found) == 55
    assert {"run_id", "cost", "steps", "tool_calls", "outcome", "task"} <= found[0].keys()


def test_runs_can_be_narrowed(run: Invoke) -> None:
    some = json.loads(run("runs", "-n", "0", "--json", "--model", "haiku", "--repository", "tillroll").output)
    assert 0 < len(some) < 55
    assert all("haiku" in model for row in some for model in row["models"])


def test_runs_can_be_sorted_and_of_a_time(run: Invoke) -> None:
    every = json.loads(run("runs", "--json").output)
    by_cost = json.loads(run("runs", "--json", "--sort", "cost").output)
    assert [row["run_id"] for row in by_cost] == [
        row["run_id"] for row in sorted(every, key=lambda row: -float(row["cost"]))
    ]
    days = ("2026-01-19", "2026-01-21T12:00")
    some = json.loads(run("runs", "--json", "--since", days[0], "--until", days[1]).output)
    assert some == [row for row in every if days[0] <= row["started_at"] < days[1]]
    assert 0 < len(some) < len(every)
    assert "Write it as 2026-03-01" in run("runs", "--since", "yesterday", code=2).output
    assert "of the largest “cost” shown" in run("runs", "--sort", "cost", "-n", "2").output


def test_a_message_found_in_two_parts_is_headed_once(run: Invoke) -> None:
    out = run("search", "discounts are rounded", "-n", "0").output
    found = json.loads(run("search", "discounts are rounded", "--json").output)
    messages = {row["message_id"] for row in found}
    assert len(messages) < len(found)
    assert out.count(" UTC\n") == len(messages)
    assert f"{len(found)} places in {len(messages)} messages" in out


def test_what_no_table_holds_is_said_to_be_elsewhere(run: Invoke) -> None:
    assert "ledgerkit cost --by run" in run("sql", "select cost from runs", code=2).output
    assert "It is in runs." in run("sql", "select source_format from model_calls", code=2).output
    assert "verifier_results" in run("sql", "select last_check from runs", code=2).output
    assert "ledgerkit show RUN --json" in run("prove", "nothing", code=2).output


def test_strategies_say_what_they_save_of_what_was_recorded(run: Invoke) -> None:
    summary = {
        row["strategy"]: row
        for row in json.loads(run("evaluate", "AsRecorded", "FullHistory", "--json").output)["summary"]
    }
    recorded, full = summary["AsRecorded()"], summary["FullHistory()"]
    assert recorded["saved_share"] == 0
    assert full["saved_share"] == pytest.approx(1 - float(full["cost"]) / float(recorded["cost"]))
    (alone,) = json.loads(run("evaluate", "FullHistory", "--json").output)["summary"]
    assert alone["saved_share"] is None
    out = run("evaluate", "AsRecorded", "FullHistory").output
    assert f"{100 * full['saved_share']:.1f} %" in out
    assert "stands in no log are in none of the sums" in " ".join(out.split())


def test_a_context_without_a_step_says_which_it_is(run: Invoke, dearest: str) -> None:
    assert "is the one that would come next" in run("context", dearest).output
    assert "is the one that would come next" not in run("context", dearest, "--step", "3").output


def test_cost_adds_up_however_it_is_grouped(run: Invoke) -> None:
    totals = {by: run("cost", "--by", by, "-n", "0").output.splitlines()[-1] for by in ("model", "day", "run_id,day")}
    assert len(set(totals.values())) == 1
    rows = json.loads(run("cost", "--by", "model", "--leaves", "--json").output)
    assert all(row["cost_output"] for row in rows)


def test_the_cost_of_some_runs_is_what_their_rows_say(run: Invoke, dearest: str) -> None:
    every = {row["run_id"]: row for row in json.loads(run("cost", "--by", "run", "--json").output)}
    other = next(name for name, row in every.items() if name != dearest and row["cost"])
    for names in ([dearest], [dearest, other]):
        chosen = [part for name in names for part in ("--run", name)]
        total = sum(Decimal(row["cost"]) for row in json.loads(run("cost", "--by", "day", *chosen, "--json").output))
        assert total == sum(Decimal(every[name]["cost"]) for name in names)
        by_tool = json.loads(run("cost", "--by", "tool", *chosen, "--json").output)
        assert sum(Decimal(row["cost"]) for row in by_tool) == total
    assert {row["run_id"] for row in json.loads(run("cost", "--waste", "--run", other, "--json").output)} <= {other}
    assert {row["run_id"] for row in json.loads(run("cost", "--explain", "--run", other, "--json").output)} == {other}
    assert "No run or session" in run("cost", "--run", "nowhere", code=2).output


@pytest.mark.parametrize("table", ["--waste", "--explain", "--reconcile"])
@pytest.mark.parametrize("option", [("--since", "2026-01-20"), ("--until", "2026-01-20"), ("--priced-as", "gpt-5")])
def test_what_a_table_of_cost_does_not_heed_is_refused(run: Invoke, table: str, option: tuple[str, str]) -> None:
    assert f"{option[0]} goes with totals" in run("cost", table, *option, code=2).output


def test_cost_says_how_many_calls_have_none_and_why(run: Invoke, tmp_path: Path) -> None:
    log = working_session("unheard").write(tmp_path / "logs" / "unheard.jsonl")
    log.write_text(re.sub(r'"model": ?"[^"]+"', '"model":"never-heard-of"', log.read_text("utf-8")), "utf-8")
    made = str(tmp_path / "unheard.ledger")
    run("import", str(log.parent), "--ledger", made)
    out = " ".join(run("cost", "--ledger", made).output.split())
    calls = re.search(r"; ([\d,]+) calls without a known cost left out", out)
    assert calls
    assert f"Without a known cost: {calls[1]} (no price list holds the model)." in out


def test_an_unknown_column_is_refused_with_the_nearest(run: Invoke) -> None:
    assert "Did you mean 'model'" in run("cost", "--by", "modle", code=2).output


def test_a_run_is_shown_by_the_beginning_of_its_id(run: Invoke, dearest: str) -> None:
    out = run("show", dearest[:8]).output
    assert dearest in out
    assert "user_task" in out
    assert "withheld" in out
    shown = json.loads(run("show", dearest[:8], "--json", "-n", "0").output)
    assert shown["run"]["run_id"] == dearest
    assert all(row["part_visibility"] != "AUDIT_ONLY" for row in shown["parts"])


def test_an_audit_sees_what_people_do_not(run: Invoke, dearest: str) -> None:
    people = json.loads(run("show", dearest, "--json", "-n", "0").output)["parts"]
    audit = json.loads(run("show", dearest, "--json", "-n", "0", "--audit").output)["parts"]
    assert len(audit) > len(people)


def test_a_message_is_shown_whole(run: Invoke, demo_path: Path, dearest: str) -> None:
    with lk.open(demo_path) as ledger:
        message = ledger.run(dearest).messages()[-1]
    out = run("show", message.message_id).output
    assert message.kind in out
    assert json.loads(run("show", message.message_id, "--json").output)["message_id"] == message.message_id


@pytest.mark.long
def test_an_artifact_is_shown(run: Invoke, demo_path: Path) -> None:
    with lk.open(demo_path) as ledger:
        refs = ledger.sql("select unnest(artifact_refs) as ref from parts where content_type like 'text/%' limit 1")
    assert run("show", f"artifact:{refs.item()}").output.strip()


@pytest.mark.slow
def test_replay_prints_every_step_or_the_one_that_is_asked_for(run: Invoke, dearest: str) -> None:
    whole = run("replay", dearest).output
    assert "step 0 of" in whole
    assert "the model wrote" in whole
    assert "came back" in whole
    last = run("replay", dearest, "--step", "-1").output
    assert last.count("step ") >= 1
    assert "step 0 of" not in last
    steps = json.loads(run("replay", dearest, "--json").output)
    assert [step["step"] for step in steps] == list(range(len(steps)))
    assert "No step 9999" in run("replay", dearest, "--step", "9999", code=2).output


def test_search_finds_what_a_file_told_the_agent(run: Invoke) -> None:
    found = json.loads(run("search", "tillroll", "--kind", "file_observation", "--json", "-n", "5").output)
    assert len(found) == 5
    assert {row["part_trust_level"] for row in found} == {"REPOSITORY_UNTRUSTED"}
    assert "Unknown kind" in run("search", "x", "--kind", "file", code=2).output


@pytest.mark.long
def test_sql_answers_as_a_table_as_csv_and_as_json(run: Invoke) -> None:
    query = "select count(*) as n from runs"
    assert "55" in run("sql", query).output
    assert run("sql", query, "--csv").output == "n\n55\n"
    assert json.loads(run("sql", query, "--json").output) == [{"n": 55}]
    assert "tool_calls" in run("sql", "--tables").output
    assert "duration_s" in run("sql", "--tables", "tool_calls").output
    assert "only read" in run("sql", "drop view runs", code=2).output


@pytest.mark.slow
def test_reports_are_written_where_they_are_asked_for(run: Invoke, tmp_path: Path, dearest: str) -> None:
    run("report", "-o", str(tmp_path / "all.html"))
    told = json.loads(run("report", dearest, "-o", str(tmp_path / "one.html"), "--json").output)
    assert told["bytes"] == (tmp_path / "one.html").stat().st_size
    assert "<script" not in (tmp_path / "all.html").read_text("utf-8")


def test_importing_twice_says_that_nothing_changed(run: Invoke, tmp_path: Path) -> None:
    where = str(tmp_path / "mine.ledger")
    first = json.loads(run("import", str(ROOT / "data" / "claude-code"), "--ledger", where, "--json").output)
    assert first["closes"]
    assert first["quarantined"] == 0
    again = run("import", str(ROOT / "data" / "claude-code"), "--ledger", where).output
    assert "0 files read" in again
    assert "28 unchanged" in again


def test_errors_say_where_and_what_to_do(run: Invoke, tmp_path: Path) -> None:
    absent = run("runs", "--ledger", str(tmp_path / "none"), code=2).output
    assert "No ledger at" in absent
    assert "import" in absent
    assert "Nothing at" in run("import", str(tmp_path / "nothing"), "--ledger", str(tmp_path / "l"), code=2).output
    assert "No run or session" in run("show", "zzzzzz", code=2).output


@pytest.mark.long
def test_the_demo_imports_shows_and_writes_a_report(run: Invoke, tmp_path: Path) -> None:
    out = run("demo", "--out", str(tmp_path / "demo")).output  # the runs that come with ledgerkit
    assert "55 runs" in out
    assert str(tmp_path / "demo" / "report.html") in out
    assert (tmp_path / "demo" / "report.html").is_file()
    again = json.loads(run("demo", "--data", str(ROOT / "data"), "--out", str(tmp_path / "demo"), "--json").output)
    assert again["account"]["closes"]


@pytest.mark.long
def test_log_text_cannot_drive_the_terminal(run: Invoke, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe [bold]not markup[/bold]"
    record = {
        "type": "user",
        "uuid": "a" * 36,
        "sessionId": "hostile",
        "timestamp": "2026-01-01T00:00:00Z",
        "cwd": f"/home/{hostile}",
        "message": {"role": "user", "content": hostile},
    }
    log = tmp_path / "hostile.jsonl"
    log.write_text(json.dumps(record) + "\n", "utf-8")
    where = str(tmp_path / "hostile.ledger")
    shown = run("import", str(log), "--ledger", where).output
    shown += run("runs", "--ledger", where).output
    run_id = json.loads(run("runs", "--ledger", where, "--json").output)[0]["run_id"]
    for command in (["show", run_id], ["search", "owned"], ["sql", "select text from parts"], ["replay", run_id]):
        shown += run(*command, "--ledger", where).output
    assert "owned" in shown
    assert "[bold]" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
