"""OpenHands: event streams of V0 and of the V1 SDK, and rows of evaluations (``output.jsonl``).

Events stand in a JSON list, in an object that holds one (``trajectory``, ``events``), one on each line, or one in each
file of a conversation folder of the SDK, with the conversation's state beside them. A row of an evaluation is a run of
its own, with its events in ``history``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.openhands.folders import event_records, is_state, state_records
from ledgerkit.importers.openhands.records import NAME, SOURCES, Origin, is_sdk
from ledgerkit.importers.openhands.rows import reading_of, row_records
from ledgerkit.importers.reader import Damage, Line, read_values
from ledgerkit.importers.shapes import is_list, is_object

_LISTS: Final = ("trajectory", "events")
_LOOKED_AT: Final = 5

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first values are events of an OpenHands stream, or the first is a row of an evaluation.

    A file of one value may be an event of the SDK, or the state of a conversation.
    """
    first = values[0]
    if _is_row(first) or (len(values) == 1 and (is_sdk(first) or is_state(first))):
        return True
    held = _held(first)
    if held is not None:
        return bool(held) and all(_is_v0(e) or is_sdk(e) for e in held[:3])
    listed = values[:_LOOKED_AT]
    ours = sum(_is_v0(e) or is_sdk(e) for e in listed)
    return ours > 1 and ours >= len(listed) - 1  # one of them may be damaged


def _held(value: object) -> list[Any] | None:
    """The events of a document; ``None`` for a value that is no list of events but perhaps one."""
    if is_list(value):
        return value
    if is_object(value):
        return next((value[name] for name in _LISTS if is_list(value.get(name))), None)
    return None


def _is_v0(value: object) -> bool:
    if not is_object(value) or str(value.get("source")) not in SOURCES:
        return False
    action, observed = value.get("action"), value.get("observation")
    is_action = isinstance(action, str) and not value.keys().isdisjoint(("message", "args", "content"))
    return is_action or (isinstance(observed, str) and "content" in value)


def _is_row(value: object) -> bool:
    """Whether a value is a row of an evaluation: an instance with the events of its run."""
    if not is_object(value) or "instance_id" not in value or not is_list(value.get("history")):
        return False
    first: Any = next(iter(value["history"]), None)
    first = next(iter(first), None) if is_list(first) else first
    return ("test_result" in value or "metrics" in value) if first is None else _is_v0(first) or is_sdk(first)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a file of events or rows. It is always read whole: events refer to events before them."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    loose: list[tuple[Line, JsonObject]] = []
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif is_object(item.value) and is_list(item.value.get("history")):
            parsed.records += row_records(item, keep_reasoning=keep_reasoning)
        elif (held := _held(item.value)) is not None:
            parsed.records += _stream(Origin(item), [(item, event) for event in held], keep_reasoning=keep_reasoning)
        elif is_object(item.value):
            loose.append((item, item.value))
        else:
            reason = "neither an object nor a list"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no event"))
    if len(loose) == 1 and is_state(loose[0][1]):
        parsed.records += state_records(loose[0][0])
    elif len(loose) == 1 and is_sdk(loose[0][1]):
        parsed.records += event_records(path, loose[0][0], keep_reasoning=keep_reasoning)
    elif loose:
        parsed.records += _stream(Origin(loose[0][0]), loose, keep_reasoning=keep_reasoning)
    return parsed


def _stream(origin: Origin, events: list[tuple[Line, Any]], *, keep_reasoning: bool) -> list[RecordDraft]:
    """The records of one stream of events."""
    return list(reading_of(origin, events, keep_reasoning=keep_reasoning).records())
