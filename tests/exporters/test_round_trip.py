"""What leaves in one format and comes back says the same, as far as the format can; and nothing gets more trusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from tests.conftest import NOW, ROOT
from tests.exporters.comparing import calls, exchanged, highest_trust, lost, said, tasks, usage

FILES: Final = (
    "claude-code/agentcmd/full/full-session-four.jsonl",
    "claude-code/agent-sessions/subagent",
    "claude-code/inspect_scout/compaction_session.jsonl",
    "codex/agentsview/function_calls.jsonl",
    "codex/agent-sessions/codex_052_raw.jsonl",
    "gemini-cli/agentcmd/full",
    "mini-swe-agent",
    "atif/inspect_scout",
    "pi",
    "openhands",
)
FEW: Final = ("1b766e4c", "b58d45ef", "0fbe33c0", "34951857", "45e03ad3", "704c58c4")
"""Sessions of the demo with subagents, compactions, approvals and both outcomes, of both formats."""
CONVERSATIONS: Final = ("atif", "scout")


@pytest.fixture(scope="module")
def some_files(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    """A ledger with files of many formats."""
    ledger = lk.open(tmp_path_factory.mktemp("some") / "some.ledger", key=bytes(32))
    ledger.import_logs(*(corpus / name for name in FILES), now=NOW)
    return ledger


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    """A ledger with some demo runs, or all of them."""
    ledger = lk.open(tmp_path_factory.mktemp("demo") / "demo.ledger", key=bytes(32))
    chosen = [path for name in FEW for path in sorted((ROOT / "data").rglob(f"{name}*"))]
    ledger.import_logs(*(chosen if request.param == "few" else [ROOT / "data"]), now=NOW)
    return ledger


Trip = Callable[[str], tuple[lk.ExportAccount, lk.Ledger]]


def trips_of(ledger: lk.Ledger, folder: Path) -> Trip:
    """Exports and imports a ledger once for each format."""

    @cache
    def trip(format: str) -> tuple[lk.ExportAccount, lk.Ledger]:
        return exchanged(ledger, folder / format, format)

    return trip


@pytest.fixture(scope="module")
def demo_trip(demo: lk.Ledger, tmp_path_factory: pytest.TempPathFactory) -> Trip:
    return trips_of(demo, tmp_path_factory.mktemp("trips"))


@pytest.fixture(scope="module")
def trip(some_files: lk.Ledger, tmp_path_factory: pytest.TempPathFactory) -> Trip:
    return trips_of(some_files, tmp_path_factory.mktemp("trips"))


def columns(ledger: lk.Ledger) -> pl.DataFrame:
    """Everything of parts that the protocol can say; the ids of artifacts are those of their ledger."""
    rests_on_artifacts = "list_has_any(list_transform(evidence_refs, lambda ref: ref[:9]), ['artifact:'])"
    found = ledger.sql(
        f"""
        select session_id, run_id, sequence_no, message_id, part_index, kind, trust_level, visibility, actor,
            created_at, step, visible_from, parent_message_id, trace_id, idempotency_key, part_type, content_type,
            part_trust_level, part_visibility, text, if(data like '%"artifact"%', null, data) as data, summary,
            len(artifact_refs) as refs, tool_call_id, tool_name, arguments_hash, status, started_at, finished_at, path,
            error_category, if({rests_on_artifacts}, null, evidence_refs) as evidence_refs, call_id, model,
            if(data like '%"hidden_reasoning"%', null, byte_count) as byte_count
        from parts order by session_id, run_id, sequence_no, part_index
        """
    )
    # The protocol writes JSON in one way: an object's keys in their order.
    data = [None if text is None else json.dumps(json.loads(text), sort_keys=True) for text in found["data"]]
    size = pl.when(pl.col("text").is_not_null()).then("byte_count")
    return found.with_columns(pl.Series("data", data, pl.String), byte_count=size)


def metadata(ledger: lk.Ledger) -> list[tuple[str, object]]:
    """What the envelopes said, without what a ledger notes for itself."""
    rows = ledger.sql("select message_id, metadata from messages order by 1, 2").rows()
    own = ("record", "model_request")
    return [(mid, {k: v for k, v in json.loads(text).items() if k not in own} if text else {}) for mid, text in rows]


def runs(ledger: lk.Ledger) -> pl.DataFrame:
    return ledger.sql("select * exclude (source_format, source_file) from runs order by run_id")


def model_calls(ledger: lk.Ledger) -> pl.DataFrame:
    return ledger.sql("select * from model_calls order by session_id, run_id, step, call_id")


@pytest.mark.long
def test_nothing_of_a_message_is_lost_in_our_own_format(demo: lk.Ledger, demo_trip: Trip) -> None:
    account, other = demo_trip("jsonl")
    assert {loss.field for loss in account.losses} == {"model_request", "token_count"}
    assert account.messages == demo.sql("select count(*) from messages").item()
    assert_frame_equal(columns(demo), columns(other))
    assert_frame_equal(runs(demo), runs(other))
    assert_frame_equal(model_calls(demo), model_calls(other))
    assert metadata(demo) == metadata(other)
    assert other.verify().ok


def test_our_own_format_exported_again_says_the_same_line_by_line(demo_trip: Trip, tmp_path: Path) -> None:
    account, other = demo_trip("jsonl")
    again = other.export(tmp_path / "again", format="jsonl", audience=lk.Audience.AUDIT)
    assert [file.name for file in account.files] == [file.name for file in again.files]
    for one, two in zip(account.files, again.files, strict=True):
        if b'"artifact"' not in one.read_bytes():  # each ledger has ids of its own for contents
            lines = [[json.loads(line) for line in file.read_text().splitlines()] for file in (one, two)]
            assert lines[0] == lines[1]


@pytest.mark.corpus
@pytest.mark.slow
def test_other_programs_logs_come_back_from_our_own_format(some_files: lk.Ledger, trip: Trip) -> None:
    account, other = trip("jsonl")
    refused = lost(account, "TOOL_CALL_RESULT", "message")
    assert account.messages + refused == some_files.sql("select count(*) from messages").item()
    if not refused:
        assert_frame_equal(columns(some_files), columns(other))
    assert calls(some_files) == calls(other)
    assert usage(some_files) == usage(other)
    assert tasks(some_files) == tasks(other)
    assert_frame_equal(model_calls(some_files), model_calls(other))


@pytest.mark.slow
@pytest.mark.parametrize("format", CONVERSATIONS)
def test_the_demo_runs_come_back_as_conversations(demo: lk.Ledger, demo_trip: Trip, format: str) -> None:
    account, other = demo_trip(format)
    assert said(demo) == said(other)
    assert calls(demo) == calls(other)
    assert usage(demo) == usage(other)
    all_calls = demo.sql("select count(*) from model_calls").item()
    assert lost(account, "MODEL_CALL", "usage") == all_calls - usage(demo)["calls"]
    assert account.runs == demo.runs().height == other.runs().height
    compactions = "select sum(compactions) from runs"
    assert other.sql(compactions).item() == demo.sql(compactions).item() > 0


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("format", CONVERSATIONS)
def test_other_programs_logs_come_back_as_conversations(some_files: lk.Ledger, trip: Trip, format: str) -> None:
    account, other = trip(format)
    assert said(some_files) == said(other)
    assert calls(some_files) == calls(other)
    assert usage(some_files) == usage(other)
    assert lost(account, "MODEL_CALL", "usage") == 15  # calls that failed, and two that wrote summaries
    assert sorted(some_files.runs()["task_id"].to_list(), key=str) == sorted(other.runs()["task_id"].to_list(), key=str)


@pytest.mark.long
def test_outcomes_come_back_where_the_format_has_them(demo: lk.Ledger, demo_trip: Trip) -> None:
    for format in ("jsonl", "scout"):
        _, other = demo_trip(format)
        assert tasks(other) == tasks(demo)
        assert {outcome for _, outcome, _ in tasks(other)} >= {"passed", "failed"}
    account, other = demo_trip("atif")
    assert {outcome for _, outcome, _ in tasks(other)} == {None}
    assert (
        lost(account, "VERIFIER_RESULT", "message")
        == demo.sql("select count(*) from verifier_results where source = 'recorded'").item()
    )


@pytest.mark.slow
def test_subagents_come_back_below_the_call_that_began_them(demo: lk.Ledger, demo_trip: Trip) -> None:
    links = """
        select r.relation, count(*), count(p.run_id), count(f.message_id) from runs r
            left join runs p on r.parent_run_id = p.run_id and r.session_id = p.session_id
            left join messages f on f.message_id = r.forked_at and f.run_id = p.run_id
        where r.relation = 'subagent' group by 1
    """
    for format in ("jsonl", "scout", "atif"):
        _, other = demo_trip(format)
        (found,) = demo.sql(links).rows()
        assert found[1] == found[2] == found[3] > 1
        # Conversations give messages other ids, and our importers hang such runs on their parents alone.
        assert other.sql(links).rows() == [(*found[:3], found[1] if format == "jsonl" else 0)]


@pytest.mark.parametrize("format", ["atif", "scout", "jsonl"])
def test_trust_never_rises(demo: lk.Ledger, demo_trip: Trip, format: str) -> None:
    _, other = demo_trip(format)
    before, after = highest_trust(demo), highest_trust(other)
    assert [text for text, rank in after.items() if text in before and rank < before[text]] == []
    assert len(before.keys() & after.keys()) > 50


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("format", CONVERSATIONS)
def test_trust_never_rises_in_other_programs_logs(some_files: lk.Ledger, trip: Trip, format: str) -> None:
    _, other = trip(format)
    before, after = highest_trust(some_files), highest_trust(other)
    assert [text for text, rank in after.items() if text in before and rank < before[text]] == []
