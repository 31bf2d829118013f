"""Other readings of a text in which a secret shows that the text as it stands hides.

The soft view has the length of the text: escapes and the marks of diffs and numbered lines become blanks. A decoded
view is shorter and carries the place of each of its characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import Final
from urllib.parse import unquote

_ESCAPES: Final = tuple(
    ("\\" * depth + mark, " " * depth + blank)
    for depth in (7, 4, 3, 2, 1)
    for mark, blank in (("n", "\n"), ("r", " "), ("t", " "), ('"', '"'), ("'", "'"))
    if not (depth in {7, 3} and mark in "nrt") and not (depth in {4, 2} and mark in "\"'")
)
"""An escaped mark, and what it becomes: blanks, and the mark that it stands for at the end."""

_LINE_MARK: Final = re.compile(r"(?m)^(?:[+\-<>|] ?|[ \t]{0,6}\d{1,6}(?:[→\t|:]|[ \t]{2})[ \t]?)")
_ENCODED: Final = re.compile(
    r"[%\\&](?:(?<=%)[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*|"
    r"(?<=\\)(?:\\?(?:u00[0-9a-fA-F]{2}|/|x[0-9a-fA-F]{2})|\r?\n[ \t]{0,8}|\$)|"
    r"(?<=&)(?:amp|lt|gt|quot|apos|#39|#x27|#34|#x2[fF]);)"
)
_NEAR: Final = 300
_LONGEST: Final = 10_000
_TOKEN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.")


def soft_views(texts: Sequence[str]) -> list[str | None]:
    r"""Readings without escapes, each of the length of its text; ``None`` where it would be the text itself.

    Example:
        >>> soft_views([r'{\"a\":1}', "plain"])
        ['{ "a ":1}', None]
    """
    escaped = iter(_unescaped([text for text in texts if "\\" in text]))
    views: list[str | None] = []
    for text in texts:
        view = next(escaped) if "\\" in text else text
        # Plain searches: every text of every run comes by here.
        if "KEY-----" in view or ("Secret" in view and "kind" in view) or ("machine " in view and "password" in view):
            view = _LINE_MARK.sub(_blank, view)
        views.append(view if view is not text and view != text else None)
    return views


def _blank(mark: re.Match[str]) -> str:
    """What hides the lines of keys, Secrets and netrc files in diffs and numbered listings."""
    return " " * len(mark[0])


def _unescaped(texts: list[str]) -> Iterator[str]:
    """Texts with blanks for escapes. All are worked on as one string, which is much faster for many small ones."""
    joined = "\n".join(texts)
    for escaped, plain in _ESCAPES:
        if escaped in joined:
            joined = joined.replace(escaped, plain)
    start = 0
    for text in texts:
        yield joined[start : start + len(text)]
        start += len(text) + 1


_ESCAPE_SIGNS: Final = ("\\\n", "\\\r", "\\u00", "\\/", "\\x", "\\$")


def may_hold_codes(text: str) -> bool:
    """Whether a text may hold codes: a chain of plain searches, since every text of every run comes by here."""
    return (
        "%" in text
        or ("\\" in text and any(sign in text for sign in _ESCAPE_SIGNS))
        or ("&" in text and ("&amp;" in text or "&#" in text or "&lt;" in text or "&gt;" in text or "&quot;" in text))
    )


@dataclass(frozen=True, slots=True)
class DecodedView:
    """A reading in which codes such as ``%2F`` are the characters that they stand for.

    Attributes:
        text: The reading.
        starts: Where pieces of the reading begin in it.
        origins: Where the same pieces begin in the text.
        widths: How many characters of the text a piece has: equal to its own length, or the width of a code.
    """

    text: str
    starts: list[int]
    origins: list[int]
    widths: list[int]

    def origin(self, place: int, *, is_end: bool = False) -> int:
        """Where a place of the reading stands in the text."""
        probe = place - 1 if is_end and place else place
        piece = bisect_right(self.starts, probe) - 1
        offset = probe - self.starts[piece]
        length = (self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.text)) - self.starts[piece]
        if length == self.widths[piece]:
            return self.origins[piece] + offset + (1 if probe != place else 0)
        return self.origins[piece] + (self.widths[piece] if is_end else 0)


def decoded_view(text: str) -> DecodedView | None:
    """The surroundings of codes in a text, decoded; ``None`` where there are none.

    Args:
        text: The text, or its soft view.
    """
    if not may_hold_codes(text):
        return None
    found = list(_ENCODED.finditer(text))
    if not found:
        return None
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    widths: list[int] = []
    length = 0

    def add(piece: str, origin: int, width: int) -> None:
        nonlocal length
        if piece:
            pieces.append(piece)
            starts.append(length)
            origins.append(origin)
            widths.append(width)
            length += len(piece)

    last = 0
    for code in found:
        plain = _line_around(text, last, code.start(), is_first=last == 0)
        for number, (begin, end) in enumerate(plain):
            if number:
                gap = plain[0][1]
                add("\n", gap, begin - gap)
            add(text[begin:end], begin, end - begin)
        add(_decoded(code[0]), code.start(), code.end() - code.start())
        last = code.end()
    tail = text.find("\n", last, last + _LONGEST)
    end = tail if tail >= 0 else min(len(text), last + _LONGEST)
    add(text[last:end], last, end - last)
    return DecodedView("".join(pieces), starts, origins, widths)


def _line_around(text: str, last: int, start: int, *, is_first: bool) -> list[tuple[int, int]]:
    """What of the plain text between two codes is kept: everything, or only the ends of a long stretch.

    An end takes in the whole of a token that it would cut.
    """
    if start - last <= _NEAR * 2:
        return [(last, start)]
    begin = start - _NEAR
    while begin > last and start - begin < _LONGEST and text[begin - 1] in _TOKEN:
        begin -= 1
    if is_first:
        return [(begin, start)]
    end = last + _NEAR
    while end < begin and end - last < _LONGEST and text[end] in _TOKEN:
        end += 1
    return [(last, start)] if end >= begin else [(last, end), (begin, start)]


@lru_cache(maxsize=4096)
def _decoded(code: str) -> str:
    if code[0] == "%":
        return unquote(code, errors="replace")
    if code[0] == "&":
        return unescape(code)
    bare = code.lstrip("\\")
    if bare in {"/", "$"}:
        return bare
    if bare[0] in "\r\n":
        return ""  # a line that goes on in the next
    return chr(int(bare[1:], 16))
