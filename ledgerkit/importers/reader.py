r"""The tolerant reader: every JSON object that a JSON Lines file holds, and where everything else stands.

Lines end at ``\n`` and nowhere else (U+2028 inside a string does not end a line). A damaged line never costs
more than itself: glued objects are taken apart, invalid UTF-8 and lone surrogates are replaced and flagged, the
rest is reported with line, offset and reason. A last line without its newline is a record if it is complete,
and otherwise torn: a later reading begins where the torn part does, and picks it up.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ledgerkit.importers.containers import CHUNK, DAMAGED, opened
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.model import MAX_JSON_DEPTH, replace_lone_surrogates

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is passed over without being held in memory, and reported."""
_BOM = b"\xef\xbb\xbf"
_HEAD_CHUNK = 1 << 16


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
    path: Path, *, offset: int = 0, line: int = 1, max_line_bytes: int = MAX_LINE_BYTES, chunk: int = CHUNK
) -> Iterator[Line | Damage]:
    """Reads a JSON Lines file from a byte offset on.

    Args:
        path: The file. It may grow while it is read; what was there when reading began is read.
        offset: Byte offset to begin at (a former cursor).
        line: Number of the line there, from 1.
        max_line_bytes: A longer line is damage, so that no file can fill the memory.
        chunk: Bytes that are read at once; few for who looks at the first lines only.

    Yields:
        Each value or damage, in file order.
    """
    for number, raw in enumerate(_raw_lines(path, offset, max_line_bytes, chunk), start=line):
        content = raw.content
        if isinstance(content, str):
            yield Damage(number, raw.offset, raw.size, content, torn=not raw.terminated)
        elif (plain := _plain(content, number, raw.offset)) is not None:
            yield plain
        else:
            yield from _repaired(content, number, raw.offset, last=not raw.terminated)


class _RawLine(msgspec.Struct, gc=False):
    """The bytes of a line, or the reason why there are none."""

    offset: int
    size: int
    content: bytes | str
    terminated: bool = True


def _raw_lines(path: Path, offset: int, limit: int, chunk: int = CHUNK) -> Iterator[_RawLine]:
    """The lines of a file; one that is too long comes without its content."""
    too_long = f"line longer than {limit} bytes"
    at, pending, dropped = offset, b"", 0
    with opened(path) as (file, end):
        try:
            file.seek(offset)
            while (left := end - file.tell()) > 0 and (data := file.read1(min(chunk, left))):
                lines = (pending + data).split(b"\n")
                pending = lines.pop()
                for content in lines:
                    size = dropped + len(content)
                    yield _RawLine(at, size, too_long if size > limit else content)
                    at, dropped = at + size + 1, 0
                if len(pending) + dropped > limit:
                    dropped, pending = dropped + len(pending), b""
        except DAMAGED as error:
            yield _RawLine(at, dropped + len(pending), f"compressed data is damaged: {error}", terminated=False)
            return
        if dropped:
            yield _RawLine(at, dropped + len(pending), too_long, terminated=False)
        elif pending:
            yield _RawLine(at, len(pending), pending, terminated=False)


MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024
"""A larger file that is one JSON document is not read."""


def read_values(path: Path, *, offset: int = 0, line: int = 1, chunk: int = CHUNK) -> Iterator[Line | Damage]:
    """Reads a file of JSON: one document over many lines as one value, anything else line by line.

    Args:
        path: The file, plain or compressed.
        offset: Byte offset to begin at (of JSON Lines; a document is read from its beginning).
        line: Number of the line there.
        chunk: Bytes of JSON Lines that are read at once.

    Yields:
        The document, or each value or damage, in file order.
    """
    if offset == 0 and (document := _document(path)) is not None:
        yield document
    else:
        yield from read_json_lines(path, offset=offset, line=line, chunk=chunk)


def read_bytes(raw: bytes, number: int, offset: int) -> Line | Damage:
    """Reads a JSON document that stands in something else (an archive's member).

    Args:
        raw: Its bytes.
        number: Stands for its line.
        offset: Where it stands.
    """
    found = list(_values(raw, number, 0, last=False))
    if len(found) != 1:
        return Damage(number, offset, len(raw), "no single JSON value")
    found[0].offset = offset
    return found[0]


def _document(path: Path) -> Line | Damage | None:
    """The JSON document that a file is; ``None`` if its first line is a value by itself, or it is no document."""
    first = next(_raw_lines(path, 0, MAX_LINE_BYTES, _HEAD_CHUNK), None)
    if first is None or isinstance(first.content, str):
        return None
    head = first.content.removeprefix(_BOM).strip()
    if not head.startswith((b"{", b"[")) or _is_whole(head):
        return None
    with opened(path) as (file, _):
        try:
            raw = file.read(MAX_DOCUMENT_BYTES + 1)
        except DAMAGED:
            return None
    if len(raw) > MAX_DOCUMENT_BYTES:
        return Damage(1, 0, len(raw), f"document longer than {MAX_DOCUMENT_BYTES} bytes")
    found = list(_values(raw, 1, 0, last=False))
    return found[0] if len(found) == 1 and isinstance(found[0], Line) else None


def _is_whole(head: bytes) -> bool:
    """Whether a line is a JSON value by itself."""
    try:
        msgspec.json.decode(head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _plain(raw: bytes, number: int, start: int) -> Line | Damage | None:
    """The one JSON value that a line is; ``None`` if it is anything else."""
    try:
        value = msgspec.json.decode(raw.removeprefix(_BOM) if start == 0 else raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if raw.count(b"{") + raw.count(b"[") > MAX_JSON_DEPTH and _is_too_deep(value):
        return Damage(number, start, len(raw), _TOO_DEEP)
    return Line(number, start, len(raw), value)


def _values(raw: bytes, number: int, start: int, *, last: bool) -> Iterator[Line | Damage]:
    """What a line holds; nothing if it is blank."""
    plain = _plain(raw, number, start)
    return _repaired(raw, number, start, last=last) if plain is None else iter((plain,))


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


def _is_too_deep(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether a value is nested more deeply than the protocol allows."""
    level: list[Any] = [value] if type(value) in _NESTED else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return False
        level = [child for item in level for child in _inside(item) if type(child) in _NESTED]
    return any(level)


def _inside(container: Any) -> Iterable[Any]:  # noqa: ANN401 - an object or a list
    return container.values() if is_object(container) else container


def _finite(word: str) -> float | str:
    """A number as it is; one that no float holds stays the word that it was written as."""
    number = float(word)
    return number if math.isfinite(number) else word


def _integer(word: str) -> int | str:
    """An integer; one with more digits than Python reads back stays the word that it was written as."""
    return int(word) if len(word) <= _MOST_DIGITS else word


_NESTED = frozenset((dict, list))
_MOST_DIGITS = 4000
_TOO_DEEP = f"nested deeper than {MAX_JSON_DEPTH} levels"
_SURROGATE = re.compile("[\ud800-\udfff]")
# NaN and infinities are not JSON; they are kept as the words they were written as.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=str, strict=False)
