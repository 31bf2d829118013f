"""Tables of cost.

One rule: every number here is a sum of ``cost.group_costs``; nothing is priced again.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import polars as pl

from ledgerkit import cost
from ledgerkit.charts.shapes import NOT_RECORDED
from ledgerkit.formatting import format_compact, format_count, format_money, format_share, plural
from ledgerkit.reports.blocks import Cell, Column, Table, code, right

_LEAVES: Final = {
    "cost_input": ("Input, not cached", None),
    "cost_cache_read": ("Input, read from cache", "cache_read_tokens"),
    "cost_cache_write_5m": ("Input, written to a 5 min cache", "cache_write_5m_tokens"),
    "cost_cache_write_1h": ("Input, written to a 1 h cache", "cache_write_1h_tokens"),
    "cost_output": ("Output", None),
    "cost_reasoning": ("Output, reasoning", "reasoning_tokens"),
    "cost_request": ("Fees per call", None),
}


def cost_table(priced: pl.DataFrame, by: str, title: str, *, rows: int = 100) -> Table:
    """Calls, tokens and cost by a column, with a total.

    Args:
        priced: Calls as ``cost.price_calls`` returns them.
        by: Column to group by.
        title: What the column is called.
        rows: Most rows before the total.
    """
    groups = cost.group_costs(priced, [by]).filter(pl.col("calls") > 0)
    total = cost.totals(priced).row(0, named=True)
    shown = [_cost_row(code(_label(row[by])), row, total["cost"]) for row in groups.head(rows).iter_rows(named=True)]
    columns = [Column(title, wide=True), *right("Calls", "Input", "From cache", "Output", "Cost", "Share")]
    left_out = max(groups.height - rows, 0)
    if groups.height <= 1:
        return Table(columns, shown, left_out, empty="No model calls recorded.")
    return Table(columns, [*shown, _cost_row(Cell("Total"), total, total["cost"])], left_out, total=True)


def leaf_table(priced: pl.DataFrame) -> Table:
    """What the money went to: each sort of token, its count and its cost."""
    total = cost.totals(priced, leaves=True).row(0, named=True)
    known: Decimal | None = total["cost"]
    tokens = _leaf_tokens(total)
    rows = [
        [name, format_count(tokens.get(column)), format_money(total[column]), format_share(total[column], known)]
        for column, (name, _) in _LEAVES.items()
        if total[column] or tokens.get(column)
    ]
    return Table(
        [Column("Tokens", wide=True), *right("Count", "Cost", "Share")], rows, empty="No model calls recorded."
    )


def unpriced_table(priced: pl.DataFrame) -> Table:
    """Calls that count and have no cost, with the reason."""
    rows: list[list[Cell | str]] = [
        [
            code(_label(row["model"])),
            cost.WHY_UNPRICED[row["price_status"]],
            format_count(row["calls"]),
            format_count(row["input_tokens"]),
            format_count(row["output_tokens"]),
        ]
        for row in cost.unpriced(priced).iter_rows(named=True)
    ]
    columns = [Column("Model"), Column("Why it has no cost", wide=True), *right("Calls", "Input", "Output")]
    return Table(columns, rows, empty="Every call that counts has a cost.")


def price_note(priced: pl.DataFrame) -> str:
    """Where the prices come from, in a sentence."""
    sources = sorted({str(name) for name in priced["price_source"].drop_nulls()})
    not_billed = priced.filter(pl.col("price_status") == cost.PriceStatus.NOT_BILLED.value).height
    free = priced.filter(pl.col("price_status") == cost.PriceStatus.FREE.value).height
    note = f"Prices of the day of each call, from {', '.join(sources)}." if sources else "No call has a price."
    if not_billed:
        note += f" {plural(not_billed, 'call')} beside these are not billed here: copies, or no call at all."
    return f"{note} {plural(free, 'call')} of free models." if free else note


def _leaf_tokens(total: dict[str, int | None]) -> dict[str, int | None]:
    counts = {column: total[name] for column, (_, name) in _LEAVES.items() if name is not None}
    inside = [counts[name] or 0 for name in ("cost_cache_read", "cost_cache_write_5m", "cost_cache_write_1h")]
    counts["cost_input"] = (total["input_tokens"] or 0) - sum(inside)
    counts["cost_output"] = (total["output_tokens"] or 0) - (counts["cost_reasoning"] or 0)
    return counts


def _cost_row(label: Cell, row: dict[str, object], total: object) -> list[Cell | str]:
    unpriced = row["unpriced_calls"]
    amount = format_money(_decimal(row["cost"]), unknown="not known")
    return [
        label,
        format_count(_whole(row["calls"])),
        format_compact(_whole(row["input_tokens"])),
        format_share(_whole(row["cache_read_tokens"]), _whole(row["input_tokens"])),
        format_compact(_whole(row["output_tokens"])),
        Cell(amount, hint=f"{unpriced} calls without a known cost") if unpriced else amount,
        format_share(_decimal(row["cost"]), _decimal(total)),
    ]


def _label(value: object) -> str:
    return NOT_RECORDED if value is None else str(value)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _decimal(value: object) -> Decimal | None:
    return value if isinstance(value, Decimal) else None
