"""Messages of pi as messages of the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft, UsageDraft
from ledgerkit.importers.pi.tools import diff_part, result_part
from ledgerkit.importers.pieces import (
    call_part,
    count,
    digest,
    json_part,
    media_part,
    micros,
    money,
    reasoning_part,
    text_part,
)
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

Piece = tuple[MessageKind, str, PartDraft]
_ENDED: Final = {"error": "api_error", "aborted": "aborted"}
_QUOTED: Final = re.compile(r"<(file|skill) name=[^>\n]{0,4096}>")
"""Begins a file or skill that the client put into a prompt."""


def grouped(pieces: Iterator[Piece]) -> list[MessageDraft]:
    """Pieces in a row that are of one kind and by one actor make one message."""
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]


def blocks_of(content: object) -> list[JsonObject]:
    """The blocks of a content; a text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_list(content):
        return [block if is_object(block) else {"type": "text", "text": str(block)} for block in content]
    return []


def answer(message: JsonObject, at: int | None, *, keep: bool) -> list[MessageDraft]:
    """What the model wrote, and how it ended where it did not end well."""
    model = nonempty_text(message.get("model"))
    out = grouped(_answer_pieces(message, model or "assistant", micros(message.get("timestamp")) or at, keep=keep))
    category = _ENDED.get(str(message.get("stopReason")))
    if category is not None:
        part = PartDraft(
            part_type=PartType.ERROR,
            trust=TrustLevel.TOOL_TRUSTED,
            visibility=Visibility.HUMAN_VISIBLE,
            text=nonempty_text(message.get("errorMessage")),
            error_category=category,
        )
        out.append(MessageDraft(MessageKind.ERROR_EVENT, "pi", [part]))
    if not out:
        empty = text_part("", TrustLevel.MODEL_GENERATED)
        out = [MessageDraft(MessageKind.ASSISTANT_RESPONSE, model or "assistant", [empty])]
    for draft in out:
        draft.model, draft.provider = model, nonempty_text(message.get("provider"))
    out[0].usage = _usage(message.get("usage"))
    kept = {k: message[k] for k in ("api", "stopReason", "responseId", "responseModel") if message.get(k)}
    out[0].metadata = {**out[0].metadata, **kept}
    return out


def _answer_pieces(message: JsonObject, actor: str, at: int | None, *, keep: bool) -> Iterator[Piece]:
    for block in blocks_of(message.get("content")):
        kind = block.get("type")
        if kind == "toolCall":
            native = nonempty_text(block.get("id")) or f"unidentified:{digest(block)}"
            part = call_part(native, nonempty_text(block.get("name")), block.get("arguments"), at)
            yield MessageKind.TOOL_CALL_REQUEST, actor, part
        elif kind == "thinking":
            text, signature = block.get("thinking"), block.get("thinkingSignature")
            hidden = reasoning_part(
                text if isinstance(text, str) else "",
                keep=keep,
                sealed_bytes=len(signature) if isinstance(signature, str) else 0,
            )
            yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, hidden
        else:
            yield MessageKind.ASSISTANT_RESPONSE, actor, said(block, TrustLevel.MODEL_GENERATED)


def said(block: JsonObject, trust: TrustLevel) -> PartDraft:
    """A block that somebody said or showed."""
    if isinstance(block.get("text"), str):
        return text_part(block["text"], trust)
    if block.get("type") == "image":
        return media_part(block.get("data"), block.get("mimeType"), trust)
    return json_part(block, trust, visibility=Visibility.AUDIT_ONLY)


def _usage(usage: object) -> UsageDraft | None:
    """Cache tokens are counted beside the input. A cache write of unrecorded lifetime is a five-minute one."""
    if not is_object(usage):
        return None
    given, output = count(usage.get("input")), count(usage.get("output"))
    read, write = count(usage.get("cacheRead")), count(usage.get("cacheWrite"))
    if given is None and output is None:
        return None
    hour = min(count(usage.get("cacheWrite1h")) or 0, write or 0)
    cost = usage.get("cost")
    return UsageDraft(
        input_tokens=None if given is None else given + (read or 0) + (write or 0),
        cache_read_tokens=read,
        cache_write_5m_tokens=None if write is None else write - hour,
        cache_write_1h_tokens=None if write is None else hour,
        output_tokens=output,
        reported_cost=money(cost.get("total")) if is_object(cost) else None,
    )


