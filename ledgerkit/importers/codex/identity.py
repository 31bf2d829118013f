"""What a record is known by in every file that holds a copy of it.

Records have no ids of their own, and a fork rewrites their times. A record is known by what it says, the last thing
before it that is unique in the world (a turn's id, a call's id, sealed reasoning), and the thread where it was first
written. Token counts are known by their figures alone, since a fork may keep them and drop the items around them.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from ledgerkit.importers.codex.envelope import NAME, Entry, Thread, said_digest
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.identifiers import hash_uuid


def counts_of(entry: Entry) -> JsonObject | None:
    """The token counts of an event; ``None`` if it is no such event or has none."""
    info = entry.payload.get("info") if entry.top == "event_msg" and entry.kind == "token_count" else None
    return info if is_object(info) else None


class Identity(msgspec.Struct, gc=False):
    """Digest and native id of a record."""

    digest: str
    native: str


def identities(entries: list[Entry], thread: Thread) -> list[Identity]:
    """The identities of a rollout's records, in order."""
    out: list[Identity] = []
    met: defaultdict[tuple[str, ...], int] = defaultdict(int)
    anchor = ""
    for entry in entries:
        counts = counts_of(entry)
        if counts is None:
            digest, seed = said_digest([entry.top, entry.payload]), _seed(entry, thread, anchor)
        else:
            figures = [counts.get("last_token_usage"), counts.get("total_token_usage")]
            digest, seed = said_digest(figures), (thread.root, "usage")
        key = (*seed, digest)
        out.append(Identity(digest, hash_uuid(NAME, *key, str(met[key]))))
        met[key] += 1
        anchor = _anchor(entry) or anchor
    return out


def _seed(entry: Entry, thread: Thread, anchor: str) -> tuple[str, ...]:
    if entry.top == "session_meta":
        return (str(entry.payload.get("id")), "header")
    if entry.top == "turn_context":
        return (thread.root, "settings")
    return (thread.root, anchor)


def _anchor(entry: Entry) -> str | None:
    payload = entry.payload
    if entry.top == "event_msg":
        return nonempty_text(payload.get("turn_id")) if entry.kind in ("task_started", "turn_started") else None
    if entry.top != "response_item":
        return None
    if entry.kind == "reasoning":
        sealed = nonempty_text(payload.get("encrypted_content"))
        return said_digest(sealed) if sealed else None
    return nonempty_text(payload.get("call_id")) if entry.kind.endswith("_call") else None
