"""Parts and values that many formats hold alike: texts, calls, media, hidden reasoning, verdicts, unknown records.

What a record *means* is for each format's importer to say; this is how such a thing is written down.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypedDict

import msgspec
from typing_extensions import Unpack

from ledgerkit.importers.drafts import Blob, JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.shapes import is_list, is_object
from ledgerkit.protocol.model import MAX_JSON_DEPTH
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import (
    ArtifactLabel,
    MessageKind,
    PartType,
    ToolStatus,
    TrustLevel,
    Verdict,
    Visibility,
)

JSON_TYPE: Final = "application/json"
UNNAMED: Final = "unnamed"
"""Stands for the name of a tool where the call has none."""
UNKNOWN_RECORD: Final = "unknown_record"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEYOND_COUNTS: Final = 2**60  # three of them still fit into a column
_BEYOND_COSTS: Final = 10**9
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,", re.ASCII)
_PATHS: Final = ("file_path", "absolute_path", "path", "filePath", "filename", "notebook_path", "dir_path")


class PartLabels(TypedDict, total=False):
    """What may be said of a part beside its content and trust."""

    visibility: Visibility
    tool_call_id: str | None
    tool_name: str | None
    path: str | None
    error_category: str | None


def digest(value: object) -> str:
    """Hash of what a record says."""
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()


def count(value: object) -> int | None:
    """A number of tokens; ``None`` where it is none that can be true."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _BEYOND_COUNTS else None


def money(value: object) -> str | None:
    """An amount as the ledger keeps it; ``None`` where it is none that can be true."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _BEYOND_COSTS:
        return None
    return str(Decimal(str(value)).quantize(Decimal("1e-9")))


def micros(value: object) -> int | None:
    """A point in time as microseconds since 1970: an ISO text (UTC where it names no zone), or a number.

    Numbers are seconds or milliseconds, told apart by their size.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            return None
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    return round(value * 1000) if value >= 1e11 else round(value * 1_000_000)


def text_part(text: str, trust: TrustLevel, **labels: Unpack[PartLabels]) -> PartDraft:
    """A plain text."""
    return PartDraft(part_type=PartType.TEXT, trust=trust, text=text, **labels)


def json_part(value: object, trust: TrustLevel, **labels: Unpack[PartLabels]) -> PartDraft:
    """A structured value kept as it stands."""
    return PartDraft(part_type=PartType.JSON, trust=trust, data=value, content_type=JSON_TYPE, **labels)


def arguments_of(raw: object) -> object:
    """The arguments of a call: a JSON text as what it says, anything else as it stands."""
    if not isinstance(raw, str):
        return raw
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return raw
    return value if is_object(value) and not is_too_deep(value) else raw


def is_too_deep(value: object) -> bool:
    """Whether a value is nested more deeply than the protocol allows."""
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            child for item in level for child in (item.values() if is_object(item) else item if is_list(item) else ())
        ]
        if not level:
            return False
    return True


def call_part(call_id: str, name: str | None, arguments: object, started_at: int | None = None) -> PartDraft:
    """A tool call as the model wrote it."""
    return PartDraft(
        part_type=PartType.TOOL_CALL,
        trust=TrustLevel.MODEL_GENERATED,
        data=arguments,
        content_type=JSON_TYPE,
        tool_call_id=call_id,
        tool_name=name or UNNAMED,
        arguments_hash=arguments_hash(arguments if is_object(arguments) else {"value": arguments}),
        status=ToolStatus.REQUESTED,
        started_at=started_at,
        path=path_of(arguments),
    )


def path_of(arguments: object) -> str | None:
    """The file that a call is about, by the names that tools give it."""
    if not is_object(arguments):
        return None
    return next((arguments[name] for name in _PATHS if isinstance(arguments.get(name), str)), None)


def reasoning_part(text: str, *, keep: bool, sealed_bytes: int = 0) -> PartDraft:
    """Hidden reasoning: its measure, and its text only as a restricted artifact."""
    kept = keep and bool(text)
    return PartDraft(
        part_type=PartType.TEXT,
        trust=TrustLevel.MODEL_GENERATED,
        visibility=Visibility.AUDIT_ONLY,
        data={"hidden_reasoning": "kept" if kept else "measured", "sealed_bytes": sealed_bytes},
        measured=text,
        blobs=[Blob(text.encode(), "text/plain", ArtifactLabel.RESTRICTED)] if kept else None,
    )


def media_part(
    payload: object, media_type: object, trust: TrustLevel, described: JsonObject | None = None
) -> PartDraft:
    """An image or document: its bytes become an artifact.

    Args:
        payload: Base64 or a ``data:`` address; anything else is no content.
        media_type: Its type, where the record names it.
        trust: Where it comes from.
        described: What else the record says of it.
    """
    named = media_type if isinstance(media_type, str) and _MEDIA_TYPE.fullmatch(media_type) else None
    content: bytes | None = None
    if isinstance(payload, str):
        head = _DATA_URI.match(payload)
        named = (head[1] if head else None) or named
        content = _decoded(payload[head.end() :] if head else payload)
        if content is None:
            described = {**(described or {}), "undecodable_base64_bytes": len(payload)}
    kind = named or "application/octet-stream"
    return PartDraft(
        part_type=PartType.ARTIFACT_REF,
        trust=trust,
        data=described or None,
        content_type=kind,
        blobs=[Blob(content, kind)] if content else None,
    )


def is_data_uri(address: object) -> bool:
    """Whether an address holds the content itself."""
    return isinstance(address, str) and _DATA_URI.match(address) is not None


def _decoded(payload: str) -> bytes | None:
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None


def verdict_message(check: str, verdict: Verdict, recorded: JsonObject, *, scope: str = "run") -> MessageDraft:
    """A recorded outcome of a run."""
    part = PartDraft(
        part_type=PartType.VERIFICATION,
        trust=TrustLevel.TOOL_TRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        data={"check": check, "scope": scope, "verdict": verdict.value, **recorded},
        content_type=JSON_TYPE,
        status=verdict.value,
    )
    return MessageDraft(MessageKind.VERIFIER_RESULT, check, [part])


def note_message(value: Any, actor: str, trust: TrustLevel) -> MessageDraft:  # noqa: ANN401 - any JSON value
    """A fact about the run that only audits need."""
    return MessageDraft(MessageKind.RUN_SUMMARY, actor, [json_part(value, trust, visibility=Visibility.AUDIT_ONLY)])


def unknown_message(value: object, actor: str) -> MessageDraft:
    """A record of a type that the importer does not know, kept whole."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.UNKNOWN,
        visibility=Visibility.AUDIT_ONLY,
        data=value,
        content_type=JSON_TYPE,
        error_category=UNKNOWN_RECORD,
    )
    return MessageDraft(MessageKind.ERROR_EVENT, actor, [part])
