"""What each model call cost, exactly.

One rule: whole numbers from the tokens to the nano-dollar.  A call's cost is the sum of tokens times rate over its
leaves, rounded once, to the nearest nano-dollar, a half upwards; the leaves then share that amount by largest
remainder, so that they sum to it.  What cannot be priced is null, and ``price_status`` says why.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.cost.leaves import LEAVES, MAX_TOKENS, PARTS_PER_NANO
from ledgerkit.cost.prices import PriceBook
from ledgerkit.cost.rates import BEYOND_CONTEXT, UNKNOWN_MODEL, UNKNOWN_TIER
from ledgerkit.cost.shares import WHOLE, share_units
from ledgerkit.errors import UnknownNameError

MONEY: Final = pl.Decimal(18, 9)
"""US dollars in whole nano-dollars: ``tables.MONEY`` as Polars has it."""

SYNTHETIC_MODEL: Final = "<synthetic>"
_NO_USAGE_REASON: Final = "no usage"


class PriceStatus(StrEnum):
    """Whether a call has a cost, and why not. Where several apply, the first of them is given."""

    NOT_BILLED = "not_billed"
    """A copy of a call in another run, or made up by the agent program: it costs 0 here."""
    NO_USAGE = "no_usage"
    """Input or output tokens are not recorded."""
    INCONSISTENT_USAGE = "inconsistent_usage"
    """Cache or reasoning tokens exceed what contains them, or a count is below 0 or above 10**10."""
    UNKNOWN_MODEL = "unknown_model"
    """No price list holds the model, or not as sold by the recorded provider; or no model is recorded."""
    UNKNOWN_TIER = "unknown_tier"
    """The model is listed, but not in this service tier at this time."""
    BEYOND_CONTEXT = "beyond_context"
    """The input is longer than any that the list knows of for the model, and it has no price for long contexts."""
    NO_TIME = "no_time"
    """No time is recorded, and the price of the model depends on it."""
    UNKNOWN_RATE = "unknown_rate"
    """The model is listed without a price for something that the call used."""
    FREE = "free"
    """All prices of the model are 0."""
    PRICED = "priced"
    """It has a cost."""


WHY_UNPRICED: Final = {
    PriceStatus.NO_USAGE: "input or output tokens are not recorded",
    PriceStatus.INCONSISTENT_USAGE: "the recorded counts contradict each other",
    PriceStatus.UNKNOWN_MODEL: "no price list holds the model",
    PriceStatus.UNKNOWN_TIER: "the model is not listed in this service tier",
    PriceStatus.BEYOND_CONTEXT: "the input is longer than any that the list knows of for the model",
    PriceStatus.NO_TIME: "no time is recorded, and the price depends on it",
    PriceStatus.UNKNOWN_RATE: "the list has no price for something that the call used",
}
"""Why a call that counts has no cost, in words."""

_TEXT_COLUMNS: Final = ("model", "provider", "service_tier", "billed_reason")
_COUNT_COLUMNS: Final = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "reasoning_tokens",
)
_REQUIRED: Final = ("model", "created_at", "input_tokens", "output_tokens")
_COLUMN_TYPES: Final[dict[str, pl.DataType]] = {
    **dict.fromkeys(_TEXT_COLUMNS, pl.String()),
    **dict.fromkeys(_COUNT_COLUMNS, pl.Int64()),
    "created_at": pl.Datetime("us", "UTC"),
    "billed": pl.Boolean(),
}
_RATES: Final = [leaf.rate_column for leaf in LEAVES]
_HAS_PRICE: Final = pl.col("price_status").is_in([PriceStatus.PRICED.value, PriceStatus.FREE.value])
_ONE_NANO: Final = Decimal("0.000000001")


def price_calls(calls: pl.DataFrame, book: PriceBook | None = None, *, priced_as: str | None = None) -> pl.DataFrame:
    """Price model calls with the prices of their own day.

    Args:
        calls: One row per model call, with the columns of the view ``model_calls``; others are kept as they are.
            Needed are ``model``, ``created_at``, ``input_tokens`` and ``output_tokens``; the other columns of usage,
            ``provider``, ``service_tier``, ``billed`` and ``billed_reason`` count as null where absent. A null count of
            cache or reasoning tokens is 0; a null ``billed`` is true.
        book: Where prices come from; without it, the list that comes with ``genai_prices``.
        priced_as: What if this model had answered: every call is priced as one of it, at its standard tier. A name
            with a slash names the provider before it. Tokens stay as they were recorded: another model would count and
            cache otherwise, and act otherwise.

    Returns:
        The calls, in their order, with these columns:

        - ``cost``: US dollars, decimal(18, 9); null where it is not known, 0 where the call was not billed.
        - ``cost_input`` (fresh input), ``cost_cache_read``, ``cost_cache_write_5m``, ``cost_cache_write_1h``,
          ``cost_output`` (without reasoning), ``cost_reasoning``, ``cost_request`` (a fee per call): they sum to
          ``cost``.
        - ``price_status``: a ``PriceStatus``.
        - ``price_model``, ``price_provider``: what the list calls the model and who sells it, where it has the model.
        - ``price_date``: first day of the prices used; null if the list knows no earlier ones.
        - ``price_rule``: the service tier, the time of day where prices depend on it, ``long context`` where the size
          of the input raised the price, and leaves charged at another leaf's price.
        - ``price_source``: the price list.

    Raises:
        UnknownNameError: If a needed column is missing, or no list holds the model of ``priced_as``.

    Example:
        >>> from datetime import UTC, datetime
        >>> calls = pl.DataFrame({"model": ["claude-sonnet-4-5"], "created_at": [datetime(2026, 1, 5, tzinfo=UTC)],
        ...     "input_tokens": [1200], "cache_read_tokens": [1000], "output_tokens": [10]})
        >>> print(price_calls(calls)["cost"][0])
        0.001050000
    """
    usage, prices = _usage(calls), book or PriceBook()
    if priced_as is not None:
        usage = _as_model(usage, prices, priced_as)
    cells = prices.rates(usage).locate(usage)
    tokens = _leaf_tokens(usage)
    units = share_units(_parts(tokens, cells), PARTS_PER_NANO)
    status = _status(usage, tokens, cells, units[WHOLE])
    return calls.with_columns(*_costs(units, status), status, *_provenance(tokens, cells, status))


def _usage(calls: pl.DataFrame) -> pl.DataFrame:
    for name in _REQUIRED:
        if name not in calls.columns:
            raise UnknownNameError.among("column", name, calls.columns)
    return calls.select(
        (pl.col(name) if name in calls.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in _COLUMN_TYPES.items()
    )


def _as_model(usage: pl.DataFrame, book: PriceBook, model: str) -> pl.DataFrame:
    # A message that the client made up stays no call, whatever model might have answered.
    made_up = (pl.col("model") == SYNTHETIC_MODEL).fill_null(value=False)
    moved = usage.with_columns(
        billed=pl.col("billed").fill_null(value=True) & ~made_up,
        model=pl.lit(model),
        provider=pl.lit(None, pl.String),
        service_tier=pl.lit(None, pl.String),
    )
    asked = pl.DataFrame([{"model": model}], schema=usage.schema)
    if (book.rates(asked).cells["listing"] == UNKNOWN_MODEL).all():
        raise UnknownNameError(f"No price list holds a model {model!r}. Name one, or give a price file.", name=model)
    return moved


def _leaf_tokens(usage: pl.DataFrame) -> pl.DataFrame:
    """Tokens of each leaf: what is inside something is taken out of it. Null where the counts do not fit together."""
    read, write_5m, write_1h, reasoning = (
        pl.col(name).fill_null(0)
        for name in ("cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "reasoning_tokens")
    )
    in_bounds = pl.all_horizontal(pl.col(_COUNT_COLUMNS).is_between(0, MAX_TOKENS).fill_null(value=True))
    tokens = usage.select(
        input=pl.col("input_tokens") - read - write_5m - write_1h,
        cache_read=read,
        cache_write_5m=write_5m,
        cache_write_1h=write_1h,
        output=pl.col("output_tokens") - reasoning,
        reasoning=reasoning,
        request=pl.lit(1, pl.Int64),
        in_bounds=in_bounds,
    )
    names = [leaf.name for leaf in LEAVES]
    sound = pl.col("in_bounds") & pl.all_horizontal(pl.col(names) >= 0)
    return tokens.select(pl.when(sound).then(pl.col(name)).alias(name) for name in names)


def _parts(tokens: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Exact cost of each leaf in 1e-24 dollars; null where it has tokens but no rate."""
    rates = cells.select(_RATES)
    return pl.concat([tokens, rates], how="horizontal").select(
        pl.when(pl.col(leaf.name) == 0)
        .then(pl.lit(0, pl.Int128))
        .otherwise(pl.col(leaf.name).cast(pl.Int128) * pl.col(leaf.rate_column))
        .alias(leaf.name)
        for leaf in LEAVES
    )


