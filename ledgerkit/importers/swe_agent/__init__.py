"""SWE-agent trajectories (``.traj``): one JSON document that holds a run, or the attempts at a task.

Read are the files of all generations: 0.x (a command in a code block, state as a JSON text), 1.0 (function calls, the
prompt of each step as ``messages``), 1.1 (the prompt as ``query``), demonstrations that are only a ``history``, and
files of the retry agent with their ``attempts``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.pieces import digest, unknown_message
from ledgerkit.importers.reader import Damage, read_values
from ledgerkit.importers.shapes import is_list, is_object, objects_of
from ledgerkit.importers.swe_agent.outcome import NAME
from ledgerkit.importers.swe_agent.reading import Reading

_STEP: Final = frozenset({"action", "observation", "response"})
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first value is a trajectory, by its steps or by the items of its history."""
    first = values[0]
    if not is_object(first):
        return False
    return _is_run(first) or any(_is_run(attempt) for attempt in objects_of(first.get("attempts"))[:1])


def _is_run(value: JsonObject) -> bool:
    steps, history = objects_of(value.get("trajectory")), objects_of(value.get("history"))
    if steps:
        return steps[0].keys() >= _STEP
    return bool(history) and all(map(_is_item, history[:3]))


def _is_item(item: JsonObject) -> bool:
    is_message = str(item.get("role")) in _ROLES and "content" in item
    return is_message and ("agent" in item or "message_type" in item)


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a trajectory. The agent writes the file anew after each step, so it is always read whole."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif not is_object(item.value):
            reason = "not a JSON object"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no object"))
        elif is_list(item.value.get("history")) or is_list(item.value.get("attempts")):
            parsed.records += Reading(item, keep_reasoning=keep_reasoning).records()
        else:
            draft = RecordDraft(item.number, item.offset, "unknown", digest(item.value), run_key=None)
            draft.messages = [unknown_message(item.value, NAME)]
            parsed.records.append(draft)
    return parsed
