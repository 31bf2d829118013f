"""Claims of imported runs: evidence that a compaction took away, words inside tool calls, work of subagents."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.extract.claims.arguments import words_of
from tests.builders import Log, text, tool_use
from tests.conftest import NOW
from tests.memory.test_working import FAILED, PASSED, Work, imported

AGENT = "a1b2c3d4"


def compact(log: Work, **about: object) -> None:
    log.add("system", parent=None, subtype="compact_boundary", logicalParentUuid=log.last, compactMetadata=about)
    log.asks("The work goes on.", isCompactSummary=True, isVisibleInTranscriptOnly=True)


def verdicts(ledger: lk.Ledger, log: Log) -> list[tuple[str, str, str]]:
    found = ledger.check_claims().filter(pl.col("session_id") == log.session)
    return found.sort("sequence_no").select("text", "verdict", "rule").rows()


# What a compaction took out of the context


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("compacted")
    for name, printed, keeps in (("gone", PASSED, False), ("kept", PASSED, True), ("failed", FAILED, False)):
        log = Work(name)
        log.asks("Run the tests.")
        log.shell("pytest", printed, code=int(printed is FAILED))
        log.answers(text("All tests pass."))
        kept = {"preservedMessages": {"uuids": [one["uuid"] for one in log.records]}} if keeps else {}
        compact(log, **kept)
        log.answers(text("As said: all tests pass."))
        log.write(folder / "logs" / f"{name}.jsonl")
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(folder / "logs", now=NOW)
    return made


@pytest.mark.long
def test_a_result_that_left_the_context_supports_no_later_claim(compacted: lk.Ledger) -> None:
    before, after = verdicts(compacted, Log("gone"))
    assert before[1:] == ("supported", "R10")
    assert after[1:] == ("unverified", "R3")
    found = compacted.check_claims().filter(pl.col("rule") == "R3").row(0, named=True)
    assert "did not stand in the context of step 2" in found["why"]
    assert found["evidence"]


def test_a_result_that_the_compaction_kept_does(compacted: lk.Ledger) -> None:
    assert [one[1] for one in verdicts(compacted, Log("kept"))] == ["supported", "supported"]


def test_a_claim_against_the_record_stays_one(compacted: lk.Ledger) -> None:
    assert [one[1:] for one in verdicts(compacted, Log("failed"))] == [("contradicted", "R10")] * 2


# Words inside tool calls


def test_messages_of_commits_and_last_words_are_claims(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Work("words")
    log.asks("Fix it.")
    log.shell("pytest", FAILED, code=1)
    log.shell('git add -A && git commit -m "Round to cents" -m "All tests pass."', "[main 1a2b3c4] Round to cents")
    log.shell(
        "gh pr create --title 'Cents' --body \"$(cat <<'EOF'\n## Summary\n- All tests pass\nEOF\n)\"", "https://x/1"
    )
    log.shell("git commit -m 'Make all tests pass'", "[main 2b3c4d5]")
    log.shell("echo 'All tests pass.' > note.txt", "")
    log.call("submit", "ok", message="All tests pass.")
    found = imported(ledger, tmp_path, log).check_claims().sort("sequence_no")
    assert found["verdict"].to_list() == ["contradicted"] * 3
    assert found["tool_call_id"].null_count() == 0
    assert found["place"].str.starts_with("tool-call:toolu_").all()
    assert found.filter(pl.col("place") != pl.lit("tool-call:") + pl.col("tool_call_id")).is_empty()


@pytest.mark.parametrize(
    ("tool", "data", "said"),
    [
        ("Bash", '{"command": "git commit -m \\"It says \\\\\\"ok\\\\\\".\\""}', 'It says "ok".'),
        ("shell", '{"command": ["bash", "-lc", "git commit -am \'Done.\'"]}', "Done."),
        ("mcp__github__create_pull_request", '{"title": "T", "body": "B", "head": "x"}', "T\n\nB"),
        ("finish", '{"message": ""}', None),
        ("Bash", '{"command": "git log --grep commit -m 1"}', None),
        ("Bash", '{"command": "cat > a.md <<EOF\\ngit commit -m \'no\'\\nEOF"}', "no"),
        ("Bash", "no json", None),
        ("finish", "[1]", None),
        (None, None, None),
    ],
)
def test_words_of_arguments(tool: str | None, data: str | None, said: str | None) -> None:
    assert words_of(tool, data) == said


# Work of subagents


def delegating(name: str, *, after: str = "All tests pass.") -> tuple[Work, Work]:
    """A run that lets a subagent run the tests; the subagent's own log is still empty."""
    log = Work(name)
    log.asks("Have the tests run.")
    log.answers(tool_use(f"{name}-task", "Task", prompt="Run the tests."))
    log.returns(f"{name}-task", "They ran.", toolUseResult={"agentId": AGENT, "status": "completed"})
    log.answers(text(after))
    side = Work(f"{name}-side", agent=AGENT, session=log.session)
    side.asks("Run the tests.", parent=None)
    return log, side


