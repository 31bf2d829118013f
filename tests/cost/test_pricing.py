from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from ledgerkit import tables
from ledgerkit.cost import PriceBook, PriceStatus, price_calls
from ledgerkit.cost.price_file import PriceRow, TokenPrices
from ledgerkit.cost.pricing import MONEY
from ledgerkit.errors import UnknownNameError

Calls = Callable[..., pl.DataFrame]
LEAF_COLUMNS = (
    "cost_input",
    "cost_cache_read",
    "cost_cache_write_5m",
    "cost_cache_write_1h",
    "cost_output",
    "cost_reasoning",
    "cost_request",
)


def test_cache_tokens_are_charged_once_each_at_their_own_rate(calls: Calls) -> None:
    frame = calls(
        {
            "input_tokens": 10_000,
            "cache_read_tokens": 6_000,
            "cache_write_5m_tokens": 2_000,
            "cache_write_1h_tokens": 1_000,
            "output_tokens": 500,
        }
    )
    row = price_calls(frame).row(0, named=True)
    assert row["cost_input"] == Decimal("0.003")  # 1,000 fresh tokens at $3 per million
    assert row["cost_cache_read"] == Decimal("0.0018")
    assert row["cost_cache_write_5m"] == Decimal("0.0075")
    assert row["cost_cache_write_1h"] == Decimal("0.006")
    assert row["cost_output"] == Decimal("0.0075")
    assert row["cost"] == Decimal("0.0258")


def test_costs_are_money_as_the_tables_declare_it(calls: Calls) -> None:
    priced = price_calls(calls({}))
    assert tables.MONEY == MONEY
    assert {priced.schema[name] for name in ("cost", *LEAF_COLUMNS)} == {MONEY}


def test_a_call_pays_the_price_of_its_own_day(calls: Calls) -> None:
    frame = calls(
        {"model": "o3", "created_at": datetime(2025, 6, 9, 23, 59, 59, 999_999, tzinfo=UTC)},
        {"model": "o3", "created_at": datetime(2025, 6, 10, tzinfo=UTC)},
    )
    priced = price_calls(frame)
    assert priced["cost"].to_list() == [Decimal("0.014"), Decimal("0.0028")]
    assert priced["price_date"].to_list() == [None, date(2025, 6, 10)]


def test_a_time_in_another_zone_is_the_same_moment(calls: Calls) -> None:
    frame = calls({"model": "o3", "created_at": datetime(2025, 6, 10, 1, tzinfo=UTC)})
    elsewhere = frame.with_columns(pl.col("created_at").dt.convert_time_zone("America/New_York"))
    naive = frame.with_columns(pl.col("created_at").dt.replace_time_zone(None))
    costs = [price_calls(each)["cost"][0] for each in (frame, elsewhere, naive)]
    assert costs == [Decimal("0.0028")] * 3


def test_a_price_that_depends_on_the_time_of_day_does(calls: Calls) -> None:
    day = [datetime(2026, 1, 5, hour, minute, tzinfo=UTC) for hour, minute in ((0, 29), (0, 30), (16, 29), (16, 30))]
    priced = price_calls(calls(*({"model": "deepseek-chat", "created_at": moment} for moment in day)))
    assert priced["cost"].to_list() == [Decimal(f"0.000{n}") for n in ("190", "380", "380", "190")]
    assert priced["price_rule"].to_list() == [
        "standard 00:00-00:30 UTC",
        "standard 00:30-16:30 UTC",
        "standard 00:30-16:30 UTC",
        "standard 16:30-00:00 UTC",
    ]


def test_a_long_context_raises_the_price_of_every_token(calls: Calls) -> None:
    priced = price_calls(calls({"input_tokens": 200_000}, {"input_tokens": 200_001}))
    assert priced["cost"].to_list() == [Decimal("0.6015"), Decimal("1.202256")]
    assert priced["price_rule"].to_list() == ["standard", "standard, long context"]


