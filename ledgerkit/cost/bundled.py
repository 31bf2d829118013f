"""The price list that comes with ``genai_prices``; the only module that knows that package.

One rule: ask the list, never guess.  A model, tier, rate or size that the list does not hold is unknown.  The data are
those of the installed package: no network, no updater, and not a snapshot that somebody else set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Final

from ledgerkit.cost.long_contexts import lacking
from ledgerkit.cost.terms import ALWAYS, STANDARD, Steps, Terms

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import (
        ModelInfo,
        PriceVariant,
        Provider,
        StartDateConstraint,
        TieredPrices,
        TimeOfDateConstraint,
    )

    Constraint = StartDateConstraint | TimeOfDateConstraint | None

_PRICE_KEYS: Final = {
    "input": "input_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_5m": "cache_write_5m_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "output": "output_mtok",
    "reasoning": "output_reasoning_mtok",
    "request": "requests_kcount",
}
_THOUSANDS_PER_MILLION: Final = 1000

# What the list calls a tier: batch is a kind of processing there, and fast has two names.
_CONTEXTS: Final[dict[str, dict[str, str]]] = {
    "batch": {"processing": "batch"},
    "fast": {"service_tier": "fast", "speed": "fast"},
}
_BY_MODEL_NAME: Final = "litellm"  # the list's own name for "a provider's name may stand before the model's"
_FREE: Final[Steps] = ((ALWAYS, Decimal(0)),)


@dataclass(frozen=True, slots=True)
class Listing:
    """A model of the list, sold by a provider."""

    provider: Provider
    model: ModelInfo

    def date_edges(self, tier: str) -> set[date]:
        """Days on which prices of a tier may change."""
        return {start for constraint in self._constraints(tier) if (start := getattr(constraint, "start_date", None))}

    def time_edges(self, tier: str) -> set[time]:
        """Times of day (UTC) at which prices of a tier may change."""
        edges = ("start_time", "end_time")
        return {
            _utc(edge)
            for constraint in self._constraints(tier)
            for name in edges
            if (edge := getattr(constraint, name, None)) is not None
        }

    def terms(self, moment: datetime, tier: str) -> Terms | None:
        """Prices of a tier at a moment; None where the list has none for that tier then."""
        if tier != STANDARD and not any(_active(v.constraint, moment) for v in self._variants(tier)):
            return None
        listed = self.model.get_prices(moment, _context(tier) if tier != STANDARD else None)
        prices = {
            key: _steps(value, _THOUSANDS_PER_MILLION if key == "request" else 1)
            for key, name in _PRICE_KEYS.items()
            if (value := getattr(listed, name)) is not None
        }
        if not prices and self.model.id.endswith(":free"):
            prices = {"input": _FREE, "output": _FREE}
        return self._with_sizes(Terms(self.model.id, self.provider.id, list_name(), prices), tier)

    def _with_sizes(self, terms: Terms, tier: str) -> Terms:
        """The terms with the end of what the list knows: up to its context window where no step goes beyond it."""
        window = self.model.context_window
        if window is None or not terms.prices or max(terms.sizes, default=0) >= window:
            return terms
        added = lacking(terms) if tier == STANDARD else None
        return added or replace(terms, most_input=window)

    def _variants(self, tier: str) -> list[PriceVariant]:
        # The list gives a model borrowed from another provider no tiers.
        if tier == STANDARD or not any(self.model is model for model in self.provider.models):
            return []
        context = _context(tier)
        return [
            variant
            for variant in self.model.price_variants or ()
            if all(context.get(name) == value for name, value in variant.when.items())
        ]

    def _constraints(self, tier: str) -> list[Constraint]:
        prices = self.model.prices
        conditional = [price.constraint for price in prices] if isinstance(prices, list) else []
        return conditional + [variant.constraint for variant in self._variants(tier)]


def find_listing(model: str, provider: str | None) -> Listing | None:
    """The model in the list, or None.

    With no provider recorded, it is the one named before the first slash of the model's name, else the one whose
    models have such names.
    """
    try:
        found, info = _snapshot().find_provider_model(model, None, provider or _BY_MODEL_NAME, None)
    except LookupError:
        return None
    return Listing(found, info)


@cache
def list_name() -> str:
    """Name and version of the list."""
    import genai_prices

    return f"genai-prices {genai_prices.__version__}"


@cache
def _snapshot() -> DataSnapshot:
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _context(tier: str) -> dict[str, str]:
    return _CONTEXTS.get(tier, {"service_tier": tier})


def _active(constraint: Constraint, moment: datetime) -> bool:
    return constraint is None or constraint.active(moment)


def _steps(price: Decimal | TieredPrices, factor: int) -> Steps:
    if isinstance(price, Decimal):
        return ((ALWAYS, price * factor),)
    return ((ALWAYS, price.base * factor), *((tier.start, tier.price * factor) for tier in price.tiers))


def _utc(moment: time) -> time:
    if moment.tzinfo is None:
        return moment
    return datetime.combine(date(1970, 1, 2), moment).astimezone(UTC).time()
