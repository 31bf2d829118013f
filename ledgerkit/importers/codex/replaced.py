"""What Codex kept of the context when it compacted it.

Newer versions log the items that take the place of the context. They repeat what stands above without naming it, so
they are found again by what they say: a message by who speaks and its text, a call or its output by the call's id. A
message that was cut to fit is not found. Where no list is logged, the rule of the client holds: the newest messages of
the user that fit in 20,000 tokens.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

from ledgerkit.importers.codex.envelope import Entry, said_digest
from ledgerkit.importers.codex.identity import Identity
from ledgerkit.importers.codex.spoken import blocks_of, speaker_of
from ledgerkit.importers.compactions import keeps_records, keeps_user_messages
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel

USER_TOKENS: Final = 20_000
"""``COMPACT_USER_MESSAGE_MAX_TOKENS`` of the client."""
_PERSON: Final = (MessageKind.USER_TASK, "user", TrustLevel.USER_TRUSTED)
_EVENTS: Final = {"user_message": "user", "agent_message": "assistant"}
_Key = tuple[str, ...]


def kept_by(payload: JsonObject, before: Sequence[Entry], known: Sequence[Identity]) -> JsonObject:
    """The rule of a compaction.

    Args:
        payload: What its record says.
        before: The records that stand before it.
        known: What each of these is known by.
    """
    listed = payload.get("replacement_history")
    items: list[Any] = listed if is_list(listed) else []
    if not items:
        return keeps_user_messages(USER_TOKENS)
    summary = _squeezed(nonempty_text(payload.get("message")) or "")
    wanted = Counter(key for item in items if is_object(item) and (key := _key_of_item(item)) is not None)
    spoken = [key for key in wanted if _is_spoken(key) and not (summary and summary in key[2])]
    places = _places(before)
    if spoken and not any(key in places for key in spoken):
        return keeps_user_messages(USER_TOKENS)  # the list is not the one that the client used
    kept = [place for key, count in wanted.items() for form in places.get(key, {}).values() for place in form[-count:]]
    return keeps_records(known[place].native for place in sorted(kept))


def _places(before: Sequence[Entry]) -> dict[_Key, dict[str, list[int]]]:
    """Where each thing was said, by the form of the record: as an item of the context, or as an event."""
    found: defaultdict[_Key, dict[str, list[int]]] = defaultdict(dict)
    for place, entry in enumerate(before):
        if entry.top == "response_item":
            key = _key_of_item({"type": entry.kind, **entry.payload})
        elif entry.top == "event_msg" and entry.kind in _EVENTS:
            key = ("message", _EVENTS[entry.kind], _squeezed(nonempty_text(entry.payload.get("message")) or ""))
        else:
            continue
        if key is not None:
            found[key].setdefault(entry.top, []).append(place)
    return found


def _key_of_item(item: JsonObject) -> _Key | None:
    """What an item is known by, wherever it stands; ``None`` for one that nobody can see or that has no words."""
    kind = nonempty_text(item.get("type")) or ("message" if "role" in item else "")
    if kind == "message":
        blocks = blocks_of(item.get("content"))
        texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
        said = _squeezed("".join(texts)) if texts else said_digest(blocks)
        return ("message", str(item.get("role")), said) if blocks else None
    call = nonempty_text(item.get("call_id"))
    if call is not None and kind.endswith(("_call", "_output")):
        return ("output" if kind.endswith("_output") else "call", call)
    return None


def _is_spoken(key: _Key) -> bool:
    """Whether it is a text in the user's place that the client did not put there."""
    if key[:2] != ("message", "user"):
        return False
    # Texts are compared without white space, and so are the beginnings by which the client's own are known.
    return speaker_of(key[2], _PERSON) == _PERSON and not key[2].startswith(_OWN)


_OWN: Final = tuple(
    "".join(start.split())
    for start in ("# AGENTS.md instructions", "Another language model started to solve this problem", "<environment")
)


def _squeezed(text: str) -> str:
    return "".join(text.split())
