"""Prices that hold at one moment, whatever list they come from.

One rule: a step in a price is a cliff.  The size of the whole input decides, and then every token of the call pays
the higher price, as providers bill long contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

ALWAYS: Final = -1
"""The step that every input is above."""

Steps = tuple[tuple[int, Decimal], ...]
"""A price by size of the input: (above so many input tokens, US dollars per million), sizes ascending."""

STANDARD: Final = "standard"
_STANDARD_NAMES: Final = frozenset({"", "default", "on_demand", STANDARD})


@dataclass(frozen=True, slots=True)
class Terms:
    """Prices of one model at one moment.

    Attributes:
        model: The model as the list names it.
        provider: The provider whose prices these are, if the list names one.
        source: The list.
        prices: Steps by price key.
        most_input: The largest input that the list knows of where it has no step for larger ones: what a call above it
            costs is unknown. None where there is no such limit.
        long_context_source: Where prices of steps come from, if not from ``source``.
    """

    model: str
    provider: str | None
    source: str
    prices: Mapping[str, Steps]
    most_input: int | None = None
    long_context_source: str | None = None

    @property
    def sizes(self) -> set[int]:
        """Input sizes above which some price changes or ends."""
        steps = {above for steps in self.prices.values() for above, _ in steps if above != ALWAYS}
        return steps if self.most_input is None else steps | {self.most_input}

    def at(self, size: int) -> dict[str, Decimal]:
        """Prices of inputs just above a size (``ALWAYS``: of small ones)."""
        return {key: [price for above, price in steps if above <= size][-1] for key, steps in self.prices.items()}


def tier_name(recorded: str | None) -> str:
    """The service tier that a recorded one is; nothing recorded is the standard tier.

    Example:
        >>> tier_name("DEFAULT"), tier_name(None), tier_name("batch")
        ('standard', 'standard', 'batch')
    """
    name = (recorded or "").strip().lower()
    return STANDARD if name in _STANDARD_NAMES else name
