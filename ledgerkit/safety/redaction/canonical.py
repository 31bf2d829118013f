"""One secret, whatever way it is written: the escapes of JSON, of addresses and of wrapped lines taken off."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import unquote

_CODE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_BARE_QUOTE: Final = re.compile(r'(?<!\\)((?:\\\\)*)"')
_DEPTH: Final = 4


def canonical(value: str, kind: str = "") -> str:
    r"""The value of a secret without what its surroundings did to it.

    Example:
        >>> canonical(r'abcd\\\"ef'), canonical("p%40ss"), canonical("plain")
        ('abcd"ef', 'p@ss', 'plain')
    """
    if kind == "private-key":
        return _key(value)
    for _ in range(_DEPTH):
        plain = _without_escapes(value)
        if plain == value:
            break
        value = plain
    if _CODE.search(value):
        plain = unquote(value, errors="strict") if _is_decodable(value) else value
        value = plain if plain.isprintable() else value
    return value


def _is_decodable(value: str) -> bool:
    try:
        unquote(value, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _without_escapes(value: str) -> str:
    if "\\" not in value:
        return value
    try:
        plain = json.loads('"' + _BARE_QUOTE.sub(r"\1\"", value) + '"', strict=False)
    except ValueError:
        return value
    return plain if isinstance(plain, str) and len(plain) >= 4 else value


_LINE_END: Final = re.compile(r"\\+r\\+n|\\+[nr]|\r?\n")
_NUMBER: Final = re.compile(r"\s*\d{1,6}[→:|\t]")
_HEADER: Final = re.compile(r"[A-Z][A-Za-z0-9-]*: |-{4,5}[\s\\]*(?:BEGIN|END)")


def _key(value: str) -> str:
    """A private key as its body alone, so that line ends, indents and marks of a diff make no difference."""
    first, *rest = (_NUMBER.sub("", line).strip() for line in _LINE_END.split(value))
    rest = [line for line in rest if line]
    for mark in "+->|":
        if rest and all(line.startswith(mark) for line in rest):
            rest = [line[1:].strip() for line in rest]
    lines = (line.strip("\"' \\,") for line in (first, *rest))
    body = "".join(line for line in lines if not _HEADER.match(line))
    return re.sub(r"[^A-Za-z0-9+/=]", "", body) or value
