"""Which records a model call wrote, and what it used.

A rollout names no model calls. One is what the model wrote in a row, with the token count beside it: newer versions
write the count behind the items, older ones before them. Counts are totals so far, and repeated: one counts where the
total moved. Where it fell, the thread began to count anew.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ledgerkit.importers.codex.envelope import NAME, Entry
from ledgerkit.importers.codex.identity import Identity, counts_of
from ledgerkit.importers.drafts import JsonObject, UsageDraft
from ledgerkit.importers.pieces import count
from ledgerkit.importers.shapes import is_object

_TOLD: Final = frozenset({"agent_message", "agent_reasoning", "agent_reasoning_raw_content"})
_BOUNDS: Final = frozenset({"user_message", "task_started", "turn_started", "task_complete", "turn_complete"})
_FIELDS: Final = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
                  "reasoning_output_tokens")  # fmt: skip


class _Call(msgspec.Struct):
    """A model call while its records are met."""

    number: int
    items: int = 0
    told: int = 0
    results: int = 0
    counted: bool = False
    counted_first: bool = False
    closed: bool = False


class ModelCalls:
    """The model calls of a rollout.

    Attributes:
        of: Id of the call that wrote a record, by the record's place.
        usage: What a call used, by the place of the token count that says so.
        open: Places of the records of a last call whose token count may still come.
    """

    def __init__(self, entries: list[Entry], identities: list[Identity]) -> None:
        self.of: dict[int, str] = {}
        self.usage: dict[int, UsageDraft] = {}
        self._names: list[str] = []
        self._places: dict[int, int] = {}
        self._call: _Call | None = None
        self._counts_last = False
        self._total: Any = None
        for place, entry in enumerate(entries):
            self._take(place, entry, identities[place])
        self.of = {place: self._names[number] for place, number in self._places.items()}
        waiting = _waiting(self._call)
        self.open = frozenset(place for place, number in self._places.items() if number == waiting)

    def _take(self, place: int, entry: Entry, identity: Identity) -> None:
        if counts_of(entry) is not None:
            self._count(place, entry, identity)
        elif is_written(entry):
            self._item(place, entry, identity)
        elif entry.top == "response_item" and entry.kind.endswith("_output") and self._call:
            self._call.results += 1
        elif _is_bound(entry):
            self._call = None

    def _begin(self, identity: Identity) -> _Call:
        self._call = _Call(len(self._names))
        self._names.append(f"{NAME}:{identity.native}")
        return self._call

    def _item(self, place: int, entry: Entry, identity: Identity) -> None:
        is_told = entry.top == "event_msg"
        call = self._call
        if call is None or call.closed or call.results:
            # Older versions write call and result in pairs behind the count: those are of one model call.
            is_pair = call is not None and not call.closed and call.counted_first and not is_told
            call = call if call and is_pair else self._begin(identity)
        elif is_told and call.counted_first and (call.items or call.told):
            call = self._begin(identity)
        call.told += is_told
        call.items += not is_told
        self._places[place] = call.number

    def _count(self, place: int, entry: Entry, identity: Identity) -> None:
        info = entry.payload["info"]
        last, total = info.get("last_token_usage"), info.get("total_token_usage")
        before, reached = self._total, total if is_object(total) else last
        if not is_object(reached) or reached == before:
            return
        self._total = reached
        call = self._call
        if call is None or call.closed or call.counted:
            call = self._begin(identity)
            call.closed = self._counts_last
        elif call.items:
            call.closed = self._counts_last = True
        call.counted, call.counted_first = True, not call.items
        # The same call in a fork's file has the same count, whatever is left there of what it wrote.
        self._names[call.number] = f"{NAME}:{identity.native}"
        self._places[place] = call.number
        self.usage[place] = _usage(last, reached, before)


def _waiting(call: _Call | None) -> int | None:
    """Number of a call whose token count may still come."""
    return call.number if call and not call.counted else None


def is_written(entry: Entry) -> bool:
    """Whether the model wrote a record."""
    if entry.top == "event_msg":
        return entry.kind in _TOLD
    if entry.top != "response_item":
        return False
    if entry.kind == "message":
        return entry.payload.get("role") == "assistant"
    return entry.kind == "reasoning" or entry.kind.endswith("_call")


def _is_bound(entry: Entry) -> bool:
    """Whether no model call goes on behind a record."""
    if entry.top == "event_msg":
        return entry.kind in _BOUNDS
    if entry.top == "response_item":
        return entry.kind in ("message", "agent_message")
    return entry.top in ("turn_context", "compacted", "session_meta")


def _usage(last: object, total: JsonObject, before: object) -> UsageDraft:
    """What the count itself says of the call; where it says nothing, by how far the total moved."""
    figures = _figures(last)
    # A first total may be that of a whole history that is not here.
    if not any(figures.values()) and (is_object(before) or not is_object(last)):
        earlier, reached = _figures(before), _figures(total)
        moved = {name: reached[name] - earlier.get(name, 0) for name in reached}
        figures = moved if all(value >= 0 for value in moved.values()) else figures or reached
    return UsageDraft(
        input_tokens=figures.get("input_tokens"),
        cache_read_tokens=figures.get("cached_input_tokens"),
        cache_write_5m_tokens=figures.get("cache_write_input_tokens"),
        output_tokens=figures.get("output_tokens"),
        reasoning_tokens=figures.get("reasoning_output_tokens"),
    )


def _figures(value: object) -> dict[str, int]:
    counted = value if is_object(value) else {}
    return {name: figure for name in _FIELDS if (figure := count(counted.get(name))) is not None}
