"""Cost of model calls: dated prices, exact sums. Frames in, frames out."""

from __future__ import annotations

from ledgerkit.cost.budgets import burn_down
from ledgerkit.cost.explaining import explained
from ledgerkit.cost.grouping import group_costs, totals, unpriced
from ledgerkit.cost.prices import PriceBook
from ledgerkit.cost.pricing import WHY_UNPRICED, PriceStatus, price_calls
from ledgerkit.cost.reconciling import reconcile

__all__ = [
    "WHY_UNPRICED",
    "PriceBook",
    "PriceStatus",
    "burn_down",
    "explained",
    "group_costs",
    "price_calls",
    "reconcile",
    "totals",
    "unpriced",
]
