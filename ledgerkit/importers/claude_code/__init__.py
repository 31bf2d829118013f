"""Claude Code session logs: JSON Lines, one record per content block, file or notice.

Every record becomes messages, is left out by a named rule, or is quarantined; a type that is not known is kept
whole. Only lines of their own count twice with nothing: copies of subagent messages inside progress records are
marked as embedded, and :mod:`ledgerkit.ingest` lets a line of its own replace them.

The format has no published description; what stands here was read off logs of versions 1.0.57 to 2.1.220.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.claude_code.reading import Reading
from ledgerkit.importers.containers import is_compressed
from ledgerkit.importers.drafts import JsonObject, ParsedFile, Quarantined
from ledgerkit.importers.reader import Damage, read_json_lines
from ledgerkit.importers.shapes import is_object

NAME: Final = "claude-code"
_TYPES: Final = frozenset(
    {"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation"}
)


def sniff(values: list[Any]) -> bool:
    """Whether the first JSON values of a file look like Claude Code records."""
    records = [value for value in values if is_object(value)]
    known = [record for record in records if str(record.get("type")) in _TYPES]
    return any(_is_ours(record) for record in known) and not any(_is_foreign(record) for record in records)


def _is_foreign(record: JsonObject) -> bool:
    """Whether a record is one of Qwen Code, whose lines have the same envelope around messages of another shape."""
    message = record.get("message")
    return "systemPayload" in record or (is_object(message) and "parts" in message and "content" not in message)


def _is_ours(record: JsonObject) -> bool:
    if record["type"] in ("user", "assistant"):
        return is_object(record.get("message")) and "content" in record["message"]
    if record["type"] == "summary":
        return "leafUuid" in record
    return "sessionId" in record or "messageId" in record


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[str], str],
) -> ParsedFile:
    """Reads a session or subagent file, from a former cursor on.

    What stands before the cursor is looked at again for what later records refer to (calls, left out links of the
    chain), so that a file read in pieces gives what it gives at once.

    Args:
        path: The file.
        offset: Byte offset to begin at.
        line: Number of the line there.
        keep_reasoning: Keep hidden reasoning as restricted artifacts.
        measure: Content id of a text that is not kept.
    """
    reading = Reading(keep_reasoning=keep_reasoning, measure=measure)
    reading.recall(path, offset)
    cursor, seen, torn = offset, 0, False
    last_line = 0
    for item in read_json_lines(path, offset=offset, line=line):
        if item.number != last_line:
            seen, last_line = seen + 1, item.number
        if isinstance(item, Damage):
            reading.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            torn = torn or item.torn
            cursor = item.offset if item.torn else item.offset + item.size + 1
        else:
            reading.take(item)
            cursor = item.offset + item.size + 1
    reading.link_agents()
    size = path.stat().st_size
    cursor = size if is_compressed(path) else cursor
    return ParsedFile(
        records=reading.records,
        quarantined=reading.quarantined,
        cursor=min(cursor, size),
        line_count=seen,
        agent=NAME,
        torn_tail=torn,
    )
