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
from ledgerkit.importers.gemini_cli.messages import NAME, TYPES
from ledgerkit.importers.gemini_cli.reading import Reading
from ledgerkit.importers.reader import Damage, Line, read_values
from ledgerkit.importers.shapes import is_list, is_object

_GEMINI_FIELDS: Final = ("toolCalls", "thoughts", "tokens")
_HEADER: Final = ("sessionId", "projectHash", "startTime")
_FOREIGN: Final = ("uuid", "sessionId", "parentUuid")

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether a session or its header is there, or all values are lines of one whose header is lost.

    A message of the model by itself is such a line. Some behind the first may be damaged.
    """
    if any(map(_is_header, values)):
        return True
    is_headed = is_object(values[0]) and sum(isinstance(values[0].get(k), str) for k in _HEADER) >= len(_HEADER) - 1
    if not (is_headed or _is_line(values[0])) or not any(map(_is_answer, values)):
        return False
    return 3 * sum(map(_is_line, values)) >= 2 * (len(values) - is_headed)


def _is_header(value: object) -> bool:
    """Whether a value is a session, or stands above the lines of one."""
    if not is_object(value) or not isinstance(value.get("sessionId"), str):
        return False
    return isinstance(value.get("projectHash"), str) and (is_list(value.get("messages")) or "messages" not in value)


def _is_line(value: object) -> bool:
    """Whether a value is a message or a change, as they stand below a header."""
    if not is_object(value) or any(k in value for k in _FOREIGN):
        return False
    is_message = str(value.get("type")) in TYPES and isinstance(value.get("id"), str) and "content" in value
    return is_message or isinstance(value.get("$rewindTo"), str) or is_object(value.get("$set"))


def _is_answer(value: object) -> bool:
    """Whether a line is a message of the model, with what only this client writes."""
    if not is_object(value) or not _is_line(value):
        return False
    return value.get("type") == "gemini" and any(k in value for k in _GEMINI_FIELDS)


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
