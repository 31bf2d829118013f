"""Prices of long contexts that the bundled list lacks.

One rule: published prices, each with its date and who published it; as soon as the list has steps of its
own for a model, they hold instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ledgerkit.cost.terms import Terms


@dataclass(frozen=True, slots=True)
class _LongContext:
    above: int
    prices: Mapping[str, Decimal]
    source: str


# Anthropic opened a window of a million tokens for Claude Sonnet 4 on 2025-08-12, at these prices for all tokens of a
# call with more than 200,000 tokens of input; what is cached pays the usual multiples of the input's price.
_SONNET_4: Final = _LongContext(
    200_000,
    {
        "input": Decimal(6),
        "output": Decimal("22.5"),
        "cache_read": Decimal("0.6"),
        "cache_write": Decimal("7.5"),
        "cache_write_1h": Decimal(12),
    },
    "Anthropic, 2025-08-12",
)
_LACKING: Final = {("anthropic", "claude-sonnet-4-0"): _SONNET_4}


def lacking(terms: Terms) -> Terms | None:
    """The terms with the step that the list lacks; None where none is known, or not for all that the list prices."""
    known = _LACKING.get((terms.provider or "", terms.model))
    if known is None or terms.sizes or not terms.prices.keys() <= known.prices.keys():
        return None
    steps = {key: (*price, (known.above, known.prices[key])) for key, price in terms.prices.items()}
    return replace(terms, prices=steps, long_context_source=known.source)
