"""What must hold when the reader and the importers above it meet any bytes: the target of ``make fuzz``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ledgerkit.importers.reader import Damage, Line, read_json_lines, read_values
from ledgerkit.importers.registry import recognise
from tests.damage.reading import told

CHUNKS: Final = (1, 7, 509)
LONGEST: Final = 200
"""A line limit that drawn files reach."""
_BLANK: Final = frozenset(b" \t\r\n\0\xef\xbb\xbf")
_Found = list[Line | Damage]


def check(raw: bytes, path: Path) -> None:
    """What must hold of a file with any bytes.

    Args:
        raw: The bytes.
        path: Where they may be written.

    Raises:
        AssertionError: If something does not hold; what else is raised is a fault too.
    """
    path.write_bytes(raw)
    for limit in (LONGEST, len(raw) + 1):
        found = list(read_json_lines(path, max_line_bytes=limit))
        for chunk in CHUNKS if len(raw) < 1 << 10 else CHUNKS[-1:]:
            assert list(read_json_lines(path, max_line_bytes=limit, chunk=chunk)) == found, f"in chunks of {chunk}"
        _check_places(raw, found)
        _check_going_on(path, found, limit)
    list(read_values(path))
    if (log_format := recognise(path)) is not None:
        told(log_format, path)


def _check_places(raw: bytes, found: _Found) -> None:
    """Every byte that is not blank belongs to one value or one stretch of damage, in order."""
    if raw.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK")):
        return  # packed: places are those of what is in it
    end = 0
    for each in found:
        assert each.offset >= end, "two hold the same bytes"
        assert _BLANK.issuperset(raw[end : each.offset]), f"bytes {end} to {each.offset} belong to nothing"
        end = each.offset + each.size
    assert end <= len(raw)
    assert _BLANK.issuperset(raw[end:]), f"bytes from {end} on belong to nothing"


def _check_going_on(path: Path, found: _Found, limit: int) -> None:
    """Reading from a line's beginning on gives what reading the whole gave from there."""
    for at in (len(found) // 2, len(found) - 1):
        if at < 1 or found[at - 1].number == found[at].number:
            continue
        rest = list(read_json_lines(path, offset=found[at].offset, line=found[at].number, max_line_bytes=limit))
        assert rest == found[at:], f"from byte {found[at].offset} on"
