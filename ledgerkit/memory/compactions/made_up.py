"""What a summary says that nothing before it holds: names of files and code, numbers, command lines.

A number of one or two digits is too common to tell anything. One that the model counted or computed itself is found
here, too: nothing before holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.extract.lines import quoted_lines
from ledgerkit.memory.rules.contents import IDENTIFIER, NUMBER

_IDENTIFIERS: Final = re.compile(IDENTIFIER)
_NUMBERS: Final = re.compile(NUMBER)
_CODE_BLOCK: Final = re.compile(r"^ {0,12}(`{3,}|~{3,}).*?^ {0,12}\1[^\n]*$", re.MULTILINE | re.DOTALL)
_MANY_DIGITS: Final = 3
_SPACE: Final = re.compile(r"\s+")
_OF_CLIENT: Final = re.compile(r"^[^\n]*\bread the full transcript at\b[^\n]*$", re.MULTILINE | re.IGNORECASE)
"""A line that Claude Code puts behind a summary. It names the log itself, which nothing in the log does."""
_TWO_WORDS: Final = re.compile(r"[A-Za-z]+/[A-Za-z]+")
_NO_LINE: Final = re.compile(r"<|\s>\s|^(?:case|if|for|while)\b")
"""Signs of a form to be filled in, or of code that only looks like a command line."""


@dataclass(frozen=True)
class MadeUp:
    """Something that a summary says: its kind, what it is, the rule that asks, its place, and whether it is known."""

    kind: str
    subject: str
    rule: str
    start: int
    is_known: bool


def sourced(summary: str, before: str) -> Iterator[MadeUp]:
    """Every name, number and command line of a summary, each once, and whether the text before it holds it.

    Args:
        summary: The summary.
        before: Everything that was said, read and printed before it.

    Example:
        >>> found = sourced("Changed `src/a.py` and `src/b.py`: 1,204 lines.", "wrote src/a.py")
        >>> [(one.kind, one.subject, one.is_known) for one in found]
        [('name', 'src/a.py', True), ('name', 'src/b.py', False), ('number', '1,204', False)]
    """
    prose = _OF_CLIENT.sub(_blank, _CODE_BLOCK.sub(_blank, summary))
    met = set[str]()
    for found in _IDENTIFIERS.finditer(prose):
        name = found[0].removesuffix("()").rstrip(".")
        if name not in met and not _TWO_WORDS.fullmatch(name):
            met.add(name)
            yield MadeUp("name", name, "R9", found.start(), _is_named(name, before))
    numbers = {_plain(one[1]) for one in _NUMBERS.finditer(before)}
    for found in _NUMBERS.finditer(_IDENTIFIERS.sub(_blank, prose)):
        number = _plain(found[1])
        if sum(c.isdigit() for c in number) >= _MANY_DIGITS and number not in met:
            met.add(number)
            yield MadeUp("number", found[1], "R8", found.start(1), number in numbers or number in before)
    yield from _commands(prose, before)


def _is_named(name: str, before: str) -> bool:
    """Whether a name was there before.

    Of a path the last piece counts, since folders are written in many ways; of a qualified name its pieces.
    """
    if name in before:
        return True
    last = name.rstrip("/").rpartition("/")[2]
    if last != name:
        return bool(last) and last in before
    pieces = re.split(r"::|[.#]", name)
    return len(pieces) > 1 and not name[-1:].isdigit() and all(one in before for one in pieces)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _plain(number: str) -> str:
    return number.replace(",", "").lstrip("+-")


def _commands(prose: str, before: str) -> Iterator[MadeUp]:
    """Command lines in code spans and behind prompts, whatever the white space."""
    lines = quoted_lines(pl.DataFrame({"key": [0], "text": [prose]}, schema={"key": pl.UInt32, "text": pl.String}))
    folded = _SPACE.sub(" ", before)
    for raw, start in lines.select("raw", "start").unique("raw", keep="first", maintain_order=True).iter_rows():
        line = _SPACE.sub(" ", raw).strip()
        if line and not _NO_LINE.search(line):
            yield MadeUp("command", line, "R9", start, line in folded)
