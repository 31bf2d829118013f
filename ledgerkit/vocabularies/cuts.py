r"""Where a long text may be cut before it is counted: only where the pattern of the encoding ends a piece anyway.

tiktoken's patterns cut a text into pieces, then merge bytes inside each piece. Two things are bad about long texts:
a million blanks in a row make its regular expression panic, and a list of all token ids takes much memory. Every cut
made here is exact, so the counts of the pieces add up to the count of the whole text. In both patterns

* no piece goes on with a space after a letter, or with a letter after a newline;
* a run of blanks that no newline follows is a piece of its own by ``\s+(?!\S)``: all of it at the end of the text, all
  but its last blank before another character; and what precedes the run is cut as if the text ended there.

One difference: ``cl100k_base`` takes all white space at the end of a text as one piece, newlines included, so a run of
blanks there is no piece of its own (and does not panic).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LONG_RUN: Final = 100_000
"""Blanks in a row that are counted apart; the patterns fail at a million."""

LONG_PIECE: Final = 1_000_000
"""Characters after which a text is cut at the next place that allows it."""

# Unicode White_Space without CR and LF.
_BLANKS: Final = "\t\v\f \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_BLANK_RUN: Final = re.compile(f"[{_BLANKS}]*")
_CUT: Final = re.compile(r"(?<=[A-Za-z])(?= )|(?<=\n)(?=[A-Za-z])")
_JOINS_TRAILING_SPACE: Final = frozenset({"cl100k_base"})


class Piece(NamedTuple):
    """A part of a text that can be counted alone.

    Attributes:
        text: The part.
        is_blank_run: True for a long run of blanks, which is one piece of the pattern.
    """

    text: str
    is_blank_run: bool


def pieces(text: str, encoding: str) -> Iterator[Piece]:
    """Cuts a text; the parts joined are the text, and their token counts add up to its token count.

    >>> [len(piece.text) for piece in pieces("x" + " " * 100_000 + "y", "o200k_base")]
    [1, 99999, 2]
    """
    start = 0
    for blank_start, blank_end in _long_blank_runs(text, trailing=encoding not in _JOINS_TRAILING_SPACE):
        yield from _between_blank_runs(text[start:blank_start])
        yield Piece(text[blank_start:blank_end], is_blank_run=True)
        start = blank_end
    yield from _between_blank_runs(text[start:])


def _between_blank_runs(text: str) -> Iterator[Piece]:
    """A text without a place to cut stays whole, which is slow beyond some megabytes but right."""
    start = 0
    while len(text) - start > LONG_PIECE and (cut := _CUT.search(text, start + LONG_PIECE)):
        yield Piece(text[start : cut.start()], is_blank_run=False)
        start = cut.start()
    yield Piece(text[start:], is_blank_run=False)


def _long_blank_runs(text: str, *, trailing: bool) -> Iterator[tuple[int, int]]:
    """Start and end of each long run of blanks that is a piece; ``trailing`` says whether one that ends the text is.

    A long run covers a multiple of its least length, so only those positions are looked at.
    """
    done = 0
    for position in range(0, len(text), LONG_RUN):
        if position < done or text[position] not in _BLANKS:
            continue
        before = text[max(done, position - LONG_RUN) : position]
        start = position - len(before) + len(before.rstrip(_BLANKS))
        done = _end_of_blanks(text, position)
        at_end = done == len(text)
        if done - start >= LONG_RUN and (trailing if at_end else text[done] not in "\r\n"):
            yield start, done if at_end else done - 1


def _end_of_blanks(text: str, position: int) -> int:
    match = _BLANK_RUN.match(text, position)
    return match.end() if match else position
