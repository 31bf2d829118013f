"""Costs of a ledger: one total whatever the labels, what-if prices, budgets, waste, and the command."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import ledgerkit as lk
from ledgerkit import cost
from ledgerkit.cli import main
from ledgerkit.cost.waste import WASTE
from ledgerkit.errors import QueryError, UnknownNameError
from tests.builders import START, Log, text, tool_use, usage
from tests.conftest import NOW

_LABELS = ["tool", "file", "kind", "section", "trust", "artifact", "step", "run", "subagent", "session", "task",
           "repository", "branch", "model", "day"]  # fmt: skip


@pytest.fixture(scope="module")
def demo(demo_path: Path) -> lk.Ledger:
    return lk.open(demo_path, create=False)


def _total(ledger: lk.Ledger) -> Decimal:
    return ledger.cost([])["cost"].item()


@pytest.mark.parametrize("label", _LABELS)
def test_the_total_is_one_whatever_the_label(label: str, demo: lk.Ledger) -> None:
    rows = demo.attribute_cost(label)
    assert rows["cost"].sum() == _total(demo)
    assert rows.filter(pl.col("cost") < 0).is_empty()
    parts = rows.filter(pl.col("line").is_null())
    assert (parts["carrying_cost"] + parts["creation_cost"]).equals(parts["cost"])


def test_labels_of_parts_and_of_calls_cut_the_same_total(demo: lk.Ledger) -> None:
    both = demo.cost(["tool", "model", "day"])
    for name in ("tool_name", "model", "day"):
        one = demo.attribute_cost(name).group_by(name).agg(pl.col("cost").sum()).filter(pl.col("cost") > 0)
        other = both.group_by(name).agg(pl.col("cost").sum()).filter(pl.col("cost") > 0)
        assert one.sort(name).equals(other.sort(name))
    by_model = demo.cost("model").select("model", pl.col("cost").cast(pl.Decimal(38, 12))).sort("model")
    assert by_model.equals(both.group_by("model").agg(pl.col("cost").sum()).sort("model"))


def test_runs_sum_to_what_their_calls_cost(demo: lk.Ledger) -> None:
    by_run = demo.attribute_cost("run").group_by("run_id").agg(pl.col("cost").sum()).sort("run_id")
    want = demo.cost("run_id").select("run_id", "cost").sort("run_id")
    assert by_run["cost"].to_list() == want["cost"].to_list()
    run = str(want.sort("cost")["run_id"][-1])
    steps = demo.cost_by_step(run)
    assert steps["cost"].sum() == demo.run(run).facts["cost"]
    assert demo.attribute_cost("kind", runs=[run])["cost"].sum() == demo.run(run).facts["cost"]


def test_a_time_limits_what_was_charged(demo: lk.Ledger) -> None:
    day = date(2026, 1, 14)
    parts = [demo.cost("tool", until=day), demo.cost("tool", since=day, until="2026-01-15"), demo.cost("tool",
             since=datetime(2026, 1, 15, tzinfo=UTC))]  # fmt: skip
    assert sum((rows["cost"].sum() for rows in parts), Decimal(0)) == _total(demo)
    assert all(rows["cost"].sum() > 0 for rows in parts)
    with pytest.raises(QueryError, match="no day or time"):
        demo.cost(since="yesterday")


def test_another_model_would_have_cost_its_own_prices(demo: lk.Ledger) -> None:
    dear, cheap = (demo.cost([], priced_as=f"claude-{name}-4-5")["cost"].item() for name in ("opus", "haiku"))
    assert dear == 5 * cheap  # opus 4.5 costs five times what haiku 4.5 does, in every leaf
    assert demo.attribute_cost([], priced_as="claude-haiku-4-5")["cost"].sum() == cheap
    assert set(demo.cost("model", priced_as="claude-haiku-4-5")["model"]) == set(demo.cost("model")["model"])
    with pytest.raises(UnknownNameError, match="No price list holds a model 'claude-9'"):
        demo.cost(priced_as="claude-9")


def test_an_unknown_label_is_named(demo: lk.Ledger) -> None:
    with pytest.raises(UnknownNameError, match="tool_name"):
        demo.attribute_cost("tool_nam")
    with pytest.raises(UnknownNameError, match="repeated_read"):
        demo.waste("repeated_reads")
    with pytest.raises(UnknownNameError, match="section"):
        demo.cost_by_step(str(demo.runs()["run_id"][0]), by="sections")


def test_a_budget_burns_down_to_what_the_total_leaves(demo: lk.Ledger) -> None:
    task = str(demo.runs().drop_nulls("task_id")["task_id"].sort()[0])
    spent = demo.cost("task_id").filter(pl.col("task_id") == task)["cost"].item()
    rows = demo.burn_down(spent / 2, task=task)
    assert rows["left"][-1] == (spent / 2).quantize(Decimal("1e-9")) - spent
    assert rows["is_over"].to_list() == (rows["left"] < 0).to_list()
    assert rows["created_at"].is_sorted()
    with pytest.raises(UnknownNameError):
        demo.burn_down(1, task="no such task")


def _reading(name: str) -> Log:
    log = Log(name, start=START)
    log.asks("Compare the shops.")
    return log


def _step(log: Log, call: str, answer: str, *, used: dict[str, object], tool: str = "Read", **more: object) -> None:
    log.answers(tool_use(f"toolu_{call}", tool, **{"file_path": "/home/dev/shop/a.py", **more}), call=f"msg_{call}",
                used=used)  # fmt: skip
    log.returns(f"toolu_{call}", answer, is_error=answer.startswith("Error"))


def test_waste_is_found_with_its_cost_and_where_to_look(ledger: lk.Ledger, tmp_path: Path) -> None:
    content = " ".join(f"alpha{n}" for n in range(400))
    log = _reading("wasteful")
    _step(log, "a", content, used=usage(100, 10, write=2000))
    _step(log, "b", content, used=usage(100, 10, read=2000, write=1500))
    log.answers(text("I saw alpha17 there."), call="msg_c", used=usage(100, 10, read=3500, write=1500))
    _step(log, "d", "Error: no such file", used=usage(100, 10, read=5000, write=100))
    _step(log, "e", " ".join(f"omega{n}" for n in range(300)), used=usage(100, 10, read=5100, write=100))
    log._clock += timedelta(minutes=9)  # pyright: ignore[reportPrivateUsage]
    log.answers(text("Nothing there is of use."), call="msg_f", used=usage(100, 10, write=6500))
    ledger.import_logs(log.write(tmp_path / "a.jsonl"), now=NOW)
    found = ledger.waste()
    assert found.schema == WASTE
    kinds = {kind: rows for (kind,), rows in found.group_by("kind")}
    assert set(kinds) == {"repeated_read", "retry", "cache_miss", "unused_output"}
    repeated = kinds["repeated_read"].row(0, named=True)
    assert repeated["detail"] == "read again while it stood in the context"
    assert repeated["carried_calls"] == 4
    parts = ledger.attribute_cost(["message_id", "kind"])
    mine = parts.filter(pl.col("message_id").is_in([r.removeprefix("message:") for r in repeated["refs"]]))
    assert mine.height == 2
    second, first = sorted(mine["cost"].to_list())
    assert 0 < second < repeated["cost"] < first + second  # its request is in it, too
    assert kinds["retry"]["detail"].to_list() == ["failed, and made again with the same arguments"]
    miss = kinds["cache_miss"].row(0, named=True)
    assert (miss["tokens"], miss["detail"]) == (5200, "expired: 542 s since the call before")
    assert miss["cost"] == Decimal(5200) * (Decimal("3.75") - Decimal("0.3")) / 10**6
    assert kinds["unused_output"]["detail"].str.contains("300 words").to_list() == [True]


def test_kinds_and_runs_can_be_chosen(demo: lk.Ledger) -> None:
    whole = demo.waste()
    assert whole.filter(pl.col("kind") == "retry").equals(demo.waste("retry"))
    run = str(whole.filter(pl.col("kind") == "cache_miss")["run_id"][0])
    some = demo.waste(["cache_miss"], runs=[run])
    assert some.equals(whole.filter(pl.col("kind") == "cache_miss", pl.col("run_id") == run))
    assert whole.filter(pl.col("cost") < 0).is_empty()


def test_cache_misses_of_the_demo_runs_are_all_explained(demo: lk.Ledger) -> None:
    causes = demo.waste("cache_miss")["detail"]
    assert causes.str.contains("expired|compaction").all()
    assert demo.waste("compaction").height > 0


def test_reported_and_computed_costs_are_compared_where_both_are_known() -> None:
    calls = pl.DataFrame(
        {"model": ["claude-sonnet-4-5", "claude-sonnet-4-5", "unheard-of", "unheard-of"],
         "created_at": [datetime(2026, 1, 5, tzinfo=UTC)] * 4, "input_tokens": [1000] * 4, "output_tokens": [0] * 4,
         "reported_cost": ["0.004", None, "0.5", None]},
        schema_overrides={"reported_cost": pl.Decimal(18, 9)},
    )  # fmt: skip
    row = cost.reconcile(cost.price_calls(calls)).row(0, named=True)
    assert (row["calls"], row["both"], row["only_reported"], row["only_computed"], row["neither"]) == (4, 1, 1, 1, 1)
    assert (row["cost"], row["reported_cost"], row["difference"]) == (
        Decimal("0.003"),
        Decimal("0.004"),
        Decimal("0.001"),
    )
    assert row["differing"] == 1
    with pytest.raises(UnknownNameError):
        cost.reconcile(calls)


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(main, arguments, catch_exceptions=False, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.long
def test_the_command_shows_what_the_library_says(demo_path: Path) -> None:
    ledger = ["--ledger", str(demo_path)]
    shown = _run("cost", *ledger, "--by", "tool,model", "--since", "2026-01-01", "--top", "3")
    assert "3 of " in shown
    assert "unseen 27 %" in shown
    rows = json.loads(_run("cost", *ledger, "--by", "tool", "--json", "-n", "0"))
    with lk.open(demo_path, create=False) as opened:
        assert sum(Decimal(str(row["cost"])) for row in rows) == _total(opened)
    assert "earlier snapshot" in _run("cost", *ledger, "--explain", "--top", "2")
    assert "Kinds overlap" in _run("cost", *ledger, "--waste", "--top", "6")
    assert "claude" in _run("cost", *ledger, "--reconcile")
    assert "Total" in _run("cost", *ledger, "--priced-as", "claude-haiku-4-5")
