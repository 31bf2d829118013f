r"""The tolerant reader: every JSON object that a JSON Lines file holds, and where everything else stands.

Lines end at ``\n`` and nowhere else (U+2028 inside a string does not end a line). A damaged line never costs
more than itself: glued objects are taken apart, invalid UTF-8 and lone surrogates are replaced and flagged, the
rest is reported with line, offset and reason. A last line without its newline is a record if it is complete,
and otherwise torn: a later reading begins where the torn part does, and picks it up.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

import msgspec

from ledgerkit.importers.shapes import is_list, is_object
from ledgerkit.protocol.model import MAX_JSON_DEPTH, replace_lone_surrogates

MAX_LINE_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Line(msgspec.Struct, gc=False):
    """One JSON value of a line, and the bytes that belong to it: values glued together share a line, not bytes.

    ``flags`` names what had to be repaired to read it.
    """

    number: int
    offset: int
    size: int
    value: Any
    flags: tuple[str, ...] = ()


class Damage(msgspec.Struct, gc=False):
    """A stretch of bytes that is no JSON value. ``torn``: it is (the rest of) a last line still being written."""

    number: int
    offset: int
    size: int
    reason: str
    torn: bool = False


def read_json_lines(
    path: Path, *, offset: int = 0, line: int = 1, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Line | Damage]:
    """Reads a JSON Lines file from a byte offset on.

    Args:
        path: The file. It may grow while it is read; what was there when reading began is read.
        offset: Byte offset to begin at (a former cursor).
        line: Number of the line there, from 1.
        max_line_bytes: A longer line is damage, so that no file can fill the memory.

    Yields:
        Each value or damage, in file order.
    """
    for number, raw in enumerate(_raw_lines(path, offset, max_line_bytes), start=line):
        if isinstance(raw.content, str):
            yield Damage(number, raw.offset, raw.size, raw.content, torn=not raw.terminated)
        else:
            yield from _values(raw.content, number, raw.offset, last=not raw.terminated)


class _RawLine(msgspec.Struct, gc=False):
    """The bytes of a line, or the reason why there are none."""

    offset: int
    size: int
    content: bytes | str
    terminated: bool = True


def _raw_lines(path: Path, offset: int, limit: int) -> Iterator[_RawLine]:
    """The lines of a file; one that is too long comes without its content."""
    too_long = f"line longer than {limit} bytes"
    at, pending, dropped = offset, b"", 0
    with _opened(path) as (file, end):
        try:
            file.seek(offset)
            while (left := end - file.tell()) > 0 and (chunk := file.read1(min(_CHUNK, left))):
                lines = (pending + chunk).split(b"\n")
                pending = lines.pop()
                for content in lines:
                    size = dropped + len(content)
                    yield _RawLine(at, size, too_long if size > limit else content)
                    at, dropped = at + size + 1, 0
                if len(pending) + dropped > limit:
                    dropped, pending = dropped + len(pending), b""
        except _BAD_GZIP as error:
            yield _RawLine(at, dropped + len(pending), f"compressed data is damaged: {error}", terminated=False)
            return
        if dropped:
            yield _RawLine(at, dropped + len(pending), too_long, terminated=False)
        elif pending:
            yield _RawLine(at, len(pending), pending, terminated=False)


_BAD_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed (gzip), by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP


@contextmanager
def _opened(path: Path) -> Generator[tuple[BufferedIOBase, int]]:
    """The bytes of a file, and where they end. Offsets in a compressed file are offsets in what it unpacks to."""
    if is_compressed(path):
        with gzip.open(path) as file:
            yield cast(BufferedIOBase, file), sys.maxsize
    else:
        with path.open("rb") as file:
            yield file, path.stat().st_size


def _values(raw: bytes, number: int, start: int, *, last: bool) -> Iterator[Line | Damage]:
    """What a line holds; nothing if it is blank."""
    try:
        value = msgspec.json.decode(raw.removeprefix(_BOM) if start == 0 else raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _repaired(raw, number, start, last=last)
        return
    if raw.count(b"[") + raw.count(b"{") > MAX_JSON_DEPTH and _is_too_deep(value):
        yield Damage(number, start, len(raw), _TOO_DEEP)
    else:
        yield Line(number, start, len(raw), value)


def _repaired(raw: bytes, number: int, start: int, *, last: bool) -> Iterator[Line | Damage]:
    """What a line gives that is not one plain JSON value."""
    escaped = raw.decode("utf-8", "surrogateescape")
    text = _SURROGATE.sub("\ufffd", escaped)
    flags = (*(["nul_bytes"] if b"\0" in raw else []), *(["invalid_utf8"] if escaped != text else []))
    begin, offset, at = 0, start, _after_blanks(text, int(start == 0 and text.startswith("\ufeff")))
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            why = f"not JSON: {error.msg}" if isinstance(error, json.JSONDecodeError) else _TOO_DEEP
            yield Damage(number, offset, start + len(raw) - offset, "cut off" if last else why, torn=last)
            return
        at = _after_blanks(text, at)
        size = len(escaped[begin:at].encode("utf-8", "surrogateescape"))
        if _is_too_deep(value):
            yield Damage(number, offset, size, _TOO_DEEP)
        else:
            clean = replace_lone_surrogates(value)
            lone = ("lone_surrogates",) if clean != value else ()
            glued = ("glued",) if begin or at < len(text) else ()
            yield Line(number, offset, size, clean, (*flags, *lone, *glued))
        begin, offset = at, offset + size


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\0":
        at += 1
    return at


def _is_too_deep(value: object) -> bool:
    """Whether a value is nested more deeply than the protocol allows."""
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            child for item in level for child in (item.values() if is_object(item) else item if is_list(item) else ())
        ]
        if not level:
            return False
    return True


def _finite(word: str) -> float | str:
    """A number as it is; one that no float holds stays the word that it was written as."""
    number = float(word)
    return number if math.isfinite(number) else word


def _integer(word: str) -> int | str:
    """An integer; one with more digits than Python reads back stays the word that it was written as."""
    return int(word) if len(word) <= _MOST_DIGITS else word


_MOST_DIGITS = 4000
_TOO_DEEP = f"nested deeper than {MAX_JSON_DEPTH} levels"
_SURROGATE = re.compile("[\ud800-\udfff]")
# NaN and infinities are not JSON; they are kept as the words they were written as.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=str, strict=False)
