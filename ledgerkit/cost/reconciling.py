"""Costs that a source reported beside those computed from its tokens.

One rule: only calls that have both are compared.  Neither corrects the other; what only one side knows is counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ledgerkit.cost.grouping import labelled
from ledgerkit.cost.pricing import MONEY, PriceStatus


def reconcile(priced: pl.DataFrame, by: str | Sequence[str] = ()) -> pl.DataFrame:
    """Compares reported with computed costs.

    Args:
        priced: Calls as ``price_calls`` returns them, with ``reported_cost``.
        by: Columns to group by, as ``group_costs`` takes them; nothing: one row in all.

    Returns:
        One row per group, the largest difference first: the columns of ``by`` and

        - ``calls``: calls that count; ``both``: those with both costs, ``only_reported``, ``only_computed``,
          ``neither``.
        - ``cost`` and ``reported_cost`` of the calls with both, ``difference`` (reported less computed; null if there
          are none), and ``differing``: how many of them differ by a thousandth of a cent or more.

    Raises:
        UnknownNameError: If there is no such column, or the frame was not priced.

    Example:
        >>> from datetime import UTC, datetime
        >>> from ledgerkit.cost import price_calls
        >>> calls = pl.DataFrame({"model": ["claude-sonnet-4-5"], "created_at": [datetime(2026, 1, 5, tzinfo=UTC)],
        ...     "input_tokens": [1000], "output_tokens": [10], "reported_cost": [0.0033]})
        >>> print(reconcile(price_calls(calls))["difference"].item())
        0.000150000
    """
    keys = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    counts = pl.col("price_status") != PriceStatus.NOT_BILLED.value
    reported = pl.col("reported_cost") if "reported_cost" in priced.columns else pl.lit(None)
    rows = labelled(priced, keys).filter(counts).select(*keys, "cost", reported.cast(MONEY).alias("reported_cost"))
    computed, said = pl.col("cost").is_not_null(), pl.col("reported_cost").is_not_null()
    both = computed & said
    gap = (pl.col("reported_cost") - pl.col("cost")).cast(MONEY)
    sums = [
        pl.len().cast(pl.Int64).alias("calls"),
        both.sum().cast(pl.Int64).alias("both"),
        (said & ~computed).sum().cast(pl.Int64).alias("only_reported"),
        (computed & ~said).sum().cast(pl.Int64).alias("only_computed"),
        (~computed & ~said).sum().cast(pl.Int64).alias("neither"),
        *(_known(pl.col(name).filter(both)).alias(name) for name in ("cost", "reported_cost")),
        _known(gap.filter(both)).alias("difference"),
        (gap.filter(both).abs() >= _NOTABLE).sum().cast(pl.Int64).alias("differing"),
    ]
    table = rows.group_by(keys).agg(sums) if keys else rows.select(sums)
    return table.sort(pl.col("difference").abs(), *keys, descending=[True] + [False] * len(keys), nulls_last=True)


_NOTABLE = pl.lit("0.00001").cast(MONEY)


def _known(values: pl.Expr) -> pl.Expr:
    return pl.when(values.count() > 0).then(values.sum()).cast(MONEY)