def test_a_published_price_of_long_contexts_stands_in_where_the_list_has_none(calls: Calls) -> None:
    sonnet_4 = {"model": "claude-sonnet-4-20250514", "output_tokens": 100}
    below, above, batch = price_calls(
        calls(
            {**sonnet_4, "input_tokens": 200_000},
            {**sonnet_4, "input_tokens": 200_001, "cache_read_tokens": 200_000},
            {**sonnet_4, "input_tokens": 200_001, "service_tier": "batch"},
        )
    ).iter_rows(named=True)
    assert below["cost"] == Decimal("0.6015")
    assert below["price_source"].startswith("genai-prices")
    assert (above["cost_input"], above["cost_cache_read"]) == (Decimal("0.000006"), Decimal("0.12"))
    assert (above["cost_output"], above["price_rule"]) == (Decimal("0.00225"), "standard, long context")
    assert above["price_source"] == "Anthropic, 2025-08-12"
    assert (batch["cost"], batch["price_status"]) == (None, "unknown_tier")


def test_an_input_beyond_what_the_list_knows_of_is_unknown(calls: Calls) -> None:
    haiku = {"model": "claude-haiku-4-5", "provider": "anthropic"}
    priced = price_calls(calls({**haiku, "input_tokens": 200_000}, {**haiku, "input_tokens": 200_001}))
    assert priced["price_status"].to_list() == ["priced", "beyond_context"]
    assert priced["cost"].null_count() == 1
    assert priced["price_model"].to_list() == ["claude-haiku-4-5"] * 2


def test_a_price_file_says_what_the_list_does_not_know_of_long_contexts(calls: Calls, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        'source = "a contract"\n[[prices]]\nmodel = "claude-haiku-4-5"\nusd_per_mtok = { input = 1, output = 5 }\n'
    )
    frame = calls({"model": "claude-haiku-4-5", "input_tokens": 1_000_000, "output_tokens": 0})
    assert price_calls(frame, PriceBook.from_file(path))["cost"].to_list() == [Decimal(1)]


def test_cached_tokens_count_towards_a_long_context(calls: Calls) -> None:
    row = price_calls(calls({"input_tokens": 200_001, "cache_read_tokens": 200_000})).row(0, named=True)
    assert row["cost_cache_read"] == Decimal("0.12")


def test_batch_calls_pay_half_where_the_list_knows_it(calls: Calls) -> None:
    day = datetime(2026, 11, 2, tzinfo=UTC)
    priced = price_calls(calls({"created_at": day}, {"created_at": day, "service_tier": "batch"}))
    standard, batch = priced["cost"]
    assert batch * 2 == standard
    assert priced["price_rule"].to_list() == ["standard", "batch"]


def test_a_tier_without_a_listed_price_is_unknown_and_not_the_standard_price(calls: Calls) -> None:
    frame = calls({"service_tier": "batch"}, {"service_tier": "priority"}, {"service_tier": "[trimmed]"})
    priced = price_calls(frame)
    assert priced["price_status"].to_list() == ["unknown_tier"] * 3
    assert priced["cost"].null_count() == 3


@pytest.mark.parametrize("tier", [None, "", "standard", "Default", "on_demand"])
def test_the_standard_tier_has_several_names(calls: Calls, tier: str | None) -> None:
    assert price_calls(calls({"service_tier": tier}))["cost"][0] == Decimal("0.0045")


def test_a_missing_cache_price_is_the_price_of_what_contains_it_and_says_so(calls: Calls) -> None:
    row = price_calls(calls({"model": "gpt-5", "cache_write_1h_tokens": 400})).row(0, named=True)
    assert row["cost_cache_write_1h"] == Decimal("0.0005")  # 400 at the input price of $1.25
    assert row["price_rule"] == "standard, cache_write_1h at input price"


def test_reasoning_is_part_of_the_output(calls: Calls) -> None:
    row = price_calls(calls({"output_tokens": 100, "reasoning_tokens": 60})).row(0, named=True)
    assert (row["cost_output"], row["cost_reasoning"]) == (Decimal("0.0006"), Decimal("0.0009"))
    assert row["cost"] == Decimal("0.0045")


def test_reasoning_with_a_price_of_its_own_pays_that(calls: Calls) -> None:
    frame = calls({"model": "sonar-deep-research", "provider": "perplexity", "reasoning_tokens": 60})
    assert price_calls(frame)["cost_reasoning"][0] == Decimal("0.00018")


def test_a_fee_per_call_is_part_of_its_cost(calls: Calls) -> None:
    row = price_calls(calls({"model": "sonar", "provider": "perplexity"})).row(0, named=True)
    assert (row["cost_request"], row["cost"]) == (Decimal("0.012"), Decimal("0.0131"))


