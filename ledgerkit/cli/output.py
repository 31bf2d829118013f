"""Printing: a table for people, JSON for machines; log text made harmless on the way to the terminal."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, cast

import click
import polars as pl
from rich.console import Console

from ledgerkit.cli.quiet import is_quiet
from ledgerkit.formatting import format_minute, format_time, short_id
from ledgerkit.safety.inert import inert_json
from ledgerkit.terminal.tables import Column, FittedTable
from ledgerkit.terminal.tables import inert_text as text

PIPED_WIDTH: Final = 160
"""Columns of what is written to a file or pipe, which has no width of its own."""

Cell = Callable[[Any], str]
_WHOLE: Final = (short_id, format_minute, format_time)
"""What shows a value that says nothing once it is cut."""


def note(value: object, style: str = "dim") -> None:
    """Prints what is not a result: progress, what was written where, what to do next. To the error stream."""
    if not is_quiet():
        console(stderr=True).print(text(value, style))


def footer(value: object, style: str = "") -> None:
    """Prints what belongs below a table: totals, how much is not shown, limits. Left out by ``--quiet``."""
    if not is_quiet():
        console().print(text(value, style))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with 1, which means something else here


def console(*, stderr: bool = False) -> Console:
    """A console that neither reads markup in log text nor colours what is piped."""
    out = _Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.width = PIPED_WIDTH
    return out


def one_line(value: object, width: int = 72) -> str:
    """The head of a text on one line."""
    flat = " ".join(str("" if value is None else value).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def head(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The first so many rows; 0 means all."""
    return rows.head(limit) if limit else rows


def print_table(
    rows: Iterable[Mapping[str, Any]],
    columns: Mapping[str, tuple[str, Cell]],
    *,
    right: Sequence[str] = (),
    flexible: str | None = None,
    leaving: Sequence[str] = (),
) -> None:
    """Prints rows as a table.

    Args:
        rows: The rows.
        columns: For each field its heading and how a value is shown.
        right: Fields that stand to the right.
        flexible: If given, a row is one line: a text that has no room ends in an ellipsis, and other texts are left
            out before this one and before numbers. Otherwise a text goes on below.
        leaving: Fields that are left out first where there is no room for all.
    """
    made = [
        Column(heading, right=field in right, fixed=show in _WHOLE, folds=flexible is None and field not in right)
        for field, (heading, show) in columns.items()
    ]
    first = [list(columns).index(field) for field in leaving]
    if flexible is not None:
        texts = [at for at, field in enumerate(columns) if at and field not in right and field != flexible]
        first += [at for at in reversed(texts) if at not in first]
    console().print(
        FittedTable(
            made,
            [[text(show(row.get(field))) for field, (_, show) in columns.items()] for row in rows],
            leaving=first,
            hint=None if is_quiet() else "take a wider terminal, or --json",
        )
    )


def print_json(value: object) -> None:
    """Prints a value as JSON: frames as lists of objects, money and times as text."""
    click.echo(inert_json(json_text(value, indent=2)))


def print_json_line(value: object) -> None:
    """Prints a value as JSON on one line: one of several."""
    click.echo(inert_json(json_text(value)))


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON, in ASCII where the output is not UTF-8."""
    ascii_only = not _is_utf8()
    try:
        return json.dumps(value, default=_plain, ensure_ascii=ascii_only, indent=indent, allow_nan=False)
    except ValueError:  # NaN or infinite, as a query can give: JSON has no such numbers
        return json.dumps(_finite(value), default=_plain, ensure_ascii=ascii_only, indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    """The value with null for every number that is none or infinite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in cast(dict[str, object], value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in cast(Sequence[object], value)]
    return _finite(_plain(value)) if isinstance(value, (pl.DataFrame, pl.Series)) else value


def _is_utf8() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"  # never with an exponent
    if isinstance(value, bytes):
        return {"bytes": len(value)}
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if isinstance(value, pl.Series):
        return value.to_list()
    raise TypeError(f"no JSON form for {type(value).__name__}")
