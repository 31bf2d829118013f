"""mini-swe-agent trajectories (``.traj.json``): one JSON document that holds the messages of a run.

Read are the envelope of 1.x (``trajectory_format: mini-swe-agent-1``) and of 2.x (``mini-swe-agent-1.1``), with
commands in code blocks, as function calls or as items of OpenAI's Responses API, and the bare list of messages before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import ParsedFile, Quarantined
from ledgerkit.importers.mini_swe_agent.commands import NAME, is_result_text, text_of
from ledgerkit.importers.mini_swe_agent.reading import Reading
from ledgerkit.importers.reader import Damage, read_values
from ledgerkit.importers.shapes import is_list, is_object, objects_of

_MARK: Final = "mswea_bash_command"
_BLOCKS: Final = ("```bash\n", f"```{_MARK}\n")

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first value names the format, or is a list of messages that only this agent has."""
    first = values[0]
    if is_object(first):
        named = first.get("trajectory_format")
        about = first.get("info")
        has_name = isinstance(named, str) and named.startswith("mini-swe-agent")
        return is_list(first.get("messages")) and (has_name or (is_object(about) and "mini_version" in about))
    return is_list(first) and _is_bare(first)


def _is_bare(messages: list[Any]) -> bool:
    """Whether a bare list begins as the agent's runs do: a system prompt, a task, a command in a block, its output."""
    head = objects_of(messages[:4])
    if [message.get("role") for message in head][:2] != ["system", "user"] or "tool_calls" in head[-1]:
        return False
    if any(_MARK in text_of(message.get("content")) for message in head[:2]):
        return True
    answered = [text_of(message.get("content")) for message in head[2:]]
    return len(answered) == len(_BLOCKS) and any(b in answered[0] for b in _BLOCKS) and is_result_text(answered[1])


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
        elif is_object(item.value) or is_list(item.value):
            parsed.records += Reading(item, keep_reasoning=keep_reasoning).records()
        else:
            reason = "neither an object nor a list"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no document"))
    return parsed
