"""What the ledger must remember of a record to place it anew when more of its session arrives.

It stands under ``"record"`` in the metadata of the record's first message, so that a session can be assembled
again from the ledger alone, long after its logs are gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject, Link, Node, RecordDraft, RunFacts
from ledgerkit.ingest.reading import Record
from ledgerkit.ingest.shapes import Item
from ledgerkit.protocol.vocabulary import RunRelation

_FACTS = RunFacts.__struct_fields__
_EMBEDDED: Final = 0x5DEECE66D1CE4E5B
PROVISIONAL: Final = 0x2545F4914F6CDD1D
"""Turns the key of a record into that of its provisional copy, and back."""


def record_key(session_id: str, draft: RecordDraft, ordinal: int = 0) -> int:
    """Identity of a record in its session as a signed 64-bit number: equal for every copy of its kind.

    Args:
        session_id: The session.
        draft: The record.
        ordinal: For records without an id of their own: how many equal ones precede it in its file.
    """
    identity = (session_id, draft.native_id or f"#{ordinal}", draft.digest)
    digest = hashlib.blake2b("\x1f".join(identity).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    key = int.from_bytes(digest, "big", signed=True)
    return key ^ (_EMBEDDED if draft.embedded else 0) ^ (PROVISIONAL if draft.provisional else 0)


def lineage(draft: RecordDraft, key: int) -> JsonObject:
    """The remembered form of a record, empty fields left out."""
    remembered: JsonObject = {"key": key, "type": draft.record_type}
    for name, value in (("parent", draft.parent), ("run", draft.run_key), ("relation", draft.relation)):
        if value is not None:
            remembered[name] = value
    remembered["node"] = draft.node
    flags = (("call", draft.is_model_call), ("embedded", draft.embedded), ("provisional", draft.provisional))
    remembered.update({name: True for name, is_so in flags if is_so})
    for name, number in (("step", draft.step), ("visible_from", draft.visible_from)):
        if number is not None:
            remembered[name] = number
    if draft.links:
        remembered["links"] = [[link.run_key, link.tool_call_id] for link in draft.links]
    if facts := _known(draft.facts):
        remembered["facts"] = facts
    return remembered


def _known(facts: RunFacts | None) -> JsonObject:
    """What is known of a run, empty fields left out."""
    values = () if facts is None else msgspec.structs.astuple(facts)
    return {name: value for name, value in zip(_FACTS, values, strict=False) if value is not None}


def item_of(record: Record, key: int, message_ids: list[str]) -> Item:
    """A record that was just read, as an item of its session."""
    draft = record.draft
    return Item(
        key=key,
        native_id=draft.native_id,
        parent=draft.parent,
        run_key=draft.run_key,
        relation=draft.relation,
        node=draft.node,
        call_id=draft.call_id,
        is_model_call=draft.is_model_call,
        created_at=draft.created_at,
        message_ids=message_ids,
        embedded=draft.embedded,
        provisional=draft.provisional,
        step=draft.step,
        visible_from=draft.visible_from,
        asked=record.asked,
        answered=record.answered,
        links=list(draft.links),
        facts=draft.facts,
    )


def items_of_rows(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Items of a session from its rows in the ledger.

    Args:
        rows: One mapping a part, in order of run, message and part: ``message_id, part_index, metadata, call_id,
            created_at`` (microseconds), ``source_record, part_type, tool_call_id``.
    """
    items: dict[int, Item] = {}
    current: Item | None = None
    for row in rows:
        remembered = _remembered(row["metadata"])
        if remembered is not None:
            current = _item(remembered, row)
            items[current.key] = current
        if current is None:
            continue
        if row["part_index"] == 0:
            current.message_ids.append(row["message_id"])
        if row["tool_call_id"] and row["part_type"] in ("tool_call", "tool_result"):
            (current.asked if row["part_type"] == "tool_call" else current.answered).append(row["tool_call_id"])
    return list(items.values())


def _remembered(metadata: str | None) -> JsonObject | None:
    decoded: JsonObject = json.loads(metadata) if metadata else {}
    return decoded.get("record")


def _item(remembered: JsonObject, row: Mapping[str, Any]) -> Item:
    relation = remembered.get("relation")
    return Item(
        key=remembered["key"],
        native_id=row["source_record"],
        parent=remembered.get("parent"),
        run_key=remembered.get("run"),
        relation=RunRelation(relation) if relation else None,
        node=Node(remembered.get("node", Node.PASSIVE)),
        call_id=row["call_id"],
        is_model_call=remembered.get("call", False),
        created_at=row["created_at"],
        message_ids=[],
        embedded=remembered.get("embedded", False),
        provisional=remembered.get("provisional", False),
        step=remembered.get("step"),
        visible_from=remembered.get("visible_from"),
        links=[Link(*link) for link in remembered.get("links", [])],
        facts=msgspec.convert(remembered.get("facts", {}), RunFacts),
    )
