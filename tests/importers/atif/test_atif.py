"""ATIF trajectories in the ledger: real files against independent values, and one test for each trap."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers import atif
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.registry import FORMATS, recognise
from ledgerkit.importers.shapes import is_list, is_object
from tests.conftest import NOW, corpus_values
from tests.importers.codex.rollouts import THREAD, Rollout

FILES: Final = sorted(name for name, values in corpus_values()["files"].items() if values["format"] == "atif")


def user(text: Any, **more: Any) -> dict[str, Any]:
    return {"source": "user", "message": text, **more}


def system(text: str, **more: Any) -> dict[str, Any]:
    return {"source": "system", "message": text, **more}


def agent(text: Any = "", *results: dict[str, Any], calls: Any = None, **more: Any) -> dict[str, Any]:
    step = {"source": "agent", "message": text, "model_name": "gpt-4o", **more}
    step |= {"tool_calls": calls} if calls is not None else {}
    return step | ({"observation": {"results": list(results)}} if results else {})


def call(call_id: str, name: str = "bash", arguments: Any = None) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments or {}}


def result(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"source_call_id": call_id, "content": content, **more}


def trajectory(*steps: Any, **more: Any) -> dict[str, Any]:
    numbered = [{"step_id": n, **step} if is_object(step) else step for n, step in enumerate(steps, 1)]
    about = {"name": "terminus-2", "version": "2.0.0", "model_name": "openai/gpt-4o"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s1", "agent": about, "steps": numbered, **more}


def taken(ledger: lk.Ledger, tmp_path: Path, *documents: Any) -> lk.ImportAccount:
    path = tmp_path / f"trajectory-{len(list(tmp_path.iterdir()))}.json"
    path.write_text("".join(json.dumps(each, indent=2 if len(documents) == 1 else None) + "\n" for each in documents))
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return account


def shown(ledger: lk.Ledger) -> list[Any]:
    """Kind, trust and text of what the model may see."""
    return ledger.sql(
        "select kind, part_trust_level, text from parts where part_visibility = 'MODEL_VISIBLE' "
        "order by run_id, sequence_no, part_index"
    ).rows()


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
    assert sum(n for kind, n in met.items() if kind.startswith("step/")) == expected["steps"]
    for source in ("system", "user"):
        assert met[f"step/{source}"] == expected["sources"].get(source, 0)
    assert met["result"] == expected["results"]
    calls = ledger.sql("select count(*), count(*) filter (result_count = 0) from tool_calls").rows()
    assert calls == [(expected["tool_calls"], expected["calls_without_result"])]
    anonymous = "select count(*) from parts where part_type = 'tool_result' and tool_call_id is null"
    assert ledger.sql(anonymous).item() == expected["results_without_id"]
    sums = ledger.sql(
        "select count(*), sum(input_tokens), sum(output_tokens), sum(reported_cost) from model_calls where billed"
    ).row(0)
    known = expected["metrics_sum"]
    assert sums[:3] == (expected["steps_with_metrics"], known["prompt_tokens"], known["completion_tokens"])
    cost = known.get("cost_usd")
    assert sums[3] == (None if cost is None else pytest.approx(Decimal(str(cost))))
    copied = "select count(*) from messages where metadata->>'$.copied_context' = 'true'"
    assert ledger.sql(copied).item() == expected["copied_steps"]
    stated = ledger.sql("select data->'$.final_metrics' from parts where data->>'$.note' = 'final_metrics'").item()
    assert {name: pytest.approx(figure) for name, figure in expected["final_metrics"].items()} == json.loads(stated)
    assert ledger.import_logs(corpus / name, now=NOW).new_messages == 0


@pytest.mark.long
def test_the_parts_of_a_continued_run_are_two_runs_of_one_session(corpus: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(corpus / "atif", now=NOW)
    rows = ledger.sql(
        "select r.relation, r.steps, p.steps, r.input_tokens, p.input_tokens, p.compactions from runs r "
        "join runs p on r.parent_run_id = p.run_id"
    ).rows()
    assert rows == [("compaction", 4, 3, 4250, 2252, 1)]
    assert ledger.sql("select count(*) from runs").item() == len(FILES)


def test_real_files_conform(corpus: Path) -> None:
    log_format = next(each for each in FORMATS if each.name == atif.NAME)
    check_format(log_format, [corpus / name for name in FILES], cuts=3)


def test_no_other_format_of_the_corpus_is_taken_for_a_trajectory(corpus: Path) -> None:
    own = {corpus / name for name in FILES}
    for path in corpus.rglob("*"):
        if path.is_file() and path not in own and "claude-code" not in path.parts:
            found = recognise(path)
            assert found is None or found.name != atif.NAME, path


# Whose words


def test_who_speaks_follows_from_the_step_before(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, tmp_path, trajectory(
        system("You are an agent."), user("Fix it."), system("Context of the workspace"),
        agent("Looking.", result(None, "$ ls\na.py")), user("Terminal: a.py"),
        agent("Done."), user("Thanks. Now the docs."),
    ))  # fmt: skip
    assert shown(ledger) == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED", "You are an agent."), ("USER_TASK", "USER_TRUSTED", "Fix it."),
        ("DEVELOPER_INSTRUCTION", "UNKNOWN", "Context of the workspace"),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Looking."),
        ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED", "$ ls\na.py"),
        ("USER_TASK", "UNKNOWN", "Terminal: a.py"), ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Done."),
        ("USER_TASK", "USER_TRUSTED", "Thanks. Now the docs."),
    ]  # fmt: skip


def test_results_have_the_trust_of_their_tools(ledger: lk.Ledger, tmp_path: Path) -> None:
    calls = [call("a", "bash", {"command": "ls"}), call("b", "web_fetch"), call("c", "magic")]
    results = [result("a", "a.py"), result("b", "page"), result("c", "?", extra={"is_error": True})]
    taken(ledger, tmp_path, trajectory(user("x"), agent("", *results, calls=calls)))
    rows = ledger.sql("select tool_call_id, arguments, status, result_text, result_trust_level from tool_calls").rows()
    assert sorted(rows) == [
        ("a", '{"command":"ls"}', "UNKNOWN", "a.py", "REPOSITORY_UNTRUSTED"),
        ("b", "{}", "UNKNOWN", "page", "NETWORK_UNTRUSTED"), ("c", "{}", "FAILED", "?", "UNKNOWN"),
    ]  # fmt: skip


# Usage


def test_cached_tokens_are_within_the_prompt_and_bulk_is_left_out(ledger: lk.Ledger, tmp_path: Path) -> None:
    metrics = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 60, "cost_usd": 0.5,
               "logprobs": [-0.1] * 7, "completion_token_ids": [1] * 7,
               "extra": {"cache_creation_input_tokens": 30, "reasoning_tokens": 5}}  # fmt: skip
    taken(ledger, tmp_path, trajectory(user("x"), agent("y", metrics=metrics, reasoning_content="secret")))
    columns = "input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens, reasoning_tokens, reported_cost"
    assert ledger.sql(f"select model, {columns} from model_calls").rows() == [
        ("gpt-4o", 100, 60, 30, 7, 5, Decimal("0.5"))
    ]
    note = json.loads(ledger.sql("select data from parts where data->>'$.note' = 'step'").item())
    assert note["not_kept"] == {"logprobs": 7, "completion_token_ids": 7}
    assert ledger.sql("select count(*) from parts where text like '%secret%'").item() == 0
    assert ledger.sql("select count(*) from parts where data->>'$.hidden_reasoning' = 'measured'").item() == 1


def test_copied_context_and_answers_without_a_call_cost_nothing(ledger: lk.Ledger, tmp_path: Path) -> None:
    metrics = {"prompt_tokens": 10, "completion_tokens": 1}
    taken(ledger, tmp_path, trajectory(
        user("x", is_copied_context=True), agent("then", is_copied_context=True, metrics=metrics),
        agent("by rule", llm_call_count=0), agent("now", metrics=metrics),
    ))  # fmt: skip
    assert ledger.sql("select steps, input_tokens from runs").rows() == [(1, 10)]
    assert shown(ledger)[0] == ("USER_TASK", "UNKNOWN", "x")


# Shapes


@pytest.mark.long
def test_subagents_within_a_document_are_runs_that_hang_on_their_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    inner = trajectory(user("Look."), agent("Found."), trajectory_id="t2", session_id="other")
    deeper = trajectory(user("Deeper."), agent("Ok."), trajectory_id="t3")
    del deeper["schema_version"]
    inner["subagent_trajectories"] = [deeper]
    ref = {"subagent_trajectory_ref": [{"trajectory_id": "t2"}]}
    taken(ledger, tmp_path, trajectory(
        user("x"), agent("", result("c", "Found.", **ref), calls=[call("c", "task")]),
        trajectory_id="t1", subagent_trajectories=[inner, 7],
    ))  # fmt: skip
    rows = ledger.sql(
        "select r.task, r.relation, p.task, m.kind from runs r left join runs p on r.parent_run_id = p.run_id "
        "left join messages m on r.forked_at = m.message_id order by r.relation nulls first, r.task"
    ).rows()
    assert [row[:3] for row in rows] == [
        ("x", None, None),
        ("Deeper.", "subagent", "Look."),
        ("Look.", "subagent", "x"),
    ]
    assert ("USER_TASK", "MODEL_GENERATED", "Look.") in shown(ledger)
    assert ("TOOL_CALL_RESULT", "MODEL_GENERATED", "Found.") in shown(ledger)
    assert ledger.sql("select sum(unknown_records) from runs").item() == 1


def test_an_id_that_is_used_again_is_another_call(ledger: lk.Ledger, tmp_path: Path) -> None:
    twice = [call("c"), call("c")]
    both = agent("", result("c", "1"), result("c", "2"), calls=twice)
    taken(ledger, tmp_path, trajectory(user("x"), both, agent("", result("c", "3"), calls=[call("c")])))
    rows = ledger.sql("select tool_call_id, result_text, result_count from tool_calls order by 1").rows()
    assert rows == [("c", "1", 1), ("c~2", "2", 1), ("c~3", "3", 1)]


def test_images_stand_beside_the_text(ledger: lk.Ledger, tmp_path: Path) -> None:
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    taken(ledger, tmp_path, trajectory(
        user([{"type": "text", "text": "See:"}, image]),
        agent("", result("c", [{"type": "text", "text": "a"}, image]), calls=[call("c")]),
    ))  # fmt: skip
    assert ledger.sql("select text from messages where kind = 'USER_TASK'").item() == "See:"
    rows = ledger.sql("select content_type, path, count(*) from parts where part_type = 'artifact_ref' group by all")
    assert rows.rows() == [("image/png", "images/1.png", 2)]


def test_lines_are_trajectories_of_their_own(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = [trajectory(user("x"), agent("y"), session_id=name) for name in ("a", "b")]
    taken(ledger, tmp_path, *rows, {"type": "other"})
    assert ledger.sql("select count(*), count(distinct session_id) from runs").rows() == [(2, 2)]
    assert ledger.sql("select sum(unknown_records) from runs").item() == 1


@pytest.mark.long
def test_a_grown_document_continues_its_run(ledger: lk.Ledger, tmp_path: Path) -> None:
    early = [user("x", timestamp="2026-01-01T00:00:00Z"), agent("1")]
    for session in ({"session_id": "s"}, {"session_id": None}):
        taken(ledger, tmp_path, trajectory(*early, **session))
        account = taken(ledger, tmp_path, trajectory(*early, agent("2"), final_metrics={"total_steps": 3}, **session))
        assert account.new_messages == 2
    assert ledger.sql("select steps from runs").rows() == [(2,), (2,)]


def test_runs_without_any_identity_that_begin_alike_are_two(ledger: lk.Ledger, tmp_path: Path) -> None:
    for said in ("1", "2"):
        taken(ledger, tmp_path, trajectory(user("x"), agent(said), session_id=None))
    assert ledger.sql("select count(*) from runs").item() == 2


def test_what_is_no_step_costs_nothing_else(ledger: lk.Ledger, tmp_path: Path) -> None:
    odd = [7, {"source": "oracle", "message": "?"}, {"source": "oracle", "message": "!", "llm_call_count": 1}]
    taken(ledger, tmp_path, trajectory(user("x"), *odd, agent("y", 3, calls=["no call"])))  # type: ignore[arg-type]
    assert ledger.sql("select steps, unknown_records from runs").rows() == [(2, 3)]
    derived = "select text from messages where (metadata->'$.derived') is not null"
    assert ledger.sql(derived)["text"].to_list() == ["!"]


@pytest.mark.parametrize(
    "value",
    [{"schema_version": "ATIF-v1.7"}, {"schema_version": "1.7", "steps": []}, {"steps": []}, [trajectory()]],
)
def test_other_documents_are_no_trajectories(value: Any) -> None:
    assert not atif.sniff([value])


@pytest.mark.long
@pytest.mark.parametrize("is_own_first", [True, False])
def test_a_run_that_stands_there_as_its_agent_wrote_it_is_billed_once(
    is_own_first: bool, ledger: lk.Ledger, tmp_path: Path
) -> None:
    own = Rollout()
    own.turn("Fix it.", 1)
    metrics = {"prompt_tokens": 10, "completion_tokens": 2}
    steps = [user("Fix it."), agent("Done 1.", metrics=metrics), agent("More.", metrics=metrics)]
    (tmp_path / "a.jsonl").write_bytes(own.bytes())
    (tmp_path / "b.json").write_text(json.dumps(trajectory(*steps, session_id=THREAD)), "utf-8")
    files = [tmp_path / "a.jsonl", tmp_path / "b.json"]
    for path in files if is_own_first else reversed(files):
        ledger.import_logs(path, now=NOW)
    billed = "select distinct source_format from model_calls join runs using (session_id, run_id) where billed"
    assert ledger.sql(billed)["source_format"].to_list() == ["codex"]
    reasons = ledger.sql("select distinct billed_reason from usage_rows where not billed")["billed_reason"].to_list()
    assert reasons == ["converted copy: the agent's own log of the session counts"]


def test_a_run_whose_own_log_has_no_usage_is_billed_as_it_was_converted(ledger: lk.Ledger, tmp_path: Path) -> None:
    own = Rollout()
    own.typed("Fix it.")
    (tmp_path / "a.jsonl").write_bytes(own.bytes())
    ledger.import_logs(tmp_path / "a.jsonl", now=NOW)
    taken(ledger, tmp_path, trajectory(user("x"), agent("y", metrics={"prompt_tokens": 10}), session_id=THREAD))
    assert ledger.sql("select count(*) from usage_rows where billed").item() == 1


ODD: Final = ("null", "0", "-1", "1e300", '""', '"x"', "[]", "{}", "[1]", '{"a": 1}', "[[]]", "[{}]", '"agent"')


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_and_damage_fail_no_file(data: st.DataObject, tmp_path: Path) -> None:
    metrics = {"prompt_tokens": 10, "completion_tokens": 1, "extra": {"reasoning_tokens": 1}}
    inner = trajectory(user("Look."), agent("é"), trajectory_id="t2")
    steps = [system("s"), user([{"type": "image", "source": {"path": "p"}}]),
             agent("y", result("c", [{"type": "text", "text": "t"}]), calls=[call("c")], metrics=metrics)]  # fmt: skip
    document = json.loads(json.dumps(trajectory(*steps, subagent_trajectories=[inner])))
    for _ in range(data.draw(st.integers(0, 3))):
        container, key = data.draw(st.sampled_from(_places(document)))
        container[key] = json.loads(data.draw(st.sampled_from(ODD)))
    raw = json.dumps(document, indent=1).encode()
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(1, len(raw)))]
    path = tmp_path / "damaged.json"
    path.write_bytes(raw)
    parsed = atif.read(path, measure=lambda content: str(len(content)))
    assert parsed.records or parsed.quarantined
    for record in parsed.records:
        assert record.messages
        assert all(message.parts and message.actor for message in record.messages)


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys: list[Any] = list(value) if is_object(value) else list(range(len(value))) if is_list(value) else []
    return [(value, key) for key in keys] + [found for key in keys for found in _places(value[key])]
