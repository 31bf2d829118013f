"""Inspect Scout's transcripts in the ledger: files made from the package's declaration, and one test for each trap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.importers.conformance import check_format
from ledgerkit.importers.inspect_ai import scout
from ledgerkit.importers.registry import FORMATS, recognise
from tests.conftest import NOW
from tests.importers.scout.transcripts import MESSAGES, model_event, transcript, write

FORMAT = next(each for each in FORMATS if each.name == scout.NAME)


def taken(ledger: lk.Ledger, path: Path, quarantined: int = 0) -> lk.ImportAccount:
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == quarantined
    return account


def shown(ledger: lk.Ledger) -> list[tuple[Any, ...]]:
    """Kind, trust and text of what the model saw, in order."""
    return ledger.sql(
        "select kind, part_trust_level, text from parts where part_visibility = 'MODEL_VISIBLE' "
        "and part_type <> 'tool_call' order by run_id, sequence_no, part_index"
    ).rows()


def test_a_file_is_told_by_its_columns_and_not_by_its_name(ledger: lk.Ledger, tmp_path: Path) -> None:
    path = write(tmp_path / "logs" / "whatever.bin", transcript())
    assert recognise(path) is FORMAT
    other = tmp_path / "logs" / "transcripts_1.parquet"
    pl.DataFrame({"transcript_id": ["x"], "messages": ["[]"]}).write_parquet(other)
    cut = tmp_path / "logs" / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-20])
    account = taken(ledger, tmp_path / "logs")
    assert account.formats["format"].to_list() == [scout.NAME]
    assert sorted(Path(each).name for each in account.unsupported) == ["cut.parquet", "transcripts_1.parquet"]


def test_importers_promises_are_kept(tmp_path: Path) -> None:
    check_format(FORMAT, [write(tmp_path / "a.parquet", transcript("a", success=True), transcript("b"))])


def test_messages_alone_are_a_run(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, write(tmp_path / "a.parquet", transcript(task_set="gsm8k", task_id="7", agent="react")))
    assert shown(ledger) == [
        ("SYSTEM_INSTRUCTION", "ORG_TRUSTED", "Be brief."),
        ("USER_TASK", "USER_TRUSTED", "Round the prices."),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Looking."),
        ("TOOL_CALL_RESULT", "REPOSITORY_UNTRUSTED", "a.py"),
        ("ASSISTANT_RESPONSE", "MODEL_GENERATED", "Done."),
    ]
    (run,) = ledger.runs().to_dicts()
    assert (run["task_id"], run["agent"], run["steps"], run["tool_calls"]) == ("gsm8k/7", "react", 2, 1)
    assert run["outcome"] is None
    assert ledger.sql("select tool_name, status, result_text from tool_calls").rows() == [("bash", "SUCCEEDED", "a.py")]


def test_events_tell_times_and_usage_and_repeat_no_message(ledger: lk.Ledger, tmp_path: Path) -> None:
    events = [
        model_event(1, [[0, 2]], MESSAGES[2]),
        model_event(2, [[0, 4]], MESSAGES[4], input_tokens_cache_read=90, total_tokens=105),
    ]
    whole = transcript(events=events, events_data={"messages": MESSAGES, "calls": []}, total_tokens=999)
    taken(ledger, write(tmp_path / "a.parquet", whole))
    assert [text for *_, text in shown(ledger)] == ["Be brief.", "Round the prices.", "Looking.", "a.py", "Done."]
    found = ledger.sql("select step, model, provider, input_tokens, cache_read_tokens, output_tokens from model_calls")
    assert found.sort("step").rows() == [
        (0, "gpt-4o", "openai", 10, None, 5),
        (1, "gpt-4o", "openai", 100, 90, 5),
    ]
    assert ledger.runs()["started_at"].item().isoformat() == "2026-02-01T09:00:01+00:00"


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ({"success": True, "score": "C"}, "passed"),
        ({"success": False, "score": "0.3"}, "failed"),
        ({"score": "C"}, "passed"),
        ({"score": "I"}, "failed"),
        ({"score": "0.7"}, "inconclusive"),
        ({"score": '{"a": 1}'}, "inconclusive"),
        ({"success": True, "score": "inconclusive"}, "passed"),
        ({}, None),
    ],
)
def test_the_outcome_is_scouts_own_reduction_or_else_the_value(
    ledger: lk.Ledger, tmp_path: Path, columns: dict[str, Any], outcome: str | None
) -> None:
    taken(ledger, write(tmp_path / "a.parquet", transcript(score_explanation="because", **columns)))
    assert ledger.runs()["outcome"].to_list() == [outcome]
    said = "select part_trust_level from parts where data like '%because%' and kind = 'VERIFIER_RESULT'"
    assert ledger.sql(said).rows() == ([("UNKNOWN",)] if columns else [])


@pytest.mark.long
def test_a_models_grade_is_a_judgement_and_no_outcome(ledger: lk.Ledger, tmp_path: Path) -> None:
    row = transcript(success=True, score="C", score_model_graded_qa="C")
    taken(ledger, write(tmp_path / "a.parquet", row, score_model_graded_qa=pa.large_string()))
    assert ledger.runs()["outcome"].to_list() == [None]
    assert ledger.sql("select actor, part_trust_level from parts where kind = 'JUDGE_RESULT'").rows() == [
        ("model_graded_qa", "MODEL_GENERATED")
    ]


def test_errors_and_limits_are_messages(ledger: lk.Ledger, tmp_path: Path) -> None:
    taken(ledger, write(tmp_path / "a.parquet", transcript(error="It broke.", limit="tokens")))
    found = ledger.sql("select error_category, part_trust_level, text from parts where kind = 'ERROR_EVENT' order by 1")
    assert found.rows() == [("limit_tokens", "TOOL_TRUSTED", "tokens limit"), ("sample_error", "UNKNOWN", "It broke.")]


def test_what_else_a_source_says_is_kept_for_audits(ledger: lk.Ledger, tmp_path: Path) -> None:
    row = transcript(agent_args={"attempts": 3}, weird={"deep": 1}, tokens=5, title="hidden")
    kinds: dict[str, Any] = {"weird": pa.struct([("deep", pa.int64())]), "tokens": pa.int32(), "title": pa.string()}
    taken(ledger, write(tmp_path / "a.parquet", row, **kinds))
    data = ledger.sql('select data, part_visibility from parts where data like \'%"note":"transcript"%\'').row(0)
    assert data[1] == "AUDIT_ONLY"
    for piece in ('"agent_args":{"attempts":3}', '"weird":{"deep":1}', '"tokens":5', '"source_type":"eval_log"'):
        assert piece in data[0]


def test_a_damaged_column_costs_only_itself(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = [
        transcript("a", events='[{"event": "model"', success=True),
        transcript("b", messages="no JSON"),
        {**transcript("c"), "transcript_id": None},
        transcript("d", messages='"a text"', events="{}"),
    ]
    account = taken(ledger, write(tmp_path / "a.parquet", *rows), quarantined=3)
    reasons = ledger.sql("select unnest(quarantine, recursive := true) from import_files").rows(named=True)
    assert sorted((each["line"], each["record_type"]) for each in reasons) == [
        (1, "events"), (2, "messages"), (3, "transcript"),
    ]  # fmt: skip
    assert account.formats["quarantined"].to_list() == [3]
    assert [text for *_, text in shown(ledger)] == ["Be brief.", "Round the prices.", "Looking.", "a.py", "Done."]


def test_a_file_without_its_end_is_quarantined_when_its_format_is_known(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", transcript())
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-20])
    parsed = scout.read(cut, measure=lambda content: "0" * 32)
    assert parsed.records == []
    assert [each.reason[:16] for each in parsed.quarantined] == ["Parquet data is "]


@pytest.mark.long
def test_rows_of_many_groups_are_sessions_of_their_own(ledger: lk.Ledger, tmp_path: Path) -> None:
    rows = [transcript(f"t{number}", task_id=str(number)) for number in range(60)]
    path = write(tmp_path / "a.parquet", *rows, group=7)
    taken(ledger, path)
    assert ledger.sql("select count(distinct session_id), count(*) from runs").row(0) == (60, 60)
    assert ledger.sql("select max(source_line), count(distinct source_offset) from parts").row(0) == (60, 9)
    whole = shown(ledger)
    assert ledger.import_logs(path, now=NOW).new_messages == 0
    apart = lk.open(tmp_path / "apart.ledger", key=bytes(32))
    for number in (2, 0, 1):
        some = rows[number * 20 : number * 20 + 20]
        apart.import_logs(write(tmp_path / "pieces" / f"{number}.parquet", *some), now=NOW)
    assert shown(apart) == whole


def test_hidden_reasoning_is_measured_and_its_summary_shown(ledger: lk.Ledger, tmp_path: Path) -> None:
    thought = {"type": "reasoning", "reasoning": "secret thought", "summary": "It thinks.", "signature": "abc"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}], "source": "generate"}
    taken(ledger, write(tmp_path / "a.parquet", transcript(messages=[*MESSAGES[:2], answer])))
    found = ledger.sql("select text, part_visibility from parts where kind = 'AGENT_THOUGHT_SUMMARY' order by 2").rows()
    assert found == [(None, "AUDIT_ONLY"), ("It thinks.", "HUMAN_VISIBLE")]
    assert "secret thought" not in str(ledger.sql("select * from parts").to_dicts())


def test_what_others_say_in_the_users_place_is_of_unknown_origin(ledger: lk.Ledger, tmp_path: Path) -> None:
    told = [{"role": "user", "content": "From a program."}, MESSAGES[2], MESSAGES[3]]
    taken(ledger, write(tmp_path / "a.parquet", transcript(source_type="claude_code", messages=told)))
    assert shown(ledger)[0] == ("USER_TASK", "UNKNOWN", "From a program.")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "id"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELD = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "function", "error", "metadata", "source"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 4), _FIELD, _JSON), max_size=4), events=_JSON, data=_JSON)
def test_odd_values_break_nothing(tmp_path: Path, changes: list[tuple[int, str, Any]], events: Any, data: Any) -> None:
    messages = [dict(message) for message in MESSAGES]
    for place, field, value in changes:
        messages[place][field] = value
    path = write(tmp_path / "odd.parquet", transcript(messages=messages, events=events, events_data=data))
    parsed = scout.read(path, measure=lambda content: "0" * 32)
    assert parsed.records
    assert all(record.messages or record.skipped for record in parsed.records)
