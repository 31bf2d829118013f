"""Frames as tables that people can read: money, tokens, durations, verdicts, and how to replay what a row is about.

One rule: a table is a way to look at a frame. The frame stays a Polars frame, and ``table.frame`` gives it back whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

import polars as pl

from ledgerkit.errors import UnknownNameError
from ledgerkit.formatting import plural
from ledgerkit.notebook.html import Child, Safe, cell, joined, tag
from ledgerkit.notebook.values import SHORT_ID, shown_as
from ledgerkit.safety.inert import inert_terminal

_LONGEST: Final = 600
_TAG: Final = re.compile(r"<[^>]*>")
_CHIP: Final = re.compile(r'<span class="lk-chip ([a-z]*)"')
_IDS: Final = ("session_id", "message_id", "part_id", "tool_call_id", "parent_part_id", "import_id")


@dataclass(frozen=True, repr=False)
class Table:
    """A frame, shown. Make one with :func:`show`.

    Attributes:
        frame: The frame, whole.
        columns: Columns that are shown, in order.
        title: What it is about.
        limit: Rows that are shown.
        replays: Whether each row says how to replay its run.
    """

    frame: pl.DataFrame
    columns: tuple[str, ...]
    title: str = ""
    limit: int = 50
    replays: bool = False

    def __repr__(self) -> str:
        return inert_terminal(f"{self.title}\n{self.frame.select(self.columns)}".lstrip("\n"))

    def to_html(self) -> Safe:
        """The table as HTML, without its style."""
        rows = self.frame.head(self.limit)
        shown = [(name, *shown_as(name, rows.schema[name])) for name in self.columns]
        heads = [tag("th", _heading(name), scope="col", class_=class_ or None) for name, _, class_ in shown]
        if self.replays:
            heads.append(tag("th", "replay", scope="col"))
        body = [self._row(row, shown) for row in rows.iter_rows(named=True)]
        more = self.frame.height - rows.height
        note = f"{plural(self.frame.height, 'row')}" + (f", the first {rows.height:,} of them shown" if more else "")
        caption = tag("caption", joined([tag("b", self.title), " · "]) if self.title else None, note)
        table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *body))
        return tag("div", table, class_="lk-scroll", tabindex="0", role="region", aria_label=self.title or "table")

    def texts(self) -> tuple[list[list[str]], list[list[list[str]]]]:
        """Heads with the side that they stand on, and the rows that are shown: each cell's text and its tone."""
        rows = self.frame.head(self.limit)
        shown = [(name, *shown_as(name, rows.schema[name])) for name in self.columns]
        heads = [[_heading(name), class_] for name, _, class_ in shown]
        return heads, [[_told(show(row[name])) for name, show, _ in shown] for row in rows.iter_rows(named=True)]

    def _row(self, row: Mapping[str, Any], shown: Sequence[tuple[str, Any, str]]) -> Safe:
        cells = [_cell(show(row[name]), class_) for name, show, class_ in shown]
        if self.replays:
            cells.append(tag("td", tag("code", replay_call(row), class_="lk-copy"), class_="whole"))
        return tag("tr", *cells)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, Any]:
        del include, exclude
        return {"text/plain": repr(self), "text/html": cell(self.to_html(), label=self.title or "table")}


def show(
    frame: pl.DataFrame | pl.LazyFrame,
    columns: Sequence[str] = (),
    *,
    title: str = "",
    limit: int = 50,
    replays: bool | None = None,
) -> Table:
    """Shows a frame in a cell with its values as people read them.

    Args:
        frame: Any frame of ledgerkit, or another.
        columns: Columns to show, in this order; if none are given, all that hold something
            but for ids that only join tables.
        title: What it is about.
        limit: Rows to show.
        replays: Whether each row says how to replay its run; if it has a ``run_id``, unless said otherwise.

    Raises:
        UnknownNameError: If there is no such column.

    Example:
        >>> table = show(pl.DataFrame({"run_id": ["run-0001"], "step": [3], "input_tokens": [1234]}))
        >>> "1,234" in table.to_html(), "ledger.run(&quot;run-0001&quot;).replay().step(3)" in table.to_html()
        (True, True)
    """
    whole = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    for name in columns:
        if name not in whole.columns:
            raise UnknownNameError.among("column", name, whole.columns)
    told = [
        name
        for name in whole.columns
        if name not in _IDS and (not whole.height or whole[name].null_count() < whole.height)
    ]
    chosen = tuple(columns or told)
    has_run = "run_id" in whole.columns
    return Table(whole, chosen, title, limit, has_run if replays is None else replays and has_run)


def replay_call(row: Mapping[str, Any]) -> str:
    """The call that replays what a row is about, at its step if it has one.

    Example:
        >>> replay_call({"run_id": "019be607-6521-7d1d-9986-7ba219aa", "step": 3})
        'ledger.run("7ba219aa").replay().step(3)'
    """
    run = str(row["run_id"])
    step = row.get("step")
    return f'ledger.run("{run[-SHORT_ID:]}").replay()' + (f".step({step})" if isinstance(step, int) else "")


def _heading(name: str) -> str:
    return name.removesuffix("_pico").replace("_", " ")


def _cell(shown: Safe | str, class_: str) -> Child:
    if isinstance(shown, Safe):
        return tag("td", shown, class_=class_ or None)
    text = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + " …"
    if class_ == "wide":
        return tag("td", tag("div", text, class_="lk-clamp", title=text), class_=class_)
    return tag("td", text, class_=class_ or None, title=None if class_ else text)


def _told(value: Safe | str) -> list[str]:
    """A cell as text, and the tone of its chip."""
    if not isinstance(value, Safe):
        return [inert_terminal(value)[:_LONGEST], ""]
    chip = _CHIP.match(value)
    return [unescape(_TAG.sub("", value))[:_LONGEST], chip[1] if chip else ""]
