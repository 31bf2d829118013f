"""Where prices come from, and what they are for a set of model calls.

One rule: prices are facts with a date.  The lists are asked once per distinct (model, provider, service tier), for
every day and time of day on which their answer may change; what today's price is plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import polars as pl

from ledgerkit.cost.bundled import Listing, find_listing
from ledgerkit.cost.leaves import LEAVES
from ledgerkit.cost.rates import BEYOND_CONTEXT, KEY, LISTED, UNKNOWN_MODEL, UNKNOWN_TIER, RateGrid
from ledgerkit.cost.terms import ALWAYS, Terms, tier_name

if TYPE_CHECKING:
    from ledgerkit.cost.price_file import PriceRow

_MIDNIGHT: Final = time(0)
_SOME_DAY: Final = date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Where prices come from: rows of the user's own first, then the list that comes with ``genai_prices``.

    Attributes:
        rows: Own rows; where one holds, the bundled list is not asked.
        bundled: Whether to use the bundled list at all.
    """

    rows: tuple[PriceRow, ...] = ()
    bundled: bool = True

    @classmethod
    def from_file(cls, path: str | Path, *, bundled: bool = True) -> Self:
        """A book whose first prices are those of a TOML or JSON file.

        ::

            source = "Contract 2026-03 with Example Gateway"

            [[prices]]
            model = "claude-sonnet-4-5"
            start_date = 2026-03-01        # optional; so are provider, service_tier and source
            usd_per_mtok = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }

            [[prices.long_context]]
            above_input_tokens = 200_000
            usd_per_mtok = { input = 6, output = 22.5, cache_read = 0.6, cache_write = 7.5 }

        Raises:
            PriceFileError: If the file is missing or is not such a file; the message names every fault.
        """
        # The models of a price file are built only for those who have one.
        from ledgerkit.cost.price_file import read_price_file

        return cls(read_price_file(path), bundled)

    def rates(self, keys: pl.DataFrame) -> RateGrid:
        """Rates of every (model, provider, service_tier) of a frame.

        Args:
            keys: A frame with these three columns; rows may repeat, values may be null.
        """
        axes: list[dict[str, object]] = []
        cells: list[dict[str, object]] = []
        for key in keys.select(KEY).unique().sort(KEY).iter_rows():
            timetable = self._timetable(*key)
            axes.append({**dict(zip(KEY, key, strict=True)), "first_cell": len(cells), **timetable.axes()})
            cells.extend(timetable.cells())
        return RateGrid.build(axes, cells)

    def _timetable(self, model: str | None, provider: str | None, recorded_tier: str | None) -> _Timetable:
        tier = tier_name(recorded_tier)
        listing = find_listing(model, provider) if model and self.bundled else None
        sellers = {provider.lower()} if provider else set[str]()
        if listing is not None:
            sellers.add(listing.provider.id)
        rows = [row for row in self.rows if model and row.model == model.lower() and row.provider in {None, *sellers}]
        quotes = _Quotes(tier, tuple(row for row in rows if row.service_tier == tier), listing, bool(rows))
        return _Timetable.of(quotes)


@dataclass(frozen=True, slots=True)
class _Quotes:
    """What the lists say about one (model, provider, tier)."""

    tier: str
    rows: tuple[PriceRow, ...]
    listing: Listing | None
    other_tiers: bool

    def dates(self) -> list[date]:
        own = {row.start_date for row in self.rows if row.start_date is not None}
        return sorted(own | (self.listing.date_edges(self.tier) if self.listing else set[date]()))

    def times(self) -> list[time]:
        return sorted((self.listing.time_edges(self.tier) if self.listing else set[time]()) - {_MIDNIGHT})

    def at(self, moment: datetime) -> Terms | str:
        """The terms of a moment, or why there are none. Rows for a provider go before rows for any."""
        active = [row for row in self.rows if row.start_date is None or row.start_date <= moment.date()]
        if active:
            return max(active, key=lambda row: (row.provider is not None, row.start_date or date.min)).terms()
        if self.listing is not None:
            return self.listing.terms(moment, self.tier) or UNKNOWN_TIER
        return UNKNOWN_TIER if self.other_tiers and not self.rows else UNKNOWN_MODEL


@dataclass(frozen=True, slots=True)
class _Timetable:
    """Terms by day and time of day; days and times on which nothing changes are left out."""

    tier: str
    days: list[date | None]
    """First days, the first of them open."""
    times: list[time]
    """First times, the first of them midnight."""
    terms: list[list[Terms | str]]
    """By day, then by time."""

    @classmethod
    def of(cls, quotes: _Quotes) -> _Timetable:
        dates = quotes.dates()
        days = [dates[0] - timedelta(days=1) if dates else _SOME_DAY, *dates]
        times = [_MIDNIGHT, *quotes.times()]
        table = [[quotes.at(datetime.combine(day, clock, UTC)) for clock in times] for day in days]
        if all(terms == row[0] for row in table for terms in row):
            times, table = times[:1], [row[:1] for row in table]
        kept = [0, *(n + 1 for n, (before, row) in enumerate(pairwise(table)) if row != before)]
        return cls(quotes.tier, [None, *(days[n] for n in kept[1:])], times, [table[n] for n in kept])

    @property
    def sizes(self) -> list[int]:
        steps = {size for row in self.terms for terms in row if isinstance(terms, Terms) for size in terms.sizes}
        return sorted(steps)

    def axes(self) -> dict[str, object]:
        clock = [((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond for t in self.times[1:]]
        sizes = self.sizes
        return {
            "days": len(self.days),
            "times": len(self.times),
            "sizes": len(sizes) + 1,
            **{f"date_{n}": edge for n, edge in enumerate(self.days[1:])},
            **{f"time_{n}": edge for n, edge in enumerate(clock)},
            **{f"size_{n}": edge for n, edge in enumerate(sizes)},
        }

    def cells(self) -> Iterator[dict[str, object]]:
        windows = [f"{a:%H:%M}-{b:%H:%M} UTC" for a, b in pairwise([*self.times, _MIDNIGHT])]
        sizes = (ALWAYS, *self.sizes)
        for since, row in zip(self.days, self.terms, strict=True):
            for window, terms in zip(windows, row, strict=True):
                rule = f"{self.tier} {window}" if len(windows) > 1 else self.tier
                for size in sizes:
                    yield {"listing": terms} if isinstance(terms, str) else _cell(terms, size, since, rule)


def _cell(terms: Terms, size: int, since: date | None, rule: str) -> dict[str, object]:
    if terms.most_input is not None and size >= terms.most_input:
        return {"listing": BEYOND_CONTEXT, "price_model": terms.model, "price_provider": terms.provider}
    prices = terms.at(size)
    long_context = prices != terms.at(ALWAYS)
    return {
        "listing": LISTED,
        "price_model": terms.model,
        "price_provider": terms.provider,
        "price_date": since,
        "price_rule": f"{rule}, long context" if long_context else rule,
        "price_source": (long_context and terms.long_context_source) or terms.source,
        **{leaf.rate_column: leaf.rate(prices) for leaf in LEAVES},
        **{leaf.note_column: leaf.note(leaf.price_key(prices)) for leaf in LEAVES},
    }
