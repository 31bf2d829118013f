"""Conversation folders of the V1 SDK: ``base_state.json``, and ``events/event-00000-….json`` with an event in each.

Each file is read by itself, so that a conversation that goes on brings its new files only. What an event means depends
on the events before it, though: so the folder that a file stands in is read as one stream, and the file is given the
records that are its own. Names and places are the SDK's own (``persistence_const.py``); they only say what belongs
together, never what a file is.
"""

from __future__ import annotations

import copy
import re
import uuid
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, Node, RecordDraft, RunFacts
from ledgerkit.importers.openhands.records import NAME, Origin, draft_of, is_sdk
from ledgerkit.importers.openhands.sdk import SdkReading
from ledgerkit.importers.pieces import note_message
from ledgerkit.importers.reader import Line, read_values
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.identifiers import is_uuid
from ledgerkit.protocol.vocabulary import TrustLevel

_EVENT: Final = re.compile(r"event-(\d{5,})-[0-9a-fA-F-]{8,}\.json")
_STATE: Final = "base_state.json"
_ENDED: Final = frozenset({"finished", "error", "stuck"})
_SETTINGS: Final = ("workspace", "persistence_dir", "max_iterations", "stuck_detection", "confirmation_policy")
_AGENT: Final = ("kind", "tools", "include_default_tools", "system_prompt_filename")
_MODEL: Final = (
    "model",
    "usage_id",
    "max_input_tokens",
    "max_output_tokens",
    "reasoning_effort",
    "native_tool_calling",
)


def is_state(value: object) -> bool:
    """Whether a value is the state of a conversation, which stands beside its events."""
    if not is_object(value) or not is_object(value.get("agent")) or not is_object(value.get("workspace")):
        return False
    return _conversation(value.get("id")) is not None and "execution_status" in value


def event_records(path: Path, item: Line, *, keep_reasoning: bool) -> list[RecordDraft]:
    """The records of a file that holds one event; of one that stands in no folder of events as of a stream of one."""
    if _EVENT.fullmatch(path.name) is None:
        return list(SdkReading(Origin(item), [(item, item.value)], keep_reasoning=keep_reasoning).records())
    folder = path.parent.absolute()
    told = _read_folder(folder, folder.stat().st_mtime_ns, keep_reasoning)
    if path.name not in told:  # it came after the folder was read, too soon for the clock of files
        told = _read_folder.__wrapped__(folder, 0, keep_reasoning)
    return copy.deepcopy(told.get(path.name, []))  # who takes them changes them


@lru_cache(maxsize=2)
def _read_folder(folder: Path, changed_at: int, keep_reasoning: bool) -> dict[str, list[RecordDraft]]:  # noqa: FBT001 - lru_cache takes no names
    """The records of each file of a folder of events, by its name; of events that cannot be read there are none."""
    del changed_at  # a folder that got a file since is another
    events: list[tuple[Line, Any]] = []
    names: list[str] = []
    listed = [(int(found[1]), found[0]) for found in map(_EVENT.fullmatch, _names(folder)) if found]
    for _, name in sorted(listed):
        item = _only_value(folder / name)
        if item is not None and is_sdk(item.value):
            events.append((Line(len(names), item.offset, item.size, item.value, item.flags), item.value))
            names.append(name)
    if not events:
        return {}
    reading = SdkReading(Origin(events[0][0]), events, keep_reasoning=keep_reasoning)
    reading.session = _conversation_of(folder) or reading.session
    told: defaultdict[str, list[RecordDraft]] = defaultdict(list)
    for draft in reading.records():
        place, draft.line = draft.line, 1
        own = told[names[place]]
        own.append(draft)
        # Which call a total grew by is said by a later event. Its file says so too, and where: a ledger may have the
        # total from before it was known.
        later = reading.settled_by(draft.native_id)
        if later is not None:
            told[names[later]] += copy.deepcopy([own[0], draft])
    return dict(told)


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _only_value(path: Path) -> Line | None:
    items = list(read_values(path))
    return items[0] if len(items) == 1 and isinstance(items[0], Line) else None


def _conversation_of(folder: Path) -> str | None:
    """The conversation of a folder of events: as the state beside it says, or the name of the folder above."""
    state = folder.parent / _STATE
    item = _only_value(state) if state.is_file() else None
    named = _conversation(item.value.get("id")) if item is not None and is_object(item.value) else None
    return named or _conversation(folder.parent.name)


def _conversation(value: object) -> str | None:
    """A conversation's id, which the names of folders have without its dashes."""
    if not isinstance(value, str):
        return None
    if re.fullmatch("[0-9a-fA-F]{32}", value):
        value = str(uuid.UUID(value))
    return value.lower() if is_uuid(value) else None


def state_records(item: Line) -> list[RecordDraft]:
    """What the state of a conversation says of its run: its settings, which last, and what it used so far.

    The totals are those of the run. Where events report them too, calls have them; here they are no usage of a call.
    """
    state: JsonObject = item.value
    session = _conversation(state["id"])
    agent = state["agent"]
    llm = agent.get("llm")
    about: JsonObject = {name: state[name] for name in _SETTINGS if state.get(name) is not None}
    about["agent"] = {name: agent[name] for name in _AGENT if agent.get(name) is not None}
    about["llm"] = {name: llm[name] for name in _MODEL if llm.get(name) is not None} if is_object(llm) else None
    settings = draft_of(item, "state/settings", about, session or "", [])
    settings.messages = [note_message({"note": "settings", **about}, NAME, TrustLevel.UNKNOWN)]
    settings.facts = RunFacts(working_directory=nonempty_text(state["workspace"].get("working_dir")))
    so_far = {"execution_status": state.get("execution_status"), "stats": state.get("stats")}
    progress = draft_of(item, "state/stats", so_far, session or "", [])
    progress.messages = [note_message({"note": "stats", **so_far}, NAME, TrustLevel.TOOL_TRUSTED)]
    # The file is written anew as the conversation goes on; what a later reading finds replaces this.
    progress.native_id = f"{session}/state"
    progress.provisional = str(state.get("execution_status")) not in _ENDED
    settings.node = progress.node = Node.PASSIVE
    return [settings, progress]