def _status(usage: pl.DataFrame, tokens: pl.DataFrame, cells: pl.DataFrame, whole: pl.Series) -> pl.Series:
    no_usage = pl.col("input_tokens").is_null() | pl.col("output_tokens").is_null()
    no_usage_reason = pl.col("billed_reason").fill_null("").str.starts_with(_NO_USAGE_REASON)
    billed = pl.col("billed").fill_null(value=True) & (pl.col("model") != SYNTHETIC_MODEL).fill_null(value=True)
    rules = {
        PriceStatus.NOT_BILLED: ~billed & ~no_usage_reason,
        PriceStatus.NO_USAGE: no_usage | no_usage_reason,
        PriceStatus.INCONSISTENT_USAGE: pl.col("request").is_null(),
        PriceStatus.UNKNOWN_MODEL: pl.col("listing") == UNKNOWN_MODEL,
        PriceStatus.UNKNOWN_TIER: pl.col("listing") == UNKNOWN_TIER,
        PriceStatus.BEYOND_CONTEXT: pl.col("listing") == BEYOND_CONTEXT,
        PriceStatus.NO_TIME: pl.col("dated") & pl.col("created_at").is_null(),
        PriceStatus.UNKNOWN_RATE: pl.col(WHOLE).is_null(),
        PriceStatus.FREE: pl.all_horizontal(pl.col(_RATES) == 0),
    }
    frame = pl.concat([usage, tokens.select("request"), cells, whole.to_frame()], how="horizontal")
    first = pl.coalesce(*(pl.when(rule).then(pl.lit(name.value)) for name, rule in rules.items()))
    return frame.select(price_status=first.fill_null(PriceStatus.PRICED.value))["price_status"]


