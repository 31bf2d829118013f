r"""The tolerant reader: every JSON object that a JSON Lines file holds, and where everything else stands.

Lines end at ``\n`` and nowhere else (U+2028 inside a string does not end a line). A damaged line never costs
more than itself: glued objects are taken apart, invalid UTF-8 and lone surrogates are replaced and flagged, the
rest is reported with line, offset and reason. A last line without its newline is a record if it is complete,
and otherwise torn: the reader's cursor stays before it, so that a later reading picks it up.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import msgspec

MAX_LINE_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Line(msgspec.Struct, gc=False):
    """One JSON value of a line. ``flags`` names what had to be repaired to read it."""

    number: int
    offset: int
    size: int
    value: Any
    flags: tuple[str, ...] = ()


class Damage(msgspec.Struct, gc=False):
    """A stretch of bytes that is no JSON value. ``torn``: it is a last line still being written."""

    number: int
    offset: int
    size: int
    reason: str
    torn: bool = False


def read_json_lines(path: Path, *, offset: int = 0, line: int = 1) -> Iterator[Line | Damage]:
    """Reads a JSON Lines file from a byte offset on.

    Args:
        path: The file. It may grow while it is read; what was there when reading began is read.
        offset: Byte offset of the first line to read (a former cursor).
        line: Number of that line, from 1.

    Yields:
        Each value or damage, in file order.
    """
    for number, raw in enumerate(_raw_lines(path, offset), start=line):
        if raw.content is None:
            yield Damage(number, raw.offset, raw.size, f"line longer than {MAX_LINE_BYTES} bytes")
        else:
            yield from _values(raw.content, number, raw.offset, last=not raw.terminated)


class _RawLine(msgspec.Struct, gc=False):
    offset: int
    size: int
    content: bytes | None
    terminated: bool = True


def _raw_lines(path: Path, offset: int) -> Iterator[_RawLine]:
    """The lines of a file; one that is too long comes without its content."""
    with _opened(path) as (file, end):
        file.seek(offset)
        at, pending, dropped = offset, b"", 0
        while (left := end - file.tell()) > 0 and (chunk := file.read(min(_CHUNK, left))):
            lines = (pending + chunk).split(b"\n")
            pending = lines.pop()
            for content in lines:
                size = dropped + len(content)
                yield _RawLine(at, size, None if dropped or size > MAX_LINE_BYTES else content)
                at, dropped = at + size + 1, 0
            if len(pending) + dropped > MAX_LINE_BYTES:
                dropped, pending = dropped + len(pending), b""
        if dropped:
            yield _RawLine(at, dropped + len(pending), None, terminated=False)
        elif pending:
            yield _RawLine(at, len(pending), pending, terminated=False)


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed (gzip), by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP


@contextmanager
def _opened(path: Path) -> Generator[tuple[IO[bytes], int]]:
    """The bytes of a file, and where they end. Offsets in a compressed file are offsets in what it unpacks to."""
    if is_compressed(path):
        with gzip.open(path) as file:
            yield cast(IO[bytes], file), sys.maxsize
    else:
        with path.open("rb") as file:
            yield file, path.stat().st_size


def _values(raw: bytes, number: int, start: int, *, last: bool) -> Iterator[Line | Damage]:
    text = raw.removeprefix(_BOM) if start == 0 else raw
    try:
        yield Line(number, start, len(raw), msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError):
        if text.strip(b" \t\r\x00"):
            yield from _repaired(text, number, start, last=last)


def _repaired(raw: bytes, number: int, start: int, *, last: bool) -> Iterator[Line | Damage]:
    """What a line gives that is not one plain JSON value."""
    flags: list[str] = []
    body = raw.strip(b" \t\r\x00")
    if len(body) != len(raw.strip(b" \t\r")):
        flags.append("nul_bytes")
    text = body.decode("utf-8", "replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in body:
        flags.append("invalid_utf8")
    at, glued = 0, 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", "nested too deeply")
            yield Damage(number, start, len(raw), f"not JSON: {why}" if not last else "cut off", torn=last)
            return
        value, had_surrogates = _without_surrogates(value)
        found = [*flags, *(["lone_surrogates"] if had_surrogates else []), *(["glued"] if glued else [])]
        while at < len(text) and text[at] in " \t\r\x00":
            at += 1
        if at < len(text) and not glued:
            found.append("glued")
        glued += 1
        yield Line(number, start, len(raw), value, tuple(found))


def _constant(name: str) -> str:
    """NaN and infinities are not JSON; they are kept as the words they were written as."""
    return name


_DECODER = json.JSONDecoder(parse_constant=_constant, strict=False)


def _without_surrogates(value: object) -> tuple[object, bool]:
    """The value with lone surrogates replaced, and whether there were any."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(clean), True
    return value, False
