"""OTLP traces in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import otel
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from ledgerkit.importers.shapes import is_list, is_object
from tests.conftest import NOW, corpus_values

FILES = sorted(name for name, values in corpus_values()["files"].items() if values.get("kind") == "otlp")
TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
BEGIN: Final = 1_780_000_000


def value(plain: Any) -> dict[str, Any]:
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, float):
        return {"doubleValue": plain}
    if is_list(plain):
        return {"arrayValue": {"values": [value(each) for each in plain]}}
    if is_object(plain):
        return {"kvlistValue": {"values": attributes(plain)}}
    return {"stringValue": plain}


def attributes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(each)} for key, each in plain.items()]


def span(
    name: str, number: int, parent: str = "", events: Any = (), status: Any = None, **given: Any
) -> dict[str, Any]:
    at = (BEGIN + number) * 1_000_000_000
    return {
        "traceId": TRACE, "spanId": f"{number:016x}", "parentSpanId": parent, "name": name, "kind": 1,
        "startTimeUnixNano": str(at), "endTimeUnixNano": str(at + 500_000_000),
        "attributes": attributes({k.replace("__", "."): each for k, each in given.items()}),
        "events": [{"name": event, "timeUnixNano": str(at), "attributes": attributes(said)} for event, said in events],
        **({"status": status} if status else {}),
    }  # fmt: skip


def flat(name: str, number: int, said: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = span(name, number, **more)
    made["attributes"] += attributes(said)
    return made


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": attributes({"service.name": "my-agent", "service.version": "1.2"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def taken(ledger: lk.Ledger, tmp_path: Path, *lines: Any) -> lk.ImportAccount:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    assert ledger.import_logs(path, now=NOW).new_messages == 0
    return account


def said(ledger: lk.Ledger) -> list[tuple[Any, ...]]:
    return ledger.sql(
        "select kind, part_trust_level, text from parts where kind <> 'RUN_SUMMARY' order by sequence_no, part_index"
    ).rows()


# Real files


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_gives_the_independent_counts(name: str, corpus: Path, ledger: lk.Ledger) -> None:
    expected = corpus_values()["files"][name]
    account = ledger.import_logs(corpus / name, now=NOW)
    assert account.closes
    assert account.records == expected["spans"]
    assert account.quarantined == expected["malformed_lines"]
    kinds = {str(row["record_type"]).removeprefix("span/"): row["count"] for row in account.details.to_dicts()}
    assert kinds == expected["span_names"]
    assert ledger.sql("select count(*) from runs").item() == expected["trace_ids"]
    assert ledger.sql("select count(*) from tool_calls").item() == expected["span_names"]["execute_tool"]
    assert ledger.sql("select count(*) from model_calls").item() == len(expected["span_usage"])
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


def test_traces_of_one_conversation_are_runs_of_one_session(corpus: Path, ledger: lk.Ledger) -> None:
    for name in FILES:
        ledger.import_logs(corpus / name, now=NOW)
    assert ledger.sql("select runs from sessions").rows() == [(len(FILES),)]


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == otel.NAME)
    check_format(log_format, [corpus / name for name in FILES], cuts=8)


def test_no_other_format_of_the_corpus_is_taken_for_a_trace(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*.json*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != otel.NAME, path


# Conventions


ASKED: Final = {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}
CALLED: Final = {
    "role": "assistant",
    "parts": [
        {"type": "reasoning", "content": "secret"},
        {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Bern"}},
    ],
}
RETURNED: Final = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
ANSWERED: Final = {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}]}


def genai() -> list[dict[str, Any]]:
    usage: dict[str, Any] = {
        "gen_ai__usage__input_tokens": 100, "gen_ai__usage__output_tokens": 10,
        "gen_ai__usage__cache_read__input_tokens": 40,
    }  # fmt: skip
    chat: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__response__model": "m",
        "gen_ai__provider__name": "openai",
        **usage,
    }
    told = json.dumps([{"type": "text", "content": "Be brief."}])
    return [
        span("invoke_agent a", 1, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="a", **usage),
        span("chat m", 2, f"{1:016x}", **chat, gen_ai__system_instructions=told,
             gen_ai__input__messages=json.dumps([ASKED]),
             gen_ai__output__messages=json.dumps([{**CALLED, "finish_reason": "tool_call"}])),
        span("execute_tool get_weather", 3, f"{1:016x}", gen_ai__operation__name="execute_tool",
             gen_ai__tool__name="get_weather", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="rain"),
        span("chat m", 4, f"{1:016x}", **chat, gen_ai__system_instructions=told,
             gen_ai__input__messages=json.dumps([ASKED, CALLED, RETURNED]),
             gen_ai__output__messages=json.dumps([ANSWERED])),
    ]  # fmt: skip


def test_a_conversation_that_every_span_repeats_is_written_once(ledger: lk.Ledger, tmp_path: Path) -> None:
    spans = genai()
    taken(ledger, tmp_path, export(spans[3], spans[1]), export(spans[2]), export(spans[0]))
    assert said(ledger) == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED", "Be brief."), ("USER_TASK", "USER_TRUSTED", "Weather?"),
        ("AGENT_THOUGHT_SUMMARY", "MODEL_GENERATED", None), ("TOOL_CALL_REQUEST", "MODEL_GENERATED", None),
        ("TOOL_CALL_RESULT", "UNKNOWN", "rain"), ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Rain."),
    ]  # fmt: skip
    calls = "select model, provider, input_tokens, cache_read_tokens, output_tokens from model_calls order by step"
    assert ledger.sql(calls).rows() == [("m", "openai", 100, 40, 10)] * 2
    assert ledger.sql("select tool_call_id, arguments, result_text, duration_s from tool_calls").rows() == [
        ("c1", '{"city":"Bern"}', "rain", pytest.approx(0.5, abs=1))
    ]
    assert ledger.sql("select agent, agent_version, steps, input_tokens from runs").rows() == [("a", "1.2", 2, 200)]
    assert ledger.sql("select count(*) from messages where metadata like '%secret%'").item() == 0


def test_a_call_that_holds_the_call_of_another_library_is_not_counted_twice(ledger: lk.Ledger, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__usage__input_tokens": 5,
        "gen_ai__usage__output_tokens": 1,
    }
    taken(ledger, tmp_path, export(span("outer", 1, **given), span("inner", 2, f"{1:016x}", **given)))
    assert ledger.sql("select input_tokens, output_tokens from model_calls").rows() == [(5, 1)]


def test_what_is_said_twice_is_written_twice(ledger: lk.Ledger, tmp_path: Path) -> None:
    yes = {"role": "user", "parts": [{"type": "text", "content": "yes"}]}
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat"}
    taken(
        ledger, tmp_path,
        export(
            span("chat", 1, **chat, gen_ai__input__messages=json.dumps([yes]),
                 gen_ai__output__messages=json.dumps([ANSWERED])),
            span("chat", 2, **chat, gen_ai__input__messages=json.dumps([yes, ANSWERED, yes])),
        ),
    )  # fmt: skip
    assert [text for _, _, text in said(ledger)] == ["yes", "Rain.", "yes", ""]


def test_an_agent_whose_model_calls_have_no_spans_speaks_itself(ledger: lk.Ledger, tmp_path: Path) -> None:
    said_by_agent = json.dumps([{**CALLED, "finish_reason": "stop"}, ANSWERED])
    agent = span("invoke_agent", 1, gen_ai__operation__name="invoke_agent", gen_ai__output__messages=said_by_agent,
                 gen_ai__input__messages=json.dumps([ASKED]))  # fmt: skip
    taken(ledger, tmp_path, export(agent))
    assert [kind for kind, _, _ in said(ledger)] == [
        "USER_TASK", "AGENT_THOUGHT_SUMMARY", "TOOL_CALL_REQUEST", "ASSISTANT_RESPONSE",
    ]  # fmt: skip
    assert ledger.sql("select count(*) from model_calls").item() == 0
    assert ledger.sql("select count(*) from parts where data like '%secret%' or text like '%secret%'").item() == 0


def test_openinference(ledger: lk.Ledger, tmp_path: Path) -> None:
    llm = {
        "openinference.span.kind": "LLM", "llm.model_name": "m", "session.id": "s-1", "llm.cost.total": 0.25,
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "Look.",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "bash",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"command": "ls"}',
        "llm.token_count.prompt": 9, "llm.token_count.completion": 4,
        "llm.token_count.completion_details.reasoning": 3,
    }  # fmt: skip
    tool = {
        "openinference.span.kind": "TOOL", "tool.name": "bash", "tool_call.id": "c1", "input.value": "{}",
        "output.value": "a.py",
    }  # fmt: skip
    judge = {"openinference.span.kind": "EVALUATOR", "output.value": "good"}
    taken(ledger, tmp_path, export(flat("llm", 1, llm), flat("bash", 2, tool), flat("judge", 3, judge)))
    assert [(kind, trust) for kind, trust, _ in said(ledger)] == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED"), ("USER_TASK", "USER_TRUSTED"),
        ("TOOL_CALL_REQUEST", "MODEL_GENERATED"), ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED"),
        ("JUDGE_RESULT", "UNKNOWN"),
    ]  # fmt: skip
    usage = "select model, input_tokens, output_tokens, reasoning_tokens, reported_cost::double from model_calls"
    assert ledger.sql(usage).rows() == [("m", 9, 4, 3, 0.25)]
    assert ledger.sql("select arguments, result_text from tool_calls").rows() == [('{"command":"ls"}', "a.py")]


def test_span_events_of_the_older_convention(ledger: lk.Ledger, tmp_path: Path) -> None:
    events = [
        ("gen_ai.system.message", {"content": "Be brief."}), ("gen_ai.user.message", {"content": "Hi"}),
        ("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "content": "Ho"})}),
        ("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5}),
    ]  # fmt: skip
    failed = {"code": "STATUS_CODE_ERROR", "message": "too late"}
    taken(
        ledger, tmp_path,
        export(span("chat", 1, events=events, status=failed, gen_ai__operation__name="chat", error__type="timeout")),
    )  # fmt: skip
    assert [(kind, text) for kind, _, text in said(ledger)] == [
        ("SYSTEM_INSTRUCTION", "Be brief."), ("USER_TASK", "Hi"), ("ASSISTANT_RESPONSE", "Ho"),
        ("ERROR_EVENT", "too late"), ("JUDGE_RESULT", None),
    ]  # fmt: skip


def test_spans_that_are_none_are_kept(ledger: lk.Ledger, tmp_path: Path) -> None:
    broken = export(*genai())
    broken["resourceSpans"][0]["scopeSpans"][0]["spans"] += [7, {"name": "no ids"}]
    account = taken(ledger, tmp_path, broken, {"resourceSpans": []}, {"other": 1})
    assert account.skipped == 1
    assert ledger.sql("select count(*) from parts where error_category = 'unknown_record'").item() == 3


RAW: Final = b"".join(json.dumps(export(each)).encode() + b"\n" for each in genai())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_nothing_but_the_spans_that_it_hits(data: st.DataObject, tmp_path: Path) -> None:
    def read(content: bytes) -> dict[int, str]:
        path = tmp_path / "damaged.jsonl"
        path.write_bytes(content)
        parsed = otel.read(path, measure=lambda each: str(len(each)))
        met = {each.line for each in parsed.records} | {each.line for each in parsed.quarantined}
        assert met == set(range(1, content.count(b"\n") + (not content.endswith(b"\n")) + 1))
        return {each.line: each.digest for each in parsed.records if each.native_id}

    whole = read(RAW)
    end = data.draw(st.integers(1, len(RAW)))
    where = data.draw(st.integers(0, end - 1))
    damaged = bytearray(RAW[:end])
    if damaged[where] != 0x0A:
        damaged[where] = data.draw(st.integers(0x21, 255))  # a line of white space only is none
    after = read(bytes(damaged))
    touched = {RAW[:where].count(b"\n") + 1, RAW[:end].count(b"\n") + 1}
    for line, digest in whole.items():
        if line not in touched and line <= RAW[:end].count(b"\n"):
            assert after[line] == digest
