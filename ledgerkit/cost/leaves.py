"""What a model call is charged for: leaves that share no token with each other.

One rule: a token is charged once.  Input contains cache reads and writes, output contains reasoning, so what is
charged is the parent minus its children.  A leaf without a price of its own is charged like the nearest thing that
contains it (the containment order of ``genai_prices``).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

PARTS_PER_NANO: Final = 10**15
"""Rates are whole 1e-24 US dollars per token, so that a listed price of up to 18 decimals is held exactly."""

MAX_TOKENS: Final = 10**10
"""More tokens than this in one call are a damaged record."""

MAX_PRICE: Final = Decimal(10_000)
"""Highest price in US dollars per million tokens. With ``MAX_TOKENS`` it keeps a call below 10**9 dollars, which is
what a ``decimal(18, 9)`` holds, and its exact cost within 128 bits."""

_MAX_PRICE_PER_MILLION_CALLS: Final = Decimal(10**8)
_PARTS_PER_PRICE: Final = 10**18


@dataclass(frozen=True, slots=True)
class Leaf:
    """One thing that is charged for.

    Attributes:
        name: Its name; its cost stands in the column ``cost_<name>``.
        price_keys: Prices that apply to it, nearest first.
        usual_keys: The first so many of them need no remark; a later one is named in ``price_rule``.
        is_fee: Whether it costs nothing where no price is listed, as a fee that most models do not have.
    """

    name: str
    price_keys: tuple[str, ...]
    usual_keys: int = 1
    is_fee: bool = False

    @property
    def cost_column(self) -> str:
        """Column of its cost."""
        return f"cost_{self.name}"

    @property
    def rate_column(self) -> str:
        """Column of its rate, in 1e-24 US dollars per token."""
        return f"rate_{self.name}"

    @property
    def note_column(self) -> str:
        """Column that names the price used in place of its own."""
        return f"note_{self.name}"

    def price_key(self, listed: Container[str]) -> str | None:
        """The nearest of the listed prices that applies to it."""
        return next((key for key in self.price_keys if key in listed), None)

    def rate(self, listed: Mapping[str, Decimal]) -> int | None:
        """Its rate under some prices; None where there is none, or none that is exact."""
        key = self.price_key(listed)
        if key is None:
            return 0 if self.is_fee else None
        return exact_rate(listed[key], key)

    def note(self, key: str | None) -> str | None:
        """What to say about a price that is not its own."""
        return None if key is None or key in self.price_keys[: self.usual_keys] else f"{self.name} at {key} price"


LEAVES: Final = (
    Leaf("input", ("input",)),
    Leaf("cache_read", ("cache_read", "input")),
    Leaf("cache_write_5m", ("cache_write_5m", "cache_write", "input"), usual_keys=2),
    Leaf("cache_write_1h", ("cache_write_1h", "cache_write", "input")),
    Leaf("output", ("output",)),
    Leaf("reasoning", ("reasoning", "output"), usual_keys=2),
    Leaf("request", ("request",), is_fee=True),
)
"""Fresh input, cache reads, cache writes, output without reasoning, reasoning, and the call itself."""


def exact_rate(price: Decimal, key: str) -> int | None:
    """A price per million as a whole number of 1e-24 US dollars per token (or call); None if it is not one or too big.

    Example:
        >>> exact_rate(Decimal("3.75"), "cache_write")
        3750000000000000000
        >>> exact_rate(Decimal("1e-19"), "input") is None
        True
    """
    limit = _MAX_PRICE_PER_MILLION_CALLS if key == "request" else MAX_PRICE
    if not price.is_finite() or not 0 <= price <= limit:
        return None
    numerator, denominator = price.as_integer_ratio()
    rate, rest = divmod(numerator * _PARTS_PER_PRICE, denominator)
    return None if rest else rate
