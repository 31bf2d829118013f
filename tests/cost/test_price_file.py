from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from ledgerkit.cost import PriceBook, price_calls
from ledgerkit.errors import LedgerkitError, PriceFileError

Calls = Callable[..., pl.DataFrame]

TOML = """
source = "Contract 7"

[[prices]]
model = "Claude-Sonnet-4-5-20250929"
start_date = 2026-02-01
usd_per_mtok = { input = 1.1, output = 5.5, cache_read = 0.000000000000000001 }

[[prices]]
model = "Claude-Sonnet-4-5-20250929"
start_date = 2026-03-01
source = "Contract 8"
usd_per_mtok = { input = 1, output = 5 }

[[prices.long_context]]
above_input_tokens = 5000
usd_per_mtok = { input = 2, output = 10 }

[[prices]]
model = "our-model"
provider = "our-gateway"
service_tier = "batch"
usd_per_mtok = { input = 4, output = 8 }
"""


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    path = tmp_path / "prices.toml"
    path.write_text(TOML, encoding="utf-8")
    return PriceBook.from_file(path)


def test_own_prices_hold_from_their_day_on_and_the_bundled_ones_before(calls: Calls, book: PriceBook) -> None:
    days = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4)]
    priced = price_calls(calls(*({"created_at": day} for day in days)), book)
    assert priced["cost"].to_list() == [Decimal(cost) for cost in ("0.0045", "0.00165", "0.0015", "0.0015")]
    assert priced["price_source"].to_list()[1:] == ["Contract 7", "Contract 8", "Contract 8"]
    assert priced["price_date"].to_list()[1:] == [days[1].date(), days[2].date(), days[2].date()]


def test_own_long_context_prices_start_above_their_size(calls: Calls, book: PriceBook) -> None:
    day = datetime(2026, 5, 1, tzinfo=UTC)
    frame = calls(*({"created_at": day, "input_tokens": n, "output_tokens": 0} for n in (5000, 5001)))
    assert price_calls(frame, book)["cost"].to_list() == [Decimal("0.005"), Decimal("0.010002")]


def test_own_prices_are_for_the_named_provider_and_tier(calls: Calls, book: PriceBook) -> None:
    frame = calls(
        {"model": "our-model", "provider": "our-gateway", "service_tier": "batch"},
        {"model": "our-model", "provider": "our-gateway"},
        {"model": "our-model", "provider": "another", "service_tier": "batch"},
    )
    assert price_calls(frame, book)["price_status"].to_list() == ["priced", "unknown_tier", "unknown_model"]


def test_prices_for_a_provider_go_before_prices_for_any(calls: Calls, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        '{"source": "s", "prices": ['
        '{"model": "m", "usd_per_mtok": {"input": 1, "output": 0}},'
        '{"model": "m", "provider": "p", "usd_per_mtok": {"input": 2, "output": 0}}]}',
        encoding="utf-8",
    )
    frame = calls({"model": "m"}, {"model": "m", "provider": "P"}, {"model": "m", "provider": "q"})
    costs = price_calls(frame, PriceBook.from_file(path))["cost"].to_list()
    assert costs == [Decimal("0.001"), Decimal("0.002"), Decimal("0.001")]


def test_a_book_without_the_bundled_list_knows_only_its_own_rows(calls: Calls, book: PriceBook) -> None:
    priced = price_calls(calls({"model": "o3"}, {}), PriceBook(book.rows, bundled=False))
    assert priced["price_status"].to_list() == ["unknown_model", "unknown_model"]  # the rows start in February


def test_prices_are_read_as_they_are_written(book: PriceBook) -> None:
    assert book.rows[0].usd_per_mtok.cache_read == Decimal("1e-18")
    assert book.rows[0].usd_per_mtok.input == Decimal("1.1")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "p.toml",
            'source = "s"\n[[prices]]\nmodel = "m"\nusd_per_mtok = { input = 1 }',
            "prices.0.usd_per_mtok.output",
        ),
        ("p.toml", 'source = "s"\n[[prices]]\nmodel = "m"\nprice = 1', "prices.0.price"),
        ("p.toml", "prices = []", "source: Field required"),
        ("p.json", '{"source": "s", "prices": [{"model": "m", "usd_per_mtok": {"input": -1, "output": 0}}]}', "input"),
        (
            "p.json",
            '{"source": "s", "prices": [{"model": "m", "usd_per_mtok": {"input": 1e-19, "output": 0}}]}',
            "decimal",
        ),
        (
            "p.json",
            '{"source": "s", "prices": [{"model": "m", "usd_per_mtok": {"input": NaN, "output": 0}}]}',
            "finite",
        ),
        ("p.toml", "source = ", "not valid TOML"),
        ("p.json", "{", "not valid JSON"),
        ("p.yaml", "source: s", "Name it .toml or .json"),
        (
            "p.toml",
            'source = "s"\n' + '[[prices]]\nmodel = "m"\nusd_per_mtok = { input = 1, output = 1 }\n' * 2,
            "2 rows for model 'm'",
        ),
        (
            "p.toml",
            'source = "s"\n[[prices]]\nmodel = "m"\nusd_per_mtok = { input = 1, output = 1, cache_read = 1 }\n'
            "[[prices.long_context]]\nabove_input_tokens = 9\nusd_per_mtok = { input = 1, output = 1 }",
            "must name the same prices",
        ),
    ],
)
def test_a_bad_price_file_is_an_error_that_names_the_fault(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PriceFileError, match=said.replace(".", r"\.")) as caught:
        PriceBook.from_file(path)
    assert name in str(caught.value)
    assert isinstance(caught.value, LedgerkitError)


def test_a_missing_price_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(PriceFileError, match=r"absent\.toml"):
        PriceBook.from_file(tmp_path / "absent.toml")
