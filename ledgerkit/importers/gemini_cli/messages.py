"""Messages of a Gemini CLI session as messages of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft, UsageDraft
from ledgerkit.importers.gemini_cli.tools import Piece, has_ended, result_pieces
from ledgerkit.importers.pieces import UNNAMED, call_part, count, digest, json_part, media_part, micros, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

NAME: Final = "gemini-cli"
TYPES: Final = frozenset({"user", "gemini", "info", "warning", "error"})
_FILES: Final = "--- Content from referenced files ---"
"""Begins what the client adds of files that a prompt names with ``@``."""
_CONTEXT: Final = ("<session_context>", "<hook_context>", "This is the Gemini CLI. We are setting up the context")
_SNAPSHOT: Final = "<state_snapshot>"


def blocks_of(content: object) -> list[JsonObject]:
    """The parts of a content; a text is one."""
    if isinstance(content, str):
        return [{"text": content}]
    if is_list(content):
        return [part if is_object(part) else {"text": str(part)} for part in content]
    return [content] if is_object(content) else []


def grouped(pieces: Iterator[Piece]) -> list[MessageDraft]:
    """Pieces in a row that are of one kind and by one actor make one message."""
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]


def answer_messages(message: JsonObject) -> list[MessageDraft]:
    """What the model wrote: summaries of its thoughts, text, calls."""
    model = nonempty_text(message.get("model"))
    out = grouped(_answer_pieces(message, model or "gemini"))
    if not out:
        empty = text_part("", TrustLevel.MODEL_GENERATED)
        out = [MessageDraft(MessageKind.ASSISTANT_RESPONSE, model or "gemini", [empty])]
    for draft in out:
        draft.model, draft.provider = model, "google" if model and model.startswith("gemini") else None
    out[0].usage = _usage(message.get("tokens"))
    return out


def _answer_pieces(message: JsonObject, actor: str) -> Iterator[Piece]:
    for thought in objects_of(message.get("thoughts")):
        words = [nonempty_text(thought.get("subject")), nonempty_text(thought.get("description"))]
        part = text_part(
            "\n".join(filter(None, words)), TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE
        )
        yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, part
    for block in blocks_of(message.get("content")):
        if "functionCall" not in block and block.get("text") != "":
            yield MessageKind.ASSISTANT_RESPONSE, actor, _said(block, TrustLevel.MODEL_GENERATED)
    for call in objects_of(message.get("toolCalls")):
        name = nonempty_text(call.get("name"))
        part = call_part(call_id_of(call), name, call.get("args"), micros(message.get("timestamp")))
        yield MessageKind.TOOL_CALL_REQUEST, actor, part


def call_id_of(call: JsonObject) -> str:
    """The id of a call; for one without, something that stands for it."""
    return nonempty_text(call.get("id")) or f"unidentified:{digest([call.get('name') or UNNAMED, call.get('args')])}"


def result_messages(message: JsonObject) -> list[MessageDraft]:
    """What came back of the calls in a message."""
    ended = [call for call in objects_of(message.get("toolCalls")) if has_ended(call)]
    out = grouped(piece for call in ended for piece in result_pieces(call, call_id_of(call)))
    for draft in out:
        if draft.kind is not MessageKind.TOOL_CALL_RESULT:
            draft.metadata = {"derived": ["kind"]}
    return out


def _usage(tokens: object) -> UsageDraft | None:
    """Gemini counts cached tokens within the input; what tools added to the prompt and thoughts beside the rest."""
    if not is_object(tokens):
        return None
    given, output = count(tokens.get("input")), count(tokens.get("output"))
    thoughts, tool = count(tokens.get("thoughts")), count(tokens.get("tool"))
    if given is None and output is None:
        return None
    return UsageDraft(
        input_tokens=None if given is None else given + (tool or 0),
        cache_read_tokens=count(tokens.get("cached")),
        output_tokens=None if output is None else output + (thoughts or 0),
        reasoning_tokens=thoughts,
    )


def prompt_messages(message: JsonObject, *, is_subagent: bool) -> list[MessageDraft]:
    """What stands in the user's place: words of the user, and what the client put beside them."""
    shown = "\n".join(b["text"] for b in blocks_of(message.get("displayContent")) if isinstance(b.get("text"), str))
    return grouped(_prompt_pieces(message, shown.strip(), is_subagent=is_subagent))


def _prompt_pieces(message: JsonObject, shown: str, *, is_subagent: bool) -> Iterator[Piece]:
    in_files = False
    for block in blocks_of(message.get("content")):
        text = block.get("text")
        if not isinstance(text, str):
            trust = TrustLevel.REPOSITORY_UNTRUSTED if in_files else TrustLevel.UNKNOWN
            yield MessageKind.USER_TASK, "user", _said(block, trust)
            continue
        typed, mark, added = text.partition(_FILES) if not in_files else ("", "", text)
        in_files = in_files or bool(mark)
        if typed.strip() or not in_files:
            yield _spoken(typed, shown, is_subagent=is_subagent)
        if in_files:
            yield MessageKind.FILE_OBSERVATION, NAME, text_part(mark + added, TrustLevel.REPOSITORY_UNTRUSTED)


def _spoken(text: str, shown: str, *, is_subagent: bool) -> Piece:
    """Whose words a text is. A client that says what the user typed says so of all that the user typed."""
    head = text.lstrip()
    if head.startswith(_SNAPSHOT):
        return MessageKind.RUN_SUMMARY, "gemini", text_part(text, TrustLevel.MODEL_GENERATED)
    if head.startswith(_CONTEXT):
        return MessageKind.DEVELOPER_INSTRUCTION, NAME, text_part(text, TrustLevel.REPOSITORY_UNTRUSTED)
    if is_subagent:
        return MessageKind.USER_TASK, "parent agent", text_part(text, TrustLevel.MODEL_GENERATED)
    known = not shown or text.strip() in shown
    return MessageKind.USER_TASK, "user", text_part(text, TrustLevel.USER_TRUSTED if known else TrustLevel.UNKNOWN)


def _said(block: JsonObject, trust: TrustLevel) -> PartDraft:
    if isinstance(block.get("text"), str):
        return text_part(block["text"], trust)
    inline = block.get("inlineData")
    if is_object(inline):
        return media_part(inline.get("data"), inline.get("mimeType"), trust)
    return json_part(block, trust, visibility=Visibility.AUDIT_ONLY)


def notice_message(message: JsonObject) -> MessageDraft:
    """What the client told the user (info, warning, error). It may quote anything."""
    kind = str(message["type"])
    text = "\n".join(b["text"] for b in blocks_of(message.get("content")) if isinstance(b.get("text"), str))
    if kind == "error":
        part = PartDraft(
            part_type=PartType.ERROR,
            trust=TrustLevel.UNKNOWN,
            visibility=Visibility.HUMAN_VISIBLE,
            text=text,
            error_category="client_error",
        )
        return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])
    part = text_part(text, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
    part.data = {"note": kind}
    return MessageDraft(MessageKind.RUN_SUMMARY, NAME, [part])
