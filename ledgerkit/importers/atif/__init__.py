"""ATIF, Harbor's trajectories (1.0 to 1.7): a JSON document for each run, or one on each line.

A trajectory holds its steps; since 1.7 also the trajectories of its subagents.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.atif.identity import NAME, is_trajectory
from ledgerkit.importers.atif.trajectory import records_of
from ledgerkit.importers.drafts import ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.pieces import digest, unknown_message
from ledgerkit.importers.reader import Damage, read_values
from ledgerkit.importers.shapes import is_object

__all__: Final = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first value says that it is a trajectory of this format."""
    return is_trajectory(values[0])


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a file of trajectories. Agents write it anew after each step, so it is always read whole."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif is_trajectory(item.value):
            parsed.records += records_of(item, keep_reasoning=keep_reasoning)
        elif is_object(item.value):
            draft = RecordDraft(item.number, item.offset, "unknown", digest(item.value), run_key=None)
            draft.messages = [unknown_message(item.value, NAME)]
            parsed.records.append(draft)
        else:
            reason = "not a JSON object"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no object"))
    return parsed
