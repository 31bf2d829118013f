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
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ledgerkit.cli.fitting import fitted
from ledgerkit.cli.quiet import is_quiet
from ledgerkit.safety.inert import inert_json, inert_terminal

PIPED_WIDTH: Final = 160
"""Columns of what is written to a file or pipe, which has no width of its own."""

Cell = Callable[[Any], str]


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


def text(value: object, style: str = "") -> Text:
    """A text for the terminal, control characters shown instead of obeyed."""
    return Text(inert_terminal(str(value)), style=style)


def one_line(value: object, width: int = 72) -> str:
    """The head of a text on one line."""
    flat = " ".join(str("" if value is None else value).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def short_id(run_id: str) -> str:
    """The end of a run's id: enough to name it, and unlike the beginning never shared by runs of the same minute."""
    return run_id[-8:]


def head(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The first so many rows; 0 means all."""
    return rows.head(limit) if limit else rows


def print_table(
    rows: Iterable[Mapping[str, Any]],
    columns: Mapping[str, tuple[str, Cell]],
    *,
    right: Sequence[str] = (),
    flexible: str | None = None,
) -> None:
    """Prints rows as a table.

    Args:
        rows: The rows.
        columns: For each field its heading and how a value is shown.
        right: Fields that stand to the right.
        flexible: If given, a row is one line: a text that has no room ends in an ellipsis. Otherwise it goes on below.
    """
    shown = [{field: text(show(row.get(field))) for field, (_, show) in columns.items()} for row in rows]
    wanted = [_width([heading, *(row[field].plain for row in shown)]) for field, (heading, _) in columns.items()]
    main = None if flexible is None else list(columns).index(flexible)
    found = fitted(wanted, [field not in right for field in columns], console().width, main)
    widths = dict(zip(columns, found, strict=True))
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for field, width in widths.items():
        if width is not None:
            table.add_column(
                columns[field][0],
                width=width,
                justify="right" if field in right else "left",
                overflow="fold" if flexible is None else "ellipsis",
                no_wrap=flexible is not None or field in right,
            )
    for row in shown:
        table.add_row(*(row[field] for field, width in widths.items() if width is not None))
    console().print(table)
    if left_out := [columns[field][0] or field for field, width in widths.items() if width is None]:
        footer(f"No room for {', '.join(left_out)}: take a wider terminal, or --json", "dim")


def _width(cells: Iterable[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.splitlines() or [""])


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
