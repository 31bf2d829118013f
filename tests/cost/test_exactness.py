"""Prices checked against fractions, which cannot round."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import floor

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.cost import PriceBook, price_calls
from ledgerkit.cost.price_file import LongContext, PriceRow, TokenPrices
from ledgerkit.cost.shares import WHOLE, share_units

LEAVES = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning")
PARENTS = {
    "cache_read": "input",
    "cache_write": "input",
    "cache_write_5m": "cache_write",
    "cache_write_1h": "cache_write",
    "reasoning": "output",
}
some_price = st.decimals(0, 10_000, places=18) | st.decimals(0, 100, places=3) | st.just(Decimal("0.0833333333333333"))
some_count = st.integers(0, 3_000) | st.integers(0, 10**9)


@st.composite
def price_tables(draw: st.DrawFn) -> list[dict[str, Decimal]]:
    """Two tables, for small and large inputs, that name the same prices."""
    named = ["input", "output", *draw(st.lists(st.sampled_from([*PARENTS]), unique=True))]
    return [{name: draw(some_price) for name in named} for _ in range(2)]


@given(price_tables(), st.lists(st.tuples(*[some_count] * 6), min_size=1, max_size=20), some_count)
@settings(deadline=None)
def test_costs_are_the_nearest_nano_dollars_to_the_exact_costs(
    tables: list[dict[str, Decimal]], counts: list[tuple[int, ...]], size: int
) -> None:
    small, large = (TokenPrices.model_validate(table) for table in tables)
    step = LongContext(above_input_tokens=size, usd_per_mtok=large)
    book = PriceBook((PriceRow(model="m", usd_per_mtok=small, long_context=(step,)),))
    priced = price_calls(_frame(counts), book)
    for leaf_counts, row in zip(counts, priced.iter_rows(named=True), strict=True):
        table = tables[sum(leaf_counts[:4]) > size]
        exact = [Fraction(_price(table, leaf)) * n / 10**6 for leaf, n in zip(LEAVES, leaf_counts, strict=True)]
        shares = [Fraction(row[f"cost_{leaf}"]) for leaf in LEAVES]
        assert Fraction(row["cost"]) == Fraction(floor(sum(exact) * 10**9 + Fraction(1, 2)), 10**9)
        assert sum(shares) == Fraction(row["cost"])
        assert all(abs(share - part) < Fraction(1, 10**9) for share, part in zip(shares, exact, strict=True))


@given(
    st.lists(st.lists(st.integers(0, 10**20), min_size=4, max_size=4), min_size=1, max_size=30), st.integers(1, 10**12)
)
@settings(deadline=None)
def test_shares_sum_to_the_rounded_whole_and_go_to_the_largest_remainders(rows: list[list[int]], per_unit: int) -> None:
    parts = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.Int128()), orient="row")
    bounded = parts.select(pl.all() % (per_unit * 10**6))
    shared = share_units(bounded, per_unit)
    for exact, units in zip(bounded.iter_rows(), shared.iter_rows(named=True), strict=True):
        whole = floor(Fraction(sum(exact), per_unit) + Fraction(1, 2))
        assert units[WHOLE] == whole == sum(units[name] for name in "abcd")
        left = whole - sum(part // per_unit for part in exact)
        winners = sorted(range(4), key=lambda n: (-(exact[n] % per_unit), n))[:left]
        assert [units[name] - part // per_unit for name, part in zip("abcd", exact, strict=True)] == [
            int(n in winners) for n in range(4)
        ]


def test_a_null_part_makes_its_row_null_and_no_other() -> None:
    shared = share_units(pl.DataFrame({"a": [None, 55], "b": [10, 55]}), 100)
    assert shared[WHOLE].to_list() == [None, 1]
    assert shared.row(1) == (1, 0, 1)


def _price(table: dict[str, Decimal], leaf: str) -> Decimal:
    return table[leaf] if leaf in table else _price(table, PARENTS[leaf])


def _frame(counts: list[tuple[int, ...]]) -> pl.DataFrame:
    rows = [
        {
            "model": "m",
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
            "input_tokens": fresh + read + write_5m + write_1h,
            "cache_read_tokens": read,
            "cache_write_5m_tokens": write_5m,
            "cache_write_1h_tokens": write_1h,
            "output_tokens": output + reasoning,
            "reasoning_tokens": reasoning,
        }
        for fresh, read, write_5m, write_1h, output, reasoning in counts
    ]
    return pl.DataFrame(rows)
