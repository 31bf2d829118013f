"""What every command shares: which ledger, JSON or table, and errors that say what to do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.failing import explained_errors
from ledgerkit.cli.output import footer
from ledgerkit.errors import QueryError
from ledgerkit.formatting import plural
from ledgerkit.protocol.moments import read_moment

DEFAULT_LEDGER: Final = "runs.ledger"

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class _PlaceType(click.Path):
    """A folder, or the URL of a place in an object store, whose two slashes a path would lose."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        return value if "://" in str(value) else super().convert(value, param, ctx)


def ledger_option(command: _Decorated) -> _Decorated:
    """Adds ``--ledger``."""
    return click.option(
        "--ledger",
        "ledger_path",
        envvar="LEDGERKIT_LEDGER",
        default=DEFAULT_LEDGER,
        show_default=True,
        type=_PlaceType(path_type=Path, file_okay=False),
        help="Folder of the ledger (or set LEDGERKIT_LEDGER).",
    )(command)


def json_option(command: _Decorated) -> _Decorated:
    """Adds ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(command)


def rows_wanted(limit: int, *, as_json: bool) -> int:
    """How many rows to print; 0 for all. JSON has all of them, unless somebody said how many: ``-n`` or a setting."""
    is_usual = click.get_current_context().get_parameter_source("limit") is click.core.ParameterSource.DEFAULT
    return 0 if as_json and is_usual else limit


def audit_option(command: _Decorated) -> _Decorated:
    """Adds ``--audit``, which arrives as ``audience``."""

    def audience(context: click.Context, parameter: click.Parameter, value: bool) -> lk.Audience:
        del context, parameter
        return lk.Audience.AUDIT if value else lk.Audience.PEOPLE

    return click.option("--audit", "audience", is_flag=True, callback=audience, help="Also what only audits may see.")(
        command
    )


def print_withheld(withheld: pl.DataFrame) -> None:
    """Says how many parts were left out, by visibility."""
    for visibility, parts in withheld.iter_rows():
        footer(f"{plural(parts, 'part')} withheld: {visibility} (--audit shows what audits may see)", "dim")


def reads_ledger(command: Callable[Concatenate[lk.Ledger, _P], _T]) -> Callable[_P, _T]:
    """Opens the ledger that ``--ledger`` names and gives it to the command; it must be there."""
    return _with_ledger(command, create=False)


def writes_ledger(command: Callable[Concatenate[lk.Ledger, _P], _T]) -> Callable[_P, _T]:
    """Opens the ledger that ``--ledger`` names, or creates it, and gives it to the command."""
    return _with_ledger(command, create=True)


def reads_past(command: Callable[Concatenate[lk.Ledger, _P], _T]) -> Callable[_P, _T]:
    """The same as :func:`reads_ledger`, and ``--as-of`` opens an earlier state."""

    def as_of(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | int | None:
        del context, parameter
        return _moment(value)

    return click.option(
        "--as-of",
        callback=as_of,
        help="Look at an earlier state: a time (2026-03-01T12:00, in UTC) or a version of the history.",
    )(_with_ledger(command, create=False))


def _moment(value: str | None) -> datetime | int | None:
    if value is None or value.isdigit():
        return None if value is None else int(value)
    try:
        return read_moment(value)
    except QueryError:
        raise click.BadParameter(f"{value!r} is neither a time like 2026-03-01T12:00 nor a version") from None


def _with_ledger(command: Callable[Concatenate[lk.Ledger, _P], _T], *, create: bool) -> Callable[_P, _T]:
    @ledger_option
    @functools.wraps(command)
    def opened(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        path: Any = kwargs.pop("ledger_path")
        as_of: Any = kwargs.pop("as_of", None)
        with explained_errors(), lk.open(path, create=create, as_of=as_of) as ledger:
            return command(ledger, *args, **kwargs)

    return opened  # pyright: ignore[reportReturnType]
