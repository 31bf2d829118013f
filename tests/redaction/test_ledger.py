"""Secrets never reach a ledger: not by an import, not by a recorder, in no table, artifact, page or name."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import ledgerkit as lk
from tests.builders import Log, append_lines, text, tool_use
from tests.conftest import NOW
from tests.redaction.carriers import CARRIERS
from tests.redaction.kinds import KINDS
from tests.redaction.ledgers import everything_in, everything_said, found_in
from tests.redaction.measuring import Trial, trial
from tests.redaction.planted import a_password, a_value

CARRIER = {carrier.name: carrier for carrier in CARRIERS}


def a_log(trials: list[Trial]) -> Log:
    """Each secret in a message of its own: asked, answered, called with, returned, or attached, by turns."""
    log = Log("leaky")
    for number, case in enumerate(trials):
        said = case.carried.text
        match number % 5:
            case 0:
                log.asks(said)
            case 1:
                log.answers(text(said))
            case 2:
                log.answers(tool_use(f"c{number}", "Bash", command=said, nested={"deep": [said]}))
                log.returns(f"c{number}", "ok")
            case 3:
                log.answers(tool_use(f"c{number}", "Read", file_path="/home/dev/shop/x.py"))
                log.returns(f"c{number}", said + "filler line\n" * 6_000, toolUseResult={"stdout": said, "stderr": ""})
            case _:
                log.bare("something-new", sessionId=log.session, payload={"deep": [said]})
    return log


@pytest.mark.long
def test_no_kind_of_secret_is_anywhere_in_a_ledger(tmp_path: Path, ledger: lk.Ledger) -> None:
    """One file for each carrier, as runs have them; all kinds that a carrier with context gives away."""
    cases = [trial(kind, CARRIER[("env", "json", "shell", "diff")[n % 4]], 91) for n, kind in enumerate(KINDS)]
    gone = [case for case in cases if case.is_gone_from(ledger.redactor.redact([case.carried.text]).texts[0])]
    assert len(gone) >= 0.99 * len(cases)
    account = ledger.import_logs(a_log(gone).write(tmp_path / "leaky.jsonl"), now=NOW)
    assert account.closes
    assert sum(account.secrets.values()) >= len(gone)
    values = [value for case in gone for value in case.made.secrets]
    assert found_in(everything_in(ledger.path), values) == []
    assert found_in(everything_said(ledger), values) == []
    assert ledger.standing_secrets().height == 0
    assert ledger.verify().ok


def test_what_one_message_gives_away_is_gone_from_all_in_every_form(tmp_path: Path, ledger: lk.Ledger) -> None:
    value = a_value("everywhere")
    log = Log("forms")
    log.asks(f"The old value was {value}, as you see.")
    log.answers(text(json.dumps({"note": json.dumps({"value": value})})))
    log.answers(tool_use("c", "Bash", command=["deploy", value], **{value: 1}))
    log.returns("c", base64.b64encode(f"ok {value} done".encode()).decode())
    log.asks(a_password(value))
    account = ledger.import_logs(log.write(tmp_path / "a.jsonl"))
    assert found_in(everything_in(ledger.path), [value]) == []
    fingerprints = ledger.sql("select distinct fingerprint, key_id from redactions")
    assert fingerprints.height == 1
    assert fingerprints["key_id"].item() == "public"
    assert account.redaction == "on"


def test_a_log_that_grows_is_recognised_by_the_fingerprint(tmp_path: Path, ledger: lk.Ledger) -> None:
    value = a_value("grows")
    log = Log("grows")
    log.asks(a_password(value))
    path = log.write(tmp_path / "a.jsonl")
    ledger.import_logs(path)
    before = len(log.records)
    log.asks(f"Is it {value}?")
    append_lines(path, log.records[before:])
    ledger.import_logs(path)
    assert ledger.sql("select count(*) from messages where kind = 'USER_TASK' or kind = 'USER_MESSAGE'").item() >= 1
    assert found_in(everything_in(ledger.path), [value]) == []


def test_a_value_that_is_known_too_late_is_named_and_can_be_erased(tmp_path: Path, ledger: lk.Ledger) -> None:
    value = a_value("late")
    log = Log("late")
    log.asks(f"Is it {value}?")
    path = log.write(tmp_path / "a.jsonl")
    assert ledger.import_logs(path).exposed.height == 0
    before = len(log.records)
    log.asks(a_password(value))
    append_lines(path, log.records[before:])
    account = ledger.import_logs(path)
    assert account.exposed["secret_types"].to_list() == [["password"]]
    ledger.erase(account.exposed["message_id"].to_list(), reason="secret")
    assert found_in(everything_in(ledger.path), [value]) == []
    assert ledger.verify().ok


@pytest.mark.slow
def test_what_came_in_unredacted_stands_in_the_audit_and_leaves_no_more(tmp_path: Path, ledger: lk.Ledger) -> None:
    value = a_value("off")
    log = Log("off")
    log.asks(a_password(value))
    log.answers(text(f"So it is {value}."))
    account = ledger.import_logs(log.write(tmp_path / "a.jsonl"), redact="off")
    assert account.secrets == {}
    standing = ledger.standing_secrets()
    assert standing["found_by"].to_list() == ["rule", "propagation"]
    assert value not in str(standing.to_dicts())
    (run,) = ledger.runs()["run_id"]
    with pytest.raises(lk.OutputBlockedError, match="password#") as blocked:
        ledger.run(run).report()
    assert value in ledger.run(run).report(allow=blocked.value.names)
    assert value in ledger.run(run).report(allow=["all"])
    with pytest.raises(lk.OutputBlockedError):
        ledger.run(run).report(allow=["password#000000000000"])


def test_an_audit_counts_and_lets_it_in(tmp_path: Path, ledger: lk.Ledger) -> None:
    value = a_value("audit")
    log = Log("audit")
    log.asks(a_password(value))
    account = ledger.import_logs(log.write(tmp_path / "a.jsonl"), redact="audit")
    assert account.secrets == {"password": 1}
    assert found_in(everything_in(ledger.path), [value]) == [value]
    with pytest.raises(lk.UnknownNameError, match="mode of redaction"):
        ledger.import_logs(tmp_path / "a.jsonl", redact="maybe")


# Live runs


def a_command(said: str, number: int = 0) -> lk.AppendMessageCommand:
    call = {"tool_call_id": f"c{number}", "tool_name": "Bash", "arguments": {"command": said}}
    labels = {"trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    parts = [{"type": "text", "text": said, **labels}, {"type": "tool_call", **call, **labels}]
    return lk.AppendMessageCommand.model_validate(
        {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": "user", "parts": parts}
    )


@pytest.mark.long
def test_a_recorder_writes_no_secret_to_its_journal(ledger: lk.Ledger) -> None:
    value = a_value("live")
    with ledger.record("s", "r", title=f"token={value}") as recorder:
        message = recorder.append(a_command(a_password(value)))
        later = recorder.append(a_command(f"and then {value}", 1))
        assert found_in(everything_in(ledger.path), [value]) == []
        assert value not in str(message)
        assert value not in str(later)
        assert [part.visibility for part in later.parts] == ["REDACTED", "REDACTED"]
    with ledger.record("s", "r") as recorder:
        recorder.append(a_command(f"once more {value}", 2))
    ledger.append(a_command(f"and at last {value}", 3))
    assert found_in(everything_in(ledger.path) + everything_said(ledger), [value]) == []
    assert ledger.sql("select count(distinct fingerprint), min(key_id) from redactions").row(0) == (1, "public")


def test_a_long_text_of_a_recorded_run_is_a_redacted_artifact(ledger: lk.Ledger) -> None:
    value = a_value("long")
    with ledger.record("s", "r") as recorder:
        recorder.append(a_command(f"{a_password(value)}\n" + "a line of words\n" * 6_000))
        recorder.append(a_command("another line of words\n" * 6_000, 1))
    labels = ledger.sql("select distinct unnest(artifact_refs) as ref from parts")["ref"].to_list()
    assert sorted(ledger.artifact(ref)[2] for ref in labels) == ["redacted", "redacted", "safe", "safe"]


def test_a_recorder_that_does_not_look_says_so(ledger: lk.Ledger) -> None:
    value = a_value("loud")
    with ledger.record("s", "r", redact=False) as recorder:
        recorder.append(a_command(f"{a_password(value)}\n" + "a line of words\n" * 6_000))
    ref = ledger.sql("select artifact_refs[1] from parts limit 1").item()
    assert ledger.artifact(ref)[2] == "restricted"
    assert ledger.search("a line of words").height == 2  # the head stands in the rows
    assert ledger.standing_secrets()["secret_type"].unique().to_list() == ["password"]


def test_the_same_command_again_is_the_same_message(ledger: lk.Ledger) -> None:
    value = a_value("again")
    command = a_command(a_password(value)).model_copy(update={"idempotency_key": "k"})
    with ledger.record("s", "r") as recorder:
        first = recorder.append(command)
    with ledger.record("s", "r") as recorder:
        assert recorder.append(command).message_id == first.message_id
