"""Rates as a frame: a grid of days, times of day and input sizes for each (model, provider, service tier).

One rule: a call finds its rates by counting the edges that it has passed, so that a million calls cost a handful of
frame operations and no look-up of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.cost.leaves import LEAVES

KEY: Final = ("model", "provider", "service_tier")
"""What a price is looked up by, besides the time of the call and the size of its input."""

LISTED: Final = "listed"
UNKNOWN_MODEL: Final = "unknown_model"
UNKNOWN_TIER: Final = "unknown_tier"
BEYOND_CONTEXT: Final = "beyond_context"

_CELL_SCHEMA: Final[dict[str, pl.DataType]] = {
    "listing": pl.String(),
    "price_model": pl.String(),
    "price_provider": pl.String(),
    "price_date": pl.Date(),
    "price_rule": pl.String(),
    "price_source": pl.String(),
    **{leaf.rate_column: pl.Int128() for leaf in LEAVES},
    **{leaf.note_column: pl.String() for leaf in LEAVES},
}
_DAY: Final = 86_400_000_000
_COUNTS: Final = ("first_cell", "days", "times", "sizes")
_EDGE_TYPES: Final[dict[str, pl.DataType]] = {"date": pl.Date(), "time": pl.Int64(), "size": pl.Int64()}


@dataclass(frozen=True, slots=True)
class RateGrid:
    """Rates by day, time of day and size of the input.

    Attributes:
        axes: One row per (model, provider, service_tier): its first cell, the number of its days, times and sizes, and
            the edges between them in columns ``date_<n>`` (from this UTC day on), ``time_<n>`` (from this microsecond
            of the UTC day on) and ``size_<n>`` (above so many input tokens).
        cells: One row per cell, sizes within times within days: whether the list has a price (``listing``), whose,
            since when, by which rule, from which source; ``rate_<leaf>`` in 1e-24 US dollars per token, null where
            there is none; ``note_<leaf>`` where a leaf is charged at another one's price.
    """

    axes: pl.DataFrame
    cells: pl.DataFrame

    @classmethod
    def build(cls, axes: Iterable[Mapping[str, object]], cells: Iterable[Mapping[str, object]]) -> RateGrid:
        """A grid from its rows; edges that a row does not have are null."""
        rows = list(axes)
        names = sorted({name for row in rows for name in row} - {*KEY, *_COUNTS})
        schema: dict[str, pl.DataType] = {
            **dict.fromkeys(KEY, pl.String()),
            **dict.fromkeys(_COUNTS, pl.Int64()),
            **{name: _EDGE_TYPES[name.partition("_")[0]] for name in names},
        }
        table = {name: [row.get(name) for row in rows] for name in schema}
        return cls(pl.DataFrame(table, schema=schema), pl.DataFrame(list(cells), schema=_CELL_SCHEMA))

    def locate(self, calls: pl.DataFrame) -> pl.DataFrame:
        """The cell of each call, in the order of the calls.

        Args:
            calls: The columns of ``KEY``, ``created_at`` (UTC, may be null) and ``input_tokens``.

        Returns:
            The columns of ``cells``, and ``dated``: whether the rates depend on the time of the call.
        """
        placed = calls.select(*KEY, "created_at", "input_tokens").join(
            self.axes, on=KEY, how="left", nulls_equal=True, maintain_order="left"
        )
        day = self._passed("date", pl.col("created_at").dt.date())
        time = self._passed("time", pl.col("created_at").cast(pl.Int64) % _DAY)
        size = self._passed("size", pl.col("input_tokens") - 1)
        cell = pl.col("first_cell") + (day * pl.col("times") + time) * pl.col("sizes") + size
        index = placed.select(cell=cell, dated=pl.col("days") * pl.col("times") > 1)
        return self.cells.select(pl.all().gather(index["cell"])).with_columns(index["dated"])

    def _passed(self, axis: str, value: pl.Expr) -> pl.Expr:
        edges = [pl.col(name) for name in self.axes.columns if name.startswith(f"{axis}_")]
        passed = [(value >= edge).fill_null(value=False).cast(pl.Int64) for edge in edges]
        return pl.sum_horizontal(passed) if passed else pl.lit(0, pl.Int64)
