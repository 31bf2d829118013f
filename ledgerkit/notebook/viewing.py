"""Views of a ledger for a person at a cell: names complete themselves, and what is shown is given as SQL and as Polars.

One rule: the SQL, the Polars text and the frame of a view say the same; names are those of the tables, values are
constants, and neither is ever run as code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.errors import QueryError, UnknownNameError
from ledgerkit.notebook.html import Safe, cell, tag
from ledgerkit.notebook.tables import show

if TYPE_CHECKING:
    from ledgerkit.ledger import Ledger

Value = str | int | float | bool | Decimal | date | datetime | None
_SHOWN: Final = 20


class Views:
    """The views of a ledger by name: press Tab behind ``views.`` or in ``views["``. Make them with :func:`views`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> View:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> View:
        if name not in tables.VIEWS:
            raise UnknownNameError.among("table", name, tables.VIEWS)
        return View(self._ledger, name)

    def __dir__(self) -> list[str]:
        return list(tables.VIEWS)

    def _ipython_key_completions_(self) -> list[str]:
        return list(tables.VIEWS)

    def __repr__(self) -> str:
        return "views: " + ", ".join(tables.VIEWS)

    def _repr_html_(self) -> Safe:
        return cell(show(self._ledger.describe(), title="views", limit=len(tables.VIEWS)).to_html(), label="views")


@dataclass(frozen=True, repr=False)
class View:
    """Rows of a view, some of them if asked: every method gives a new one, and nothing is read until it is shown.

    Columns complete themselves: ``view.tool_name`` is ``pl.col("tool_name")``.

    Attributes:
        ledger: The ledger.
        name: Name of the view.
        wanted: Columns and the values that rows must have there.
        chosen: Columns; all if empty.
        order: Column to sort by.
        falls: Whether the largest come first.
        limit: Rows at most.
    """

    ledger: Ledger
    name: str
    wanted: tuple[tuple[str, Value], ...] = ()
    chosen: tuple[str, ...] = ()
    order: str | None = None
    falls: bool = False
    limit: int | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the view's columns."""
        return [column.name for column in tables.VIEWS[self.name].columns]

    def where(self, **values: Value) -> View:
        """Only rows that have these values; ``None`` means unknown.

        Raises:
            UnknownNameError: If there is no such column.
        """
        return replace(self, wanted=(*self.wanted, *((self._known(name), value) for name, value in values.items())))

    def select(self, *columns: str) -> View:
        """Only these columns.

        Raises:
            UnknownNameError: If there is no such column.
        """
        return replace(self, chosen=tuple(map(self._known, columns)))

    def sort(self, column: str, *, descending: bool = False) -> View:
        """In the order of a column, unknown values last.

        Raises:
            UnknownNameError: If there is no such column.
        """
        return replace(self, order=self._known(column), falls=descending)

    def head(self, rows: int = _SHOWN) -> View:
        """At most so many rows."""
        return replace(self, limit=rows)

    def frame(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return self.ledger.sql(self.as_sql())

    def describe(self) -> pl.DataFrame:
        """The view's columns: ``column``, ``type``, ``doc``."""
        return self.ledger.describe(self.name)

    def as_sql(self) -> str:
        """The question as DuckDB SQL, for ``ledger.sql``.

        Raises:
            QueryError: If a value has no form in SQL.
        """
        lines = [f"select {', '.join(map(_quoted, self.chosen)) or '*'}", f"from {_quoted(self.name)}"]
        if self.wanted:
            lines.append("where " + " and ".join(_condition(name, value) for name, value in self.wanted))
        first = [f"{_quoted(self.order)} {'desc' if self.falls else 'asc'} nulls last"] if self.order else []
        lines.append("order by " + ", ".join([*first, *map(_quoted, self._place)]))
        if self.limit is not None:
            lines.append(f"limit {self.limit}")
        return "\n".join(lines)

    def as_polars(self) -> str:
        """The question as Polars, on ``ledger`` and ``pl``."""
        text = f"ledger.scan({self.name!r})"
        for name, value in self.wanted:
            text += f".filter(pl.col({name!r}).{'is_null()' if value is None else f'eq(pl.lit({value!r}))'})"
        falls = f", descending={[self.falls, *[False] * len(self._place)]}" if self.order and self.falls else ""
        order = [self.order, *self._place] if self.order else self._place
        text += f".sort({', '.join(map(repr, order))}{falls}, nulls_last=True)"
        if self.limit is not None:
            text += f".head({self.limit})"
        if self.chosen:
            text += f".select({', '.join(map(repr, self.chosen))})"
        return text + ".collect()"

    @property
    def _place(self) -> list[str]:
        """Columns that say where a row stands: the same question has the same rows in the same order."""
        return [name for name in _PLACE if name in self.columns and name != self.order]

    def _known(self, name: str) -> str:
        if name not in self.columns:
            raise UnknownNameError.among(f"column of {self.name}", name, self.columns)
        return name

    def __getattr__(self, name: str) -> pl.Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        return pl.col(self._known(name))

    def __getitem__(self, name: str) -> pl.Expr:
        return pl.col(self._known(name))

    def __dir__(self) -> list[str]:
        own = ("where", "select", "sort", "head", "frame", "describe", "as_sql", "as_polars")
        return [*own, *self.columns]

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __repr__(self) -> str:
        return repr(show(self.head(self.limit or _SHOWN).frame(), title=self.as_sql()))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, Any]:
        del include, exclude
        limited = self if self.limit is not None else self.head()
        table = show(limited.frame(), self.chosen, title=self.name, limit=limited.limit or 0)
        more = (
            None
            if self.limit is not None
            else tag("p", f"The first {_SHOWN} rows: head() asks for others.", class_="lk-small")
        )
        copies = tag(
            "details",
            tag("summary", "as SQL, as Polars"),
            tag("pre", limited.as_sql(), class_="lk-copy"),
            tag("pre", limited.as_polars(), class_="lk-copy"),
        )
        return {"text/plain": repr(table), "text/html": cell(table.to_html(), more, copies, label=f"view {self.name}")}


def views(ledger: Ledger) -> Views:
    """The views of a ledger, with names that complete themselves.

    Example:
        >>> import tempfile, ledgerkit as lk
        >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
        >>> print(views(ledger).tool_calls.where(status="FAILED").select("run_id").head(5).as_sql())
        select "run_id"
        from "tool_calls"
        where "status" = 'FAILED'
        order by "session_id", "run_id", "sequence_no", "step", "tool_call_id", "path"
        limit 5
    """
    return Views(ledger)


_PLACE: Final = (
    "session_id", "run_id", "sequence_no", "part_index", "step", "check_no", "call_id", "tool_call_id", "import_id",
    "path", "field", "start", "created_at", "snapshot_id", "checkpoint_id",
)  # fmt: skip


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _condition(name: str, value: Value) -> str:
    if value is None:
        return f"{_quoted(name)} is null"
    return f"{_quoted(name)} = {_literal(value)}"


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        return f"timestamptz '{value.isoformat()}'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, str) and "\x00" not in value:
        return "'" + value.replace("'", "''") + "'"
    raise QueryError(f"{value!r} cannot be compared with a column here; use ledger.sql with a parameter.")
