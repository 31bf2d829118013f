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
_HEADER: Final = ("type", "id", "cwd", "timestamp")
_OF_UUIDS: Final = frozenset("0123456789abcdefABCDEF-")
_ROLES: Final = frozenset({"user", "assistant", "toolResult", "bashExecution"})


def sniff(values: list[Any]) -> bool:
    """Whether a header of a session is there, or what stands there are entries of one whose header is lost.

    What stands first decides: behind the header of another program the same entries are that program's. Some
    further on may be damaged.
    """
    if any(_header_traits(value) == len(_HEADER) for value in values):
        return True
    entries = values[1:] if _is_damaged_header(values[0]) else values
    if not any(map(_is_said, entries)) or any(map(_is_foreign, values)):
        return False
    return _is_entry(entries[0]) and 3 * sum(map(_is_entry, entries)) >= 2 * len(entries)


def _header_traits(value: object) -> int:
    """How many of the things that make a header are there."""
    if not is_object(value):
        return 0
    native = value.get("id")
    is_ours = {"type": value.get("type") == "session", "id": isinstance(native, str) and is_uuid(native)}
    return sum(is_ours.get(name, isinstance(value.get(name), str)) for name in _HEADER)


def _is_damaged_header(value: object) -> bool:
    """Whether a value was a header of ours, before a part of it was lost."""
    return 2 * _header_traits(value) >= len(_HEADER) and not _is_foreign(value)


def _is_foreign(value: object) -> bool:
    """Whether a value is a whole header whose session has an id of another kind than ours."""
    if not is_object(value) or value.get("type") != "session" or _header_traits(value) < len(_HEADER) - 1:
        return False
    named = str(value.get("id"))
    return 10 * sum(letter in _OF_UUIDS for letter in named) < 9 * len(named)  # else it is ours, and damaged


def _is_entry(value: object) -> bool:
    """Whether a value stands where an entry of the tree does, or is a message of the first generation."""
    if not is_object(value) or value.get("type") == "session" or not isinstance(value.get("timestamp"), str):
        return False
    return {"type", "id", "parentId"} <= value.keys() or _is_said(value)


def _is_said(value: object) -> bool:
    """Whether a value is an entry that holds a message."""
    if not is_object(value) or value.get("type") != "message" or not is_object(value.get("message")):
        return False
    return value["message"].get("role") in _ROLES and "content" in value["message"]


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
