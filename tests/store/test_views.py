"""The views: what they promise of every ledger, whatever stands in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit import tables
from tests.builders import (
    START,
    Log,
    Record,
    eventful_session,
    image,
    progress_of,
    text,
    tool_result,
    tool_use,
    uid,
    usage,
    working_session,
)
from tests.conftest import NOW


def varied_logs(folder: Path) -> None:
    """Sessions that fill every view."""
    log = eventful_session("views")
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}]
    log.answers(tool_use("edit", "Edit", file_path="shop.py"), call="views_z", used=usage(5, 5))
    log.returns("edit", "Updated.", toolUseResult={"filePath": "shop.py", "structuredPatch": patch})
    log.add("system", subtype="stop_hook_summary", hookErrors=["lint"], preventedContinuation=True)
    log.add("system", subtype="api_error", error={"status": 529})
    log.add("novelty")
    for inner in working_session("inner").records[:3]:
        progress_of(log, inner, agent="a1", call="edit")
    log.write(folder / "a.jsonl")
    copy = Log("views copy", start=START + timedelta(hours=1))
    copy.records = [record | {"sessionId": copy.session} for record in log.records]
    copy.write(folder / "b.jsonl")
    results = Log("results")
    results.asks()
    results.answers(tool_use("r1", "Read"), tool_use("r2", "Bash"), tool_use("r3", "Read"))
    results.returns("r1", [text("first"), image()], toolUseResult={"file": {"filePath": "x"}})
    results.returns("r1", "second")
    results.add("user", message={"role": "user", "content": [tool_result("r2", "boom", is_error=True)]})
    results.asks("It was [REDACTED_SECRET:password#0123456789ab].")
    results.write(folder / "c.jsonl")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("views")
    varied_logs(folder / "logs")
    ledger = lk.open(folder / "l", key=bytes(32))
    ledger.import_logs(folder / "logs", now=NOW)
    part = {"type": "text", "text": "As it happened.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    live = {"session_id": "live", "run_id": "main", "kind": "USER_TASK", "actor": "user", "parts": [part]}
    ledger.append(lk.AppendMessageCommand.model_validate(live))
    ledger.snapshot(str(ledger.sql("select run_id from runs where session_id <> 'live' order by 1 limit 1").item()))
    return ledger


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    return lk.open(tmp_path_factory.mktemp("empty") / "l", key=bytes(32))


Engine = Callable[[lk.Ledger, str], pl.DataFrame]
ENGINES: dict[str, Engine] = {
    "sql": lambda ledger, view: ledger.sql(f"from {view}"),
    "scan": lambda ledger, view: ledger.scan(view).collect(),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", tables.VIEWS)
def test_a_view_has_exactly_the_declared_columns_and_types(
    full: lk.Ledger, empty: lk.Ledger, name: str, engine: str
) -> None:
    declared = {column.name: column.type for column in tables.VIEWS[name].columns}
    for ledger in (full, empty):
        frame = ENGINES[engine](ledger, name)
        assert list(frame.schema.items()) == list(declared.items())
    assert ENGINES[engine](full, name).height > 0
    assert ENGINES[engine](empty, name).height == 0


@pytest.mark.parametrize("name", tables.VIEWS)
def test_scan_gives_what_sql_gives(full: lk.Ledger, name: str) -> None:
    keys = [name for name, kind in full.scan(name).collect_schema().items() if kind != pl.Null and not kind.is_nested()]
    assert_frame_equal(full.scan(name).collect().sort(keys), full.sql(f"from {name}").sort(keys))


def test_a_scan_takes_filters_and_choices_of_columns(full: lk.Ledger) -> None:
    asked = full.scan("parts").filter(pl.col("part_type") == "tool_call", pl.col("tool_name") == "Read")
    wanted = "select tool_call_id from parts where part_type = 'tool_call' and tool_name = 'Read' order by all"
    assert_frame_equal(asked.select("tool_call_id").sort("tool_call_id").collect(), full.sql(wanted))
    assert full.scan("messages").select(pl.len()).collect().item() == full.sql("select count(*) from messages").item()


def test_a_scan_of_something_else_names_the_nearest_view(full: lk.Ledger) -> None:
    with pytest.raises(lk.UnknownNameError, match="Did you mean 'parts'"):
        full.scan("part")
    with pytest.raises(lk.UnknownNameError):
        full.scan("stored_history")


def test_describe_lists_the_views_and_their_columns(full: lk.Ledger) -> None:
    assert full.describe()["name"].to_list() == list(tables.VIEWS)
    for name, view in tables.VIEWS.items():
        assert full.describe(name)["column"].to_list() == list(view.names)
    with pytest.raises(lk.UnknownNameError, match="Did you mean 'parts'"):
        full.describe("part")


@pytest.mark.parametrize("column", ["data", "metadata"])
def test_json_columns_hold_json(full: lk.Ledger, column: str) -> None:
    assert full.sql(f"select count(*) from parts where {column} is not null").item() > 5
    assert full.sql(f"select count(*) from parts where not json_valid({column})").item() == 0


# Grain and keys


def test_every_part_belongs_to_one_message_and_parts_are_numbered_from_zero(full: lk.Ledger) -> None:
    grouped = full.sql(
        "select message_id, list(part_index order by part_index) as at, any_value(part_id) from parts group by 1"
    )
    assert grouped["at"].list.eval(pl.element() == pl.int_range(pl.len())).list.all().all()
    assert grouped.height == full.sql("select count(distinct message_id) from messages").item()
    assert full.sql("select count(*) from parts where part_id <> message_id || '.' || part_index").item() == 0
    counts = full.sql("select m.part_count, count(*) as n from messages m join parts using (message_id) group by all")
    joined = full.sql(
        "select count(*) from (select message_id, any_value(m.part_count) as said, count(*) as n from messages m "
        "join parts p using (message_id) group by 1) where said <> n"
    )
    assert joined.item() == 0
    assert set(counts["part_count"]) >= {1, 2}


def test_the_text_and_tokens_of_a_message_are_those_of_its_parts(full: lk.Ledger) -> None:
    wrong = full.sql("""
        select count(*) from messages m join (
            select message_id, string_agg(text, chr(10) order by part_index) as text, sum(token_count) as tokens
            from parts group by 1
        ) p using (message_id)
        where m.text is distinct from p.text or m.token_count is distinct from p.tokens
    """)
    assert wrong.item() == 0


@pytest.mark.parametrize("view", ["messages", "runs", "model_calls"])
def test_keys_are_unique(full: lk.Ledger, view: str) -> None:
    key = {"messages": "message_id", "runs": "session_id, run_id", "model_calls": "session_id, run_id, call_id"}[view]
    assert full.sql(f"select count(*) from (select {key} from {view} group by all having count(*) > 1)").item() == 0


# Model calls


def test_exactly_one_usage_row_of_a_model_call_is_billed(full: lk.Ledger) -> None:
    rows = full.sql("select call_id, count(*) as n, sum(billed::int)::bigint as billed from usage_rows group by 1")
    assert rows["billed"].to_list() == [1] * rows.height
    assert rows["n"].max() == 6
    reasons = full.sql("select billed, list(distinct billed_reason) from usage_rows group by 1 order by 1 desc").rows()
    assert reasons[0] == (True, [None])
    assert sorted(reasons[1][1]) == ["copy of a call that another run made", "earlier snapshot of the same call"]


def test_model_calls_and_usage_rows_bill_the_same(full: lk.Ledger) -> None:
    sums = "select sum(input_tokens), sum(output_tokens), count(*) from {} where billed"
    assert full.sql(sums.format("model_calls")).row(0) == full.sql(sums.format("usage_rows")).row(0)
    per_run = full.sql("select sum(input_tokens), sum(output_tokens) from runs").row(0)
    assert per_run == full.sql(sums.format("model_calls")).row(0)[:2]


def test_steps_of_a_run_are_numbered_from_zero_without_gaps(full: lk.Ledger) -> None:
    steps = full.sql(
        "select r.steps, list(c.step order by c.step) as at from runs r join model_calls c using (session_id, run_id) "
        "where c.step is not null group by r.session_id, r.run_id, r.steps"
    )
    for count, at in steps.iter_rows():
        assert at == list(range(count))


def test_a_copied_call_is_billed_in_the_session_of_the_original_messages(full: lk.Ledger) -> None:
    billed = full.sql(
        "select m.is_copy, count(*) from model_calls c join messages m using (message_id) where billed group by 1"
    )
    assert [is_copy for is_copy, _ in billed.iter_rows()] == [False]
    assert full.sql("select count(*) from messages where is_copy").item() > 20


# Tool calls


def test_a_tool_call_stands_once_with_its_first_result_and_sums_of_all(full: lk.Ledger) -> None:
    calls = full.sql("from tool_calls where session_id = ? order by tool_call_id", [uid("results")]).to_dicts()
    first, failed, pending = calls
    assert (first["result_text"], first["result_count"], first["status"]) == ("first", 2, "SUCCEEDED")
    assert (first["result_trust_level"], first["path"]) == ("REPOSITORY_UNTRUSTED", "x")
    assert first["result_tokens"] == 2
    assert (failed["status"], failed["error_category"], failed["result_text"]) == ("FAILED", "tool_error", "boom")
    assert (pending["status"], pending["result_message_id"], pending["result_tokens"]) == ("UNKNOWN", None, None)
    assert [c["duration_s"] for c in calls] == [1.0, 3.0, None]
    assert json.loads(first["arguments"]) == {"command": "ls"}


def test_tool_calls_of_a_run_are_counted_in_it(full: lk.Ledger) -> None:
    wrong = full.sql("""
        select count(*) from runs r left join (
            select session_id, run_id, count(*) as n, count(*) filter (status in ('FAILED', 'TIMED_OUT')) as failed,
                count(*) filter (result_count = 0) as pending from tool_calls group by 1, 2
        ) c using (session_id, run_id)
        where (r.tool_calls, r.failed_tool_calls, r.pending_tool_calls)
            <> (coalesce(n, 0), coalesce(failed, 0), coalesce(pending, 0))
    """)
    assert wrong.item() == 0


# Other grains


def test_sessions_sum_up_their_runs(full: lk.Ledger) -> None:
    wrong = full.sql("""
        select count(*) from sessions s join (
            select session_id, count(*) as runs, sum(messages) as messages, sum(steps) as steps,
                min(started_at) as started_at, max(finished_at) as updated_at from runs group by 1
        ) r using (session_id)
        where (s.runs, s.messages, s.steps, s.started_at, s.updated_at)
            is distinct from (r.runs, r.messages, r.steps, r.started_at, r.updated_at)
    """)
    assert wrong.item() == 0
    assert full.sql("select task from sessions where session_id = ?", [uid("views")]).item() == (
        "Make total() round to cents."
    )


def test_runs_count_errors_unknown_records_and_compactions(full: lk.Ledger) -> None:
    main = full.sql("from runs where session_id = ? and relation is null", [uid("views")]).row(0, named=True)
    others = full.sql(
        "select sum(errors + unknown_records), sum(compactions) from runs where session_id = ?", [uid("views")]
    )
    assert others.row(0) == (2, 1)
    assert main["models"] == ["claude-sonnet-4-5-20250929"]
    assert main["duration_s"] == (main["finished_at"] - main["started_at"]).total_seconds()


def test_a_file_change_counts_its_lines(full: lk.Ledger) -> None:
    change = full.sql("from file_changes where session_id = ?", [uid("views")]).row(0, named=True)
    assert (change["path"], change["lines_added"], change["lines_removed"], change["tool_name"]) == (
        "shop.py",
        2,
        1,
        "Edit",
    )
    assert change["diff"].endswith("@@ -1,1 +1,2 @@\n-a\n+b\n+c")


def test_a_verdict_names_who_gave_it_and_what_it_is_about(full: lk.Ledger) -> None:
    verdict = full.sql("from verifier_results where session_id = ?", [uid("views")]).row(0, named=True)
    assert (verdict["verdict"], verdict["actor"], verdict["source"], verdict["scope"], verdict["text"]) == (
        *("failed", "stop hook", "recorded"),
        *("stop hooks", "lint"),
    )


def test_two_sessions_may_use_the_same_name_for_a_run(ledger: lk.Ledger) -> None:
    call: Record = {
        "call_id": "c1",
        "model": "claude-sonnet-4-5-20250929",
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    labels = {"trust_level": "MODEL_GENERATED", "visibility": "MODEL_VISIBLE"}
    for session in ("s1", "s2"):
        asked = {"type": "tool_call", "tool_call_id": "t", "tool_name": "bash", "arguments": {"in": session}, **labels}
        answer = {"type": "tool_result", "tool_call_id": "t", "status": "SUCCEEDED", "text": session, **labels}
        for kind, part, extra in (
            ("TOOL_CALL_REQUEST", asked, {"call": {**call, "call_id": session}}),
            ("TOOL_CALL_RESULT", answer, {}),
        ):
            message = {
                "session_id": session,
                "run_id": "main",
                "kind": kind,
                "actor": "m",
                "step": 0,
                "parts": [part],
                **extra,
            }
            ledger.append(lk.AppendMessageCommand.model_validate(message))
    assert ledger.sql("select session_id, result_text from tool_calls order by 1").rows() == [
        ("s1", "s1"),
        ("s2", "s2"),
    ]
    runs = ledger.sql("select session_id, messages, steps, tool_calls, input_tokens from runs order by 1")
    assert runs.rows() == [("s1", 2, 1, 1, 9), ("s2", 2, 1, 1, 9)]
    assert ledger.sql("select count(*), sum(billed::int)::bigint from model_calls").row(0) == (2, 2)
    assert ledger.runs().height == 2
