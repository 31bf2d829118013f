"""What a model judge may spend: counted call by call, and stopped before the cap, not behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final

import polars as pl

from ledgerkit import cost
from ledgerkit.errors import ConfigurationError
from ledgerkit.protocol.usage import Usage

_MARGIN: Final = Decimal("1.25")
"""Input may be longer in the model's own tokens than counted; a call is only made if the cap holds even then."""
_NANO: Final = Decimal("0.000000001")


@dataclass
class Meter:
    """Counts what calls cost.

    Attributes:
        model: The model, as price lists know it.
        provider: Who serves it, where several do.
        book: Where prices come from.
        cap_usd: US dollars that may be spent in all; ``None``: no cap.
        spent_usd: US dollars that were spent.
        unpriced_calls: Calls whose cost is not known.
    """

    model: str
    provider: str | None = None
    book: cost.PriceBook | None = None
    cap_usd: Decimal | None = None
    spent_usd: Decimal = field(default=Decimal(0))
    unpriced_calls: int = 0

    def check(self, at: datetime) -> None:
        """Refuses a cap that could not be held, because the model has no known price.

        Raises:
            ConfigurationError: If there is a cap and no price.
        """
        if self.cap_usd is not None and self.price(Usage(input_tokens=1, output_tokens=1), at) is None:
            raise ConfigurationError(
                f"A cost cap cannot be held: no price list holds {self.model!r}. Give a price file "
                "(PriceBook.from_file), or no cap."
            )

    def allows(self, input_tokens: int, output_tokens: int, at: datetime) -> bool:
        """Whether a call that is so long at most may still be made."""
        if self.cap_usd is None:
            return True
        worst = self.price(Usage(input_tokens=int(input_tokens * _MARGIN) + 1, output_tokens=output_tokens), at)
        return worst is not None and self.spent_usd + worst <= self.cap_usd

    def add(self, usage: Usage, at: datetime) -> Decimal | None:
        """Counts a call, and says what it cost; ``None`` where that is not known."""
        amount = self.price(usage, at)
        if amount is None:
            self.unpriced_calls += 1
        else:
            self.spent_usd += amount
        return amount

    def price(self, usage: Usage, at: datetime) -> Decimal | None:
        """What a call costs; ``None`` where the list has no price or the answer no tokens."""
        row = {"model": self.model, "provider": self.provider, "created_at": at, "billed": True, **usage.model_dump()}
        types = {"created_at": pl.Datetime("us", "UTC"), "model": pl.String, "provider": pl.String}
        amount = cost.price_calls(pl.DataFrame([row], schema_overrides=types), self.book)["cost"].item()
        return None if amount is None else Decimal(amount).quantize(_NANO)
