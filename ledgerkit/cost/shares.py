"""Whole units from exact parts.

One rule: parts sum to their whole.  The whole is rounded once; the units that are left over when each part is cut to
whole units go to the parts with the largest remainders, the first of equals.
"""

from __future__ import annotations

from typing import Final

import polars as pl

WHOLE: Final = "whole"


def share_units(parts: pl.DataFrame, per_unit: int) -> pl.DataFrame:
    """Round the sum of each row to whole units and share it among the columns.

    Args:
        parts: Columns of whole numbers, none below 0; a null makes its row null.
        per_unit: How many of a part make one unit.

    Returns:
        The same columns in units (Int64), and ``whole``: their sum, which is the nearest to the exact sum, a half
        rounded upwards.

    Example:
        >>> share_units(pl.DataFrame({"a": [40], "b": [30], "c": [70]}), 100).row(0)
        (0, 0, 1, 1)
    """
    names = parts.columns
    exact = pl.sum_horizontal(names, ignore_nulls=False)
    units = parts.select(
        *((pl.col(name) // per_unit).cast(pl.Int64) for name in names),
        ((exact + per_unit // 2) // per_unit).cast(pl.Int64).alias(WHOLE),
    )
    left = units.select(left=pl.col(WHOLE) - pl.sum_horizontal(names, ignore_nulls=False))["left"]
    uneven = (left > 0).fill_null(value=False)
    if not uneven.any():
        return units
    extra = _extra_units(parts.filter(uneven), left.filter(uneven), per_unit)
    rows = uneven.arg_true()
    return units.with_columns(units[name].scatter(rows, units[name].gather(rows) + extra[name]) for name in names)


def _extra_units(parts: pl.DataFrame, left: pl.Series, per_unit: int) -> pl.DataFrame:
    """One unit more for as many parts of each row as are left over, largest remainder first."""
    names = parts.columns
    rests = parts.select((pl.col(name) % per_unit).cast(pl.Int64) for name in names).with_columns(left.alias(WHOLE))

    def place(n: int) -> pl.Expr:
        own = pl.col(names[n])
        ahead = [pl.col(name) >= own for name in names[:n]] + [pl.col(name) > own for name in names[n + 1 :]]
        return pl.sum_horizontal(condition.cast(pl.Int64) for condition in ahead)

    return rests.select((place(n) < pl.col(WHOLE)).cast(pl.Int64).alias(name) for n, name in enumerate(names))
