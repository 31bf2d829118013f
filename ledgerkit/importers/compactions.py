"""What a recorded compaction kept of the context before it, in the words that ``AsRecorded`` follows.

An importer says it on the message that records the compaction (``MessageDraft.compaction``); it stands in the
message's metadata under ``compaction``. Records are named as history has them, in ``source_record``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_list
from ledgerkit.protocol.identifiers import is_uuid

NOTHING: Final[JsonObject] = {"keeps": "nothing"}
"""All that stood before it is out; instructions that stand in every context stay in any case."""


def keeps_records(records: Iterable[str]) -> JsonObject:
    """It keeps some records, and nothing else."""
    listed = list(dict.fromkeys(records))
    return {"keeps": "records", "records": listed} if listed else NOTHING


def keeps_from(record: str | None) -> JsonObject:
    """It keeps everything from a record on; nothing if there is no such record."""
    return {"keeps": "from_record", "record": record} if record else NOTHING


def keeps_user_messages(tokens: int) -> JsonObject:
    """It keeps the newest messages of the user that fit in some tokens."""
    return {"keeps": "user_messages", "tokens": tokens}


def forgets(records: Iterable[str]) -> JsonObject:
    """It keeps everything but some records."""
    return {"forgets": list(dict.fromkeys(records))}


def named(values: object, met: Container[str]) -> list[str]:
    """Of what a log lists as ids of records, those that can be any.

    These ids are kept as they are, like the ids of records themselves, so that they still fit each other after
    redaction. A text that is neither the id of a record of the file nor of the shape of an id is no such thing.
    """
    listed = values if is_list(values) else []
    return [one for one in listed if isinstance(one, str) and (one in met or is_uuid(one))]
