"""OpenHands streams and rows in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import openhands
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW, corpus_values
from tests.importers.odd_values import with_odd_value

V0: Final = sorted(
    name
    for name, values in corpus_values()["files"].items()
    if values["format"] == "openhands" and values["shape"] in ("events", "rows")
)
SDK: Final = "openhands/software-agent-sdk/events.jsonl"
VISIBLE: Final = (
    "select kind, text from parts where part_visibility = 'MODEL_VISIBLE' order by session_id, sequence_no, part_index"
)


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000000"


def action(number: int, kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": at(number), "source": source, "message": "", "action": kind, **more}


def observed(number: int, kind: str, content: str, **more: Any) -> dict[str, Any]:
    said = {"id": number, "timestamp": at(number), "source": "agent", "message": "", "observation": kind}
    return {**said, "content": content, "extras": {}, **more}


def asked(*names: tuple[str, str, Any], response: str = "r1", text: str = "I look.") -> list[dict[str, Any]]:
    """The metadata of events of one reply: its calls, each with an id, a tool and arguments."""
    calls = [{"id": i, "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in names]
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40},
             "cache_creation_input_tokens": 10}  # fmt: skip
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    reply = {"id": response, "model": "answered", "choices": [{"message": message}], "usage": usage}
    return [{"function_name": n, "tool_call_id": i, "model_response": reply} for i, n, _ in names]


def sdk(number: int, kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "timestamp": at(number), "source": source, "kind": kind, **more}


def stats(number: int, prompt: int, completion: int, **condenser: int) -> dict[str, Any]:
    uses = {"default": {"prompt_tokens": prompt, "completion_tokens": completion}, "condenser": condenser}
    totals = {
        n: {"model_name": f"m-{n}", "accumulated_cost": 0.0, "accumulated_token_usage": u} for n, u in uses.items()
    }
    value = {"usage_to_metrics": totals}
    return sdk(number, "ConversationStateUpdateEvent", "environment", key="stats", value=value)


def act(number: int, call_id: str, tool: str, arguments: Any, response: str = "r1", **more: Any) -> dict[str, Any]:
    call = {"id": call_id, "name": tool, "arguments": json.dumps(arguments)}
    thought = [{"type": "text", "text": "Hm."}]
    return sdk(number, "ActionEvent", thought=thought, tool_name=tool, tool_call_id=call_id, tool_call=call,
               llm_response_id=response, **more)  # fmt: skip


def back(number: int, call_id: str, tool: str, text: str, **more: Any) -> dict[str, Any]:
    seen = {"content": [{"type": "text", "text": text}], "is_error": False, "kind": "Observation", **more}
    return sdk(number, "ObservationEvent", "environment", tool_call_id=call_id, tool_name=tool, observation=seen)


def person(number: int, text: str, **more: Any) -> dict[str, Any]:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    return sdk(number, "MessageEvent", "user", llm_message=said, **more)


def taken(ledger: lk.Ledger, tmp_path: Path, *lines: Any) -> list[tuple[str, str | None]]:
    """Kind and text of what the model may see of imported lines."""
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return ledger.sql(VISIBLE).rows()


# Real files


@pytest.mark.parametrize("name", V0)
def test_a_real_stream_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    met = Counter[str]()
    for row in account.details.to_dicts():
        met[row["record_type"]] += row["count"]
    for side in ("action", "observation"):
        counts = {kind.partition("/")[2]: n for kind, n in met.items() if kind.startswith(f"{side}/")}
        assert counts == expected[f"{side}s"]
    assert sum(n for kind, n in met.items() if "/" in kind) == expected["events"]
    assert met["row"] == expected.get("rows", 0)
    assert ledger.sql("select count(distinct tool_call_id) from tool_calls").item() == expected["tool_call_ids"]
    if "metrics" in expected:
        usage = "select sum(input_tokens), sum(output_tokens), sum(cache_read_tokens) from model_calls where billed"
        metrics = expected["metrics"]
        assert ledger.sql(usage).rows() == [
            (metrics["prompt_tokens"], metrics["completion_tokens"], metrics["cache_read_tokens"])
        ]
        assert ledger.sql("select count(*) from runs where task_id is not null").item() == expected["rows"]
    assert ledger.sql("select sum(unknown_records)::int from runs").item() == 0
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def test_the_real_sdk_stream_gives_its_last_totals(corpus: Path, ledger: lk.Ledger) -> None:
    lines = [json.loads(line) for line in (corpus / SDK).read_text("utf-8").splitlines()]
    assert len(lines) == corpus_values()["files"][SDK]["records"]
    account = ledger.import_logs(corpus / SDK, now=NOW)
    assert account.closes
    counts = {row["record_type"]: row["count"] for row in account.details.to_dicts()}
    del counts["stats/model call"]
    assert counts == Counter(line["kind"] for line in lines)
    last = [line for line in lines if line.get("key") == "stats"][-1]["value"]["usage_to_metrics"]
    total = last["default"]["accumulated_token_usage"]
    usage = "select input_tokens, output_tokens, cache_read_tokens from runs"
    assert ledger.sql(usage).rows() == [
        (total["prompt_tokens"], total["completion_tokens"], total["cache_read_tokens"])
    ]
    assert ledger.import_logs(corpus / SDK, now=NOW).new_messages == 0


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == openhands.NAME)
    check_format(log_format, [corpus / name for name in (*V0, SDK)], cuts=3)


def test_no_other_format_of_the_corpus_is_taken_for_openhands(corpus: Path) -> None:
    own = {corpus / name for name in (*V0, SDK)} | set((corpus / "openhands").rglob("base_state.json"))
    for path in corpus.rglob("*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != openhands.NAME, path


# V0


def test_calls_of_one_reply_are_one_model_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    one, two = asked(("c1", "execute_bash", {"command": "ls"}), ("c2", "str_replace_editor", {"path": "a.py"}))
    rows = taken(
        ledger, tmp_path,
        action(0, "system", args={"content": "You are OpenHands."}),
        action(1, "message", "user", args={"content": "Fix it."}),
        action(2, "run", args={"command": "ls", "thought": "I look."}, tool_call_metadata=one),
        action(3, "read", args={"path": "a.py", "thought": ""}, tool_call_metadata=two),
        observed(4, "run", "a.py", cause=2, extras={"metadata": {"exit_code": 1}}, tool_call_metadata=one),
        observed(5, "read", "ERROR:\nno such file", cause=3, extras={"path": "a.py"}, tool_call_metadata=two),
    )  # fmt: skip
    assert rows == [
        ("SYSTEM_INSTRUCTION", "You are OpenHands."), ("USER_TASK", "Fix it."), ("AGENT_THOUGHT_SUMMARY", "I look."),
        ("TOOL_CALL_REQUEST", None), ("TOOL_CALL_REQUEST", None), ("TOOL_CALL_RESULT", "a.py"),
        ("FILE_OBSERVATION", "ERROR:\nno such file"),
    ]  # fmt: skip
    usage = "select model, input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens from model_calls"
    assert ledger.sql(usage).rows() == [("answered", 100, 40, 10, 7)]
    calls = "select tool_call_id, tool_name, arguments, path, status, error_category from tool_calls order by 1"
    assert ledger.sql(calls).rows() == [
        ("c1", "execute_bash", '{"command":"ls"}', None, "FAILED", "exit_code"),
        ("c2", "str_replace_editor", '{"path":"a.py"}', "a.py", "FAILED", "tool_error"),
    ]
    assert ledger.sql("select steps from runs").item() == 1


def test_metrics_of_a_row_count_every_call_once(ledger: lk.Ledger, tmp_path: Path) -> None:
    (one,) = asked(("c1", "execute_bash", {"command": "ls"}))
    snapshot = {"accumulated_token_usage": {"prompt_tokens": 99999}}
    history = [
        action(1, "message", "user", args={"content": "Fix it."}),
        action(2, "run", args={"command": "ls"}, tool_call_metadata=one, llm_metrics=snapshot),
    ]
    usages = [
        {"model": "m", "prompt_tokens": n, "completion_tokens": 1, "response_id": r} for n, r in ((50, "r1"), (8, "r2"))
    ]
    taken(ledger, tmp_path, {
        "instance_id": "org__repo-1", "instance": {"repo": "org/repo"}, "history": [history], "error": None,
        "metrics": {"accumulated_cost": 0.5, "token_usages": usages}, "metadata": {"agent_class": "CodeActAgent"},
        "test_result": {"git_patch": "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n",
                        "report": {"resolved": True, "empty_generation": False}},
    })  # fmt: skip
    run = "select task_id, repository, steps, input_tokens, output_tokens, outcome from runs"
    assert ledger.sql(run).rows() == [("org__repo-1", "org/repo", 2, 58, 2, "passed")]
    assert ledger.sql("select count(*) from file_changes").item() == 0
    assert ledger.sql("select text from messages where kind = 'DIFF_OBSERVATION'").item().startswith("diff --git")


def test_an_answer_without_a_call_takes_the_usage_in_its_place(ledger: lk.Ledger, tmp_path: Path) -> None:
    (one,) = asked(("c1", "execute_bash", {"command": "ls"}))
    usages = [{"model": "m", "prompt_tokens": n, "completion_tokens": 1, "response_id": f"r{n}"} for n in (1, 2, 3, 4)]
    history = [
        action(1, "message", "user", args={"content": "go"}), action(2, "run", args={}, tool_call_metadata=one),
        action(3, "message", args={"content": "Well."}), action(4, "condensation", args={"summary": "x"}),
    ]  # fmt: skip
    taken(ledger, tmp_path, {"instance_id": "i", "history": history, "metrics": {"token_usages": usages[:2]}})
    assert ledger.sql("select steps, input_tokens from runs").rows() == [(2, 3)]
    derived = "select count(*) from messages where kind = 'ASSISTANT_RESPONSE' and metadata like '%derived%usage%'"
    assert ledger.sql(derived).item() == 1
    # With a call that may be the condenser's, it cannot be told: the usage stands on calls of their own.
    history[0] = {**history[0], "timestamp": at(0)}
    taken(ledger, tmp_path, {"instance_id": "j", "history": history, "metrics": {"token_usages": usages}})
    assert ledger.sql("select steps, input_tokens from runs where task_id = 'j'").rows() == [(5, 10)]


def test_rows_of_one_instance_are_runs_of_their_own(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = [
        {"instance_id": "i", "history": [{**action(1, "message", "user", args={"content": "x"}), "timestamp": at(n)}],
         "test_result": {"resolved": n == 1}, "error": "Timeout" if n else None}
        for n in (0, 1)
    ]  # fmt: skip
    taken(ledger, tmp_path, *rows)
    assert ledger.sql("select outcome, errors from runs order by 1").rows() == [("failed", 0), ("passed", 1)]


def test_whose_words_an_observation_is(ledger: lk.Ledger, tmp_path: Path) -> None:
    knowledge = [{"name": "git", "trigger": "git", "content": "Use git."}]
    taken(
        ledger, tmp_path,
        action(1, "message", "user", args={"content": "go", "image_urls": ["https://x/y.png"]}),
        action(2, "recall", "user", args={"query": "go"}),
        observed(3, "recall", "", extras={"repo_instructions": "Be good.", "microagent_knowledge": knowledge,
                                          "repo_name": "org/repo"}),
        action(4, "browse", args={"url": "https://x"}), observed(5, "browse", "page", cause=4),
        action(6, "edit", args={"path": "a.py"}),
        observed(7, "edit", "--- a.py\n+++ a.py\n@@ -0,0 +1 @@\n+x\n", cause=6, extras={
            "path": "a.py", "new_content": "x", "formatted_output_and_error": "File created successfully at: a.py"}),
        action(8, "run", args={"command": "rm", "confirmation_state": "awaiting_confirmation"}),
        observed(9, "user_rejected", "No!", cause=8), observed(10, "error", "No such tool."),
        observed(11, "agent_state_changed", "", extras={"agent_state": "error", "reason": "quota"}),
        action(12, "run", "user", args={"command": "whoami"}), observed(13, "mcp", "remote", cause=12),
        action(14, "dance", args={}), observed(15, "trance", ""),
    )  # fmt: skip
    rows = ledger.sql("select kind, text, part_trust_level from parts where text is not null and kind <> 'USER_TASK' "
                      "order by sequence_no, part_index").rows()  # fmt: skip
    assert [(kind, text[:10], trust) for kind, text, trust in rows] == [
        ("REPOSITORY_INSTRUCTION", "Be good.", "REPOSITORY_UNTRUSTED"),
        ("REPOSITORY_INSTRUCTION", "Use git.", "UNKNOWN"),
        ("TOOL_CALL_RESULT", "page", "NETWORK_UNTRUSTED"), ("DIFF_OBSERVATION", "File creat", "TOOL_TRUSTED"),
        ("DIFF_OBSERVATION", "--- a.py\n+", "MODEL_GENERATED"), ("APPROVAL_DECISION", "No!", "USER_TRUSTED"),
        ("ERROR_EVENT", "No such to", "UNKNOWN"), ("ERROR_EVENT", "quota", "UNKNOWN"),
        ("TOOL_CALL_RESULT", "remote", "NETWORK_UNTRUSTED"),
    ]  # fmt: skip
    assert ledger.sql("select count(*) from messages where kind = 'APPROVAL_REQUEST'").item() == 1
    assert ledger.sql("select path, lines_added from file_changes").rows() == [("a.py", 1)]
    status = ledger.sql("select status, error_category from tool_calls where arguments like '%rm%'").rows()
    assert status == [("CANCELLED", "denied_by_user")]
    typed = "select actor, part_trust_level from parts where part_type = 'tool_call' and data like '%whoami%'"
    assert ledger.sql(typed).rows() == [("user", "USER_TRUSTED")]
    assert ledger.sql("select unknown_records from runs").item() == 2


def test_a_summary_in_place_of_events_and_the_models_last_word(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = taken(
        ledger, tmp_path,
        action(1, "message", "user", args={"content": "go"}),
        action(2, "condensation", args={"summary": "Done so far.", "forgotten_event_ids": [1]}),
        action(3, "message", args={"content": "Well."}),
        action(4, "finish", args={"final_thought": "All done.", "task_completed": "true", "outputs": {}}),
    )  # fmt: skip
    assert rows[1:] == [("RUN_SUMMARY", "Done so far."), ("ASSISTANT_RESPONSE", "Well.")]
    assert ledger.sql("select compactions, steps from runs").rows() == [(1, 2)]
    last = "select text, part_trust_level, data from parts where data like '%task_completed%'"
    assert ledger.sql(last).rows() == [("All done.", "MODEL_GENERATED", '{"task_completed":"true"}')]


def test_a_list_and_lines_of_a_stream_are_the_same(ledger: lk.Ledger, tmp_path: Path) -> None:
    events = [action(1, "message", "user", args={"content": "x"}), action(2, "message", args={"content": "y"})]
    taken(ledger, tmp_path, *events)
    (tmp_path / "list.json").write_text(json.dumps(events, indent=1))
    (tmp_path / "export.json").write_text(json.dumps({"trajectory": events}))
    for name in ("list.json", "export.json"):
        assert ledger.import_logs(tmp_path / name, now=NOW).new_messages == 0


# V1 SDK


def test_totals_become_the_usage_of_calls(ledger: lk.Ledger, tmp_path: Path) -> None:
    lines = [
        person(1, "Fix it."), stats(2, 100, 10), act(3, "c1", "terminal", {"command": "ls"}, "r1"),
        act(4, "c2", "terminal", {"command": "pwd"}, "r1"), back(5, "c1", "terminal", "a.py", exit_code=0),
        stats(6, 250, 15), stats(7, 450, 30), stats(8, 450, 30, prompt_tokens=70, completion_tokens=5),
        sdk(9, "Condensation", "environment", summary="So far.", forgotten_event_ids=["e1"], llm_response_id="r4"),
        act(10, "c3", "terminal", {"command": "id"}, "r3"), stats(11, 500, 31, prompt_tokens=70, completion_tokens=5),
    ]  # fmt: skip
    taken(ledger, tmp_path, *lines)
    usage = "select model, input_tokens, output_tokens from model_calls order by 2"
    expected = [("m-default", 50, 1), ("m-condenser", 70, 5), ("m-default", 100, 10), ("m-default", 150, 5),
                ("m-default", 200, 15)]  # fmt: skip
    assert ledger.sql(usage).rows() == expected
    assert ledger.sql("select input_tokens, output_tokens, steps, compactions from runs").rows() == [(570, 36, 5, 1)]
    # The event of the last call is written after its totals: no call of its own any more.
    taken(ledger, tmp_path, *lines, act(12, "c4", "terminal", {}, "r5"))
    assert ledger.sql(usage).rows() == expected
    assert ledger.sql("select input_tokens, steps from runs").rows() == [(570, 5)]


def test_hidden_reasoning_in_a_thought_is_measured(ledger: lk.Ledger, tmp_path: Path) -> None:
    event = act(2, "c1", "terminal", {}, reasoning_content="secret\n")
    event["thought"] = [{"type": "text", "text": "<think>secret\n</think>\n\nI list."}]
    rows = taken(ledger, tmp_path, person(1, "go"), event)
    assert rows[1] == ("AGENT_THOUGHT_SUMMARY", "I list.")
    assert ledger.sql("select count(*) from parts where text like '%secret%'").item() == 0
    assert ledger.sql("select count(*) from parts where data like '%measured%'").item() == 1


def test_whose_words_an_event_of_the_sdk_is(ledger: lk.Ledger, tmp_path: Path) -> None:
    critic = {"score": 0.4, "message": "meh"}
    taken(
        ledger, tmp_path,
        sdk(1, "SystemPromptEvent", system_prompt={"type": "text", "text": "You are."}, tools=[],
            dynamic_context={"type": "text", "text": "AGENTS.md says"}),
        person(2, "Fix it.", extended_content=[{"type": "text", "text": "skill"}]),
        person(3, "from another", sender="agent-2"),
        act(4, "c1", "file_editor", {"command": "view", "path": "a.py"}, critic_result=critic),
        back(5, "c1", "file_editor", "x = 1", command="view", path="a.py"),
        act(6, "c2", "fetch", {}, "r2"), back(7, "c2", "fetch", "page", kind="MCPToolObservation"),
        act(8, "c3", "terminal", {"command": "rm"}, "r3"),
        sdk(9, "ConversationStateUpdateEvent", "environment", key="execution_status", value="waiting_for_confirmation"),
        sdk(10, "UserRejectObservation", "environment", tool_call_id="c3", tool_name="terminal", action_id="e8",
            rejection_reason="No!"),
        act(11, "c4", "terminal", {}, "r4"),
        sdk(12, "AgentErrorEvent", tool_call_id="c4", tool_name="terminal", error="bad arguments"),
        sdk(13, "HookExecutionEvent", "hook", hook_event_type="Stop", hook_command="make", success=True, blocked=True,
            stdout="tests fail"),
        sdk(14, "ConversationErrorEvent", "environment", code="LLMError", detail="quota"),
        sdk(15, "PauseEvent", "user"),
        sdk(16, "TokenEvent", prompt_token_ids=[1]), sdk(17, "NovelEvent", value=1),
        sdk(18, "ConversationStateUpdateEvent", "environment", key="execution_status", value="error"),
    )  # fmt: skip
    rows = ledger.sql("select kind, text, part_trust_level from parts where text is not null and text <> 'Hm.' "
                      "order by sequence_no, part_index").rows()  # fmt: skip
    assert [(kind, text, trust.split("_")[0]) for kind, text, trust in rows] == [
        ("SYSTEM_INSTRUCTION", "You are.", "ORG"), ("DEVELOPER_INSTRUCTION", "AGENTS.md says", "REPOSITORY"),
        ("USER_TASK", "Fix it.", "USER"), ("REPOSITORY_INSTRUCTION", "skill", "UNKNOWN"),
        ("USER_TASK", "from another", "UNKNOWN"), ("FILE_OBSERVATION", "x = 1", "REPOSITORY"),
        ("TOOL_CALL_RESULT", "page", "NETWORK"), ("APPROVAL_DECISION", "No!", "USER"),
        ("TOOL_CALL_RESULT", "bad arguments", "UNKNOWN"), ("ERROR_EVENT", "LLMError: quota", "UNKNOWN"),
    ]  # fmt: skip
    kinds = Counter(ledger.sql("select kind from messages")["kind"])
    assert (kinds["JUDGE_RESULT"], kinds["APPROVAL_REQUEST"]) == (1, 1)
    verdicts = ledger.sql("select scope, verdict from verifier_results order by 1").rows()
    assert verdicts == [("hook", "failed"), ("run", "inconclusive")]
    status = ledger.sql("select tool_call_id, status, error_category from tool_calls order by 1").rows()
    assert status == [
        ("c1", "SUCCEEDED", None), ("c2", "SUCCEEDED", None), ("c3", "CANCELLED", "denied_by_user"),
        ("c4", "FAILED", "agent_error"),
    ]  # fmt: skip
    assert ledger.sql("select unknown_records, outcome from runs").rows() == [(1, "inconclusive")]


def test_a_branch_of_a_conversation_is_a_run_of_its_own(ledger: lk.Ledger, tmp_path: Path) -> None:
    def child(event: dict[str, Any], parent: int) -> dict[str, Any]:
        return {**event, "parent_id": f"e{parent}"}

    answer = {"role": "assistant", "content": "yes"}
    taken(
        ledger, tmp_path, person(1, "A"), child(sdk(2, "MessageEvent", llm_message=answer, llm_response_id="r1"), 1),
        child(person(3, "B"), 2), child(sdk(4, "TokenEvent"), 2), child(person(5, "C"), 4),
    )  # fmt: skip
    runs = ledger.sql("select relation, parent_run_id is not null from runs order by 1 nulls first").rows()
    assert runs == [(None, False), ("rewind", True)]


def test_a_call_of_another_agent_has_one_result(ledger: lk.Ledger, tmp_path: Path) -> None:
    def event(number: int, **more: Any) -> dict[str, Any]:
        return sdk(number, "ACPToolCallEvent", tool_call_id="t1", title="Run ls", tool_kind="execute", **more)

    taken(
        ledger, tmp_path, person(1, "go"), event(2, status="pending", raw_input={"command": "ls"}),
        event(3, status="in_progress"), event(4, status="completed", raw_output="a.py"),
    )  # fmt: skip
    calls = "select tool_name, arguments, status, result_text, result_trust_level, result_count from tool_calls"
    assert ledger.sql(calls).rows() == [("execute", '{"command":"ls"}', "SUCCEEDED", "a.py", "UNKNOWN", 1)]


def test_a_row_of_sdk_events_takes_usage_from_its_metrics(ledger: lk.Ledger, tmp_path: Path) -> None:
    usages = [{"model": "m", "prompt_tokens": 9, "completion_tokens": 1, "response_id": "r1"}]
    history = [person(1, "go"), act(2, "c1", "terminal", {}), back(3, "c1", "terminal", "ok")]
    taken(ledger, tmp_path, {"instance_id": "i", "history": history, "metrics": {"token_usages": usages}})
    assert ledger.sql("select task_id, models, input_tokens, steps from runs").rows() == [("i", ["m"], 9, 1)]


@pytest.mark.parametrize(
    "value",
    [{}, [], [{"role": "user", "content": "x"}], {"history": []}, {"events": []},
     {"id": "e1", "timestamp": "x", "source": "somebody", "kind": "MessageEvent"},
     {"instance_id": "i", "history": [{"role": "user", "content": "x"}]}, {"trajectory": [{"action": "x"}]}],
)  # fmt: skip
def test_other_values_are_no_streams(value: Any) -> None:
    assert not openhands.sniff([value])


LINES: Final = b"".join(
    json.dumps(event).encode() + b"\n"
    for n in range(0, 12, 4)
    for event in (
        person(n + 1, "é"), stats(n + 2, 10 * n + 10, n + 1),
        act(n + 3, f"c{n}", "terminal", {"command": "ls"}, f"r{n}"),
        back(n + 4, f"c{n}", "terminal", "a"),
    )
)  # fmt: skip
ROWS: Final = b"".join(
    json.dumps({"instance_id": f"i{n}", "history": [action(1, "message", "user", args={"content": f"é{n}"})],
                "test_result": {"resolved": True}}).encode() + b"\n"
    for n in range(6)
)  # fmt: skip


@pytest.mark.parametrize("raw", [LINES, ROWS], ids=["events", "rows"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_nothing_but_the_lines_that_it_hits(raw: bytes, data: st.DataObject, tmp_path: Path) -> None:
    def read(content: bytes) -> dict[int, list[str]]:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(content)
        lines: dict[int, list[str]] = {}
        for record in openhands.read(path, measure=lambda each: str(len(each))).records:
            if record.record_type != "stats/model call":  # which call totals grew by depends on the events after them
                lines.setdefault(record.line, []).append(record.digest)
        return lines

    whole = read(raw)
    end = data.draw(st.integers(1, len(raw)))
    place = data.draw(st.integers(0, end - 1))
    damaged = bytearray(raw[:end])
    if damaged[place] != 0x0A:
        damaged[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != 0x0A))
    after = read(bytes(damaged))
    touched = {raw[:place].count(b"\n") + 1, raw[:end].count(b"\n") + 1}
    for line, digests in whole.items():
        if line not in touched and line <= raw[:end].count(b"\n"):
            assert after[line] == digests


def _samples() -> list[list[Any]]:
    one, two = asked(("c1", "execute_bash", {"command": "ls"}), ("c2", "str_replace_editor", {"path": "a"}))
    v0 = [
        action(0, "system", args={"content": "x"}),
        action(1, "message", "user", args={"content": "x", "image_urls": []}),
        action(2, "run", args={"command": "ls", "confirmation_state": "rejected"}, tool_call_metadata=one),
        observed(3, "run", "x", cause=2, extras={"metadata": {"exit_code": 1}}, tool_call_metadata=one),
        action(4, "edit", args={"path": "a"}, tool_call_metadata=two),
        observed(5, "edit", "x", cause=4, extras={"path": "a", "diff": "--- a\n", "screenshot": "zz"}),
        observed(6, "recall", "", extras={"repo_instructions": "x", "microagent_knowledge": [{"content": "b"}]}),
        action(7, "condensation", args={"summary": "x"}), action(8, "message", args={"content": "y"}),
        observed(9, "user_rejected", "n", cause=4), observed(10, "error", "n"),
        observed(11, "agent_state_changed", "", extras={"agent_state": "error"}),
        action(12, "finish", args={"final_thought": "x", "outputs": {"a": 1}}),
    ]  # fmt: skip
    usage = {"model": "m", "prompt_tokens": 1, "completion_tokens": 1, "response_id": "r2"}
    row = {"instance_id": "i", "history": v0, "metrics": {"token_usages": [usage]}, "error": "x",
           "test_result": {"git_patch": "x", "report": {"resolved": True}}}  # fmt: skip
    v1 = [
        sdk(1, "SystemPromptEvent", system_prompt={"text": "x"}), person(2, "x", extended_content=[{"text": "s"}]),
        stats(3, 10, 1, prompt_tokens=3),
        act(4, "c1", "file_editor", {"command": "view"}, critic_result={"score": 1}, parent_id="e3"),
        back(5, "c1", "file_editor", "x", exit_code=0, metadata={"exit_code": 0}),
        sdk(6, "UserRejectObservation", "environment", tool_call_id="c1", rejection_reason="x"),
        sdk(7, "AgentErrorEvent", tool_call_id="c1", error="x"),
        sdk(8, "Condensation", "environment", summary="x", llm_response_id="r9"),
        sdk(9, "HookExecutionEvent", "hook", success=True, stdout="x"),
        sdk(10, "ACPToolCallEvent", tool_call_id="t1", title="x", status="completed", content=[{"content": {}}]),
        sdk(11, "ConversationStateUpdateEvent", "environment", key="execution_status", value="finished"),
        sdk(12, "ConversationErrorEvent", "environment", code="x"),
    ]  # fmt: skip
    return [v0, [row], v1]


SAMPLES: Final = _samples()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_values_of_another_type_never_break_a_reading(data: st.DataObject, tmp_path: Path) -> None:
    odd = with_odd_value(data, data.draw(st.sampled_from(SAMPLES)))
    openhands.sniff(odd)
    path = tmp_path / "odd.json"
    path.write_text("".join(json.dumps(each) + "\n" for each in odd), "utf-8")
    for record in openhands.read(path, measure=lambda content: str(len(content))).records:
        assert bool(record.messages) != bool(record.skipped)
        assert all(message.parts and message.actor for message in record.messages)
