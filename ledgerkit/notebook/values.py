"""Values of a frame as people read them: by the column's name and type, never by what a value looks like.

One rule: unknown is shown as unknown, and no value is rounded to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, cast

import polars as pl

from ledgerkit.formatting import (
    UNKNOWN,
    format_bytes,
    format_compact,
    format_count,
    format_duration,
    format_money,
    format_time,
)
from ledgerkit.notebook.html import Safe, tag
from ledgerkit.reports import labels
from ledgerkit.reports.blocks import Cell
from ledgerkit.tables.money import ONE_PICO

Shown = Callable[[Any], Safe | str]

SHORT_ID: Final = 8
_ITEMS: Final = 4
_MONEY: Final = ("cost", "amount", "spent", "left", "budget", "price")
_CHIPS: Final[dict[str, Callable[[str | None], Cell]]] = {
    "kind": labels.kind_chip,
    "trust_level": labels.trust_chip,
    "part_trust_level": labels.trust_chip,
    "source_trust_level": labels.trust_chip,
    "status": labels.status_chip,
}
_TONES: Final = {
    **dict.fromkeys(("passed", "supported", "improved"), "good"),
    **dict.fromkeys(("failed", "contradicted", "regressed", "critical", "high"), "bad"),
    **dict.fromkeys(("stale", "unsupported", "medium", "inconclusive"), "warn"),
}
"""Tones of words that a verdict or a severity is made of."""
_TONED: Final = ("verdict", "outcome", "last_check", "severity")
_WIDE: Final = ("text", "excerpt", "why", "reason", "title", "task", "argument_excerpt", "source_excerpt", "value")


def chip(cell: Cell) -> Safe:
    """A label with its colour, in words."""
    return tag("span", cell.text, class_=f"lk-chip {cell.tone}", title=cell.hint)


def toned(word: str | None) -> Safe:
    """A verdict, an outcome or a severity.

    Example:
        >>> toned("failed")
        '<span class="lk-chip bad">failed</span>'
    """
    return tag("span", word or UNKNOWN, class_=f"lk-chip {_TONES.get((word or '').lower(), '')}".strip())


def tone_of(word: str | None) -> str:
    """Its tone alone: ``good``, ``bad``, ``warn`` or nothing."""
    return _TONES.get((word or "").lower(), "")


def shown_as(name: str, dtype: pl.DataType) -> tuple[Shown, str]:
    """How the values of a column are shown, and the class of its cells.

    Args:
        name: The column.
        dtype: Its type.

    Example:
        >>> show, class_ = shown_as("cost", pl.Decimal(18, 9))
        >>> show(Decimal("0.0712")), class_
        ('$0.0712', 'right')
    """
    if name in _CHIPS:
        return lambda value: chip(_CHIPS[name](value)), ""
    if dtype.is_numeric():
        return _number(name, dtype), "right"
    return next(((show, class_) for fits, show, class_ in _OTHERS if fits(name, dtype)), (_plain, ""))


def short_id(value: str | None) -> Safe | str:
    """The end of an id, with the whole of it as a hint."""
    return UNKNOWN if value is None else tag("code", value[-SHORT_ID:], title=value)


def _number(name: str, dtype: pl.DataType) -> Shown:
    if name.endswith("_pico"):
        return lambda value: UNKNOWN if value is None else format_money(Decimal(int(value)) * ONE_PICO)
    if isinstance(dtype, pl.Decimal) or (dtype.is_float() and name.endswith(("_usd", "_cost"))):
        return _money if any(word in name for word in _MONEY) or name.endswith("_usd") else _plain
    if name.endswith("duration_s") or name == "duration":
        return format_duration
    if name.endswith("bytes") or name == "byte_count":
        return format_bytes
    if dtype.is_integer():
        return format_compact if "tokens" in name or name == "token_count" else format_count
    return lambda value: UNKNOWN if value is None else f"{value:,.3f}"


def _money(value: Decimal | float | None) -> str:
    return format_money(value if isinstance(value, Decimal) or value is None else Decimal(repr(value)))


def _listed(values: Iterable[Any] | None) -> str:
    if values is None:
        return UNKNOWN
    texts = [_plain(value) for value in values]
    more = f" … {len(texts) - _ITEMS} more" if len(texts) > _ITEMS else ""
    return ", ".join(texts[:_ITEMS]) + more


def _plain(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return format_bytes(len(value))
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_plain(one)}" for key, one in cast(dict[str, object], value).items() if one is not None
        )
    return str(value)


def _day(value: date | None) -> str:
    return UNKNOWN if value is None else value.isoformat()


_OTHERS: Final[tuple[tuple[Callable[[str, pl.DataType], bool], Shown, str], ...]] = (
    (lambda name, _: name in _TONED or name.endswith("_verdict"), toned, ""),
    (lambda _, dtype: isinstance(dtype, pl.Datetime), format_time, "soft"),
    (lambda _, dtype: isinstance(dtype, pl.Date), _day, "soft"),
    (lambda name, _: name.removeprefix("linked_") in ("run_id", "session_id"), short_id, ""),
    (lambda name, _: name.endswith("_run_id"), short_id, ""),
    (lambda name, dtype: isinstance(dtype, pl.List) and name in ("paths", "evidence"), _listed, "wide"),
    (lambda _, dtype: isinstance(dtype, pl.List), _listed, ""),
    (lambda name, _: name in _WIDE, _plain, "wide"),
)
"""How columns are shown that hold no numbers: the first that fits."""
