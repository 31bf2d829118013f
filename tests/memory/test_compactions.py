"""What recorded summaries lose, hide and invent: one finding for each, and nothing of what they tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.cli import main
from ledgerkit.memory.compactions.made_up import sourced
from tests.builders import Log, text
from tests.conftest import NOW
from tests.importers.codex.rollouts import Rollout
from tests.memory.test_working import FAILED, PASSED, TODOS, Work

HONEST = """\
This session is being continued from a previous conversation.

1. Primary request: make total() round to cents.
2. Files: `shop.py` was edited.
3. Errors: tests/test_a.py::test_one and tests/test_a.py::test_two still fail.
4. Pending: Mend total(), in progress.
If you need more, read the full transcript at: /home/dev/.claude/projects/shop/none-of-it.jsonl
"""
SILENT = """\
The work goes well. All 12 tests pass in `tests/test_a.py`.
Changed `shop.py` and `src/ghost_module.py`, 4,321 lines in all.
I ran `pytest --ghost-option` as well.
"""


def compacted(name: str, summary: str | None, **about: Any) -> Work:
    """Reads, plans, edits, sees two tests fail, and is compacted."""
    log = Work(name)
    log.asks("Make total() round to cents.")
    log.plan(TODOS)
    log.edit("/home/dev/shop/shop.py")
    log.shell("pytest tests/test_a.py", FAILED, code=1)
    log.answers(text("Two of them fail."))
    before = log.last
    metadata = {"trigger": "auto", "preTokens": 9, **about}
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=before, compactMetadata=metadata)
    if summary is not None:
        log.asks(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.answers(text("Going on."))
    return log


LOGS: dict[str, Callable[[], Log]] = {
    "honest": lambda: compacted("honest", HONEST),
    "silent": lambda: compacted("silent", SILENT),
    "none": lambda: compacted("none", None),
    "staying": lambda: (log := compacted("staying", "Nothing to say.")) and _keeping_all(log),
    "mended": lambda: _mended("mended"),
}


def _keeping_all(log: Work) -> Work:
    at = next(n for n, record in enumerate(log.records) if record.get("subtype") == "compact_boundary")
    log.records[at]["compactMetadata"]["preservedMessages"] = {"uuids": [one["uuid"] for one in log.records[:at]]}
    return log


def _mended(name: str) -> Work:
    log = Work(name)
    log.asks("Make total() round to cents.")
    log.shell("pytest tests/test_a.py", FAILED, code=1)
    log.shell("pytest tests/test_a.py", PASSED)
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=log.last, compactMetadata={})
    log.asks("Make total() round to cents: done.", isCompactSummary=True)
    log.answers(text("Going on."))
    return log


@pytest.fixture(scope="module")
def ledger_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compactions")
    for name, made in LOGS.items():
        made().write(folder / "logs" / f"{name}.jsonl")
    rollout = Rollout()
    rollout.turn("Look around.", 1)
    rollout.add("compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "x"}])
    rollout.turn("Go on.", 2)
    (folder / "logs" / "rollout.jsonl").write_bytes(rollout.bytes())
    with lk.open(folder / "runs.ledger", key=bytes(32)) as made:
        made.import_logs(folder / "logs", now=NOW)
    return folder / "runs.ledger"


@pytest.fixture(scope="module")
def found(ledger_path: Path) -> dict[str, pl.DataFrame]:
    """The findings of each session, by its name."""
    with lk.open(ledger_path) as ledger:
        every = ledger.check_compactions()
    return {name: every.filter(pl.col("session_id") == Log(name).session) for name in LOGS} | {"all": every}


def said(frame: pl.DataFrame, *verdicts: str) -> set[tuple[str, str, str]]:
    rows = frame.filter(pl.col("verdict").is_in(verdicts)).select("verdict", "kind", "subject").rows()
    return {(verdict, kind, subject) for verdict, kind, subject in rows}


def test_a_summary_that_tells_everything_is_found_to_lose_nothing(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["honest"], "lost", "hidden", "invented", "unknown") == set()
    kinds = set(found["honest"].filter(pl.col("verdict") == "kept")["kind"])
    assert kinds >= {"task", "failing check", "changed file", "open plan item", "name"}


def test_what_a_summary_leaves_out_is_lost_and_a_failure_is_hidden(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["silent"], "lost", "hidden") == {
        ("lost", "task", "Make total() round to cents."),
        ("lost", "open plan item", "Mend total()"),
        ("hidden", "failing check", "pytest tests/test_a.py"),
    }
    hidden = found["silent"].row(by_predicate=pl.col("verdict") == "hidden", named=True)
    assert hidden["rule"] == "R16"
    assert hidden["evidence"]
    assert hidden["step"] == 4


def test_what_nothing_before_says_is_invented(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["silent"], "invented") >= {
        ("invented", "name", "src/ghost_module.py"),
        ("invented", "number", "4,321"),
        ("invented", "command", "pytest --ghost-option"),
        ("invented", "claim", "12 tests pass"),
    }
    assert ("invented", "name", "shop.py") not in said(found["silent"], "invented")


def test_what_still_stands_in_the_context_is_not_lost(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["staying"], "lost", "hidden") == set()
    why = found["staying"].row(by_predicate=pl.col("kind") == "failing check", named=True)["why"]
    assert why == "What says so stood in the context after it, too."


def test_a_failure_that_was_mended_before_is_not_hidden(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["mended"], "hidden", "lost") == set()
    assert "failing check" not in set(found["mended"]["kind"])


def test_a_summary_that_cannot_be_read_is_unknown_and_counted(found: dict[str, pl.DataFrame]) -> None:
    assert said(found["none"], "unknown", "lost", "hidden", "invented") == {("unknown", "summary", "")}
    sealed = found["all"].filter(~pl.col("session_id").is_in([Log(name).session for name in LOGS]))
    assert said(sealed, "unknown", "kept") == {("unknown", "summary", "")}


def test_every_reference_of_a_finding_resolves(ledger_path: Path, found: dict[str, pl.DataFrame]) -> None:
    with lk.open(ledger_path) as ledger:
        messages = set(ledger.sql("select message_id from messages")["message_id"])
        calls = set(ledger.sql("select tool_call_id from tool_calls")["tool_call_id"])
    for reference in found["all"]["evidence"].explode().drop_nulls():
        kind, _, target = reference.partition(":")
        assert target.partition("#")[0] in {"message": messages, "tool-call": calls}[kind]


@pytest.mark.slow
def test_runs_can_be_chosen_and_the_answer_is_the_same_each_time(
    ledger_path: Path, found: dict[str, pl.DataFrame]
) -> None:
    with lk.open(ledger_path) as ledger:
        run = found["silent"]["run_id"][0]
        assert ledger.check_compactions([run]).equals(found["silent"])
        assert ledger.check_compactions().equals(found["all"])
        assert ledger.check_compactions([]).columns == found["all"].columns


@pytest.mark.slow
def test_the_command_line_shows_cards(ledger_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    called = ["memory", "--compactions", "--ledger", str(ledger_path)]
    shown = CliRunner().invoke(main, called)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("6 recorded compactions: ")
    assert "hidden failing check (R16)\n    pytest tests/test_a.py\n" in shown.output
    machine = CliRunner().invoke(main, [*called, "--json"])
    assert {row["verdict"] for row in json.loads(machine.output)} >= {"hidden", "lost", "invented", "unknown", "kept"}
    refused = CliRunner().invoke(main, [*called, "--step", "2"])
    assert (refused.exit_code, "do not go together" in refused.output) == (2, True)
    unnamed = CliRunner().invoke(main, ["memory", "--ledger", str(ledger_path)])
    assert (unnamed.exit_code, "--compactions" in unnamed.output) == (2, True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["src/a.py", "b_test.go", "1,234", "`make dist`", "v1.2.3", "Mod.call()", "0.75%"])))
def test_a_text_that_only_repeats_its_source_invents_nothing(words: list[str]) -> None:
    before = " ".join(words).replace("`", "")
    summary = "; ".join(words)
    assert all(one.is_known for one in sourced(summary, before))
    assert [summary[one.start : one.start + len(one.subject)] for one in sourced(summary, "")] == [
        one.subject for one in sourced(summary, "")
    ]


@pytest.mark.slow
@pytest.mark.corpus
def test_compactions_of_real_sessions(corpus: Path, tmp_path: Path) -> None:
    ledger = lk.open(tmp_path / "runs.ledger", key=bytes(32))
    ledger.import_logs(
        corpus / "pi/pi-mono/before-compaction.jsonl",
        corpus / "claude-code/entire-cli/6a/71b2542fc4/0/full.jsonl",
        now=NOW,
    )
    found = ledger.check_compactions()
    assert found.select("run_id", "sequence_no").n_unique() == 3
    counts = dict(found.group_by("verdict").len().iter_rows())
    # Read by hand: a build that failed last and is not told, and a task and generated files that are left out.
    assert counts["hidden"] == 1
    assert counts.get("invented", 0) <= 3
    assert counts["kept"] > 100
