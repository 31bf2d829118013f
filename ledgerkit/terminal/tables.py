"""A table as wide as the terminal.

One rule: what has no room is left out whole and named; a column of numbers is never folded or cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from ledgerkit.safety.inert import inert_terminal
from ledgerkit.terminal.fitting import fitted

_HINT: Final = "take a wider terminal"


def inert_text(value: object, style: str = "") -> Text:
    """A text for the terminal, control characters shown instead of obeyed."""
    return Text(inert_terminal(str(value)), style=style)


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        title: Its heading.
        right: Whether it stands to the right: a number.
        fixed: Whether it may not be narrower, as a time, an id or a number.
        folds: Whether a text that has no room goes on below; otherwise it ends in an ellipsis.
    """

    title: str
    right: bool = False
    fixed: bool = False
    folds: bool = False


class FittedTable:
    """A table that rich prints in the width that there is."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Text]],
        *,
        leaving: Sequence[int] | None = None,
        hint: str | None = _HINT,
    ) -> None:
        """Takes columns and their cells.

        Args:
            columns: The columns.
            rows: A text for each column, harmless already (:func:`inert_text`).
            leaving: Which columns are left out first where there is no room for all; from the end if not given.
            hint: What to do about columns that are left out; ``None`` says nothing of them.
        """
        self._columns = columns
        self._rows = list(rows)
        self._leaving = leaving
        self._hint = hint

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, and what is not in it."""
        wanted = [
            _width([column.title, *(row[at].plain for row in self._rows)]) for at, column in enumerate(self._columns)
        ]
        may_shrink = [not (column.right or column.fixed) for column in self._columns]
        widths = fitted(wanted, may_shrink, options.max_width, self._leaving)
        table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for column, width in zip(self._columns, widths, strict=True):
            if width is not None:
                table.add_column(
                    Text(column.title),
                    width=width,
                    justify="right" if column.right else "left",
                    overflow="fold" if column.folds else "ellipsis",
                    no_wrap=not column.folds,
                )
        for row in self._rows:
            table.add_row(*(cell for cell, width in zip(row, widths, strict=True) if width is not None))
        yield table
        left_out = [column.title for column, width in zip(self._columns, widths, strict=True) if width is None]
        if left_out and self._hint is not None:
            yield Text(f"No room for {', '.join(filter(None, left_out))}: {self._hint}", style="dim")


def _width(cells: Iterable[str]) -> int:
    return max(cell_len(line) for cell in cells for line in cell.splitlines() or [""])