def _costs(units: pl.DataFrame, status: pl.Series) -> list[pl.Series]:
    not_billed = pl.col("price_status") == PriceStatus.NOT_BILLED.value
    frame = units.with_columns(status)
    names = {WHOLE: "cost", **{leaf.name: leaf.cost_column for leaf in LEAVES}}
    return frame.select(
        (pl.when(_HAS_PRICE).then(name).when(not_billed).then(0).cast(pl.Decimal(38, 0)) * pl.lit(_ONE_NANO))
        .cast(MONEY)
        .alias(column)
        for name, column in names.items()
    ).get_columns()


def _provenance(tokens: pl.DataFrame, cells: pl.DataFrame, status: pl.Series) -> list[pl.Series]:
    notes = [
        pl.when(pl.col(leaf.name) > 0).then(pl.col(leaf.note_column))
        for leaf in LEAVES
        if cells[leaf.note_column].null_count() < cells.height
    ]
    frame = pl.concat([tokens, cells, status.to_frame()], how="horizontal")
    rule = pl.concat_str(pl.col("price_rule"), *notes, separator=", ", ignore_nulls=True)
    used = (pl.col("price_date"), rule.alias("price_rule"), pl.col("price_source"))
    return frame.select(
        "price_model", "price_provider", *(pl.when(_HAS_PRICE).then(column) for column in used)
    ).get_columns()
