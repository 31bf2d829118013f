"""Sessions of the pi coding agent: JSON Lines, a header and then entries.

The first generation of the format is a plain sequence; since version 2 entries have ids and parents and form a tree, in
which every branch is kept. A session that was branched off another begins with copies of its entries: an entry is known
by what it says and when, so that copies are told in every file and generation.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import ParsedFile, Quarantined
from ledgerkit.importers.pi.reading import NAME, Reading
from ledgerkit.importers.reader import Damage, read_json_lines
from ledgerkit.importers.shapes import is_object
from ledgerkit.protocol.identifiers import is_uuid

__all__ = ["NAME", "read", "sniff"]
_HEADER: Final = ("cwd", "timestamp")


def sniff(values: list[Any]) -> bool:
    """Whether the first value is the header of a session."""
    first = values[0]
    if not is_object(first) or first.get("type") != "session":
        return False
    native = first.get("id")
    return isinstance(native, str) and is_uuid(native) and all(isinstance(first.get(k), str) for k in _HEADER)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a session. It is always read whole: entries refer to entries before them."""
    del offset, line, measure
    reading = Reading(keep_reasoning=keep_reasoning)
    parsed = ParsedFile(reading.records, [], path.stat().st_size, 0, NAME)
    last = 0
    for item in read_json_lines(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif not is_object(item.value):
            reason = "not a JSON object"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no object"))
        elif problem := reading.take(item):
            kind = str(item.value.get("type"))
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, problem, kind))
    return parsed
