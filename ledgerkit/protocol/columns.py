"""Messages and parts as columns of the history table, and back: nothing is lost on the way.

A field is the column of its name; labels of a part are ``part_trust_level`` and ``part_visibility``. ``data`` holds,
as canonical JSON, a call's arguments, the data of a result, error or JSON part, and for all other types one object
with their structured fields (a verdict, line numbers) beside their details. ``status`` of a verification repeats
its verdict. Null stands for a field without a value, an empty list or an empty object. One message at a time: whole
tables are read as frames.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, cast

from pydantic import BaseModel, JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.messages import AgentMessage, SourceRecord
from ledgerkit.protocol.parts import (
    ArtifactRefPart,
    DetailedBase,
    DiffPart,
    ErrorPart,
    FileSnippetPart,
    JsonPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VerificationPart,
)
from ledgerkit.protocol.refusals import parse
from ledgerkit.protocol.toolcalls import canonical_json
from ledgerkit.protocol.usage import ModelCall, Usage
from ledgerkit.protocol.vocabulary import PartType

_Columns = Mapping[str, object]

_PART_TYPES: Final[dict[str, type[Part]]] = {
    PartType.TEXT: TextPart,
    PartType.JSON: JsonPart,
    PartType.ARTIFACT_REF: ArtifactRefPart,
    PartType.FILE_SNIPPET: FileSnippetPart,
    PartType.DIFF: DiffPart,
    PartType.TOOL_CALL: ToolCallPart,
    PartType.TOOL_RESULT: ToolResultPart,
    PartType.VERIFICATION: VerificationPart,
    PartType.ERROR: ErrorPart,
}
_PART_COLUMNS: Final = {
    "part_type": "type",
    "content_type": "content_type",
    "part_trust_level": "trust_level",
    "part_visibility": "visibility",
    "text": "text",
    "summary": "summary",
    "artifact_refs": "artifact_refs",
    "tool_call_id": "tool_call_id",
    "tool_name": "tool_name",
    "arguments_hash": "arguments_hash",
    "status": "status",
    "started_at": "started_at",
    "finished_at": "finished_at",
    "path": "path",
    "error_category": "error_category",
    "evidence_refs": "evidence_refs",
    "token_count": "token_count",
}
_NESTED: Final[dict[str, type[BaseModel]]] = {"source": SourceRecord, "call": ModelCall}
_MESSAGE_COLUMNS: Final = tuple(name for name in AgentMessage.model_fields if name not in ("parts", *_NESTED))


def part_columns(part: Part) -> dict[str, object]:
    """The columns of a part, without ``part_id``, ``byte_count`` and ``content_id``, which the store computes."""
    columns: dict[str, object] = {}
    for column, field in _PART_COLUMNS.items():
        columns[column] = getattr(part, field, None)
    columns["artifact_refs"] = list(part.artifact_refs) or None
    columns["evidence_refs"] = [str(ref) for ref in part.evidence_refs] or None
    if isinstance(part, VerificationPart):
        columns["status"] = part.verdict
    columns["data"] = _data_text(part)
    return columns


def _data_text(part: Part) -> str | None:
    if isinstance(part, JsonPart):
        return canonical_json(part.data)
    if isinstance(part, ToolCallPart):
        value = part.arguments
    elif isinstance(part, DetailedBase):
        own = part.model_dump(mode="json", include=set(part.structured_fields()), exclude_defaults=True)
        value = {**part.details, **own} or None
    else:
        value = part.data
    return None if value is None else canonical_json(value)


def part_from_columns(columns: _Columns) -> Part:
    """The part that some columns hold.

    Args:
        columns: At least the part columns of one history row; others are not looked at.

    Raises:
        ProtocolError: If the columns hold no part that the protocol allows.
    """
    name = columns.get("part_type")
    shape = _PART_TYPES.get(str(name))
    if shape is None:
        raise ProtocolError.unknown_value("part_type", name, [one.value for one in PartType])
    fields: dict[str, object] = {}
    for column, field in _PART_COLUMNS.items():
        value = columns.get(column)
        known = shape.model_fields.get(field)
        if value is not None or (known is not None and known.is_required()):
            fields[field] = value
    if shape is VerificationPart:
        fields["verdict"] = fields.pop("status", None)
    return parse(shape, fields | _data_fields(shape, columns.get("data")))


def _data_fields(shape: type[Part], text: object) -> dict[str, object]:
    data = _decoded("data", text)
    if shape is ToolCallPart:
        return {"arguments": data}
    if not issubclass(shape, DetailedBase):
        return {"data": data}
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ProtocolError(f"data of a {shape.__name__} is an object, not {type(data).__name__}. Use a JsonPart.")
    own = shape.structured_fields()
    details = {name: value for name, value in data.items() if name not in own}
    return {"details": details, **{name: value for name, value in data.items() if name in own}}


def message_columns(message: AgentMessage) -> dict[str, object]:
    """The columns that a message has but once: keys, labels, metadata, source and usage."""
    columns: dict[str, object] = {name: getattr(message, name) for name in _MESSAGE_COLUMNS}
    columns["metadata"] = canonical_json(message.metadata) if message.metadata else None
    for name in SourceRecord.model_fields:
        columns[name] = getattr(message.source, name, None)
    for name in _CALL_COLUMNS:
        columns[name] = getattr(message.call, name, None)
    for name in Usage.model_fields:
        columns[name] = getattr(message.usage, name, None)
    return columns


_CALL_COLUMNS: Final = tuple(name for name in ModelCall.model_fields if name != "usage")


def message_from_columns(columns: _Columns, parts: Sequence[Part]) -> AgentMessage:
    """The message that some columns and its parts make.

    Args:
        columns: At least the message columns of its first history row; others are not looked at.
        parts: Its parts in order.

    Raises:
        ProtocolError: If they make no message that the protocol allows.
    """
    fields = {name: columns.get(name) for name in _MESSAGE_COLUMNS}
    fields["metadata"] = _decoded("metadata", columns.get("metadata")) or {}
    fields["parts"] = tuple(parts)
    fields["source"] = _known(SourceRecord.model_fields, columns) or None
    call, usage = _known(_CALL_COLUMNS, columns), _known(Usage.model_fields, columns)
    fields["call"] = {**call, "usage": usage} if call or usage else None
    return parse(AgentMessage, fields)


def _known(names: Sequence[str] | Mapping[str, object], columns: _Columns) -> dict[str, object]:
    return {name: columns[name] for name in names if columns.get(name) is not None}


def _decoded(column: str, text: object) -> JsonValue:
    if text is None:
        return None
    try:
        return cast(JsonValue, json.loads(cast(str, text)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"{column} holds no JSON text: {error}.") from error
