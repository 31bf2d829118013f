"""mini-swe-agent trajectories in the ledger: the real file against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import mini_swe_agent
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values
from tests.importers.odd_values import with_odd_value

FILES: Final = sorted(name for name, values in corpus_values()["files"].items() if values["format"] == "mini-swe-agent")
OPENING: Final = [
    {"role": "system", "content": "One ```mswea_bash_command block."},
    {"role": "user", "content": "Fix it."},
]
PATCH: Final = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"


def block(command: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": f"I run it.\n\n```mswea_bash_command\n{command}\n```", **more}


def ran(text: str, code: int = 0, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>", **more}


def envelope(messages: list[Any], **info: Any) -> dict[str, Any]:
    config = {"model": {"model_name": "configured"}, "environment": {"cwd": "/testbed"}}
    about = {"config": config, "mini_version": "2.0.0", "model_stats": {"api_calls": 1}, **info}
    return {
        "info": about,
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": "org__repo-1",
    }


def replied(number: int, prompt: int, **usage: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": 7, **usage}
    return {"id": f"resp-{number}", "model": "answered", "usage": counts}


def taken(ledger: lk.Ledger, tmp_path: Path, document: Any) -> list[tuple[str, str | None]]:
    """Kind and text of what the model may see of an imported document."""
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps(document, indent=2), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return ledger.sql(
        "select kind, text from parts where part_visibility = 'MODEL_VISIBLE' order by sequence_no, part_index"
    ).rows()


# The real file


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert (account.accepted, account.skipped, account.quarantined) == (expected["messages"], 0, 0)
    met = Counter({row["record_type"]: row["count"] for row in account.details.to_dicts()})
    roles = expected["roles"]
    assert (met["assistant"], met["system"]) == (roles["assistant"], roles["system"])
    assert met["user"] + met["result"] == roles["user"]
    (run,) = ledger.sql("select steps, tool_calls, pending_tool_calls, failed_tool_calls from runs").rows()
    assert run == (roles["assistant"], roles["assistant"], 0, 2)
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def test_the_real_file_conforms(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == mini_swe_agent.NAME)
    check_format(log_format, [corpus / name for name in FILES])


def test_no_other_format_of_the_corpus_is_taken_for_a_trajectory(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != mini_swe_agent.NAME, path


# Generations


def test_a_bare_list_in_code_blocks(ledger: lk.Ledger, tmp_path: Path) -> None:
    last = block("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff")
    no_block = {"role": "assistant", "content": "Let me think."}
    refused = {"role": "user", "content": "Please give one command."}
    rows = taken(ledger, tmp_path, [
        *OPENING, block("cat a.py"), ran("No such file", 1), no_block, refused, last,
        {"role": "user", "content": PATCH},
    ])  # fmt: skip
    assert [row for row in rows if row[0] != "TOOL_CALL_REQUEST"] == [
        ("SYSTEM_INSTRUCTION", OPENING[0]["content"]), ("USER_TASK", "Fix it."),
        ("ASSISTANT_RESPONSE", block("cat a.py")["content"]), ("TOOL_CALL_RESULT", ran("No such file", 1)["content"]),
        ("ASSISTANT_RESPONSE", "Let me think."), ("ERROR_EVENT", refused["content"]),
        ("ASSISTANT_RESPONSE", last["content"]), ("TOOL_CALL_RESULT", PATCH),
    ]  # fmt: skip
    calls = ledger.sql("select tool_name, arguments, status, error_category from tool_calls order by step").rows()
    assert calls == [
        ("bash", '{"command":"cat a.py"}', "FAILED", "exit_code"),
        ("bash", '{"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"}', "UNKNOWN", None),
    ]
    assert ledger.sql("select steps, outcome from runs").rows() == [(3, None)]


def test_function_calls_with_usage_of_each_answer(ledger: lk.Ledger, tmp_path: Path) -> None:
    asked = [{"id": f"c{n}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": c})}}
             for n, c in ((1, "ls"), (2, "pwd"))]  # fmt: skip
    first = {"role": "assistant", "content": "", "tool_calls": asked, "reasoning_content": "secret", "extra": {
        "response": replied(1, 100, prompt_tokens_details={"cached_tokens": 40}, cache_creation_input_tokens=10),
        "cost": 0.25, "timestamp": 1767225600.5, "actions": [{"command": "ls", "tool_call_id": "c1"}]}}  # fmt: skip
    results = [
        {"role": "tool", "tool_call_id": "c2", "content": "not run", "extra": {
            "returncode": -1, "raw_output": "", "exception_info": "action was not executed"}},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py [cut]", "extra": {
            "returncode": 0, "raw_output": "a.py\nb.py", "timestamp": 1767225601.0}},
    ]  # fmt: skip
    end = {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded", "submission": ""}}
    taken(ledger, tmp_path, envelope([*OPENING, first, *results, end], exit_status="LimitsExceeded", submission=""))
    calls = "select tool_call_id, status, error_category, result_text from tool_calls order by 1"
    assert ledger.sql(calls).rows() == [
        ("c1", "SUCCEEDED", None, "a.py [cut]"), ("c2", "CANCELLED", "not_executed", "not run"),
    ]  # fmt: skip
    data = ledger.sql("select data from parts where part_type = 'tool_result' and tool_call_id = 'c1'").item()
    assert json.loads(data) == {"exit_code": 0, "raw_output": "a.py\nb.py"}
    usage = "select model, input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens from model_calls"
    assert ledger.sql(usage).rows() == [("answered", 100, 40, 10, 7)]
    run = "select task_id, steps, outcome, agent_version, working_directory from runs"
    assert ledger.sql(run).rows() == [("org__repo-1", 1, "inconclusive", "2.0.0", "/testbed")]
    assert ledger.sql("select count(*) from parts where text like '%secret%'").item() == 0
    assert ledger.sql("select min(created_at)::varchar from messages").item().startswith("2026-01-01 00:00:00.5")


def test_items_of_the_responses_api(ledger: lk.Ledger, tmp_path: Path) -> None:
    said = {"object": "response", "id": "resp-1", "model": "answered",
            "usage": {"input_tokens": 50, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}},
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "To list."}],
                 "encrypted_content": "x"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I list."}]},
                {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
            ], "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}], "timestamp": 1767225600}}  # fmt: skip
    back = {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {"returncode": 0}}
    rows = taken(ledger, tmp_path, envelope([*OPENING, said, back]))
    assert rows[2:] == [("ASSISTANT_RESPONSE", "I list."), ("TOOL_CALL_REQUEST", None), ("TOOL_CALL_RESULT", "a.py")]
    usage = "select input_tokens, output_tokens, reasoning_tokens from model_calls"
    assert ledger.sql(usage).rows() == [(50, 9, 4)]


def test_what_was_handed_in_is_the_last_result_and_a_patch(ledger: lk.Ledger, tmp_path: Path) -> None:
    last = block("submit", extra={"actions": [{"command": "submit"}], "timestamp": 1767225600})
    end = {"role": "exit", "content": PATCH, "extra": {"exit_status": "Submitted", "submission": PATCH}}
    taken(ledger, tmp_path, envelope([*OPENING, last, end], exit_status="Submitted", submission=PATCH))
    assert ledger.sql("select result_text from tool_calls").item() == PATCH
    assert ledger.sql("select path, lines_added, lines_removed from file_changes").rows() == [("a.py", 1, 1)]
    (verdict,) = ledger.sql("select verdict, scope, data from verifier_results").rows()
    assert verdict[:2] == ("inconclusive", "run")
    assert json.loads(verdict[2])["exit_status"] == "Submitted"


# Traps


def test_whose_words_stand_in_the_users_place(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, tmp_path, envelope([
        *OPENING, block("rm -r /"),
        {"role": "user", "content": "The user rejected it: no!", "extra": {"interrupt_type": "UserRejection"}},
        block("ls"),
        {"role": "user", "content": "The user stopped you", "extra": {"interrupt_type": "UserInterruption"}},
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "Give one command", "extra": {"interrupt_type": "FormatError"}},
        {"role": "user", "content": "User command: pwd", "extra": {"actions": [{"command": "pwd"}]}},
        {"role": "user", "content": "/repo", "extra": {"returncode": 0, "raw_output": "/repo"}},
        block("cat a"), {"role": "user", "content": "no mark at all"},
    ]))  # fmt: skip
    rows = ledger.sql(
        "select text, kind, part_trust_level from parts where sequence_no > 2 and part_visibility = 'MODEL_VISIBLE' "
        "and part_trust_level <> 'MODEL_GENERATED' order by sequence_no"
    ).rows()
    assert rows == [
        ("The user rejected it: no!", "APPROVAL_DECISION", "USER_TRUSTED"),
        ("The user stopped you", "USER_TASK", "USER_TRUSTED"), ("Give one command", "ERROR_EVENT", "UNKNOWN"),
        ("User command: pwd", "USER_TASK", "USER_TRUSTED"), ("/repo", "TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED"),
        ("no mark at all", "TOOL_CALL_RESULT", "UNKNOWN"),
    ]  # fmt: skip
    results = ledger.sql("select arguments, result_text from tool_calls where result_count > 0").rows()
    assert results == [('{"command":"cat a"}', "no mark at all")]


def test_a_command_that_was_killed(ledger: lk.Ledger, tmp_path: Path) -> None:
    killed = "The last command <command>sleep 9</command> timed out and has been killed.\nThe output was: "
    taken(ledger, tmp_path, [*OPENING, block("sleep 9"), {"role": "user", "content": killed}])
    assert ledger.sql("select status, error_category from tool_calls").rows() == [("TIMED_OUT", "timeout")]


def test_a_grown_file_continues_its_run(ledger: lk.Ledger, tmp_path: Path) -> None:
    messages = [*OPENING, block("ls", extra={"timestamp": 1767225600.0}), ran("a.py")]
    taken(ledger, tmp_path, envelope(messages, exit_status=""))
    messages += [block("pwd", extra={"timestamp": 1767225601.0}), ran("/repo")]
    taken(ledger, tmp_path, envelope(messages, exit_status="Submitted", submission=""))
    assert ledger.sql("select steps, outcome from runs").rows() == [(2, "inconclusive")]
    assert ledger.sql("select count(*) from parts where data->>'$.note' = 'run'").item() == 1


def test_what_is_no_message_costs_nothing_else(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = taken(ledger, tmp_path, envelope([*OPENING, 7, {"role": "oracle"}, block("ls"), ran("a")]))
    assert rows[-1][0] == "TOOL_CALL_RESULT"
    kept = ledger.sql("select data from parts where error_category = 'unknown_record' order by sequence_no")["data"]
    assert [json.loads(data) for data in kept] == [7, {"role": "oracle"}]


@pytest.mark.parametrize(
    "value",
    [
        {"trajectory_format": "other", "messages": []}, {"messages": OPENING}, [OPENING[1]],
        [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}, {"role": "assistant", "content": "z"}],
    ],
)  # fmt: skip
def test_other_documents_are_no_trajectories(value: Any) -> None:
    assert not mini_swe_agent.sniff([value])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_breaks_a_reading(data: st.DataObject, tmp_path: Path) -> None:
    raw = json.dumps(envelope([*OPENING, block("ls"), ran("é")], exit_status="Submitted"), indent=1).encode()
    end = data.draw(st.integers(1, len(raw)))
    damaged = bytearray(raw[:end])
    damaged[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.traj.json"
    path.write_bytes(bytes(damaged))
    parsed = mini_swe_agent.read(path, measure=lambda content: str(len(content)))
    assert parsed.records or parsed.quarantined or not bytes(damaged).strip(b" \t\r\n\0\xef\xbb\xbf")


SAMPLE: Final = envelope([
    *OPENING,
    {"role": "assistant", "content": "", "reasoning_content": "s",
     "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": {"command": "ls"}}}],
     "extra": {"response": replied(1, 9), "cost": 0.2, "timestamp": 1.5, "actions": [{"command": "ls"}]}},
    {"role": "tool", "tool_call_id": "c1", "content": "x", "extra": {"returncode": 0, "exception_info": "e"}},
    {"object": "response", "id": "r", "output": [
        {"type": "reasoning", "summary": [{"text": "x"}]},
        {"type": "function_call", "call_id": "c2", "name": "bash", "arguments": "{}"}]},
    {"type": "function_call_output", "call_id": "c2", "output": "x"}, block("ls"), ran("x"),
    {"role": "user", "content": "x", "extra": {"interrupt_type": "UserRejection"}},
    {"role": "exit", "content": "x", "extra": {"exit_status": "Submitted"}},
], exit_status="Submitted", submission=PATCH)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_of_another_type_never_break_a_reading(data: st.DataObject, tmp_path: Path) -> None:
    odd = with_odd_value(data, SAMPLE)
    mini_swe_agent.sniff([odd])
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(odd), "utf-8")
    for record in mini_swe_agent.read(path, measure=lambda content: str(len(content))).records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(message.parts and message.actor for message in record.messages)
