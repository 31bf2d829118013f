"""The envelope of a record, whatever the version wrote, and the thread that a rollout is of."""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.pieces import micros
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.protocol.vocabulary import RunRelation

NAME: Final = "codex"
TYPES: Final = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}
    | {"inter_agent_communication", "inter_agent_communication_metadata"}
)
ITEMS: Final = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"}
    | {"local_shell_call", "local_shell_call_output", "web_search_call", "ghost_snapshot"}
)
"""Types of items that stand bare in the old form."""
_FILE_NAME: Final = re.compile(r"rollout-.+-([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.jsonl(?:\.zst)?")
_WORD: Final = re.compile(r"[\w./:-]{1,80}", re.ASCII)


def said_digest(value: object) -> str:
    """Hash of what a record says, whatever the order of its fields."""
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=8).hexdigest()


class Entry(msgspec.Struct, gc=False):
    """A record without its envelope.

    Attributes:
        top: Type of the record; "" for one that has no type of ours.
        kind: Type of its payload.
        record_type: Both as they stand, for the account.
    """

    item: Line
    top: str
    kind: str
    record_type: str
    payload: JsonObject
    at: int | None
    stamp: str


def entry_of(item: Line, *, is_first: bool) -> Entry | str:
    """The record of a line; a text says why it is none."""
    value = item.value
    if not is_object(value):
        return "not a JSON object"
    top, stamp = nonempty_text(value.get("type")) or "", nonempty_text(value.get("timestamp")) or ""
    if top not in TYPES:
        return _bare(item, value, top, stamp, is_first=is_first)
    payload = value.get("payload")
    if not is_object(payload):
        return f"{top} without a payload"
    kind, named = nonempty_text(payload.get("type")) or "", _word(payload.get("type"))
    if top == "response_item" and not kind and "role" in payload:
        kind = "message"
    return Entry(item, top, kind, f"{top}/{named}" if named else top, payload, micros(value.get("timestamp")), stamp)


def _bare(item: Line, value: JsonObject, top: str, stamp: str, *, is_first: bool) -> Entry:
    """A record without an envelope: of the old form, or of no form that is known."""
    entry = Entry(item, "", "", _word(value.get("type")) or "untyped", value, micros(value.get("timestamp")), stamp)
    if top in ITEMS:
        entry.top, entry.kind = "response_item", top
    elif is_first and not top and nonempty_text(value.get("id")) and stamp:
        entry.top = "session_meta"
    elif value.get("record_type") == "state":
        entry.top = entry.record_type = "state"
    return entry


def _word(value: object) -> str | None:
    text = nonempty_text(value)
    return text if text is None or _WORD.fullmatch(text) else "other"


class Thread(msgspec.Struct):
    """Which thread a rollout is of, and where it came from.

    Attributes:
        root: The thread whose records its oldest ones are copies of; its own id if it began by itself.
        session: Session of the ledger; ``None`` only for a file without records.
        run_key: Run in that session.
        parent: Thread that it came from, where that is not found otherwise.
    """

    root: str = ""
    session: str | None = None
    run_key: str = ""
    relation: RunRelation | None = None
    parent: str | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it has a session of its own, and so came from another one, if it came from anywhere."""
        return self.session == self.run_key

    @property
    def is_subagent(self) -> bool:
        """Whether a model gave it its task."""
        return self.relation is RunRelation.SUBAGENT


def thread_of(entries: list[Entry], file_name: str) -> Thread:
    """The thread of a rollout, by its headers: its own stands first, those of its ancestors are copied behind it.

    Where the header is lost, the file's name says the thread; a file by another name is known by its first record.
    """
    headers = [entry.payload for entry in entries if entry.top == "session_meta"]
    own = nonempty_text(headers[0].get("id")) if headers else None
    if own is None:
        named = _FILE_NAME.fullmatch(file_name)
        first = entries[0] if entries else None
        lost = named[1].lower() if named else hash_uuid(NAME, first.stamp, said_digest(first.payload)) if first else ""
        return Thread(lost, lost or None)
    first = headers[0]
    spawner, is_subagent = _spawner(first)
    forked = nonempty_text(first.get("forked_from_id"))
    if forked is None or forked == own:
        if not is_subagent:
            return Thread(own, own)
        session = nonempty_text(first.get("session_id"))
        session = (session if session != own else None) or spawner or own
        parent = spawner if spawner not in (session, own) else None
        return Thread(own, session, own, RunRelation.SUBAGENT, parent)
    relation = RunRelation.SUBAGENT if is_subagent else RunRelation.FORK
    return Thread(_root(headers, own), own, own, relation, spawner or forked)


def _spawner(header: JsonObject) -> tuple[str | None, bool]:
    """The thread that started this one as its subagent, and whether one did."""
    source = header.get("source")
    kind = source.get("subagent") if is_object(source) else None
    spawn = kind.get("thread_spawn") if is_object(kind) else None
    named = nonempty_text(header.get("parent_thread_id"))
    spawner = named or (nonempty_text(spawn.get("parent_thread_id")) if is_object(spawn) else None)
    return spawner, spawner is not None or kind is not None


def _root(headers: list[JsonObject], own: str) -> str:
    """The oldest ancestor that the headers name."""
    origins = {str(header.get("id")): nonempty_text(header.get("forked_from_id")) for header in reversed(headers)}
    root, met = own, {own}
    while (origin := origins.get(root)) and origin not in met:
        met.add(origin)
        root = origin
    return root