def result(message: JsonObject, call: JsonObject) -> list[MessageDraft]:
    """What a tool returned, media beside it, and the change that an edit made."""
    blocks = blocks_of(message.get("content"))
    kind, part = result_part(message, call, "\n".join(b["text"] for b in blocks if isinstance(b.get("text"), str)))
    parts = [part]
    for block in blocks:
        if not isinstance(block.get("text"), str):
            other = said(block, part.trust)
            other.tool_call_id, other.tool_name, other.path = part.tool_call_id, part.tool_name, part.path
            parts.append(other)
    if diff := diff_part(message.get("details"), part):
        parts.append(diff)
    return [MessageDraft(kind, part.tool_name or "tool", parts)]


def prompt(message: JsonObject) -> list[MessageDraft]:
    """What the user asks, and what the client put into it."""
    pieces = [piece for block in blocks_of(message.get("content")) for piece in _prompt_pieces(block)]
    if not pieces:
        pieces = [(MessageKind.USER_TASK, "user", text_part("", TrustLevel.USER_TRUSTED))]
    attached = message.get("attachments")
    if attached:
        part = json_part(attached, TrustLevel.UNKNOWN, visibility=Visibility.AUDIT_ONLY)
        pieces.append((MessageKind.USER_TASK, "user", part))
    return grouped(iter(pieces))


def _prompt_pieces(block: JsonObject) -> Iterator[Piece]:
    text = block.get("text")
    quoted = _QUOTED.search(text) if isinstance(text, str) else None
    # To the last mark of its end: a file may hold such marks too.
    end = text.rfind(f"</{quoted[1]}>") if isinstance(text, str) and quoted else -1
    if quoted is None or not isinstance(text, str) or end < quoted.end():
        yield MessageKind.USER_TASK, "user", said(block, TrustLevel.USER_TRUSTED)
        return
    end += len(f"</{quoted[1]}>")
    before, inside, after = text[: quoted.start()], text[quoted.start() : end], text[end:]
    is_skill = quoted[1] == "skill"
    kind = MessageKind.REPOSITORY_INSTRUCTION if is_skill else MessageKind.FILE_OBSERVATION
    if before.strip():
        yield MessageKind.USER_TASK, "user", text_part(before, TrustLevel.USER_TRUSTED)
    yield kind, "skill" if is_skill else "pi", text_part(inside, TrustLevel.REPOSITORY_UNTRUSTED)
    if after.strip():
        yield MessageKind.USER_TASK, "user", text_part(after, TrustLevel.USER_TRUSTED)


def user_command(message: JsonObject) -> MessageDraft:
    """A shell command that the user ran: the command is the user's, what it printed is the repository's."""
    hidden = message.get("excludeFromContext") is True
    visibility = Visibility.HUMAN_VISIBLE if hidden else Visibility.MODEL_VISIBLE
    rest = {k: v for k, v in message.items() if k not in ("role", "command", "output", "timestamp") and v is not None}
    output = text_part(str(message.get("output") or ""), TrustLevel.REPOSITORY_UNTRUSTED, visibility=visibility)
    output.data = rest or None
    command = text_part(str(message.get("command") or ""), TrustLevel.USER_TRUSTED, visibility=visibility)
    return MessageDraft(MessageKind.TOOL_CALL_RESULT, "shell", [command, output])


def extension_message(message: JsonObject) -> MessageDraft:
    """What an extension put into the conversation; whose words these are is not recorded."""
    parts = [said(block, TrustLevel.UNKNOWN) for block in blocks_of(message.get("content"))]
    actor = nonempty_text(message.get("customType")) or "extension"
    return MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, actor, parts or [text_part("", TrustLevel.UNKNOWN)])
