"""The pieces that a report is built of, between the frames and the templates.

One rule: a piece holds plain text, however hostile; making it harmless is the templates' environment's work, in one
place, for all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["plain", "good", "bad", "warn", "model", "trusted", "untrusted", "faint"]
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table, or one short piece of text elsewhere.

    Attributes:
        text: What it says.
        style: ``text``, ``code`` or ``chip``.
        tone: Its colour.
        href: An anchor of the same report, without the number sign.
        hint: What a pointer over it shows.
        below: A second line, smaller.
    """

    text: str
    style: Literal["text", "code", "chip"] = "text"
    tone: Tone = "plain"
    href: str | None = None
    hint: str | None = None
    below: str = ""


def code(text: str, *, href: str | None = None, hint: str | None = None) -> Cell:
    """A cell in monospace: an id, a path, a name from a log."""
    return Cell(text, "code", href=href, hint=hint)


def chip(text: str, tone: Tone = "plain", *, hint: str | None = None) -> Cell:
    """A small coloured label."""
    return Cell(text, "chip", tone, hint=hint)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    align: Align = "left"
    wide: bool = False
    """Whether it takes what width is left."""


def left(*titles: str) -> list[Column]:
    """Columns of text."""
    return [Column(title) for title in titles]


def right(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title, "right") for title in titles]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: Its columns.
        rows: Its rows, a cell for each column.
        left_out: Number of rows that are not shown.
        total: Whether the last row is a total.
        empty: What to say where there are no rows.
        narrow: Whether it reads better when it is not as wide as the page.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    left_out: int = 0
    total: bool = False
    empty: str = "None."
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with the numbers behind it; without a picture (``light`` is None) the table stands alone.

    Attributes:
        title: Heading.
        caption: How to read it.
        light: The picture for light pages, as a data URI.
        dark: The same for dark pages.
        table: The numbers.
    """

    title: str
    caption: str
    table: Table
    light: str | None = None
    dark: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A key figure, with what qualifies it."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, and how many bytes of it are left out."""

    text: str
    left_out: int = 0

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n") + 1


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that qualifies the report."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report: its anchor, its title, and what the list of contents says beside it."""

    anchor: str
    title: str
    count: str = ""
    notes: Sequence[Note] = field(default_factory=tuple)
