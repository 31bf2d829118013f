"""A view is defined when a query first names it: to bind all of them takes longer than most queries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ledgerkit import tables
from ledgerkit.store import views

if TYPE_CHECKING:
    import duckdb

_NAMES: Final = re.compile(rf"\b(?:{'|'.join(views.PUBLIC_VIEWS)})\b", re.IGNORECASE)
_CATALOG: Final = re.compile(r"\b(?:show|information_schema|(?:duckdb|pg|pragma|sqlite)_\w+)\b", re.IGNORECASE)
"""What lists the views. What names one by a value (``query_table``) is refused."""


def _with_those_below(names: Iterable[str]) -> set[str]:
    found = {name.lower() for name in names}
    below = {inner for name in found for inner in _NAMES.findall(views.PUBLIC_VIEWS[name])} - found
    return found | _with_those_below(below) if below else found


class PublicViews:
    """Which of the documented views a connection has."""

    def __init__(self) -> None:
        self._missing = tuple(views.PUBLIC_VIEWS)  # replaced, never changed: other threads may be going through it

    def wanted(self, sql: str) -> list[str]:
        """The views that a query may need and that are not defined, each behind those that it reads."""
        if not self._missing:
            return []
        named = views.PUBLIC_VIEWS if _CATALOG.search(sql) else _NAMES.findall(sql)
        wanted = _with_those_below(named)
        return [name for name in self._missing if name in wanted]

    def define(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
        """Defines views. Every view and table below them has to be there."""
        for name in names:
            columns = ", ".join(f'"{column}"' for column in tables.VIEWS[name].names)
            source = views.PUBLIC_VIEWS[name]
            connection.execute(f"create or replace view {name} as select {columns} from ({source})")  # noqa: S608

    def note(self, names: Iterable[str]) -> None:
        """Notes that they are there, once that is committed."""
        there = set(names)
        self._missing = tuple(name for name in self._missing if name not in there)
