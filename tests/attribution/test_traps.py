"""Double-count traps that other tools fell into, each by its name; every record that does not count is explained.

Those of one format alone stand with its importer's tests: spans of two libraries for one call (``otel``), copied
context and converted copies (``atif``), versions of a message (``gemini_cli``), totals that grow (``openhands``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit import cost
from tests.builders import START, Log, progress_of, text, tool_use, uid, usage, working_session
from tests.conftest import NOW
from tests.importers.codex.rollouts import CHILD, THREAD, Rollout
from tests.importers.inspect_ai import logs as inspect

_BILLED = (
    "select coalesce(sum(input_tokens), 0)::int, coalesce(sum(output_tokens), 0)::int from model_calls where billed"
)


def _import(ledger: lk.Ledger, *paths: Path) -> None:
    ledger.import_logs(*paths, now=NOW, count_tokens=False)


def _reasons(ledger: lk.Ledger) -> dict[str | None, int]:
    rows = ledger.explain_usage()
    counted = rows.filter("billed")
    assert counted["reason"].null_count() == counted["why"].null_count() == counted.height
    assert counted["counts_message_id"].equals(counted["message_id"])
    told = rows.filter(~pl.col("billed"))
    assert told["why"].null_count() == 0
    return dict(told["reason"].value_counts().iter_rows())


def _points_at_counted(ledger: lk.Ledger, reason: str) -> bool:
    """Whether each of these records names a record that counts."""
    rows = ledger.explain_usage()
    counted = set(rows.filter("billed")["message_id"])
    named = rows.filter(pl.col("reason") == reason)["counts_message_id"]
    return named.len() > 0 and set(named) <= counted


def _codex(path: Path, log: Rollout) -> Path:
    path.write_bytes(log.bytes())
    return path


def _fork(origin: Rollout) -> Rollout:
    log = Rollout(CHILD, 10, forked_from_id=THREAD)
    log.lines += origin.lines
    return log


def test_text_and_tool_use_rows_that_share_one_message_id(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Log("shared id")
    log.asks()
    for block in (text("Looking."), tool_use("toolu_1")):
        log.answers(block, call="msg_1", used=usage(100, 20, read=50))
    _import(ledger, log.write(tmp_path / "a.jsonl"))
    assert ledger.sql(_BILLED).row(0) == (150, 20)
    assert _reasons(ledger) == {"earlier snapshot": 1}
    why = ledger.explain_usage()["why"].drop_nulls().item()
    assert why == "earlier snapshot of the call; line 3 of a.jsonl counts"


def test_partial_snapshots_of_a_stream_that_are_summed(ledger: lk.Ledger, tmp_path: Path) -> None:
    _import(ledger, working_session(steps=3).write(tmp_path / "a.jsonl"))
    assert ledger.sql(_BILLED).item(0, 1) == 7 + 8 + 9 + 4  # the last snapshot of each; summed it were 4 a call more
    assert _reasons(ledger) == {"earlier snapshot": 6}
    assert _points_at_counted(ledger, "earlier snapshot")


def test_a_subagents_records_that_stand_in_its_parents_progress_too(ledger: lk.Ledger, tmp_path: Path) -> None:
    main = Log("embedding")
    main.asks()
    main.answers(tool_use("toolu_task", "Task", prompt="Look."), call="msg_main", used=usage(10, 1))
    helper = Log("helper", agent="a1b2c3d", session=main.session, start=START + timedelta(minutes=1))
    helper.asks("Look.")
    helper.answers(text("Found."), call="msg_helper", used=usage(1000, 100))
    for record in helper.records:
        progress_of(main, record, agent="a1b2c3d", call="toolu_task")
    folder = tmp_path / main.session / "subagents"
    folder.mkdir(parents=True)
    _import(ledger, main.write(tmp_path / f"{main.session}.jsonl"), helper.write(folder / "agent-a1b2c3d.jsonl"))
    assert ledger.sql(_BILLED).row(0) == (1010, 101)


def test_sidechains_that_are_left_out(ledger: lk.Ledger, tmp_path: Path) -> None:
    main = Log("with helper")
    main.asks()
    main.answers(tool_use("toolu_task", "Task", prompt="Look."), call="msg_main", used=usage(10, 1))
    helper = Log("its helper", agent="a1b2c3d", session=main.session, start=START + timedelta(minutes=1))
    helper.asks("Look.")
    helper.answers(text("Found."), call="msg_helper", used=usage(1000, 100))
    folder = tmp_path / main.session / "subagents"
    folder.mkdir(parents=True)
    _import(ledger, main.write(tmp_path / f"{main.session}.jsonl"), helper.write(folder / "agent-a1b2c3d.jsonl"))
    rows = ledger.attribute_cost("subagent")
    assert rows.filter(pl.col("subagent").is_not_null())["cost"].sum() == Decimal("0.0045")  # 1,000 in, 100 out
    share = ledger.waste("subagent")
    assert share["detail"].to_list() == ["1 calls, 99.0 % of the session's cost"]


def test_resumed_sessions_that_replay_history(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = working_session("resumed")
    copy = Log("resuming", start=START + timedelta(hours=1))
    copy.records = [record | {"sessionId": copy.session} for record in log.records]
    copy.last = log.last
    copy.asks("Go on.")
    copy.answers(text("On it."), call="msg_new", used=usage(100, 100))
    _import(ledger, log.write(tmp_path / "a.jsonl"), copy.write(tmp_path / "b.jsonl"))
    assert ledger.sql(_BILLED).item(0, 1) == 28 + 100
    reasons = _reasons(ledger)
    assert reasons["earlier snapshot"] == 12
    assert sum(reasons.get(name, 0) for name in ("copy", "replay")) == 4
    by = [ledger.cost(by)["cost"].sum() for by in ("session_id", "day", "run_id", "model")]
    assert len(set(by)) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_codex_forks_that_replay_their_parent(order: Sequence[int], ledger: lk.Ledger, tmp_path: Path) -> None:
    parent = Rollout()
    parent.turn("A", 1)
    child = _fork(parent)
    child.turn("B", 2, used=20)
    paths = [_codex(tmp_path / "parent.jsonl", parent), _codex(tmp_path / "child.jsonl", child)]
    for place in order:
        _import(ledger, paths[place])
    assert ledger.sql(_BILLED).row(0) == (10 + 11 + 20 + 21, 2 + 3 + 2 + 3)
    assert _reasons(ledger) == {"replay": 2}
    assert _points_at_counted(ledger, "replay")


def test_codex_subagents_that_replay_their_parent(ledger: lk.Ledger, tmp_path: Path) -> None:
    parent = Rollout()
    for number in range(4):
        parent.turn(f"A{number}", number, used=1000)
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    helper = Rollout(CHILD, 10, forked_from_id=THREAD, source=spawn)
    helper.lines += parent.lines
    helper.turn("B", 9, used=20)
    _import(ledger, _codex(tmp_path / "parent.jsonl", parent))
    before = ledger.sql(_BILLED).item(0, 0)
    _import(ledger, _codex(tmp_path / "helper.jsonl", helper))
    assert ledger.sql(_BILLED).item(0, 0) == before + 20 + 21
    assert _reasons(ledger) == {"copy": 8}
    assert _points_at_counted(ledger, "copy")


def test_a_codex_fork_whose_parent_is_missing_and_that_has_a_sibling(ledger: lk.Ledger, tmp_path: Path) -> None:
    parent = Rollout()
    parent.turn("A", 1)
    one = _fork(parent)
    one.turn("B", 2, used=20)
    other = Rollout("01990000-0000-7000-8000-00000000000d", 20, forked_from_id=THREAD)
    other.lines += parent.lines
    other.turn("C", 3, used=40)
    _import(ledger, _codex(tmp_path / "one.jsonl", one))
    assert ledger.sql(_BILLED).item(0, 0) == 10 + 11 + 20 + 21  # alone, what it copied counts for it: somebody paid it
    assert ledger.open_forks().select("calls", "input_tokens", "least_cost", "unpriced_calls").rows() == [
        (4, 10 + 11 + 20 + 21, 0, 4)
    ]
    _import(ledger, _codex(tmp_path / "other.jsonl", other))
    assert ledger.sql(_BILLED).item(0, 0) == 10 + 11 + 20 + 21 + 40 + 41
    assert ledger.open_forks()["calls"].to_list() == [4, 2]
    _import(ledger, _codex(tmp_path / "parent.jsonl", parent))
    assert ledger.sql(_BILLED).item(0, 0) == 10 + 11 + 20 + 21 + 40 + 41
    assert ledger.open_forks().is_empty(), "the origin is here now"


def test_re_emitted_token_counts(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Rollout()
    log.typed("A")
    log.message("assistant", "B")
    log.count(100, 40, 7)
    log.count(100, 40, 7, moved=False)
    log.event("task_complete", turn_id="t", last_agent_message="B")
    log.count(100, 40, 7, moved=False)
    _import(ledger, _codex(tmp_path / "a.jsonl", log))
    assert ledger.sql(_BILLED).row(0) == (100, 7)
    assert set(_reasons(ledger)) <= {"repeated count"}


def test_a_cached_evaluation_whose_usage_was_spent_long_ago(ledger: lk.Ledger, tmp_path: Path) -> None:
    prompt, answer = inspect.message("user", "Do it.", source="input"), inspect.message("assistant", "Done.")
    kept = inspect.asked([prompt], answer, used=inspect.usage(500, 50), cache="read")
    inspect.taken(ledger, tmp_path, inspect.sample([kept], [prompt, answer]))
    assert ledger.sql(_BILLED).row(0) == (0, 0)
    assert _reasons(ledger) == {"cached evaluation": 1}
    assert ledger.explain_usage().select("input_tokens", "output_tokens").row(0) == (500, 50)


def test_synthetic_messages_of_the_client(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Log("synthetic")
    log.asks()
    log.answers(text("API Error"), model="<synthetic>", used=usage(0, 0))
    _import(ledger, log.write(tmp_path / "a.jsonl"))
    assert _reasons(ledger) == {"synthetic": 1}
    assert ledger.cost([])["calls"].item() == 0


def test_cached_input_that_is_counted_twice_or_at_full_price(ledger: lk.Ledger, tmp_path: Path) -> None:
    """One service says input with its cached tokens, the other without: both mean the same prompt."""
    log = Rollout()
    log.typed("A")
    log.message("assistant", "B")
    log.count(1000, 400, 10)
    claude = Log("beside")
    claude.asks()
    claude.answers(text("B"), call="msg_1", used=usage(600, 10, read=400))
    _import(ledger, _codex(tmp_path / "codex.jsonl", log), claude.write(tmp_path / "claude.jsonl"))
    calls = ledger.calls().sort("session_id")
    assert calls["input_tokens"].to_list() == [1000, 1000]
    assert calls["cache_read_tokens"].to_list() == [400, 400]
    priced = cost.price_calls(calls, priced_as="claude-sonnet-4-5")
    assert priced["cost"].to_list() == [Decimal("0.00207")] * 2  # 600 x 3 + 400 x 0.30 + 10 x 15 dollars a million


def test_one_hour_cache_writes_priced_like_five_minutes(ledger: lk.Ledger, tmp_path: Path) -> None:
    log = Log("kept long")
    log.asks()
    log.answers(text("A"), call="msg_1", used=usage(0, 0, write=1000))
    log.answers(text("B"), call="msg_2", used=usage(0, 0, write=1000, hour=1000))
    _import(ledger, log.write(tmp_path / "a.jsonl"))
    assert ledger.calls().sort("call_id")["cost"].to_list() == [Decimal("0.00375"), Decimal("0.006")]


def test_history_that_is_priced_again_with_todays_table(ledger: lk.Ledger, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    rows = [{"model": "claude-sonnet-4-5-20250929", "start_date": day, "usd_per_mtok": {"input": price, "output": 0}}
            for day, price in (("2026-01-01", 1), ("2026-02-15", 100))]  # fmt: skip
    prices.write_text(json.dumps({"source": "made up", "prices": rows}), "utf-8")
    for name, start in (("before", START), ("after", START + timedelta(days=30))):
        log = Log(name, start=start)
        log.asks()
        log.answers(text("A"), call=f"msg_{name}", used=usage(1_000_000, 0))
        _import(ledger, log.write(tmp_path / f"{name}.jsonl"))
    ledger.prices = lk.PriceBook.from_file(prices)
    assert sorted(ledger.calls()["cost"]) == [Decimal(1), Decimal(100)]


def test_copies_of_a_pi_session_in_another_transcript(ledger: lk.Ledger, tmp_path: Path) -> None:
    spent = {"input": 70, "output": 5, "cacheRead": 30, "cacheWrite": 0, "cost": {"total": 0.5}}
    entries: list[dict[str, Any]] = [
        {"type": "message", "id": "u", "parentId": None, "message": {"role": "user", "content": "Go."}},
        {"type": "message", "id": "a", "parentId": "u", "message": {
            "role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": spent,
            "provider": "anthropic", "model": "claude-sonnet-4-5"}},
    ]  # fmt: skip
    heads: dict[str, dict[str, str]] = {"one": {}, "two": {"parentSession": "/one.jsonl"}}
    for number, (name, more) in enumerate(heads.items()):
        head = {"type": "session", "version": 3, "id": uid(name), "cwd": "/w", **more}
        stamped = [{**entry, "timestamp": f"2026-01-01T00:0{number if entry is head else 0}:00.000Z"}
                   for entry in (head, *entries)]  # fmt: skip
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in stamped), "utf-8")
        _import(ledger, path)
    assert ledger.sql(_BILLED).row(0) == (100, 5)
    reported = ledger.reconcile_costs([])
    assert (reported["both"].item(), reported["reported_cost"].item()) == (1, Decimal("0.5"))
