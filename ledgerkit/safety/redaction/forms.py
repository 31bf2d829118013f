"""The ways in which a value that is known is written elsewhere: escaped, encoded, quoted, in lines."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

SHORTEST: Final = 8
"""Values with fewer characters are not looked for elsewhere: they would be found in words."""
_LINE_WIDTHS: Final = (64, 70, 76)
_SHORTEST_LINE: Final = 40
_SHORTEST_CODE: Final = 14
_SHELL_SPECIAL: Final = re.compile(r"([\\\"$`])")


def written_forms(value: str, kind: str) -> dict[str, str]:
    """The ways in which a value may be written, and what each is called.

    Args:
        value: The value as it is.
        kind: What it is; a private key is looked for line by line.

    Example:
        >>> sorted(set(written_forms('p"s&w0rd!-again', "password").values()))
        ['base64', 'html', 'json', 'python', 'raw', 'url']
    """
    if len(value) < SHORTEST:
        return {}
    if kind == "private-key":
        return dict.fromkeys([*_key_lines(value), value], "raw")
    forms: dict[str, str] = {}
    for spelling in _spellings(value):
        for name, text in _forms(spelling):
            if len(text) >= SHORTEST:
                forms.setdefault(text, name)
    return forms


def _spellings(value: str) -> Iterator[str]:
    """A value, and what it is if backslashes of its own were taken for escapes of its surroundings."""
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    yield from dict.fromkeys((value, escaped, escaped.replace("/", "\\/")))


def _forms(value: str) -> Iterator[tuple[str, str]]:
    yield "raw", value
    for is_ascii in (False, True):
        escaped = value
        for _ in range(3):
            escaped = json.dumps(escaped, ensure_ascii=is_ascii)[1:-1]
            yield "json", escaped
            yield "json", escaped.replace("/", "\\/")
            yield "json", escaped.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    for encoded in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield "url", encoded
        yield "url", _lower_codes(encoded)
    yield "html", html.escape(value)
    yield "html", html.escape(value, quote=False)
    yield "html", html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield "shell", shlex.quote(value)[1:-1] if "'" in value else value
    yield "shell", _SHELL_SPECIAL.sub(r"\\\1", value)
    yield "python", value.replace("\\", "\\\\").replace("'", "\\'")
    yield from (("base64", code) for code in _base64_cores(value.encode("utf-8", "surrogatepass")))


def _lower_codes(text: str) -> str:
    pieces = text.split("%")
    return pieces[0] + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in pieces[1:])


def _base64_cores(data: bytes) -> Iterator[str]:
    """What base64 has of some bytes whatever stands before and behind them: three ways to lie in groups of three."""
    for lead in range(3):
        code = base64.b64encode(b"\0" * lead + data).decode()
        first = (lead * 8 + 5) // 6
        last = (lead + len(data)) * 8 // 6
        core = code[first:last]
        if len(core) >= _SHORTEST_CODE:
            yield core
            yield core.translate(_URL_SAFE)


_URL_SAFE: Final = str.maketrans("+/", "-_")


def _key_lines(body: str) -> Iterator[str]:
    for width in _LINE_WIDTHS:
        for start in range(0, len(body), width):
            if len(line := body[start : start + width]) >= _SHORTEST_LINE:
                yield line
