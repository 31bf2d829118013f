"""Cost by model, run, repository, day, or whatever else the calls are labelled with.

One rule: sums close.  Every call is in exactly one group, and what has no cost is counted, not left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from ledgerkit.cost.leaves import LEAVES
from ledgerkit.cost.pricing import MONEY, PriceStatus
from ledgerkit.errors import UnknownNameError

_TOKEN_COLUMNS: Final = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "reasoning_tokens",
)
_COUNTS: Final = ("calls", "unpriced_calls", "not_billed_calls")
_PERIODS: Final = {"day": "1d", "week": "1w", "month": "1mo"}


def group_costs(priced: pl.DataFrame, by: str | Sequence[str], *, leaves: bool = False) -> pl.DataFrame:
    """Calls, tokens and cost by some columns.

    Args:
        priced: Calls as ``price_calls`` returns them, possibly joined with facts about their runs.
        by: Columns to group by: what the calls are labelled with (``model``, ``run_id``, ``session_id``, ``provider``,
            ``repository``, ``branch``, ``agent``, ``task_id``, ``price_status``, …), and ``day``, ``week`` or
            ``month``: first UTC day of the period in which a call was made. Nothing: one row in all.
        leaves: Whether to add the costs of the leaves (``cost_input``, ``cost_cache_read``, …).

    Returns:
        One row per group, the dearest first and then by key (nulls last), with the columns of ``by`` and

        - ``calls``: calls that count; ``unpriced_calls``: those of them that have no cost; ``not_billed_calls``: calls
          beside them that count elsewhere or nowhere.
        - tokens of the calls that count, null if none of them has such a count. Cache tokens are inside
          ``input_tokens``, reasoning is inside ``output_tokens``.
        - ``cost``: US dollars of the calls that have a cost; null if calls count but none has a cost.
        - ``reported_cost``: US dollars as the source reported them, null if it did not.

    Raises:
        UnknownNameError: If there is no such column to group by, or the frame was not priced.
    """
    keys = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    money = ("cost", *(leaf.cost_column for leaf in LEAVES)) if leaves else ("cost",)
    measures = labelled(priced, keys).select(*keys, *_measures(priced.columns, money))
    sums = _sums(money)
    grouped = measures.group_by(keys).agg(sums) if keys else measures.select(sums)
    return grouped.sort("cost", *keys, descending=[True] + [False] * len(keys), nulls_last=True)


def totals(priced: pl.DataFrame, *, leaves: bool = False) -> pl.DataFrame:
    """One row: the columns of ``group_costs`` over all calls."""
    return group_costs(priced, (), leaves=leaves)


def unpriced(priced: pl.DataFrame) -> pl.DataFrame:
    """What is missing from the costs: calls that count and have no cost, by reason, provider and model.

    Returns:
        Columns ``price_status``, ``provider``, ``model``, ``calls``, ``input_tokens`` and ``output_tokens``, most calls
        first.
    """
    keys = [name for name in ("price_status", "provider", "model") if name in priced.columns]
    groups = group_costs(priced, keys).filter(pl.col("unpriced_calls") > 0)
    return groups.select(*keys, "calls", "input_tokens", "output_tokens").sort(
        "calls", *keys, descending=[True] + [False] * len(keys), nulls_last=True
    )


def labelled(priced: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Calls with the columns of ``keys``, periods among them.

    Raises:
        UnknownNameError: If there is no such column to group by, or the frame was not priced.
    """
    for name in ("price_status", "cost"):
        if name not in priced.columns:
            raise UnknownNameError.among("column", name, priced.columns)
    periods = [name for name in _PERIODS if name not in priced.columns and "created_at" in priced.columns]
    summed = {*_COUNTS, *_TOKEN_COLUMNS, "cost", "reported_cost", *(leaf.cost_column for leaf in LEAVES)}
    available = [name for name in (*priced.columns, *periods) if name not in summed]
    for name in keys:
        if name not in available:
            raise UnknownNameError.among("column to group by", name, available)
    moment = pl.col("created_at").cast(pl.Datetime("us", "UTC"))
    return priced.with_columns(
        moment.dt.truncate(_PERIODS[name]).dt.date().alias(name) for name in keys if name in periods
    )


def _measures(columns: Sequence[str], money: Sequence[str]) -> list[pl.Expr]:
    """What is summed, per call: nothing of calls that do not count."""
    counts = pl.col("price_status") != PriceStatus.NOT_BILLED.value
    values = {
        **dict.fromkeys(_TOKEN_COLUMNS, pl.Int64()),
        **dict.fromkeys(money, MONEY),
        "reported_cost": MONEY,
    }
    return [
        counts.alias("calls"),
        (counts & pl.col("cost").is_null()).alias("unpriced_calls"),
        (~counts).alias("not_billed_calls"),
        *(
            pl.when(counts).then(pl.col(name) if name in columns else None).cast(dtype).alias(name)
            for name, dtype in values.items()
        ),
    ]


def _sums(money: Sequence[str]) -> list[pl.Expr]:
    """Sums in which unknown is not 0: null if calls count and none of them has a value."""
    no_calls = ~pl.col("calls").any()
    return [
        *(pl.col(name).sum().cast(pl.Int64) for name in _COUNTS),
        *(pl.when((pl.col(name).count() > 0) | no_calls).then(pl.col(name).sum()) for name in _TOKEN_COLUMNS),
        *(pl.when((pl.col(name).count() > 0) | no_calls).then(pl.col(name).sum()).cast(MONEY) for name in money),
        pl.when(pl.col("reported_cost").count() > 0).then(pl.col("reported_cost").sum()).cast(MONEY),
    ]
