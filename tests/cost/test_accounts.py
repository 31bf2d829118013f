"""Accounts beside the sums: what a budget leaves, what sources reported, and why a record does not count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from ledgerkit.cost import burn_down, explained, group_costs, price_calls, reconcile, totals, unpriced
from ledgerkit.cost.pricing import MONEY
from ledgerkit.errors import UnknownNameError

Calls = Callable[..., pl.DataFrame]
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def dollars(*amounts: str | None) -> list[Decimal | None]:
    return [None if amount is None else Decimal(amount) for amount in amounts]


# Budgets


def test_a_budget_burns_down_call_by_call_in_the_order_of_time(calls: Calls) -> None:
    frame = calls(
        {"created_at": None},
        {"created_at": NOON + timedelta(hours=1), "model": "unheard-of"},
        {"created_at": NOON, "run_id": "r2"},
        {"created_at": NOON, "run_id": "r1", "billed": False, "billed_reason": "copy of a call in another run"},
        {"created_at": NOON, "run_id": "r1", "input_tokens": 2_000},
    )
    found = burn_down(price_calls(frame), Decimal("0.012"))
    assert found.columns == [
        "number", "created_at", "session_id", "run_id", "model", "cost", "spent", "left", "is_over", "unpriced_calls",
    ]  # fmt: skip
    assert found["number"].to_list() == [1, 2, 3, 4]
    assert found["run_id"].to_list() == ["r1", "r2", "r1", "r1"]
    assert found["created_at"].to_list() == [NOON, NOON, NOON + timedelta(hours=1), None]
    assert found["cost"].to_list() == dollars("0.0075", "0.0045", None, "0.0045")
    assert found["spent"].to_list() == dollars("0.0075", "0.012", "0.012", "0.0165")
    assert found["left"].to_list() == dollars("0.0045", "0", "0", "-0.0045")
    assert found["is_over"].to_list() == [False, False, False, True]
    assert found["unpriced_calls"].to_list() == [0, 0, 1, 1]
    assert [found.schema[name] for name in ("spent", "left")] == [MONEY, MONEY]
    assert [found.schema[name] for name in ("number", "unpriced_calls")] == [pl.Int64, pl.Int64]


def test_calls_of_one_moment_stand_by_step_and_call(calls: Calls) -> None:
    frame = calls({}, {}, {}).with_columns(step=pl.Series([2, 1, 1]), call_id=pl.Series(["a", "c", "b"]))
    priced = price_calls(frame.with_columns(input_tokens=pl.Series([1, 2, 3])))
    found = burn_down(priced, "1")
    assert found["step"].to_list() == [1, 1, 2]
    assert found["cost"].to_list() == dollars("0.001509", "0.001506", "0.001503")


def test_calls_of_one_moment_stand_by_session_and_run(calls: Calls) -> None:
    places = [("s2", "a"), ("s1", "c"), ("s1", "b")]
    frame = calls(*({"session_id": session, "run_id": run} for session, run in places))
    assert burn_down(price_calls(frame), "1").select("session_id", "run_id").rows() == sorted(places)


@pytest.mark.parametrize("name", ["price_status", "cost"])
def test_calls_that_were_not_priced_have_no_budget(calls: Calls, name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"^No column '{name}'\."):
        burn_down(price_calls(calls({})).drop(name), 1)


# Another model


def test_calls_are_priced_as_if_another_model_had_answered(calls: Calls) -> None:
    special = [
        {"service_tier": "batch", "provider": "anthropic", "cache_read_tokens": 500}, {"model": "<synthetic>"},
        {"model": None}, {"billed": False}, {"billed": None, "model": "x-1"}, {"input_tokens": None},
    ]  # fmt: skip
    found = price_calls(calls(*special), priced_as="claude-haiku-4-5")
    assert found["price_status"].to_list() == ["priced", "not_billed", "priced", "not_billed", "priced", "no_usage"]
    assert found["cost"].to_list() == dollars("0.00105", "0", "0.0015", "0", "0.0015", None)
    assert found["price_rule"].drop_nulls().unique().to_list() == ["standard"]
    kept = ["model", "service_tier", "provider", "billed", "input_tokens"]
    assert found.select(kept).equals(calls(*special).select(kept))
    assert price_calls(calls({}), priced_as="openai/gpt-5")["price_provider"].to_list() == ["openai"]
    assert price_calls(calls(), priced_as="gpt-5").height == 0


def test_a_model_that_no_list_holds_is_no_other_model(calls: Calls) -> None:
    with pytest.raises(UnknownNameError) as raised:
        price_calls(calls({}), priced_as="x-1")
    assert str(raised.value) == "No price list holds a model 'x-1'. Name one, or give a price file."
    assert raised.value.name == "x-1"


# Reported costs


def test_only_calls_with_both_costs_are_compared(calls: Calls) -> None:
    def one(model: str, reported: str | None, **more: Any) -> Mapping[str, object]:
        return {"model": model, "reported_cost": reported and Decimal(reported), **more}

    sonnet = "claude-sonnet-4-5"
    frame = calls(
        one(sonnet, "0.0045"), one(sonnet, "0.00451"), one(sonnet, "0.004509999"), one(sonnet, "0.004"),
        one(sonnet, None), one("x-1", "2"), one("x-1", None), one(sonnet, "9", billed=False),
        one("gpt-5", "0.00226"), one("gpt-5", None), one("o3", None),
    )  # fmt: skip
    found = reconcile(price_calls(frame), "model")
    columns = ("model", "calls", "both", "only_reported", "only_computed", "neither", "cost", "reported_cost",
               "difference", "differing")  # fmt: skip
    assert found.columns == list(columns)
    assert found.rows() == [
        (sonnet, 5, 4, 0, 1, 0, *dollars("0.018", "0.017519999", "-0.000480001"), 2),
        ("gpt-5", 2, 1, 0, 1, 0, *dollars("0.00225", "0.00226", "0.00001"), 1),
        ("o3", 1, 0, 0, 1, 0, None, None, None, 0),
        ("x-1", 2, 0, 1, 0, 1, None, None, None, 0),
    ]
    assert [found.schema[name] for name in columns[6:9]] == [MONEY] * 3
    assert {found.schema[name] for name in (*columns[1:6], "differing")} == {pl.Int64()}
    whole = reconcile(price_calls(frame)).row(0, named=True)
    assert (whole["calls"], whole["both"], whole["difference"]) == (10, 5, Decimal("-0.000470001"))
    assert reconcile(price_calls(frame), ["model", "model"]).equals(found)


def test_without_reported_costs_nothing_is_compared(calls: Calls) -> None:
    row = reconcile(price_calls(calls({}).drop("reported_cost"))).row(0, named=True)
    assert (row["calls"], row["both"], row["only_computed"], row["reported_cost"]) == (1, 0, 1, None)


# Sums


def test_a_group_has_the_tokens_and_the_leaves_of_its_calls(calls: Calls) -> None:
    usage = {"cache_read_tokens": 300, "cache_write_5m_tokens": 200, "cache_write_1h_tokens": 100}
    frame = calls(usage | {"reasoning_tokens": 40}, usage, {"billed": False, **usage})
    row = totals(price_calls(frame), leaves=True).row(0, named=True)
    assert {name: value for name, value in row.items() if not name.startswith("cost")} == {
        "calls": 2, "unpriced_calls": 0, "not_billed_calls": 1, "input_tokens": 2_000, "cache_read_tokens": 600,
        "cache_write_5m_tokens": 400, "cache_write_1h_tokens": 200, "output_tokens": 200, "reasoning_tokens": 40,
        "reported_cost": None,
    }  # fmt: skip
    assert list(row)[9:] == [
        "cost", "cost_input", "cost_cache_read", "cost_cache_write_5m", "cost_cache_write_1h", "cost_output",
        "cost_reasoning", "cost_request", "reported_cost",
    ]  # fmt: skip
    assert [row[name] for name in list(row)[9:17]] == dollars(
        "0.00828", "0.0024", "0.00018", "0.0015", "0.0012", "0.0024", "0.0006", "0"
    )
    assert "cost_input" not in totals(price_calls(frame)).columns


def test_equal_costs_stand_in_the_order_of_their_keys_and_unknown_ones_last(calls: Calls) -> None:
    frame = calls({"run_id": "b"}, {"run_id": "a"}, {"run_id": None}, {"run_id": "c", "model": "x-1"})
    assert group_costs(price_calls(frame), "run_id")["run_id"].to_list() == ["a", "b", None, "c"]
    by = group_costs(price_calls(frame), ("model", "run_id", "model"))
    assert by.columns[:3] == ["model", "run_id", "calls"]


def test_what_is_unpriced_is_listed_with_most_calls_first(calls: Calls) -> None:
    frame = calls({"model": "b-1"}, {"model": "a-1"}, {"model": "c-1"}, {"model": "c-1", "output_tokens": 1}, {})
    found = unpriced(price_calls(frame))
    assert found.columns == ["price_status", "provider", "model", "calls", "input_tokens", "output_tokens"]
    assert found.select("model", "calls", "output_tokens").rows() == [("c-1", 2, 101), ("a-1", 1, 100), ("b-1", 1, 100)]
    assert unpriced(price_calls(frame.drop("provider"))).columns[:2] == ["price_status", "model"]


@pytest.mark.parametrize("wrong", ["rn_id", "cost_input", "calls", "input_tokens", "reported_cost"])
def test_what_is_summed_is_nothing_to_group_by(calls: Calls, wrong: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"^No column to group by '{wrong}'\. ") as raised:
        group_costs(price_calls(calls({})), wrong)
    assert "run_id" in str(raised.value) or "repository" in str(raised.value)


# Records that do not count


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("earlier snapshot", "earlier snapshot of the call; {} counts"),
        ("copy", "copy of a call that another run made; {} counts"),
        ("replay", "replay of a call of the run that this one branched off from; {} counts"),
        ("converted copy", "converted copy; the agent's own log of the session counts"),
        ("synthetic", "synthetic: written by the client, no call was made"),
        ("repeated count", "repeats a total that did not move; {} counts"),
        ("cached evaluation", "cached evaluation: the answer was kept from an earlier one, no call was made"),
        ("something new", "something new"),
        (None, None),
    ],
)
def test_a_record_that_does_not_count_says_why_and_points_at_the_one_that_does(
    reason: str | None, why: str | None
) -> None:
    places = [("logs/deep/a.jsonl", 7, "m"), (None, None, "m"), (None, None, None)]
    rows = [(reason, *place) for place in places]
    schema = {"reason": pl.String, "counts_source_file": pl.String, "counts_source_line": pl.Int64,
              "counts_message_id": pl.String}  # fmt: skip
    found = explained(pl.DataFrame(rows, schema, orient="row"))["why"].to_list()
    assert found == [why and why.format(one) for one in ("line 7 of a.jsonl", "message m", "none")]
