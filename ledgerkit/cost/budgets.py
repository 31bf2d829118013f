"""A budget, and what calls left of it."""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from ledgerkit.cost.pricing import MONEY, PriceStatus
from ledgerkit.errors import UnknownNameError


def burn_down(priced: pl.DataFrame, budget: Decimal | float | str) -> pl.DataFrame:
    """What was left of a budget after each call that counts, in the order of time.

    Args:
        priced: Calls as ``price_calls`` returns them, of one task, run or whatever the budget is for.
        budget: US dollars.

    Returns:
        ``number`` (of the call, from 1), ``created_at``, ``session_id``, ``run_id``, ``step``, ``model``, ``cost``,
        ``spent`` so far, ``left`` (below 0 once it is overspent), ``is_over``, and ``unpriced_calls`` so far: calls
        that neither figure knows. Calls without a time come last.

    Raises:
        UnknownNameError: If the frame was not priced.

    Example:
        >>> from datetime import UTC, datetime
        >>> from ledgerkit.cost import price_calls
        >>> when = [datetime(2026, 1, 5, tzinfo=UTC)] * 2
        >>> calls = pl.DataFrame({"model": ["claude-sonnet-4-5"] * 2, "created_at": when,
        ...     "input_tokens": [1000, 2000], "output_tokens": [0, 0]})
        >>> burn_down(price_calls(calls), "0.005").select(pl.col("left").cast(pl.String), "is_over").rows()
        [('0.002000000', False), ('-0.004000000', True)]
    """
    for name in ("price_status", "cost"):
        if name not in priced.columns:
            raise UnknownNameError.among("column", name, priced.columns)
    amount = pl.lit(Decimal(str(budget))).cast(MONEY)
    there = [name for name in ("created_at", "session_id", "run_id", "step", "model") if name in priced.columns]
    order = [name for name in ("created_at", "session_id", "run_id", "step", "call_id") if name in priced.columns]
    spent = pl.col("cost").fill_null(0).cum_sum().cast(MONEY)
    return (
        priced.filter(pl.col("price_status") != PriceStatus.NOT_BILLED.value)
        .sort(*order, nulls_last=True)
        .select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("number"),
            *there,
            "cost",
            spent.alias("spent"),
            (amount - spent).cast(MONEY).alias("left"),
            (spent > amount).alias("is_over"),
            pl.col("cost").is_null().cum_sum().cast(pl.Int64).alias("unpriced_calls"),
        )
    )
