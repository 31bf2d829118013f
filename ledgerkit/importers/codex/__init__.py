"""Rollouts of OpenAI's Codex CLI: JSON Lines, a record on each line, and the bare items of versions until mid-2025.

What was said stands in a rollout up to three times (as an item of the model's context, as an event for people, as a
completed item); it is taken once. Token counts are totals of the thread so far: one counts where the total moved. A
fork begins with copies of the records of the thread that it came from, which are told by what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledgerkit.importers.codex.envelope import ITEMS, NAME, TYPES, Entry, entry_of
from ledgerkit.importers.codex.reading import Reading
from ledgerkit.importers.drafts import JsonObject, ParsedFile, Quarantined
from ledgerkit.importers.reader import Damage, Line, read_json_lines
from ledgerkit.importers.shapes import is_object, nonempty_text

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first values are records of a rollout: of a known type with a payload, or the old bare form."""
    records = [value for value in values if is_object(value)]
    if any(nonempty_text(record.get("type")) in TYPES and is_object(record.get("payload")) for record in records):
        return any(nonempty_text(record.get("timestamp")) for record in records)
    return _is_bare(values)


def _is_bare(values: list[Any]) -> bool:
    """The old form: a header with id and time but no type, then items, or notes of the state."""
    head, rest = values[0], values[1:]
    if not is_object(head) or "type" in head or not (nonempty_text(head.get("id")) and "timestamp" in head):
        return False
    if head.keys().isdisjoint(("instructions", "git")):
        return False
    return all(is_object(v) and (v.get("record_type") == "state" or _is_item(v)) for v in rest)


def _is_item(value: JsonObject) -> bool:
    return nonempty_text(value.get("type")) in ITEMS


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a rollout. It is always read whole: token counts and copies refer to lines before them."""
    del offset, line
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    entries: list[Entry] = []
    last = 0
    for item in read_json_lines(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        else:
            _take(item, entries, parsed)
    parsed.records = Reading(entries, path.name, keep_reasoning=keep_reasoning, measure=measure).records()
    return parsed


def _take(item: Line, entries: list[Entry], parsed: ParsedFile) -> None:
    entry = entry_of(item, is_first=not entries)
    if isinstance(entry, str):
        kind = str(item.value.get("type")) if is_object(item.value) else "no object"
        parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, entry, kind))
    else:
        entries.append(entry)
