"""What Claude Code kept of the context when it compacted it.

A boundary of newer versions lists the messages that it keeps, in order (``preservedMessages.uuids``), or names the
first and the last of them (``preservedSegment``); what lies between follows the chain of parents. A boundary that says
neither kept nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ledgerkit.importers.compactions import NOTHING, keeps_from, keeps_records, named
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_list, is_object


def preserved(record: JsonObject, parents: Mapping[str, str | None]) -> JsonObject | None:
    """The rule of a compaction boundary; ``None`` for any other record.

    Args:
        record: The record.
        parents: The parent of each record that stands before it.
    """
    if record.get("type") != "system" or record.get("subtype") != "compact_boundary":
        return None
    about = record.get("compactMetadata")
    about = about if is_object(about) else {}
    listed = about.get("preservedMessages")
    if is_object(listed) and is_list(listed.get("uuids")):
        return keeps_records(named(listed["uuids"], parents))
    segment = about.get("preservedSegment")
    if not is_object(segment):
        return NOTHING
    ends = named([segment.get("headUuid"), segment.get("tailUuid")], parents)
    if len(ends) < 2:
        return NOTHING
    between = _between(ends[0], ends[1], parents)
    if between is not None:
        return keeps_records(between)
    # The chain is broken. Hung on the boundary the segment is the beginning of the context, else its end.
    is_beginning = segment.get("anchorUuid") == record.get("uuid")
    return keeps_records(ends) if is_beginning else keeps_from(ends[0])


def _between(head: str, tail: str, parents: Mapping[str, str | None]) -> list[str] | None:
    """The records from one to another, along the chain; ``None`` if it does not lead there."""
    found, at = list[str](), tail
    met = set[str]()
    while at not in met:
        met.add(at)
        found.append(at)
        if at == head:
            return found[::-1]
        parent = parents.get(at)
        if parent is None:
            return None
        at = parent
    return None
