"""Gemini CLI sessions: one JSON document, or (since 0.40) JSON Lines that are replayed.

The document holds the messages of a session; the lines hold its header, a message each time that it changes,
``$set`` for changed fields and ``$rewindTo`` where the user went back. The reading follows the client's own
(``chatRecordingService.ts``): the last version of a message counts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import ParsedFile, Quarantined
from ledgerkit.importers.gemini_cli.messages import NAME
from ledgerkit.importers.gemini_cli.reading import Reading
from ledgerkit.importers.reader import Damage, Line, read_values
from ledgerkit.importers.shapes import is_list, is_object

_GEMINI_FIELDS: Final = ("toolCalls", "thoughts", "tokens")
_FOREIGN: Final = ("uuid", "sessionId", "parentUuid")

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first JSON value is a session, a session's header, or a message of the model by itself."""
    first = values[0]
    if not is_object(first):
        return False
    if isinstance(first.get("sessionId"), str) and isinstance(first.get("projectHash"), str):
        return is_list(first.get("messages")) or "messages" not in first
    is_message = first.get("type") == "gemini" and isinstance(first.get("id"), str) and "content" in first
    return is_message and any(k in first for k in _GEMINI_FIELDS) and not any(k in first for k in _FOREIGN)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a session. It is always read whole: a later line may be a new version of an earlier one."""
    del offset, line, measure, keep_reasoning
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    lines: list[Line] = []
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif is_object(item.value):
            lines.append(item)
        else:
            reason = "not a JSON object"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no object"))
    reading = Reading(lines)
    for item in lines:
        reading.take(item)
    parsed.records = reading.finish()
    return parsed