@pytest.mark.parametrize(
    ("special", "status"),
    [
        ({"billed": False, "billed_reason": "copy of a call in another run"}, "not_billed"),
        ({"model": "<synthetic>", "billed": None}, "not_billed"),
        ({"billed": False, "billed_reason": "no usage recorded"}, "no_usage"),
        ({"input_tokens": None}, "no_usage"),
        ({"output_tokens": None}, "no_usage"),
        ({"cache_read_tokens": 1001}, "inconsistent_usage"),
        ({"cache_read_tokens": 500, "cache_write_5m_tokens": 300, "cache_write_1h_tokens": 201}, "inconsistent_usage"),
        ({"reasoning_tokens": 101}, "inconsistent_usage"),
        ({"output_tokens": -1}, "inconsistent_usage"),
        ({"input_tokens": 2**63 - 1, "cache_read_tokens": 2**63 - 1}, "inconsistent_usage"),
        ({"model": "no-such-model-1"}, "unknown_model"),
        ({"model": None}, "unknown_model"),
        ({"provider": "no-such-provider"}, "unknown_model"),
        ({"provider": "openai"}, "unknown_model"),
        ({"model": "o3", "created_at": None}, "no_time"),
        ({"model": "text-embedding-3-small", "provider": "openai"}, "unknown_rate"),
        ({"model": "deepseek/deepseek-chat:free", "provider": "openrouter"}, "free"),
        ({"model": "text-embedding-3-small", "provider": "openai", "output_tokens": 0}, "priced"),
        ({"created_at": None}, "priced"),
        ({"input_tokens": 0, "output_tokens": 0}, "priced"),
        ({"billed": None}, "priced"),
    ],
)
def test_what_cannot_be_priced_says_why(calls: Calls, special: dict[str, object], status: str) -> None:
    row = price_calls(calls(special)).row(0, named=True)
    assert row["price_status"] == status
    has_cost = status in {PriceStatus.PRICED, PriceStatus.FREE, PriceStatus.NOT_BILLED}
    assert (row["cost"] is not None) == has_cost
    assert {row[name] is not None for name in LEAF_COLUMNS} == {has_cost}
    if status in {PriceStatus.FREE, PriceStatus.NOT_BILLED}:
        assert row["cost"] == 0


def test_the_matched_model_and_provider_are_recorded(calls: Calls) -> None:
    frame = calls(
        {},
        {"model": "openai/gpt-4o"},
        {"provider": "google-vertex", "model": "claude-sonnet-4-5"},
        {"model": "no-such-model-1"},
    )
    priced = price_calls(frame)
    assert priced["price_model"].to_list() == ["claude-sonnet-4-5", "gpt-4o", "claude-sonnet-4-5", None]
    assert priced["price_provider"].to_list() == ["anthropic", "openai", "google", None]
    assert priced["price_source"][0].startswith("genai-prices ")


def test_calls_keep_their_order_and_their_columns(calls: Calls) -> None:
    frame = calls(*({"run_id": f"r{n}", "model": model} for n, model in enumerate(["o3", "gpt-5", "x", "o3"])))
    assert price_calls(frame).select(frame.columns).equals(frame)


def test_pricing_twice_is_pricing_once(calls: Calls) -> None:
    once = price_calls(calls({}, {"model": "x"}))
    assert price_calls(once).equals(once)


def test_only_the_needed_columns_are_needed(calls: Calls) -> None:
    frame = calls({}).select("model", "created_at", "input_tokens", "output_tokens")
    assert price_calls(frame)["cost"][0] == Decimal("0.0045")
    with pytest.raises(UnknownNameError, match="output_tokens"):
        price_calls(frame.drop("output_tokens"))


def test_no_calls_cost_nothing_and_have_the_same_columns(calls: Calls) -> None:
    assert price_calls(calls()).schema == price_calls(calls({})).schema


def test_the_dearest_call_that_the_bounds_allow_is_exact(calls: Calls) -> None:
    prices = TokenPrices(input=Decimal(10_000), output=Decimal("9999.999999999999999999"))
    book = PriceBook((PriceRow(model="big", usd_per_mtok=prices),))
    row = price_calls(calls({"model": "big", "input_tokens": 10**10, "output_tokens": 10**10}), book).row(0, named=True)
    assert row["cost"] == Decimal(200_000_000)
    assert row["cost_output"] == Decimal(100_000_000)
