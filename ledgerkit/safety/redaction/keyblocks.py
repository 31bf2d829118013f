"""Private keys: whole, or as a log has cut them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ledgerkit.safety.redaction.places import Place
from ledgerkit.safety.redaction.values import looks_random

_KEY_END: Final = re.compile(r"-{4,5}[\s\\]*END [A-Z0-9 ]{0,30}(?:PRIVATE KEY(?: BLOCK)?)-{4,5}")
_KEY_BODY: Final = re.compile(
    r"(?:[A-Za-z0-9+/=]{16,}|[\s\\nrt\"'+>|,-]|\d+[→:\t ]|[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,80}|=[A-Za-z0-9+/]{4})+"
    r"(?:[A-Za-z0-9+/=]+)?"
)
_LEADS: Final = "+-><| \t\r"
_LINE_BREAK: Final = re.compile(r"\\{1,4}[nr]|[\n\r]|[\"'][,+ ]{0,3}")
_NUMBER: Final = re.compile(r"\d{1,6}[→:|\t]")
_BODY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{16,100}={0,2}$|=[A-Za-z0-9+/]{4}$")
_LAST_LINE: Final = re.compile(r"[A-Za-z0-9+/]{1,100}={0,2}$")


def read_key_block(text: str, start: int) -> Iterator[Place]:
    """A private key from its first line to its last, or to where a log has cut it."""
    head = text.find("KEY", start)
    closing = _KEY_END.search(text, start, start + 20_000)
    again = text.find("-----BEGIN", start + 5, start + 20_000)
    if closing and not (0 <= again < closing.start()):
        body = re.sub(r"\\n|\\r|[^A-Za-z0-9+/]", "", text[head : closing.start()])
        if len(body) >= 40:
            yield Place(start, closing.end(), "private-key")
        return
    header = re.compile(r"-----BEGIN [A-Z0-9 ]*KEY(?: BLOCK)?-----").match(text, start)
    if header and (found := _KEY_BODY.match(text, header.end(), start + 20_000)) and _is_key_body(found[0]):
        end = found.end()
        while text[end - 1] in " \t\r\n\\\"',":
            end -= 1
        yield Place(start, end, "private-key")


def _is_key_body(body: str) -> bool:
    longest = max(re.findall(r"[A-Za-z0-9+/=]{16,}", body), key=len, default="")
    return looks_random(longest, least=16)


def read_key_tail(text: str, start: int) -> Iterator[Place]:
    """The last lines of a private key whose first lines are not there."""
    closing = _KEY_END.match(text, start)
    base = max(0, start - 9_000)
    window = text[base:start]
    if closing is None or window.rfind("-----BEGIN") > window.rfind("-----END"):
        return
    begin, body = start, ""
    for line_begin, line_end in _lines_before(window):
        line = window[line_begin:line_end]
        if not line:
            continue
        if not (_BODY_LINE if body else _LAST_LINE).match(line):
            break
        begin, body = base + line_begin, line + body
    if _is_key_body(body):
        yield Place(begin, closing.end(), "private-key")


def _lines_before(window: str) -> Iterator[tuple[int, int]]:
    """The lines of a text from the last to the first: the bounds of each without marks and blanks."""
    breaks = [(0, 0), *((found.start(), found.end()) for found in _LINE_BREAK.finditer(window)), (len(window),) * 2]
    for (_, first), (last, _) in reversed(list(pairwise(breaks))):
        line = window[first:last]
        begin = first + len(line) - len(line.lstrip(_LEADS))
        if number := _NUMBER.match(window, begin, last):
            begin = number.end()
        line = window[begin:last]
        begin += len(line) - len(line.lstrip(_LEADS))
        yield begin, begin + len(line.strip(_LEADS))
