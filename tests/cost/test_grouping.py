from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.cost import group_costs, price_calls, totals, unpriced
from ledgerkit.errors import UnknownNameError

Calls = Callable[..., pl.DataFrame]
SUMMED = ("calls", "unpriced_calls", "not_billed_calls", "input_tokens", "cache_read_tokens", "output_tokens", "cost")


def test_costs_are_summed_by_model_with_the_dearest_first(calls: Calls) -> None:
    priced = price_calls(calls({"model": "gpt-5"}, {}, {"model": "gpt-5"}, {"model": "unheard-of"}))
    groups = group_costs(priced, "model")
    assert groups["model"].to_list() == ["claude-sonnet-4-5-20250929", "gpt-5", "unheard-of"]
    assert groups["cost"].to_list() == [Decimal("0.0045"), Decimal("0.0045"), None]
    assert groups["calls"].to_list() == [1, 2, 1]
    assert groups["unpriced_calls"].to_list() == [0, 0, 1]
    assert not [name for name in groups.columns if name.startswith("cost_")]  # leaves only if asked for


def test_a_group_with_some_unpriced_calls_gives_the_known_cost_and_counts_the_rest(calls: Calls) -> None:
    row = totals(price_calls(calls({}, {"model": "unheard-of", "input_tokens": 50}))).row(0, named=True)
    assert (row["cost"], row["calls"], row["unpriced_calls"]) == (Decimal("0.0045"), 2, 1)
    assert row["input_tokens"] == 1050


def test_calls_that_are_not_billed_are_in_no_sum(calls: Calls) -> None:
    copy = {"billed": False, "billed_reason": "copy of a call in another run", "run_id": "fork"}
    groups = group_costs(price_calls(calls({}, copy, copy, {"model": "<synthetic>", "run_id": "fork"})), "run_id")
    fork = groups.filter(run_id="fork").row(0, named=True)
    assert (fork["calls"], fork["not_billed_calls"], fork["input_tokens"], fork["cost"]) == (0, 3, 0, 0)
    assert groups["cost"].sum() == Decimal("0.0045")


def test_unpriced_calls_beside_calls_that_are_not_billed_have_no_cost(calls: Calls) -> None:
    priced = price_calls(calls({"billed": False, "billed_reason": "copy of a call in another run"}, {"model": "x-1"}))
    assert totals(priced)["cost"].to_list() == [None]


def test_the_day_is_the_utc_date_of_the_call(calls: Calls) -> None:
    moments = [datetime(2026, 1, 31, 23, 59, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC), None]
    priced = price_calls(calls(*({"created_at": moment} for moment in moments)))
    local = priced.with_columns(pl.col("created_at").dt.convert_time_zone("Asia/Tokyo"))
    expected = [date(2026, 1, 31), date(2026, 2, 1), None]
    assert group_costs(priced, ["day"])["day"].to_list() == expected
    assert group_costs(local, ["day"])["day"].to_list() == expected
    assert group_costs(priced, ["month"])["month"].to_list() == [date(2026, 1, 1), date(2026, 2, 1), None]
    assert group_costs(priced, ["week"])["week"].to_list() == [date(2026, 1, 26), None]


def test_unknown_counts_stay_null_and_reported_costs_stand_beside_ours(calls: Calls) -> None:
    priced = price_calls(calls({"reported_cost": Decimal("0.004")}, {"model": "x-1"}))
    row = totals(priced).row(0, named=True)
    assert row["cache_read_tokens"] is None
    assert row["reported_cost"] == Decimal("0.004")


def test_what_is_not_priced_is_listed_with_its_reason(calls: Calls) -> None:
    frame = calls({}, {"model": "x-1"}, {"model": "x-1"}, {"model": "o3", "created_at": None})
    assert unpriced(price_calls(frame)).rows() == [
        ("unknown_model", None, "x-1", 2, 2000, 200),
        ("no_time", None, "o3", 1, 1000, 100),
    ]


def test_a_column_that_is_not_there_is_named(calls: Calls) -> None:
    priced = price_calls(calls({}))
    with pytest.raises(UnknownNameError, match="Did you mean 'repository'"):
        group_costs(priced, ["repositry"])
    with pytest.raises(UnknownNameError, match="cost"):
        group_costs(priced, ["cost"])
    with pytest.raises(UnknownNameError, match="price_status"):
        group_costs(calls({}), ["model"])


def test_no_calls_cost_nothing(calls: Calls) -> None:
    row = totals(price_calls(calls())).row(0, named=True)
    assert (row["calls"], row["cost"]) == (0, 0)


some_call = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["claude-sonnet-4-5", "gemini-2.0-flash-lite", "o3", "x-1", None]),
        "run_id": st.sampled_from(["r1", "r2"]),
        "repository": st.sampled_from(["a", "b", None]),
        "created_at": st.none() | st.datetimes(datetime(2025, 1, 1), datetime(2026, 12, 1), timezones=st.just(UTC)),
        "input_tokens": st.none() | st.integers(0, 10**7),
        "cache_read_tokens": st.none() | st.integers(0, 1000),
        "output_tokens": st.integers(0, 10**5),
        "billed": st.booleans(),
    }
)


@given(
    st.lists(some_call, max_size=40),
    st.lists(st.sampled_from(["model", "run_id", "repository", "day", "price_status"]), unique=True),
)
@settings(deadline=None)
def test_sums_close_however_the_calls_are_grouped(rows: list[dict[str, object]], by: list[str]) -> None:
    schema = {
        "model": pl.String(),
        "run_id": pl.String(),
        "repository": pl.String(),
        "created_at": pl.Datetime("us", "UTC"),
        **dict.fromkeys(("input_tokens", "cache_read_tokens", "output_tokens"), pl.Int64()),
        "billed": pl.Boolean(),
    }
    priced = price_calls(pl.DataFrame(rows, schema=schema))
    groups, whole = group_costs(priced, by, leaves=True), totals(priced, leaves=True)
    leaves = [name for name in groups.columns if name.startswith("cost_")]
    for name in (*SUMMED, *leaves):
        assert groups[name].sum() == (whole[name].sum() if groups.height else 0)
    assert whole["cost"].sum() == priced["cost"].sum()
    assert whole["calls"][0] + whole["not_billed_calls"][0] == len(rows)
    assert groups.equals(group_costs(priced.reverse(), by, leaves=True))
    for row in groups.iter_rows(named=True):
        assert row["cost"] is None or row["cost"] == sum(row[name] for name in leaves)
