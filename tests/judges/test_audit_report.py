"""The audit report: ten answers with evidence, in four forms, with nothing of the log acting in any of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit import judges
from ledgerkit.cli import main
from ledgerkit.errors import OutputBlockedError
from ledgerkit.reports.audit_report import AuditReport
from tests.conftest import NOW
from tests.judges import made

pytestmark = pytest.mark.long

HOSTILE = (
    "</script><script>alert(1)</script> [x](javascript:alert(1)) | `code` <img src=x onerror=alert(1)> \x1b[31m @ada"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lk.Ledger]:
    with lk.open(tmp_path_factory.mktemp("hostile") / "runs.ledger", key=bytes(32)) as ledger:
        run = made.Recorded(ledger, "hostile", branch=HOSTILE, title=HOSTILE)
        run.task(f"Fix src/{'a'}.py. {HOSTILE}")
        run.answer(f"I look. {HOSTILE}")
        run.reads("/w/src/a.py", made.INJECTED)
        run.tests("FAILED tests/test_a.py::test_x - assert 1 == 2\n===== 1 failed in 0.10s =====", "FAILED")
        run.edits("/w/src/a.py")
        run.tests()
        run.call("Bash", HOSTILE, command=f"echo '{HOSTILE}'")
        run.say("ERROR_EVENT", "N", "client", type="error", text=HOSTILE, error_category="overloaded")
        run.say("USER_TASK", "U", "user", text="Only audits may read this.", visibility="AUDIT_ONLY")
        run.say("USER_TASK", "U", "user", text="Nobody may read this.", visibility="INTERNAL_ONLY")
        run.answer("Done.")
        run.close()
        ledger.judge(judges.RuleJudge())
        ledger.annotate("hostile", note=HOSTILE, by="ada")
        yield ledger


@pytest.fixture(scope="module")
def report(hostile: lk.Ledger) -> AuditReport:
    return hostile.run("hostile").audit_report(generated_at=NOW)


def test_ten_questions_each_with_evidence_that_resolves_or_a_reason(hostile: lk.Ledger, report: AuditReport) -> None:
    assert [one.number for one in report.answers] == list(range(1, 11))
    messages = {f"message:{one.message_id}" for one in hostile.run("hostile").messages()}
    calls = {f"tool-call:{one}" for one in hostile.run("hostile").tool_calls()["tool_call_id"]}
    for one in report.answers:
        assert (one.status == "answered") == bool(one.rows), one
        for row in one.rows:
            assert row.evidence, row
            assert {ref.split("#")[0] for ref in row.evidence} <= messages | calls
    by_number = {one.number: one for one in report.answers}
    assert "The system prompt is not recorded" in by_number[2].said
    assert by_number[7].rows[0].text.startswith("pytest failed")
    assert "then pytest passed" in by_number[8].rows[0].text
    assert by_number[9].status == "nothing_found"
    assert "hidden-html" in by_number[10].rows[-1].text


@pytest.mark.slow
def test_what_is_not_there_is_not_recorded(judged: lk.Ledger) -> None:
    again = judged.run("again").audit_report(generated_at=NOW)
    by_number = {one.number: one for one in again.answers}
    assert by_number[1].words == "Nothing found"
    assert by_number[7].words == "Not recorded"
    assert "No verifier ran" in by_number[7].said


def test_a_judge_that_nobody_calibrated_is_named_as_such(hostile: lk.Ledger, report: AuditReport) -> None:
    assert "NOT CALIBRATED" in report.judgements[0]
    hostile.annotate("hostile", label="failed", by="bob")
    hostile.calibrate("rules")
    said = hostile.run("hostile").audit_report(generated_at=NOW).judgements[0]
    assert "calibrated on 1 label" in said


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_in_every_form(hostile: lk.Ledger) -> None:
    first, second = (hostile.audit_report("hostile", generated_at=NOW) for _ in range(2))
    for form in ("to_html", "to_markdown", "to_json", "__str__"):
        assert getattr(first, form)() == getattr(second, form)()
    assert json.loads(first.to_json())["schema"] == "ledgerkit/audit-report/1"


def test_nothing_of_the_log_acts_in_the_page_or_the_markdown(report: AuditReport) -> None:
    page = report.to_html()
    assert "<script" not in page
    assert "onerror=alert" not in re.sub(r"&[a-z#0-9]+;", "", page) or "&lt;img" in page
    assert "<img src=x" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    markdown, terminal = report.to_markdown(), str(report)
    assert "<script" not in markdown
    assert "](javascript" not in markdown
    assert "\x1b" not in markdown + terminal + page
    assert " @ada" not in markdown


@pytest.mark.slow
def test_labels_govern_who_reads_what(hostile: lk.Ledger, report: AuditReport) -> None:
    people = hostile.audit_report("hostile", generated_at=NOW, audience=lk.Audience.PEOPLE)
    assert "Only audits may read this." in report.to_json()
    assert "Only audits may read this." not in people.to_json()
    assert "Nobody may read this." not in report.to_json()
    assert dict(people.withheld) == {"AUDIT_ONLY": 1, "INTERNAL_ONLY": 1}


def test_a_secret_keeps_the_report_back(tmp_path: Path) -> None:
    secret = "ghp_" + "".join("aB3dE5gH7jK9mN1pQ3sT5vX7zA9cF2hL4nR6"[:36])
    with lk.open(tmp_path / "runs.ledger", key=bytes(32)) as ledger:
        part = {"type": "text", "text": f"token {secret}", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
        command = {"session_id": "s", "run_id": "leaky", "kind": "USER_TASK", "actor": "user", "parts": [part]}
        ledger.append(lk.AppendMessageCommand.model_validate(command), redact=False)
        with pytest.raises(OutputBlockedError):
            ledger.audit_report("leaky")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_the_command_writes_it(hostile: lk.Ledger, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    done = CliRunner().invoke(main, ["audit", "hostile", "--report", str(path), "--ledger", str(hostile.path)])
    assert done.exit_code == 0, done.output
    assert "Which verifiers failed?" in path.read_text("utf-8")


@pytest.mark.slow
def test_the_commands_judge_annotate_calibrate_and_list(tmp_path: Path) -> None:
    path = tmp_path / "runs.ledger"
    with lk.open(path, key=bytes(32)) as ledger:
        made.good_run(ledger)

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, [*arguments, "--ledger", str(path)])
        assert done.exit_code == code, done.output
        return done.output

    assert "1 new" in run("judge")
    assert "0 new" in run("judge", "good")
    assert "not calibrated" in run("judgements")
    assert "Kept as" in run("annotate", "good", "--label", "passed", "--by", "ada")
    assert "Said before" in run("annotate", "good", "--label", "passed", "--by", "ada")
    assert json.loads(run("calibrate", "rules", "--json"))["true_positive"] == 1
    assert "not calibrated" not in run("judgements")
    assert json.loads(run("judgements", "--verdicts", "--json"))[0]["verdict"] == "passed"
    assert "Say something" in run("annotate", "good", "--by", "ada", code=2)
    assert "give --url" in run("judge", "--model", "m", code=2)
    assert json.loads(run("audit", "--what", "patterns", "--json"))["patterns"] == []


@pytest.mark.slow
def test_every_demo_run_has_a_report(demo_path: Path) -> None:
    with lk.open(demo_path, create=False) as ledger:
        for run_id in ledger.runs()["run_id"].sort()[::14]:
            found = ledger.audit_report(run_id, generated_at=NOW)
            assert len(found.answers) == 10
            assert found.to_html().count("<h2") >= 13