def written(folder: Path, log: Log, side: Log) -> None:
    log.write(folder / f"{log.session}.jsonl")
    side.write(folder / log.session / "subagents" / f"agent-{AGENT}.jsonl")


@pytest.fixture(scope="module")
def delegated(tmp_path_factory: pytest.TempPathFactory) -> lk.Ledger:
    folder = tmp_path_factory.mktemp("delegated")
    for name in ("passed", "failed", "edited", "earlier", "files"):
        log, side = delegating(name, after="I updated `shop.py`." if name == "files" else "All tests pass.")
        if name == "earlier":  # the run's own check comes before what the subagent changes
            log.records.clear()
            log.last = None
            log.asks("Have it mended.")
            log.shell("pytest", PASSED)
            log.answers(tool_use("earlier-task", "Task", prompt="Mend it."))
            log.returns("earlier-task", "Mended.", toolUseResult={"agentId": AGENT, "status": "completed"})
            log.answers(text("All tests pass."))
        else:
            side.shell("pytest", FAILED if name == "failed" else PASSED, code=int(name == "failed"))
        if name in ("edited", "earlier", "files"):
            side.edit("/home/dev/shop/shop.py")
        side.answers(text("They ran."))
        written(folder / "logs", log, side)
    made = lk.open(folder / "runs.ledger", key=bytes(32))
    made.import_logs(folder / "logs", now=NOW)
    return made


@pytest.mark.parametrize(
    ("name", "verdict", "rule"),
    [
        ("passed", "supported", "R10"),
        ("failed", "contradicted", "R10"),
        ("edited", "unverified", "R10"),
        ("earlier", "stale", "R12"),
        ("files", "supported", "R6"),
    ],
)
def test_what_a_subagent_did_counts_once_its_result_came_back(
    name: str, verdict: str, rule: str, delegated: lk.Ledger
) -> None:
    (found,) = verdicts(delegated, Log(name))
    assert found[1:] == (verdict, rule)


@pytest.mark.slow
def test_one_run_alone_gives_the_same(delegated: lk.Ledger) -> None:
    every = delegated.check_claims()
    for run in every["run_id"].unique():
        assert delegated.check_claims(runs=run).equals(every.filter(pl.col("run_id") == run))
    evidence = every.filter(pl.col("session_id") == Log("passed").session)["evidence"].item().to_list()
    asked = "select run_id from tool_calls where 'tool-call:' || tool_call_id = ?"
    assert (
        delegated.sql(asked, evidence).item()
        != every.filter(pl.col("session_id") == Log("passed").session)["run_id"][0]
    )


def test_a_result_that_has_not_come_back_is_no_evidence(ledger: lk.Ledger, tmp_path: Path) -> None:
    log, side = delegating("pending")
    log.records = [one for one in log.records if "toolUseResult" not in one]
    log.records[-1]["parentUuid"] = log.records[-2]["uuid"]
    side.shell("pytest", PASSED)
    written(tmp_path / "logs", log, side)
    ledger.import_logs(tmp_path / "logs", now=NOW)
    ((_, verdict, _),) = verdicts(ledger, log)
    assert verdict in ("unverified", "unsupported")
