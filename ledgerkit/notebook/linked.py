"""A table whose rows lead to replays: choosing one opens the run that it is about below, at its step.

One rule: rows name runs. Whatever frame has a ``run_id`` is a way into the runs that it speaks of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from ledgerkit.errors import QueryError, UnknownNameError
from ledgerkit.ledger import Ledger
from ledgerkit.notebook.html import Safe, cell, joined
from ledgerkit.notebook.tables import show
from ledgerkit.notebook.widget import ReplayWidget, traitlets
from ledgerkit.strategies import Strategy

if TYPE_CHECKING:
    from traitlets import Bunch


class ReplayTable(ReplayWidget):
    """A frame as a table, and below it the replay of the row that was chosen.

    Args:
        ledger: The ledger that the frame came from.
        frame: Any frame with a ``run_id``: ``ledger.runs()``, claims, findings, verdicts. A ``step`` leads to that
            step.
        columns: Columns to show, as :func:`show` takes them.
        title: What the table is about.
        limit: Rows to show.
        strategies: Strategies to switch between, as :class:`ReplayWidget` takes them.

    Attributes:
        chosen: Number of the row whose run is shown. Set it, and the page follows.

    Raises:
        QueryError: If the frame has no row, or no ``run_id``.
        UnknownNameError: If there is no such column.

    Example:
        >>> ReplayTable(ledger, ledger.check_claims().filter(verdict="contradicted"))  # doctest: +SKIP
    """

    columns = traitlets.List(traitlets.Any()).tag(sync=True)
    rows = traitlets.List(traitlets.Any()).tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        ledger: Ledger,
        frame: pl.DataFrame | pl.LazyFrame,
        columns: Sequence[str] = (),
        *,
        title: str = "",
        limit: int = 50,
        strategies: Sequence[Strategy | str] = (),
    ) -> None:
        table = show(frame, columns, title=title, limit=limit)
        if "run_id" not in table.frame.columns or not table.frame.height:
            raise QueryError("A table of replays needs rows with a run_id; this frame has none.")
        self._ledger, self._table = ledger, table
        super().__init__(ledger.run(self._place(0)[0]), strategies=strategies, step=self._place(0)[1])
        heads, rows = table.texts()
        with self.hold_sync():
            self.columns, self.rows, self.title = heads, rows, title
            shown = f"{len(rows):,} of {table.frame.height:,} rows"
            self.note = f"{title} · {shown}" if title else shown
        self.observe(self._opened, "chosen")

    def bundle(self) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Its forms by media type; pages without a kernel have the table, and the folds of the chosen run below."""
        data, metadata = super().bundle()
        table = cell(self._table.to_html(), label=self.title or "table")
        return {**data, "text/html": joined([table, cast(Safe, data["text/html"])])}, metadata

    def _place(self, number: int) -> tuple[str, int]:
        row = self._table.frame.row(number, named=True)
        step = row.get("step")
        return str(row["run_id"]), step if isinstance(step, int) else 0

    @traitlets.validate("chosen")
    def _valid_row(self, proposal: Bunch) -> int:
        wanted, there = cast(int, proposal["value"]), min(self._table.limit, self._table.frame.height)
        if not 0 <= wanted < there:
            raise UnknownNameError(f"No row {wanted}; {there} are shown, numbered from 0.", name=str(wanted))
        return wanted

    def _opened(self, change: Bunch) -> None:
        run, step = self._place(cast(int, change["new"]))
        self.show_run(self._ledger.run(run), step=step)
