"""Turns and tool spans as messages of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.otel.spans import Span, structured
from ledgerkit.importers.otel.turns import Turn
from ledgerkit.importers.pieces import arguments_of, call_part, digest, json_part, media_part, reasoning_part, text_part
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.importers.tool_words import trust_of_result
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

Piece = tuple[MessageKind, str, PartDraft]
_SPEAKERS: Final = {
    "system": (MessageKind.SYSTEM_INSTRUCTION, "operator", TrustLevel.ORG_TRUSTED),
    "developer": (MessageKind.DEVELOPER_INSTRUCTION, "operator", TrustLevel.ORG_TRUSTED),
    "user": (MessageKind.USER_TASK, "user", TrustLevel.USER_TRUSTED),
    "assistant": (MessageKind.ASSISTANT_RESPONSE, "assistant", TrustLevel.MODEL_GENERATED),
    "model": (MessageKind.ASSISTANT_RESPONSE, "assistant", TrustLevel.MODEL_GENERATED),
}


def _grouped(pieces: Iterator[Piece]) -> list[MessageDraft]:
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]


def answer(turns: list[Turn], actor: str, at: int | None, *, keep: bool) -> list[MessageDraft]:
    """What a model answered; an empty answer where its content was not captured."""
    out = _grouped(_piece(part, "assistant", actor, at, keep=keep) for turn in turns for part in turn.parts)
    empty = MessageDraft(MessageKind.ASSISTANT_RESPONSE, actor, [text_part("", TrustLevel.MODEL_GENERATED)])
    return out or [empty]


def given(turn: Turn, *, keep: bool) -> list[MessageDraft]:
    """What a model was given."""
    return _grouped(_piece(part, turn.role, None, None, keep=keep) for part in turn.parts)


def _piece(part: JsonObject, role: str, actor: str | None, at: int | None, *, keep: bool) -> Piece:
    kind, content = part.get("type"), part.get("content")
    unknown = (MessageKind.DEVELOPER_INSTRUCTION, role, TrustLevel.UNKNOWN)
    speaks, speaker, trust = _SPEAKERS.get(role, unknown)
    speaker = actor or speaker
    if kind == "tool_call":
        name = nonempty_text(part.get("name"))
        call_id = nonempty_text(part.get("id")) or f"unidentified:{digest(part)}"
        return MessageKind.TOOL_CALL_REQUEST, speaker, call_part(call_id, name, arguments_of(part.get("arguments")), at)
    if kind == "tool_call_response":
        returned = part.get("response", part.get("result"))
        call_id = nonempty_text(part.get("id")) or f"unidentified:{digest(part)}"
        name = nonempty_text(part.get("name"))
        return MessageKind.TOOL_CALL_RESULT, name or "tool", _returned(returned, call_id, name, ToolStatus.UNKNOWN)
    if kind in ("reasoning", "thinking"):
        hidden = reasoning_part(content if isinstance(content, str) else "", keep=keep)
        return MessageKind.AGENT_THOUGHT_SUMMARY, speaker, hidden
    if kind == "text" and isinstance(content, str):
        return speaks, speaker, text_part(content, trust)
    if kind == "blob":
        return speaks, speaker, media_part(content, part.get("mime_type"), trust)
    return speaks, speaker, json_part(part, trust, visibility=Visibility.AUDIT_ONLY)


def _returned(value: object, call_id: str, name: str | None, status: ToolStatus, arguments: object = None) -> PartDraft:
    return PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust_of_result(name, arguments, nonempty_text(value)),
        text=value if isinstance(value, str) else None,
        data=None if value is None or isinstance(value, str) else value,
        status=status,
        error_category="tool_error" if status is ToolStatus.FAILED else None,
        tool_call_id=call_id,
        tool_name=name,
    )


def tool_run(span: Span, call_id: str, *, is_asked: bool) -> list[MessageDraft]:
    """A tool's run: the call, unless a model's span holds it, and the result."""
    said = span.attributes
    name = nonempty_text(said.get("gen_ai.tool.name")) or nonempty_text(said.get("tool.name"))
    asked = said.get("gen_ai.tool.call.arguments", said.get("input.value", said.get("tool.parameters")))
    returned = said.get("gen_ai.tool.call.result", said.get("output.value"))
    out: list[MessageDraft] = []
    if not is_asked:
        call = call_part(call_id, name, arguments_of(structured(asked)), span.start)
        out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, "assistant", [call], metadata={"derived": ["kind"]}))
    status = ToolStatus.FAILED if span.error else ToolStatus.SUCCEEDED if _is_ok(span) else ToolStatus.UNKNOWN
    part = _returned(returned, call_id, name, status, arguments_of(structured(asked)))
    part.started_at, part.finished_at = span.start, span.end
    out.append(MessageDraft(MessageKind.TOOL_CALL_RESULT, name or "tool", [part]))
    return out


def _is_ok(span: Span) -> bool:
    status = span.value.get("status")
    return is_object(status) and status.get("code") in (1, "STATUS_CODE_OK")


def error(found: tuple[str, str | None]) -> MessageDraft:
    """What went wrong in a span. The words may quote anything."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.UNKNOWN,
        visibility=Visibility.HUMAN_VISIBLE,
        text=found[1],
        error_category=found[0],
    )
    return MessageDraft(MessageKind.ERROR_EVENT, "instrumentation", [part])
