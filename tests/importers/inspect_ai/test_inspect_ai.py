"""Logs of Inspect AI in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

import ledgerkit as lk
from ledgerkit.importers import inspect_ai
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.inspect_ai.scores import verdict_of
from ledgerkit.importers.inspect_ai.usage import usage_of
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values
from tests.importers.inspect_ai.logs import asked, call, event, log, message, sample, shown, taken, usage

FILES: Final = sorted(name for name, values in corpus_values()["files"].items() if values["format"] == "inspect")
USER: Final = message("user", "Do it.", source="input")
SYSTEM: Final = message("system", "You are an agent.")
DONE: Final = message("assistant", "Done.", source="generate")


# Real files


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    met = Counter[str]()
    for row in account.details.to_dicts():
        met[row["record_type"]] += row["count"]
    assert {kind: met[f"event/{kind}"] for kind in expected["events"]} == expected["events"]
    assert sum(n for kind, n in met.items() if kind.startswith("event/")) == expected["events_total"]
    roles = {role: met[f"message/{role}"] for role in expected["message_roles"]}
    assert roles == expected["message_roles"]
    assert met["score"] == expected["scores"]
    assert met["sample"] == expected["samples"]
    runs = ledger.sql("select count(*), count(distinct session_id), count(distinct task_id) from runs "
                      "where relation is null").row(0)  # fmt: skip
    assert runs == (expected["samples"], expected["samples"], expected["sample_ids"])
    assert ledger.sql("select coalesce(sum(unknown_records), 0) from runs").item() == 0
    calls = "select count(*), count(distinct (session_id, tool_call_id)) from tool_calls"
    assert ledger.sql(calls).row(0) == (expected["tool_calls"], expected["tool_call_ids"])
    results = ledger.sql("select count(*) from parts where part_type = 'tool_result'").item()
    assert results == max(expected["tool_messages"], expected["events"].get("tool", 0))
    assert_usage(ledger, expected)
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def assert_usage(ledger: lk.Ledger, expected: dict[str, Any]) -> None:
    """Usage of calls sums up to that of the samples; where the samples have none, to that of the evaluation."""
    columns = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens")
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in columns)
    got = ledger.sql(f"select {sums}, count(*) from model_calls where billed").row(0)
    stated: dict[str, Any] = expected["model_usage_samples"] or (
        expected["model_usage_stats"] if expected["model_events"] else {}
    )
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read", "reasoning_tokens")
    assert got[:4] == tuple(sum(each.get(name, 0) for each in stated.values()) for name in names)
    assert got[4] == expected["model_events"]


def test_both_forms_of_a_log_are_the_same_runs(corpus: Path, ledger: lk.Ledger) -> None:
    folder = corpus / "inspect/inspect_ai/log/test_eval_log"
    assert ledger.import_logs(folder / "log_formats.json", now=NOW).new_messages > 0
    assert ledger.import_logs(folder / "log_formats.eval", now=NOW).new_messages == 0


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == inspect_ai.NAME)
    check_format(log_format, [corpus / name for name in FILES if name.endswith(".json")], cuts=1)


def test_no_other_file_of_the_corpus_is_taken_for_a_log(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*"):
        if path.is_file() and "claude-code" not in path.parts:
            found = recognise(path)
            assert (found is not None and found.name == inspect_ai.NAME) == (path in own), path


# The conversation


def test_events_give_the_order_and_the_last_conversation_only_what_they_lack(ledger: lk.Ledger, tmp_path: Path) -> None:
    wants = message("assistant", "Look.", source="generate", tool_calls=[call("c", cmd="ls")])
    told = message("tool", "a.py", tool_call_id="c", function="bash")
    go_on = message("user", "Go on.")
    events = [
        asked([SYSTEM, USER], wants), event("tool", id="c", function="bash", arguments={"cmd": "ls"}, result="a.py"),
        asked([SYSTEM, USER, wants, told, go_on], DONE),
    ]  # fmt: skip
    taken(ledger, tmp_path, sample(events, [SYSTEM, USER, wants, told, go_on, DONE, message("user", "Bye.")]))
    assert [row for row in shown(ledger) if row[0] != "TOOL_CALL_REQUEST"] == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED", "You are an agent."), ("USER_TASK", "USER_TRUSTED", "Do it."),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Look."), ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED", "a.py"),
        ("DEVELOPER_INSTRUCTION", "UNKNOWN", "Go on."), ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Done."),
        ("DEVELOPER_INSTRUCTION", "UNKNOWN", "Bye."),
    ]  # fmt: skip
    columns = "steps, tool_calls, input_tokens, models, outcome, task_id, agent_version"
    assert ledger.sql(f"select {columns} from runs").rows() == [(2, 1, 20, ["gpt-4o-2024"], "passed", "ctf/1", "0.3.1")]
    assert ledger.sql("select arguments, status, result_text from tool_calls").rows() == [
        ('{"cmd":"ls"}', "SUCCEEDED", "a.py")
    ]
    hidden = "select count(*) from parts where part_visibility <> 'AUDIT_ONLY' and data like '%\"target\"%'"
    assert ledger.sql(hidden).item() == 0


def test_attachments_and_pools_are_put_back(ledger: lk.Ledger, tmp_path: Path) -> None:
    long = message("user", "attachment://h1", source="input")
    pool = [SYSTEM, long, DONE]
    events = [asked([], DONE, input_refs=[[0, 2]]), asked([], message("assistant", "tc://h2"), input_refs=[[0, 3]])]
    made = sample(events, [], attachments={"h1": "Long task", "h2": "Long answer"}, events_data={"messages": pool})
    taken(ledger, tmp_path, made)
    assert [text for _, _, text in shown(ledger)] == ["You are an agent.", "Long task", "Done.", "Long answer"]


def test_the_model_is_told_less_than_the_tool_returned(ledger: lk.Ledger, tmp_path: Path) -> None:
    wants = message("assistant", "", tool_calls=[call("c"), call("d", "fetch")])
    short = message("tool", "aa [cut]", tool_call_id="c", function="bash")
    failed = message("tool", "", tool_call_id="d", function="fetch", error={"type": "timeout", "message": "Too slow."})
    events = [
        asked([USER], wants), event("tool", id="c", function="bash", result="a" * 50, truncated=[50, 2]),
        event("tool", id="d", function="fetch", result="", error={"type": "timeout", "message": "Too slow."}),
    ]  # fmt: skip
    taken(ledger, tmp_path, sample(events, [USER, wants, short, failed]))
    rows = ledger.sql(
        "select tool_call_id, status, result_text, result_trust_level, error_category from tool_calls order by 1"
    ).rows()
    assert rows == [
        ("c", "SUCCEEDED", "aa [cut]", "REPOSITORY_UNTRUSTED", None),
        ("d", "TIMED_OUT", "Too slow.", "NETWORK_UNTRUSTED", "timeout"),
    ]
    data = ledger.sql("select data from parts where part_type = 'tool_result' and tool_call_id = 'c'").item()
    assert json.loads(data) == {"result": "a" * 50, "truncated": [50, 2]}


def test_hidden_reasoning_images_and_calls_of_the_service(ledger: lk.Ledger, tmp_path: Path) -> None:
    content = [
        {"type": "reasoning", "reasoning": "secret", "signature": "ab", "summary": "Shown."},
        {"type": "tool_use", "id": "w", "name": "web_search", "arguments": '{"q": "x"}', "result": "page"},
        {"type": "text", "text": "Yes."},
    ]
    picture = message("user", [{"type": "image", "image": "data:image/png;base64,aGk="}], source="input")
    taken(ledger, tmp_path, sample([asked([picture], message("assistant", content))], []))
    assert ledger.sql("select count(*) from parts where text like '%secret%'").item() == 0
    assert ledger.sql("select text from parts where part_visibility = 'HUMAN_VISIBLE' and text = 'Shown.'").rows()
    assert ledger.sql("select arguments, result_text, result_trust_level from tool_calls").rows() == [
        ('{"q":"x"}', "page", "NETWORK_UNTRUSTED")
    ]
    assert ledger.sql("select content_type, byte_count from parts where part_type = 'artifact_ref'").rows() == [
        ("image/png", 2)
    ]


def test_a_sample_without_events_is_its_conversation(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, tmp_path, sample([], [SYSTEM, USER, DONE]))
    assert [row[0] for row in shown(ledger)] == ["SYSTEM_INSTRUCTION", "USER_TASK", "ASSISTANT_RESPONSE"]
    assert ledger.sql("select steps, input_tokens from runs").rows() == [(1, None)]


def test_a_sample_that_never_began_keeps_its_task_and_error(ledger: lk.Ledger, tmp_path: Path) -> None:
    error = {"message": "no sandbox", "traceback": "…"}
    taken(ledger, tmp_path, sample([], [], scores={}, error=error, limit={"type": "time", "limit": 5}))
    assert shown(ledger) == [("USER_TASK", "USER_TRUSTED", "Do it.")]
    assert ledger.sql("select error_category from parts where part_type = 'error' order by 1").rows() == [
        ("limit_time",), ("sample_error",),
    ]  # fmt: skip


# Runs


def test_epochs_are_runs_of_their_own_and_earlier_attempts_are_retries(ledger: lk.Ledger, tmp_path: Path) -> None:
    retry = {"message": "lost", "traceback": "t", "events": [asked([USER], message("assistant", "Hm."))]}
    first = sample([asked([USER], DONE)], [USER, DONE], uuid=None, error_retries=[retry, {"message": "again"}])
    taken(ledger, tmp_path, first, sample([asked([USER], DONE)], [USER, DONE], uuid=None, epoch=2))
    rows = ledger.sql("select relation, steps, errors, task_id from runs order by session_id, relation, steps").rows()
    assert sorted(rows, key=str) == sorted(
        [(None, 1, 0, "ctf/1"), (None, 1, 0, "ctf/1"), ("retry", 1, 1, "ctf/1"), ("retry", 0, 1, "ctf/1")], key=str
    )
    assert ledger.sql("select count(*) from sessions").item() == 2


@pytest.mark.long
def test_a_grader_and_an_agent_of_a_tool_are_runs_beside(ledger: lk.Ledger, tmp_path: Path) -> None:
    wants = message("assistant", "", tool_calls=[call("c", "researcher")])
    spans = [
        event("span_begin", id="t", span_id="t", type="tool", name="researcher"),
        event("span_begin", id="a", span_id="a", parent_id="t", type="agent", name="researcher"),
        event("span_begin", id="s", span_id="s", type="scorer", name="judge"),
    ]
    events = [
        *spans, asked([USER], wants),
        event("tool", id="c", function="researcher", result="Found.", agent_span_id="a"),
        asked([message("user", "Find.")], message("assistant", "Found."), span_id="a"),
        asked([message("user", "Is it right?")], message("assistant", "GRADE: C"), span_id="s", used=usage(7, 1)),
        event("score", score={"value": "C"}, span_id="s"),
    ]  # fmt: skip
    scores = {"judge": {"value": "C", "explanation": "Good."}}
    taken(ledger, tmp_path, sample(events, [], scores=scores))
    rows = ledger.sql(
        "select r.relation, r.input_tokens, r.task, m.kind, p.relation is null and p.run_id is not null from runs r "
        "left join messages m on r.forked_at = m.message_id left join runs p on r.parent_run_id = p.run_id "
        "order by r.relation nulls first, r.task"
    ).rows()
    assert rows == [
        (None, 10, "Do it.", None, False), ("subagent", 10, "Find.", "TOOL_CALL_REQUEST", True),
        ("subagent", 7, "Is it right?", None, True),
    ]  # fmt: skip
    judged = "select actor, part_trust_level, data->>'$.verdict' from parts where kind = 'JUDGE_RESULT'"
    assert ledger.sql(judged).rows() == [("judge", "MODEL_GENERATED", "passed")]
    assert ledger.sql("select outcome from runs where relation is null").item() is None
    assert ("USER_TASK", "UNKNOWN", "Is it right?") in shown(ledger, "relation = 'subagent'")


# Outcomes and approvals


@pytest.mark.parametrize(
    ("value", "is_share", "verdict"),
    [("C", False, "passed"), ("I", False, "failed"), ("P", False, "inconclusive"), ("N", False, "failed"),
     (True, False, "passed"), (1.0, True, "passed"), (0, True, "failed"), (1.0, False, "inconclusive"),
     (0.5, True, "inconclusive"), ("nan", True, "inconclusive"), ({"a": 1}, True, "inconclusive")],
)  # fmt: skip
def test_verdicts(value: Any, is_share: bool, verdict: str) -> None:
    assert verdict_of(value, is_share=is_share).value == verdict


def test_only_what_the_scorer_itself_says_is_trusted(ledger: lk.Ledger, tmp_path: Path) -> None:
    scores = {"tests": {"value": 1.0, "answer": "mine", "explanation": "I passed"}, "style": {"value": "I"}}
    spec = [{"name": "tests", "metrics": [{"name": "inspect_ai/accuracy"}]}]
    path = tmp_path / "log.json"
    made = log(sample([asked([USER], DONE)], [], scores=scores))
    made["eval"]["scorers"] = spec
    path.write_text(json.dumps(made))
    ledger.import_logs(path, now=NOW)
    rows = ledger.sql("select actor, verdict, scope, data from verifier_results order by sequence_no").rows()
    assert [row[:3] for row in rows] == [("tests", "passed", "run"), ("style", "failed", "score")]
    assert "mine" not in rows[0][3]
    assert ledger.sql("select outcome from runs").item() == "passed"
    beside = "select part_trust_level from parts where kind = 'VERIFIER_RESULT' and data like '%mine%'"
    assert ledger.sql(beside).item() == "UNKNOWN"


def test_approvals_are_asked_and_decided(ledger: lk.Ledger, tmp_path: Path) -> None:
    wants = message("assistant", "I delete it.", tool_calls=[call("c", cmd="rm x")])
    asks = event("approval", message="I delete it.", call=call("c", cmd="rm x"), approver="human", decision="reject",
                 explanation="No.")  # fmt: skip
    machine = event("approval", message="", call=call("c"), approver="watchdog", decision="escalate")
    refused = event("tool", id="c", function="bash", result="", error={"type": "approval", "message": "No."})
    taken(ledger, tmp_path, sample([asked([USER], wants), machine, asks, refused], []))
    rows = ledger.sql(
        "select kind, actor, part_trust_level, status from parts where kind like 'APPROVAL%' order by sequence_no"
    ).rows()
    assert rows == [
        ("APPROVAL_REQUEST", "inspect", "MODEL_GENERATED", None),
        ("APPROVAL_DECISION", "watchdog", "UNKNOWN", "escalate"),
        ("APPROVAL_REQUEST", "inspect", "MODEL_GENERATED", None),
        ("APPROVAL_DECISION", "human", "USER_TRUSTED", "reject"),
    ]
    assert ledger.sql("select status from tool_calls").item() == "CANCELLED"


def test_other_events_are_kept_for_audits_and_unknown_ones_whole(ledger: lk.Ledger, tmp_path: Path) -> None:
    events = [
        event("compaction", tokens_before=9, tokens_after=3), event("sample_limit", type="token", message="Too many."),
        event("sandbox", action="read_file", file="a.py", output="x = 1"),
        event("sandbox", action="exec", cmd="ls", result=0), event("info", data={"a": 1}),
        event("score", score={"value": 0.5}, intermediate=True), event("telepathy", data=1), 7,
    ]  # fmt: skip
    taken(ledger, tmp_path, sample(events, [USER, DONE]))
    assert ledger.sql("select compactions, unknown_records, outcome from runs").rows() == [(1, 2, "passed")]
    assert ledger.sql("select path, text from parts where kind = 'FILE_OBSERVATION'").rows() == [("a.py", "x = 1")]
    assert ledger.sql("select verdict from verifier_results where scope = 'intermediate'").rows() == [("inconclusive",)]


# Usage


@pytest.mark.parametrize(
    ("recorded", "inputs"),
    [(usage(100, 10, input_tokens_cache_read=60), 100),  # total: the cache is within
     (usage(40, 10, 110, input_tokens_cache_read=50, input_tokens_cache_write=10), 100),  # beside
     ({"input_tokens": 40, "output_tokens": 10, "input_tokens_cache_read": 60}, 40)],  # no total: as it stands
)  # fmt: skip
def test_the_total_says_whether_input_holds_the_cache(recorded: dict[str, Any], inputs: int) -> None:
    found = usage_of(recorded)
    assert found is not None
    assert found.input_tokens == inputs


def test_an_answer_from_the_cache_is_a_step_that_costs_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    failed = event("model", model="anthropic/x", input=[USER], output={"choices": []}, error="overloaded")
    taken(ledger, tmp_path, sample([failed, asked([USER], DONE, cache="read")], []))
    assert ledger.sql("select steps, input_tokens, errors from runs").rows() == [(1, None, 1)]
    assert ledger.sql("select provider, billed from model_calls").rows() == [("openai", False)]


@pytest.mark.parametrize("value", [{"eval": {}}, {"version": 2, "status": "success", "samples": []}, []])
def test_other_documents_are_no_logs(value: Any) -> None:
    assert not inspect_ai.sniff([value])
