"""SWE-agent trajectories in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import swe_agent
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values
from tests.importers.odd_values import with_odd_value

FILES: Final = sorted(name for name, values in corpus_values()["files"].items() if values["format"] == "swe-agent")


def step(action: str, observation: str | None, thought: str = "Hm.", **more: Any) -> dict[str, Any]:
    response = f"{thought}\n```\n{action}\n```"
    said = {"action": action, "observation": observation, "response": response, "thought": thought}
    return {**said, "state": {"working_dir": "/repo"}, "execution_time": 0.25, **more}


def answer(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": of["response"], "thought": of["thought"], "action": of["action"],
            "agent": "main", "message_type": "action", **more}  # fmt: skip


def told(text: Any, role: str = "user", kind: str = "observation", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "agent": "main", "message_type": kind, **more}


OPENING: Final = [told("You are an agent.", "system", "system_prompt"), told("Fix it.")]


def trajectory(steps: list[Any], history: list[Any], **more: Any) -> dict[str, Any]:
    info = {"exit_status": "submitted", "model_stats": {"tokens_sent": 100, "tokens_received": 9, "instance_cost": 0.1}}
    return {"trajectory": steps, "history": [*OPENING, *history], "environment": "org__repo-1", "info": info, **more}


def taken(ledger: lk.Ledger, tmp_path: Path, document: Any) -> list[tuple[str, str | None]]:
    """Kind and text of what the model may see of an imported document."""
    path = tmp_path / "run.traj"
    path.write_text(json.dumps(document, indent=2), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return ledger.sql(
        "select kind, text from parts where part_visibility = 'MODEL_VISIBLE' order by run_id, sequence_no, part_index"
    ).rows()


# Real files


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    met = Counter[str]()
    for row in account.details.to_dicts():
        met[row["record_type"]] += row["count"]
    steps = expected["steps"] or expected["history_roles"]["assistant"]
    assert met["history/answer"] == expected["history_roles"]["assistant"]
    assert met["step/answer"] == expected["steps"]
    assert met["step/messages"] + met["step/query"] == expected["prompt_copies"]
    (run,) = ledger.sql("select steps, tool_calls, pending_tool_calls, unknown_records, outcome from runs").rows()
    assert run == (steps, steps, 0, 0, "inconclusive" if expected["exit_status"] else None)
    native = ledger.sql("select count(*) from tool_calls where tool_call_id not like 'step:%'").item()
    assert native == expected["tool_calls"]
    stats = ledger.sql("select data from parts where data->>'$.note' = 'model_stats'")["data"].to_list()
    recorded = [expected["model_stats"]] if expected["model_stats"] else []
    assert [json.loads(data) for data in stats] == [{"note": "model_stats", **each} for each in recorded]
    submitted = ledger.sql("select count(*) from messages where metadata->>'$.submission' = 'true' or kind = "
                           "'RUN_SUMMARY' and message_id in (select message_id from parts "
                           "where data->>'$.note' = 'submission')").item()  # fmt: skip
    assert submitted == int(expected["has_submission"])
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == swe_agent.NAME)
    check_format(log_format, [corpus / name for name in FILES], cuts=2)


def test_no_other_format_of_the_corpus_is_taken_for_a_trajectory(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != swe_agent.NAME, path


# Generations


def test_a_text_run_of_the_first_generation(ledger: lk.Ledger, tmp_path: Path) -> None:
    first = step("open a.py\n", "1: x", state='{"open_file": "a.py", "working_dir": "/repo"}\n')
    last = step("submit\n", "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n")
    for each in (first, last):
        del each["execution_time"]
    rows = taken(ledger, tmp_path, {
        "environment": "swe_main", "trajectory": [first, last],
        "history": [
            {"role": "system", "content": "You are an agent.", "agent": "primary"},
            {"role": "user", "content": "A demonstration", "agent": "primary", "is_demo": True},
            {"role": "user", "content": "Fix it.", "agent": "primary"},
            {"role": "assistant", "content": first["response"], "thought": "Hm.", "action": "open a.py\n"},
            {"role": "user", "content": "1: x\n(Open file: a.py)\nbash-$", "agent": "primary"},
            {"role": "assistant", "content": last["response"], "thought": "Hm.", "action": "submit\n"},
        ],
        "info": {"exit_status": "submitted", "submission": last["observation"], "model_stats": {"api_calls": 2}},
    })  # fmt: skip
    assert [(kind, text) for kind, text in rows if kind != "TOOL_CALL_REQUEST"] == [
        ("SYSTEM_INSTRUCTION", "You are an agent."), ("DEVELOPER_INSTRUCTION", "A demonstration"),
        ("USER_TASK", "Fix it."), ("AGENT_THOUGHT_SUMMARY", "Hm."),
        ("FILE_OBSERVATION", "1: x\n(Open file: a.py)\nbash-$"), ("AGENT_THOUGHT_SUMMARY", "Hm."),
        ("TOOL_CALL_RESULT", last["observation"]),
    ]  # fmt: skip
    assert ledger.sql("select tool_name, arguments from tool_calls order by step").rows() == [
        ("bash", '{"command":"open a.py\\n"}'), ("bash", '{"command":"submit\\n"}'),
    ]  # fmt: skip
    assert ledger.sql("select task_id, steps, outcome, working_directory from runs").rows() == [
        (None, 2, "inconclusive", "/repo")
    ]
    assert ledger.sql("select path, lines_added, lines_removed from file_changes").rows() == [("a.py", 1, 1)]


def test_function_calls_take_ids_and_arguments_from_the_history(ledger: lk.Ledger, tmp_path: Path) -> None:
    one, two = step("str_replace_editor view a.py", "x = 1"), step("ls", "")
    native = {"id": "c1", "type": "function"}
    view = {"name": "str_replace_editor", "arguments": '{"command": "view", "path": "a.py"}'}
    broken = {"name": "bash", "arguments": '{"command": "ls'}
    empty = "Your command ran successfully and did not produce any output."
    prompt = [*OPENING, answer(one)]
    one["messages"], two["query"] = prompt, [*prompt, told("OBSERVATION:\nx = 1", "tool")]
    config = {"agent": {"model": {"name": "claude-x"}}, "problem_statement": {"id": "org__repo-7"}}
    rows = taken(ledger, tmp_path, trajectory([one, two], [
        answer(one, tool_calls=[{**native, "function": view}]),
        told([{"type": "text", "text": "OBSERVATION:\nx = 1"}], "tool", tool_call_ids=["c1"]),
        answer(two, tool_calls=[{**native, "function": broken}],
               thinking_blocks=[{"type": "thinking", "thinking": "secret", "signature": "ab"}]),
        told(empty, "tool", tool_call_ids=["c1"]),
    ], replay_config=json.dumps(config)))  # fmt: skip
    calls = "select tool_call_id, tool_name, arguments, path, result_text from tool_calls order by step"
    assert ledger.sql(calls).rows() == [
        ("c1", "str_replace_editor", '{"command":"view","path":"a.py"}', "a.py", "OBSERVATION:\nx = 1"),
        ("c1~2", "bash", '"{\\"command\\": \\"ls"', None, empty),
    ]
    assert ("FILE_OBSERVATION", "OBSERVATION:\nx = 1") in rows
    assert ledger.sql("select task_id, models from runs").rows() == [("org__repo-7", ["claude-x"])]
    assert ledger.sql("select count(*) from parts where text like '%secret%'").item() == 0
    assert ledger.sql("select count(*) from parts where data->>'$.hidden_reasoning' = 'measured'").item() == 1


def test_a_history_alone_is_a_run(ledger: lk.Ledger, tmp_path: Path) -> None:
    one = step("ls", None)
    rows = taken(ledger, tmp_path, {"history": [*OPENING, answer(one), told("a.py")]})
    assert rows[-1] == ("TOOL_CALL_RESULT", "a.py")
    assert ledger.sql("select steps, outcome from runs").rows() == [(1, None)]


def test_attempts_are_runs_of_one_session(ledger: lk.Ledger, tmp_path: Path) -> None:
    first, second = step("ls", "a", execution_time=0.5), step("pwd", "/repo")
    attempts = [trajectory([each], [answer(each), told(each["observation"])]) for each in (first, second)]
    attempts[0]["info"] = {"exit_status": "exit_cost", "review": {"accept": 0.2}}
    best = {**attempts[1], "info": {**attempts[1]["info"], "best_attempt_idx": 1}}
    taken(ledger, tmp_path, {"attempts": attempts, **best})
    runs = ledger.sql("select run_id, relation, steps, task_id from runs order by relation nulls first").rows()
    assert [row[1:] for row in runs] == [(None, 1, "org__repo-1"), ("retry", 1, "org__repo-1")]
    assert ledger.sql("select count(distinct session_id) from runs").item() == 1
    assert ledger.sql("select run_id from messages where kind = 'JUDGE_RESULT'").rows() == [(runs[0][0],)]


# Traps


def test_an_answer_that_the_agent_refused_is_in_no_history(ledger: lk.Ledger, tmp_path: Path) -> None:
    bad = step("", "", thought="I have no idea.")
    bad["response"] = "I have no idea."
    good = step("ls", "a.py")
    asked = [{"role": "assistant", "content": "I have no idea.", "message_type": "assistant"},
             {"role": "user", "content": "Give a command!", "message_type": "user"}]  # fmt: skip
    bad["query"], good["query"] = OPENING, [*OPENING, *asked]
    rows = taken(ledger, tmp_path, trajectory([bad, good], [answer(good), told("a.py")]))
    assert [row for row in rows[2:] if row[0] != "TOOL_CALL_REQUEST"] == [
        ("ASSISTANT_RESPONSE", "I have no idea."), ("ERROR_EVENT", "Give a command!"),
        ("AGENT_THOUGHT_SUMMARY", "Hm."), ("TOOL_CALL_RESULT", "a.py"),
    ]  # fmt: skip
    assert ledger.sql("select steps, tool_calls from runs").rows() == [(2, 1)]


def test_what_the_model_was_not_shown_of_a_long_result_is_kept_beside_it(ledger: lk.Ledger, tmp_path: Path) -> None:
    one = step("cat big", "a" * 50)
    rows = taken(ledger, tmp_path, trajectory([one], [answer(one), told("aaa [cut]")]))
    assert rows[-1] == ("TOOL_CALL_RESULT", "aaa [cut]")
    data = ledger.sql("select data from parts where part_type = 'tool_result'").item()
    assert json.loads(data) == {"observation": "a" * 50}


@pytest.mark.long
def test_a_grown_file_continues_its_run_and_the_last_word_on_it_counts(ledger: lk.Ledger, tmp_path: Path) -> None:
    one, two = step("ls", "a.py", execution_time=0.123), step("cat a.py", "x")
    early = trajectory([one], [answer(one), told("a.py")])
    early["info"] = {"exit_status": None, "model_stats": {"tokens_sent": 10}}
    taken(ledger, tmp_path, early)
    taken(ledger, tmp_path, trajectory([one, two], [answer(one), told("a.py"), answer(two), told("x")]))
    assert ledger.sql("select steps, outcome from runs").rows() == [(2, "inconclusive")]
    stats = "select data->>'$.tokens_sent' as sent from parts where data->>'$.note' = 'model_stats'"
    assert ledger.sql(stats)["sent"].to_list() == ["100"]


def test_runs_that_begin_alike_are_two(ledger: lk.Ledger, tmp_path: Path) -> None:
    for took in (0.1, 0.2):
        one = step("ls", "a.py", execution_time=took)
        taken(ledger, tmp_path, trajectory([one], [answer(one), told("a.py")]))
    assert ledger.sql("select count(*) from runs").item() == 2


def test_what_is_no_step_or_item_costs_nothing_else(ledger: lk.Ledger, tmp_path: Path) -> None:
    one = step("ls", "a.py")
    document = trajectory([one, 7], [answer(one), told("a.py"), told("?", "oracle")], extra={"new": 1})
    document["history"].insert(1, "odd")
    rows = taken(ledger, tmp_path, document)
    assert ("TOOL_CALL_RESULT", "a.py") in rows
    kept = "select data from parts where error_category = 'unknown_record' order by sequence_no"
    assert [json.loads(data) for data in ledger.sql(kept)["data"]] == [
        "odd", {"role": "oracle", "content": "?", "agent": "main", "message_type": "observation"}, 7,
    ]  # fmt: skip
    note = ledger.sql("select data from parts where data->>'$.note' = 'document'").item()
    assert json.loads(note) == {"note": "document", "extra": {"new": 1}}


def test_a_flag_that_was_handed_in_is_no_patch(ledger: lk.Ledger, tmp_path: Path) -> None:
    one = step("submit flag{x}", None)
    document = trajectory([one], [])
    document["info"]["submission"] = "flag{x}"
    taken(ledger, tmp_path, document)
    assert ledger.sql("select count(*) from file_changes").item() == 0
    trust = "select part_trust_level from parts where data->>'$.note' = 'submission'"
    assert ledger.sql(trust).item() == "MODEL_GENERATED"  # it stands in the command
    assert ledger.sql("select result_count from tool_calls").item() == 0


@pytest.mark.parametrize(
    "value",
    [{"history": []}, {"history": [{"id": 1, "action": "run"}]}, {"trajectory": [{"step": 1}], "history": []},
     {"history": [{"role": "user", "content": "x"}]}, [OPENING]],
)  # fmt: skip
def test_other_documents_are_no_trajectories(value: Any) -> None:
    assert not swe_agent.sniff([value])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_never_breaks_a_reading(data: st.DataObject, tmp_path: Path) -> None:
    one = step("ls", "a.py")
    raw = json.dumps(trajectory([one], [answer(one), told("é")]), indent=1).encode()
    end = data.draw(st.integers(1, len(raw)))
    damaged = bytearray(raw[:end])
    damaged[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.traj"
    path.write_bytes(bytes(damaged))
    parsed = swe_agent.read(path, measure=lambda content: str(len(content)))
    assert parsed.records or parsed.quarantined or not bytes(damaged).strip(b" \t\r\n\0\xef\xbb\xbf")


def test_what_a_run_used_stands_on_the_run_and_on_no_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, tmp_path, trajectory([one := step("ls", "a.py")], [*OPENING, answer(one)]))
    assert ledger.sql("select count(*) from usage_rows").item() == 0
    assert ledger.sql("select distinct billed, billed_reason from model_calls").rows() == [(False, "no usage recorded")]
    stats = ledger.sql(
        "select kind, part_trust_level, part_visibility, data from parts where data->>'$.note' = 'model_stats'"
    )
    assert stats.row(0)[:3] == ("RUN_SUMMARY", "TOOL_TRUSTED", "AUDIT_ONLY")
    assert json.loads(stats.row(0)[3])["tokens_sent"] == 100


def _sample() -> dict[str, Any]:
    one, two = step("str_replace_editor view a.py", "x = 1"), step("ls", "")
    one["messages"], two["query"] = OPENING, [told("Again!", kind="user")]
    view = {"name": "str_replace_editor", "arguments": {"command": "view", "path": "a.py"}}
    history = [
        answer(one, tool_calls=[{"id": "c1", "function": view}], thinking_blocks=[{"thinking": "s"}]),
        told([{"type": "text", "text": "x"}], "tool", tool_call_ids=["c1"]), answer(two), told("y"), told("z", "tool"),
    ]  # fmt: skip
    made = trajectory([one, two], history, replay_config={"agent": {"model": {"name": "m"}}})
    made["info"] |= {"submission": "diff --git a/a b/a\n", "review": {"accept": 1}}
    return {"attempts": [made, made], **made}


SAMPLE: Final = _sample()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_of_another_type_never_break_a_reading(data: st.DataObject, tmp_path: Path) -> None:
    odd = with_odd_value(data, SAMPLE)
    swe_agent.sniff([odd])
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(odd), "utf-8")
    for record in swe_agent.read(path, measure=lambda content: str(len(content))).records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(message.parts and message.actor for message in record.messages)
