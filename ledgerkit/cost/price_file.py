"""A price file of the user's own: dated prices with their source.

One rule: a price file says everything it means.  Unknown fields, double rows and prices that cannot be held exactly
are errors that name the row.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ledgerkit.cost.leaves import MAX_PRICE, MAX_TOKENS
from ledgerkit.cost.terms import ALWAYS, STANDARD, Steps, Terms, tier_name
from ledgerkit.errors import PriceFileError

MAX_PRICE_DECIMALS: Final = 18
UNNAMED_SOURCE: Final = "own price row"
_SHOWN: Final = 60


_Name = Annotated[str, Field(min_length=1)]
_LowerName = Annotated[_Name, AfterValidator(str.lower)]
_Tier = Annotated[str, AfterValidator(tier_name)]


def _no_float(value: object) -> object:
    # A float is not the number that its writer wrote; both readers below give decimals.
    return Decimal(repr(value)) if isinstance(value, float) else value


Price = Annotated[Decimal, BeforeValidator(_no_float), Field(ge=0, le=MAX_PRICE, decimal_places=MAX_PRICE_DECIMALS)]
"""US dollars per million tokens."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TokenPrices(_Strict):
    """Prices in US dollars per million tokens. What is absent is charged like what contains it."""

    input: Price
    """Fresh input."""
    output: Price
    """Output."""
    cache_read: Price | None = None
    """Input read from a cache; else like ``input``."""
    cache_write: Price | None = None
    """Input written to a cache of any lifetime; else like ``input``."""
    cache_write_5m: Price | None = None
    """Input written to a cache of five minutes; else like ``cache_write``."""
    cache_write_1h: Price | None = None
    """Input written to a cache of one hour; else like ``cache_write``."""
    reasoning: Price | None = None
    """Reasoning; else like ``output``."""


class LongContext(_Strict):
    """Prices of calls whose whole input is above a size."""

    above_input_tokens: Annotated[int, Field(ge=0, lt=MAX_TOKENS)]
    """The size: calls with more input tokens than this pay these prices for all their tokens."""
    usd_per_mtok: TokenPrices
    """The prices; name every one that the row names."""


class PriceRow(_Strict):
    """Prices of one model from one day on."""

    model: _LowerName
    """The model as the logs name it; case does not matter."""
    provider: _LowerName | None = None
    """Only calls of this provider; without it, of every provider."""
    service_tier: _Tier = STANDARD
    """Only calls of this tier."""
    start_date: date | None = None
    """First UTC day of these prices; without it, they hold from the beginning. They end where the next row starts."""
    usd_per_mtok: TokenPrices
    """The prices."""
    long_context: tuple[LongContext, ...] = ()
    """Prices of long inputs."""
    source: str | None = None
    """Where the prices come from, if not the file's source."""

    @model_validator(mode="after")
    def _check_long_context(self) -> Self:
        sizes = Counter(step.above_input_tokens for step in self.long_context)
        if any(count > 1 for count in sizes.values()):
            raise ValueError("two long_context entries for the same size; keep one")
        named = self.usd_per_mtok.model_dump(exclude_none=True).keys()
        for step in self.long_context:
            if step.usd_per_mtok.model_dump(exclude_none=True).keys() != named:
                raise ValueError("a long_context entry must name the same prices as its row")
        return self

    def terms(self) -> Terms:
        """The prices as terms."""
        steps = sorted((step.above_input_tokens, step.usd_per_mtok) for step in self.long_context)
        tables: list[tuple[int, Mapping[str, Decimal]]] = [
            (above, prices.model_dump(exclude_none=True)) for above, prices in ((ALWAYS, self.usd_per_mtok), *steps)
        ]
        by_key: dict[str, Steps] = {key: tuple((above, table[key]) for above, table in tables) for key in tables[0][1]}
        return Terms(self.model, self.provider, self.source or UNNAMED_SOURCE, by_key)


class PriceFile(_Strict):
    """A whole price file."""

    source: _Name
    """Where the prices come from: a page, a contract, the day it was read."""
    prices: tuple[PriceRow, ...]
    """The rows."""

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        keys = Counter((row.model, row.provider, row.service_tier, row.start_date) for row in self.prices)
        for (model, _, tier, start), count in keys.items():
            if count > 1:
                raise ValueError(
                    f"{count} rows for model {model!r}, tier {tier!r}, start_date {start}; keep one of them"
                )
        return self


def read_price_file(path: str | Path) -> tuple[PriceRow, ...]:
    """Rows of a TOML or JSON price file, each with its source.

    Raises:
        PriceFileError: If there is no such file, it is neither TOML nor JSON, or a row is not as it must be.
    """
    path = Path(path)
    try:
        file = PriceFile.model_validate(_parse(path))
    except ValidationError as error:
        raise PriceFileError(_explain(path, error)) from error
    return tuple(row.model_copy(update={"source": row.source or file.source}) for row in file.prices)


def _parse(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".json":
            return json.loads(text, parse_float=Decimal)
        if path.suffix.lower() == ".toml":
            return tomllib.loads(text, parse_float=Decimal)
    except OSError as error:
        raise PriceFileError(f"Cannot read the price file {path}: {error.strerror}. Check the path.") from error
    except ValueError as error:
        raise PriceFileError(f"{path} is not valid {path.suffix[1:].upper()}: {error}. Correct the file.") from error
    raise PriceFileError(f"{path} is neither TOML nor JSON. Name it .toml or .json.")


def _explain(path: Path, error: ValidationError) -> str:
    faults = [
        f"  {'.'.join(map(str, fault['loc'])) or 'file'}: {fault['msg']} (got {_short(fault['input'])})"
        for fault in error.errors(include_url=False)
    ]
    return "\n".join([f"{path} is not a price file; correct these and read it again:", *faults])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
