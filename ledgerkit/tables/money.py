"""US dollars that are computed: whole pico-dollars, exactly, from integers to decimals.

What logs report is stored as whole nano-dollars (``decimal(18, 9)``). Computed amounts are finer, because a token of a
cached prompt costs less than a nano-dollar.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import polars as pl

DOLLARS: Final = pl.Decimal(38, 12)
"""US dollars in whole pico-dollars."""
ONE_PICO: Final = Decimal("0.000000000001")
"""A pico-dollar in dollars."""


def dollars(pico: pl.Expr) -> pl.Expr:
    """Pico-dollars, an integer of any width, as dollars.

    Example:
        >>> pl.select(dollars(pl.lit(17_800_000_000))).item()
        Decimal('0.017800000000')
    """
    return (pico.cast(pl.Decimal(38, 0)) * pl.lit(ONE_PICO)).cast(DOLLARS)
