"""Plain conversations in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import chat
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS
from tests.builders import PIXEL
from tests.conftest import NOW, corpus_values

FILES = sorted(
    name for name, values in corpus_values()["files"].items() if values["format"] == "chat" and values.get("runs")
)
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def taken(ledger: lk.Ledger, tmp_path: Path, *rows: Any) -> list[dict[str, Any]]:
    """The parts that some rows give."""
    account = ledger.import_logs(write(tmp_path / "rows.jsonl", *rows), now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return ledger.sql("select * from parts order by run_id, sequence_no, part_index").to_dicts()


def labels(parts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(part["kind"], part["part_trust_level"]) for part in parts]


def call(number: str | None, name: str, arguments: Any) -> dict[str, Any]:
    given = {} if number is None else {"id": number}
    return {**given, "type": "function", "function": {"name": name, "arguments": arguments}}


# Real files


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.quarantined == expected["malformed_lines"]
    met = Counter[str]()
    for row in account.details.to_dicts():
        met[row["record_type"]] += row["count"]
    assert {role: met[role] for role in ROLES if met[role]} == expected["roles"]
    assert met["header"] + met["other row"] == expected["other_rows"]
    assert ledger.sql("select count(*) from runs").item() == expected["runs"]
    assert ledger.sql("select count(*) from tool_calls").item() == expected["tool_calls"]
    results = ledger.sql("select count(*) from parts where part_type = 'tool_result'").item()
    assert results == expected["tool_messages"]
    again = ledger.import_logs(corpus / name, now=NOW)
    assert again.new_messages == 0


@pytest.mark.slow
def test_real_rewards_are_verdicts_by_task_and_trial(corpus: Path, ledger: lk.Ledger) -> None:
    name = "chat/tau-bench/gpt-4o-airline.json"
    expected = corpus_values()["files"][name]
    ledger.import_logs(corpus / name, now=NOW)
    verdicts = ledger.sql(
        "select task_id, verdict, data->>'$.trial' as trial, data->>'$.reward' as reward "
        "from verifier_results join runs using (session_id, run_id)"
    )
    assert verdicts.height == expected["runs"]
    assert verdicts["task_id"].n_unique() == expected["tasks"]
    assert verdicts.select("task_id", "trial").n_unique() == expected["task_trials"]
    assert (verdicts["verdict"] == "passed").sum() == sum(map(float, verdicts["reward"])) == expected["reward_sum"]
    unanswered = ledger.sql("select count(*) from tool_calls where result_count <> 1").item()
    assert unanswered == expected["calls_without_result"]


def test_what_an_agent_ran_from_its_text_is_no_word_of_the_user(corpus: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(corpus / "chat/SWE-smith/ft_xml_example.jsonl", now=NOW)
    said = ledger.sql("select part_trust_level, count(*) as n from parts where kind = 'USER_TASK' group by all").rows()
    assert said == [("USER_TRUSTED", 3)]
    counts = "select part_trust_level, count(*) from parts where kind = 'TOOL_CALL_RESULT' group by 1 order by 1"
    assert ledger.sql(counts).rows() == [("REPOSITORY_UNTRUSTED", 97), ("TOOL_TRUSTED", 3)]  # 3 printed nothing
    assert sorted(ledger.sql("select task_id from runs")["task_id"]) == [
        "getmoto__moto.694ce1f4.pr_7331", "pandas-dev__pandas.95280573.pr_53652", "pydantic__pydantic.acb0f10f.pr_8316",
    ]  # fmt: skip


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == chat.NAME)
    check_format(log_format, [corpus / name for name in FILES if "tau" not in name], cuts=4)


# Shapes


def test_openai_messages(ledger: lk.Ledger, tmp_path: Path) -> None:
    parts = taken(
        ledger,
        tmp_path,
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "developer", "content": [{"type": "text", "text": "Use tools."}]},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": _png()}}]},
                {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
                    call("c1", "bash", '{"command": "ls"}'), call("c2", "lookup", "not json"),
                ]},
                {"role": "tool", "tool_call_id": "c2", "content": "2"},
                {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
                {"role": "assistant", "content": "Done.", "refusal": None},
            ],
            "model": "gpt-test",
        },
    )  # fmt: skip
    assert labels(parts) == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED"),
        ("DEVELOPER_INSTRUCTION", "ORG_TRUSTED"),
        ("USER_TASK", "USER_TRUSTED"),
        ("AGENT_THOUGHT_SUMMARY", "MODEL_GENERATED"),
        ("TOOL_CALL_REQUEST", "MODEL_GENERATED"),
        ("TOOL_CALL_REQUEST", "MODEL_GENERATED"),
        ("TOOL_CALL_RESULT", "UNKNOWN"),
        ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED"),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED"),
        ("RUN_SUMMARY", "UNKNOWN"),
    ]
    assert parts[2]["content_type"] == "image/png"
    assert (parts[3]["text"], parts[3]["part_visibility"]) == (None, "AUDIT_ONLY")
    assert [json.loads(part["data"]) for part in parts[4:6]] == [{"command": "ls"}, "not json"]
    calls = ledger.sql("select tool_call_id, result_text, status, step from tool_calls order by 1").rows()
    assert calls == [("c1", "a.py", "UNKNOWN", 0), ("c2", "2", "UNKNOWN", 0)]
    assert ledger.sql("select models, steps from runs").rows() == [(["gpt-test"], 2)]


def _png() -> str:
    return "data:image/png;base64," + PIXEL


def test_anthropic_messages(ledger: lk.Ledger, tmp_path: Path) -> None:
    parts = taken(
        ledger,
        tmp_path,
        {
            "system": "You are an agent.",
            "messages": [
                {"role": "user", "content": "List."},
                {"role": "assistant", "id": "msg_1", "model": "claude-test", "content": [
                    {"type": "thinking", "thinking": "secret", "signature": "abcd"},
                    {"type": "text", "text": "I list."},
                    {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}},
                ], "stop_reason": "tool_use", "usage": {
                    "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
                    "cache_creation": {"ephemeral_1h_input_tokens": 5}, "output_tokens": 7}},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": [
                        {"type": "text", "text": "no such file"}]},
                    {"type": "text", "text": "Go on."}]},
            ],
        },
    )  # fmt: skip
    assert labels(parts) == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED"),
        ("USER_TASK", "USER_TRUSTED"),
        ("AGENT_THOUGHT_SUMMARY", "MODEL_GENERATED"),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED"),
        ("TOOL_CALL_REQUEST", "MODEL_GENERATED"),
        ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED"),
        ("USER_TASK", "USER_TRUSTED"),
    ]
    assert json.loads(parts[2]["data"]) == {"hidden_reasoning": "measured", "sealed_bytes": 4}
    assert (parts[5]["status"], parts[5]["text"]) == ("FAILED", "no such file")
    usage = ledger.sql(
        "select input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens, model "
        "from model_calls"
    )
    assert usage.rows() == [(130, 100, 15, 5, 7, "claude-test")]


def test_openai_responses(ledger: lk.Ledger, tmp_path: Path) -> None:
    parts = taken(
        ledger,
        tmp_path,
        {
            "id": "resp_1", "object": "response", "created_at": 1_741_476_542, "model": "gpt-test",
            "instructions": "Help.", "input": "What is in it?",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look."}],
                 "encrypted_content": "xyz"},
                {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "it"}},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file",
                 "arguments": '{"path": "a.py"}'},
                {"type": "message", "id": "m_1", "role": "assistant", "content": [
                    {"type": "output_text", "text": "Wait."}]},
            ],
            "usage": {"input_tokens": 36, "input_tokens_details": {"cached_tokens": 6}, "output_tokens": 87,
                      "output_tokens_details": {"reasoning_tokens": 30}},
        },
        [
            {"role": "user", "content": "Read."},
            {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path": "a.py"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "x = 1"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Read."}]},
            {"type": "something_new", "id": "n_1"},
        ],
    )  # fmt: skip
    kinds = Counter(part["kind"] for part in parts)
    assert kinds["AGENT_THOUGHT_SUMMARY"] == 2
    assert [part["error_category"] for part in parts if part["kind"] == "ERROR_EVENT"] == ["unknown_record"]
    calls = ledger.sql("select tool_name, status, path, result_trust_level from tool_calls order by 1, 2, 4").rows()
    assert calls == [
        ("read_file", "UNKNOWN", "a.py", "REPOSITORY_UNTRUSTED"),
        ("read_file", "UNKNOWN", "a.py", None),
        ("web_search", "SUCCEEDED", None, "NETWORK_UNTRUSTED"),
    ]
    usage = "select input_tokens, cache_read_tokens, output_tokens, reasoning_tokens from model_calls order by 1"
    assert [row for row in ledger.sql(usage).rows() if row[0]] == [(36, 6, 87, 30)]
    assert sorted(ledger.sql("select steps from runs")["steps"]) == [1, 2]


def test_agentdojo_runs(ledger: lk.Ledger, tmp_path: Path) -> None:
    parts = taken(
        ledger,
        tmp_path,
        {
            "suite_name": "banking", "pipeline_name": "gpt", "user_task_id": "user_task_1", "utility": True,
            "injection_task_id": "injection_task_3", "attack_type": "direct", "security": False, "duration": 1.5,
            "error": None,
            "messages": [
                {"role": "user", "content": [{"type": "text", "content": "Pay."}]},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"function": "send_money", "args": {"amount": 1}, "id": "x", "placeholder_args": None}]},
                {"role": "tool", "content": [{"type": "text", "content": ""}], "tool_call_id": "x",
                 "tool_call": {"function": "send_money", "args": {"amount": 1}, "id": "x"}, "error": "ValueError: no"},
            ],
        },
    )  # fmt: skip
    assert parts[0]["text"] == "Pay."
    (asked,) = ledger.sql("select tool_name, arguments, status, error_category from tool_calls").rows()
    assert asked == ("send_money", '{"amount":1}', "FAILED", "tool_error")
    assert ledger.sql("select task_id, outcome from runs").rows() == [
        ("banking/user_task_1/injection_task_3", "passed")
    ]
    assert ledger.sql("select scope, verdict from verifier_results order by 1").rows() == [
        ("run", "passed"), ("security", "inconclusive"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("service", "response"),
    [
        ("openai", {"id": "chatcmpl-1", "model": "m",
                    "choices": [{"message": {"role": "assistant", "content": "Yes."}}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 2}}),
        ("anthropic", {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                       "content": [{"type": "text", "text": "Yes."}],
                       "usage": {"input_tokens": 9, "output_tokens": 2}}),
    ],
)  # fmt: skip
def test_a_request_and_its_response_are_one_run(
    service: str, response: dict[str, Any], ledger: lk.Ledger, tmp_path: Path
) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": service}]}
    parts = taken(ledger, tmp_path, {"request": request, "response": response})
    assert [part["text"] for part in parts[:2]] == [service, "Yes."]
    assert ledger.sql("select model, input_tokens, output_tokens from model_calls").rows() == [("m", 9, 2)]


# Traps


def test_ids_that_are_used_again_name_other_calls(ledger: lk.Ledger, tmp_path: Path) -> None:
    turns: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(3):
        turns += [
            {"role": "assistant", "tool_calls": [call("call_1", "step", {"n": number})]},
            {"role": "tool", "tool_call_id": "call_1", "content": f"result {number}"},
        ]
    taken(ledger, tmp_path, {"messages": turns})
    calls = ledger.sql("select tool_call_id, arguments, result_text, result_count from tool_calls order by step").rows()
    assert calls == [
        ("call_1", '{"n":0}', "result 0", 1), ("call_1~2", '{"n":1}', "result 1", 1),
        ("call_1~3", '{"n":2}', "result 2", 1),
    ]  # fmt: skip


def test_results_without_ids_answer_the_calls_before_them(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(
        ledger,
        tmp_path,
        {"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [call(None, "first", {})]},
            {"role": "assistant", "content": None, "function_call": {"name": "second", "arguments": "{}"}},
            {"role": "function", "name": "second", "content": "2"},
            {"role": "tool", "content": "whose?"},
        ]},
    )  # fmt: skip
    assert ledger.sql("select tool_name, result_text from tool_calls order by step").rows() == [
        ("first", None), ("second", "2"),
    ]  # fmt: skip


def test_equal_rows_are_runs_of_their_own_and_the_same_in_every_file(ledger: lk.Ledger, tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]}
    ledger.import_logs(write(tmp_path / "a.jsonl", row, row), now=NOW)
    assert ledger.sql("select count(*) from runs").item() == 2
    (tmp_path / "b.json").write_text(json.dumps([row, row], indent=1))
    again = ledger.import_logs(tmp_path / "b.json", now=NOW)
    assert (again.accepted, again.duplicate, again.new_messages) == (0, 4, 0)


def test_a_grown_file_adds_its_new_rows(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": str(n)}]} for n in range(3)]
    ledger.import_logs(write(tmp_path / "a.jsonl", *rows[:2]), now=NOW)
    account = ledger.import_logs(write(tmp_path / "a.jsonl", *rows), now=NOW)
    assert account.new_messages == 1
    assert ledger.sql("select count(*) from runs").item() == 3


def test_turns_that_are_no_turns_cost_nothing_else(ledger: lk.Ledger, tmp_path: Path) -> None:
    parts = taken(
        ledger, tmp_path, {"messages": [{"role": "user", "content": "a"}, 7, {"role": "oracle", "content": "b"}]}
    )
    assert [part["error_category"] for part in parts] == [None, "unknown_record", "unknown_record"]


def test_a_row_without_turns_is_accounted_for(ledger: lk.Ledger, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a"}]
    account = ledger.import_logs(write(tmp_path / "a.jsonl", {"messages": turns}, {"messages": []}), now=NOW)
    assert (account.records, account.accepted, account.skipped) == (2, 1, 1)


def test_a_reward_on_an_unknown_scale_proves_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a"}]
    taken(
        ledger, tmp_path,
        {"messages": turns, "reward": 0.5}, {"messages": turns, "score": 1}, {"messages": turns, "reward": 0},
        {"messages": turns, "metadata": {"resolved": True}},
    )  # fmt: skip
    verdicts = sorted(ledger.sql("select outcome from runs")["outcome"])
    assert verdicts == ["failed", "inconclusive", "inconclusive", "passed"]


def test_reasoning_is_kept_only_where_it_is_asked_for(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning": "why so"}]}
    write(tmp_path / "a.jsonl", row)
    for keep, expected in ((False, 0), (True, 1)):
        with lk.open(tmp_path / str(keep), key=bytes(32)) as ledger:
            ledger.import_logs(tmp_path / "a.jsonl", now=NOW, keep_reasoning=keep)
            assert ledger.sql("select count(*) from parts where artifact_refs is not null").item() == expected
            assert ledger.sql("select count(*) from parts where text like '%why so%'").item() == 0


@pytest.mark.parametrize(
    "value",
    [{"messages": "x"}, {"messages": [{"from": "human", "value": "x"}]}, [1], {"sessionId": "s", "messages": []}],
)
def test_other_values_are_no_conversations(value: Any) -> None:
    assert not chat.sniff([value])


def test_no_other_format_of_the_corpus_is_taken_for_a_conversation(corpus: Path) -> None:
    from ledgerkit.importers.registry import recognise

    own = {corpus / name for name in FILES} | {corpus / "openhands/software-agent-sdk/fncall-llm-message.json"}
    for path in corpus.rglob("*.json*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != chat.NAME, path


ROWS = b"".join(
    json.dumps({"messages": [
        {"role": "user", "content": f"task {n}"},
        {"role": "assistant", "content": None, "tool_calls": [call(f"c{n}", "bash", '{"command": "ls"}')]},
        {"role": "tool", "tool_call_id": f"c{n}", "content": "é"},
    ], "reward": n % 2}).encode() + b"\n"
    for n in range(6)
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_nothing_but_the_rows_that_it_hits(data: st.DataObject, tmp_path: Path) -> None:
    def said(raw: bytes) -> dict[int, list[str]]:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(raw)
        parsed = chat.read(path, measure=lambda content: str(len(content)))
        lines: dict[int, list[str]] = {}
        for record in parsed.records:
            lines.setdefault(record.line, []).append(record.digest)
        return lines

    whole = said(ROWS)
    end = data.draw(st.integers(1, len(ROWS)))
    at = data.draw(st.integers(0, end - 1))
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte != 0x0A))
    damaged = bytearray(ROWS[:end])
    hit = damaged[at] != 0x0A
    damaged[at] = value if hit else damaged[at]
    after = said(bytes(damaged))
    touched = {ROWS[:at].count(b"\n") + 1, ROWS[:end].count(b"\n") + 1}
    for line, digests in whole.items():
        if line not in touched and line <= ROWS[:end].count(b"\n"):
            assert after[line] == digests
