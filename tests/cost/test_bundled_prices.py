"""The bundled list, asked through frames, answers like `genai_prices` asked call by call."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

import genai_prices
import polars as pl
from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

from ledgerkit.cost import price_calls
from ledgerkit.cost.leaves import exact_rate

Calls = Callable[..., pl.DataFrame]
NANO = Decimal("1e-9")
CONTEXTS = {None: None, "batch": {"processing": "batch"}, "flex": {"service_tier": "flex"}}
SIZES = (0, 1, 999, 128_000, 128_001, 200_000, 200_001, 272_000, 272_001, 524_289)


def test_every_listed_model_costs_what_the_list_itself_computes(calls: Calls) -> None:
    rng = random.Random(20261201)
    models = [(provider.id, model.id) for provider in providers for model in provider.models]
    rows = [_random_call(rng, provider, model) for provider, model in models for _ in range(2)]
    every = price_calls(calls(*rows))
    priced = every.filter(pl.col("price_status").is_in(["priced", "free"]))
    amended = pl.col("price_source").str.starts_with("genai-prices").not_()
    assert {*priced.filter(amended)["price_model"]} <= {"claude-sonnet-4-0"}
    priced = priced.filter(~amended)
    assert priced.height > 2000
    windows = {(provider.id, model.id): model.context_window for provider in providers for model in provider.models}
    beyond = every.filter(pl.col("price_status") == "beyond_context")
    assert beyond.height
    for provider, model, tokens in beyond.select("price_provider", "price_model", "input_tokens").iter_rows():
        window = windows[provider, model]
        assert window is not None
        assert tokens > window
    for row in priced.iter_rows(named=True):
        assert row["cost"] == _by_the_list(row).quantize(NANO, ROUND_HALF_UP), row


def test_dated_and_tiered_prices_agree_on_many_days_and_sizes(calls: Calls) -> None:
    rng = random.Random(7)
    models = [
        ("anthropic", "claude-opus-4-6"),
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "o3"),
        ("openai", "gpt-5.5"),
        ("google", "gemini-2.5-pro"),
        ("deepseek", "deepseek-v4-pro"),
        ("deepseek", "deepseek-v4-flash"),
    ]
    rows = [_random_call(rng, provider, model) for provider, model in models for _ in range(400)]
    priced = price_calls(calls(*rows)).filter(pl.col("price_status") == "priced")
    assert set(priced["model"]) == {model for _, model in models}
    for row in priced.iter_rows(named=True):
        assert row["cost"] == _by_the_list(row).quantize(NANO, ROUND_HALF_UP), row


def test_every_listed_rate_is_held_exactly() -> None:
    prices = [price for provider in providers for model in provider.models for price in _token_prices(model)]
    assert len(prices) > 5000
    assert [price for price in prices if exact_rate(price, "input") is None] == []


def test_a_snapshot_that_somebody_else_set_changes_nothing(calls: Calls) -> None:
    from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot

    before = price_calls(calls({}))
    set_custom_snapshot(DataSnapshot(providers=[], from_auto_update=False))
    try:
        assert price_calls(calls({})).equals(before)
    finally:
        set_custom_snapshot(None)


def _random_call(rng: random.Random, provider: str, model: str) -> dict[str, object]:
    total = rng.choice([*SIZES, rng.randrange(5_000), rng.randrange(600_000)])
    low, middle, high = sorted(rng.randrange(total + 1) for _ in range(3))
    output = rng.randrange(30_000)
    return {
        "provider": provider,
        "model": model,
        "created_at": datetime(2024, 6, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(900 * 86_400)),
        "service_tier": rng.choice([None, None, None, "batch", "flex"]),
        "input_tokens": total,
        "cache_read_tokens": rng.choice([0, low]),
        "cache_write_5m_tokens": rng.choice([0, middle - low]),
        "cache_write_1h_tokens": rng.choice([0, high - middle]),
        "output_tokens": output,
        "reasoning_tokens": rng.choice([None, 0, rng.randrange(output + 1)]),
    }


def _by_the_list(row: dict[str, object]) -> Decimal:
    tokens: dict[str, int] = {k: int(str(v or 0)) for k, v in row.items() if k.endswith("_tokens")}
    usage = genai_prices.Usage(
        **{name: count for name, count in tokens.items() if name != "reasoning_tokens"},
        cache_write_tokens=tokens["cache_write_5m_tokens"] + tokens["cache_write_1h_tokens"],
        output_reasoning_tokens=tokens["reasoning_tokens"],
    )
    moment, tier = row["created_at"], row["service_tier"]
    assert isinstance(moment, datetime)
    assert tier is None or isinstance(tier, str)
    return genai_prices.calc_price(
        usage,
        str(row["model"]),
        provider_id=str(row["provider"]),
        genai_request_timestamp=moment,
        price_context=CONTEXTS[tier],
    ).total_price


def _token_prices(model: ModelInfo) -> list[Decimal]:
    listed = [model.prices] if isinstance(model.prices, ModelPrice) else [price.prices for price in model.prices]
    found: list[Decimal] = []
    for price in [*listed, *(variant.prices for variant in model.price_variants or ())]:
        for name in ("input", "output", "cache_read", "cache_write", "cache_write_1h", "output_reasoning"):
            value = getattr(price, f"{name}_mtok")
            if isinstance(value, TieredPrices):
                found += [value.base, *(tier.price for tier in value.tiers)]
            elif value is not None:
                found.append(value)
    return found
