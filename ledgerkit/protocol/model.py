"""What every model of the protocol shares: frozen, closed, and equal to itself after a trip through JSON.

So whatever JSON, UTF-8 or a table's column cannot hold is refused where a value enters: lone surrogates, NaN and
infinity, times without a zone, counts beyond 64 bits, JSON nested deeper than :data:`MAX_JSON_DEPTH`. Nothing is
coerced: a number is not a text, 1 is not true. Lists become tuples; JSON objects are copied, and are to be read
only. A writer whose source may hold lone surrogates calls :func:`replace_lone_surrogates` first.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Final, Self, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
)

MAX_JSON_DEPTH: Final = 100
"""Deepest nesting of a JSON value. Parsers stop between 128 and 200 levels, and a value stands inside others."""

REPLACE_HINT: Final = "Replace lone surrogates with replace_lone_surrogates() before writing."
"""What to do about text that UTF-8 cannot hold."""

SHOWN_CHARACTERS: Final = 80
"""How much of a refused text an error shows."""

_MAX_INT_BITS: Final = 14_000  # Python reads back at most 4,300 digits
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ISO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")


class Model(BaseModel):
    """Base of all protocol models: immutable, and without fields that it does not know."""

    # Validators are built on first use: most programs need few of the models.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def nonempty(self, what: str) -> Self:
        """The model itself, if any of its fields differs from its default.

        Raises:
            ValueError: If it says nothing, so that it could not be told from its absence.
        """
        if not self.model_dump(exclude_defaults=True):
            raise ValueError(f"{what} of which nothing is known is left out")
        return self


def replace_lone_surrogates(value: JsonValue) -> JsonValue:
    r"""The value with each lone surrogate replaced by U+FFFD; surrogate pairs become the character they mean.

    Example:
        >>> replace_lone_surrogates({"k": ["\ud83d\ude00", "cut \ud83d"]})
        {'k': ['😀', 'cut �']}
    """
    if isinstance(value, str):
        if _SURROGATE.search(value) is None:
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [replace_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {cast(str, replace_lone_surrogates(key)): replace_lone_surrogates(item) for key, item in value.items()}
    return value


def without_surrogates(text: str) -> str:
    """The text itself, if UTF-8 can hold it.

    Raises:
        ValueError: If it holds a lone surrogate.
    """
    if not text.isascii() and (found := _SURROGATE.search(text)):
        at = found.start()
        raise ValueError(f"lone surrogate {found.group().encode('unicode_escape').decode()} at {at}. {REPLACE_HINT}")
    return text


def _checked_text(value: object) -> object:
    return without_surrogates(value) if isinstance(value, str) else value


def checked_json(value: object) -> object:
    """The value itself, if JSON can hold it exactly.

    Raises:
        ValueError: If it is nested too deeply or holds something that JSON has no form for.
    """
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[object, object]", item)
            waiting += [(each, depth + 1) for each in fields.values()]
            for key in fields:
                _check_key(key)
        elif isinstance(item, list):
            waiting += [(each, depth + 1) for each in cast("list[object]", item)]
        else:
            _check_scalar(item)
        if depth > MAX_JSON_DEPTH:
            raise ValueError(f"JSON nested deeper than {MAX_JSON_DEPTH} levels. Keep it as an artifact.")
    return value


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise ValueError(f"JSON object with a key that is no text: {key!r}")
    without_surrogates(key)


def _check_scalar(value: object) -> None:
    if isinstance(value, str):
        without_surrogates(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"JSON has no number {value}. Use null.")
    elif isinstance(value, int):
        if value.bit_length() > _MAX_INT_BITS:
            raise ValueError(f"integer of {value.bit_length()} bits. Write it as text.")
    elif value is not None:
        raise ValueError(f"JSON has no form for {type(value).__name__}. Use text, numbers, lists and objects.")


def _time_text(value: object) -> object:
    if isinstance(value, str) and not _ISO_TIME.match(value):
        raise ValueError("a time is written like 2026-07-03T10:00:00Z")
    if not isinstance(value, str | datetime):
        raise ValueError("a time is a datetime or a text like 2026-07-03T10:00:00Z, never a number")
    return value


def _utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a time that UTC cannot hold between the years 1 and 9999") from error


def _time_json(value: datetime) -> str:
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _exact_amount(value: object) -> object:
    if isinstance(value, float | bool):
        raise ValueError("an amount of money is a Decimal, an integer or a text like '0.012'; floats are not exact")
    return value


Text = Annotated[str, Field(strict=True), BeforeValidator(_checked_text)]
"""Text that UTF-8 can hold."""
Identifier = Annotated[str, Field(strict=True, min_length=1), BeforeValidator(_checked_text)]
"""A name or an id: any text but the empty one."""
MediaType = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9!#$&^_.+*-]+/[A-Za-z0-9!#$&^_.+*-]+( *;[ -~]*)?$")]
"""A media type such as ``text/plain``."""
Count = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
"""A number of things, as a 64-bit column holds it."""
StepNumber = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
"""Number of a model call in its run, from 0."""
Flag = Annotated[bool, Field(strict=True)]
"""True or false, and nothing that could stand for it."""
Ratio = Annotated[float, Field(ge=0)]
"""A finite number that is not negative."""
Time = Annotated[
    AwareDatetime, BeforeValidator(_time_text), AfterValidator(_utc), PlainSerializer(_time_json, when_used="json")
]
"""A moment in UTC, in microseconds (finer digits are cut off); one without a zone is refused."""
Money = Annotated[
    Decimal,
    Field(ge=0, max_digits=18, decimal_places=9),
    BeforeValidator(_exact_amount),
    WithJsonSchema({"type": "string", "format": "decimal"}),
]
"""An amount in US dollars, in whole nano-dollars; text in JSON."""
Json = Annotated[JsonValue, BeforeValidator(checked_json)]
"""Any JSON value."""
JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(checked_json)]
"""A JSON object."""
