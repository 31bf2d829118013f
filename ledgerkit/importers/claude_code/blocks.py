"""Content blocks of Claude Code messages as parts.

Hidden reasoning is not kept: its part has the size and the hash of it and no text, unless the user opted in, and
then its text is an artifact that is never projected.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TypedDict

from typing_extensions import Unpack

from ledgerkit.importers.drafts import Blob, JsonObject, PartDraft
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.toolcalls import arguments_hash
from ledgerkit.protocol.vocabulary import ArtifactLabel, PartType, ToolStatus, TrustLevel, Visibility

JSON_TYPE = "application/json"
UNNAMED = "unnamed"
"""Stands for the name of a tool where the call has none."""

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


class PartLabels(TypedDict, total=False):
    """What may be said of a part beside its content and trust."""

    visibility: Visibility
    tool_call_id: str | None
    tool_name: str | None
    path: str | None
    error_category: str | None


def text_part(text: str, trust: TrustLevel, **labels: Unpack[PartLabels]) -> PartDraft:
    """A plain text."""
    return PartDraft(part_type=PartType.TEXT, trust=trust, text=text, **labels)


def json_part(value: object, trust: TrustLevel, **labels: Unpack[PartLabels]) -> PartDraft:
    """A structured value kept as it stands."""
    return PartDraft(part_type=PartType.JSON, trust=trust, data=value, content_type=JSON_TYPE, **labels)


def unidentified(content: object) -> str:
    """Stands for the id of a call that has none, so that the call is kept; the same for the same content."""
    return "unidentified:" + hashlib.blake2b(repr(content).encode(), digest_size=6).hexdigest()


def call_part(block: JsonObject, created_at: int | None) -> PartDraft:
    """A tool call as the model wrote it."""
    arguments = block.get("input")
    name = block.get("name")
    call_id = block.get("id")
    return PartDraft(
        part_type=PartType.TOOL_CALL,
        trust=TrustLevel.MODEL_GENERATED,
        data=arguments,
        content_type=JSON_TYPE,
        tool_call_id=call_id if isinstance(call_id, str) and call_id else unidentified(block),
        tool_name=nonempty_text(name) or UNNAMED,
        arguments_hash=arguments_hash(arguments if is_object(arguments) else {"value": arguments}),
        status=ToolStatus.REQUESTED,
        started_at=created_at,
        path=_path_argument(arguments),
    )


def _path_argument(arguments: object) -> str | None:
    if is_object(arguments):
        for key in ("file_path", "notebook_path", "path"):
            if isinstance(arguments.get(key), str):
                return arguments[key]
    return None


def reasoning_part(block: JsonObject, *, keep: bool) -> PartDraft:
    """Hidden reasoning: its measure, and its text only as a restricted artifact."""
    text = block.get("thinking")
    text = text if isinstance(text, str) else ""
    sealed = block.get("data") if block.get("type") == "redacted_thinking" else block.get("signature")
    sealed_bytes = len(sealed) if isinstance(sealed, str) else 0
    return PartDraft(
        part_type=PartType.TEXT,
        trust=TrustLevel.MODEL_GENERATED,
        visibility=Visibility.AUDIT_ONLY,
        data={"hidden_reasoning": "kept" if keep and text else "measured", "sealed_bytes": sealed_bytes},
        measured=text,
        blobs=[Blob(text.encode(), "text/plain", ArtifactLabel.RESTRICTED)] if keep and text else None,
    )


def media_part(block: JsonObject, trust: TrustLevel, **labels: Unpack[PartLabels]) -> PartDraft:
    """An image or document: its bytes become an artifact."""
    source = block.get("source")
    source = source if is_object(source) else {}
    named = source.get("media_type")
    media_type = named if isinstance(named, str) and _MEDIA_TYPE.fullmatch(named) else "application/octet-stream"
    payload = source.get("data")
    content = _decoded(payload) if isinstance(payload, str) else None
    described = {k: v for k, v in block.items() if k not in ("source", "type")}
    described |= {k: v for k, v in source.items() if k != "data" and v != media_type}
    if isinstance(payload, str) and content is None:
        described |= {"undecodable_base64_bytes": len(payload)}
    return PartDraft(
        part_type=PartType.ARTIFACT_REF,
        trust=trust,
        data=described or None,
        content_type=media_type,
        blobs=[Blob(content, media_type)] if content else None,
        **labels,
    )


def _decoded(payload: str) -> bytes | None:
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None


def result_texts(content: object) -> tuple[str, list[JsonObject]]:
    """The text of a result's content, and its blocks that are not text."""
    if isinstance(content, str):
        return content, []
    if not is_list(content):
        return "" if content is None else str(content), []
    texts: list[str] = []
    others: list[JsonObject] = []
    for block in content:
        if is_object(block) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif is_object(block):
            others.append(block)
        elif isinstance(block, str):
            texts.append(block)
    return "\n".join(texts), others
