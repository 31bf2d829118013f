"""A message of a conversation (a turn with a role) as messages of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ledgerkit.importers.chat.blocks import REASONING, blocks_of, hidden_part, said_part, texts_of
from ledgerkit.importers.chat.calls import Calls
from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.pieces import arguments_of, call_part, digest, reasoning_part, text_part
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_words import trust_of_result
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel

Piece = tuple[MessageKind, str, PartDraft]
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_MODEL: Final = TrustLevel.MODEL_GENERATED


def grouped(pieces: Iterator[Piece]) -> list[MessageDraft]:
    """Pieces in a row that are of one kind and by one actor make one message."""
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]


def answer_pieces(turn: JsonObject, actor: str, calls: Calls, at: int | None, *, keep: bool) -> Iterator[Piece]:
    """What a model wrote: reasoning, text and calls, in their order; calls beside the content come after it."""
    calls.begin_answer()
    for name in ("reasoning_content", "reasoning"):
        if text := nonempty_text(turn.get(name)):
            yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, reasoning_part(text, keep=keep)
            break
    for block in blocks_of(turn.get("content")):
        kind = block.get("type")
        if kind in _CALLS:
            name = nonempty_text(block.get("name"))
            call_id = calls.ask(nonempty_text(block.get("id")), name, block.get("input"))
            yield MessageKind.TOOL_CALL_REQUEST, actor, call_part(call_id, name, block.get("input"), at)
        elif str(kind) in REASONING:
            yield MessageKind.AGENT_THOUGHT_SUMMARY, actor, hidden_part(block, keep=keep)
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            yield result_piece(block, calls, block.get("content"), TrustLevel.NETWORK_UNTRUSTED)
        else:
            yield MessageKind.ASSISTANT_RESPONSE, actor, said_part(block, _MODEL)
    if refusal := nonempty_text(turn.get("refusal")):
        yield MessageKind.ASSISTANT_RESPONSE, actor, text_part(refusal, _MODEL)
    for call in _calls_of(turn):
        name, arguments = _asked(call)
        call_id = calls.ask(nonempty_text(call.get("id")), name, arguments)
        yield MessageKind.TOOL_CALL_REQUEST, actor, call_part(call_id, name, arguments, at)


def _calls_of(turn: JsonObject) -> list[JsonObject]:
    legacy = turn.get("function_call")
    return [*objects_of(turn.get("tool_calls")), *([{"function": legacy}] if is_object(legacy) else [])]


def _asked(call: JsonObject) -> tuple[str | None, object]:
    """Name and arguments: OpenAI's ``function`` or ``custom`` object, or AgentDojo's ``function`` and ``args``."""
    function = call.get("function", call.get("custom"))
    if is_object(function):
        return nonempty_text(function.get("name")), arguments_of(function.get("arguments", function.get("input")))
    return nonempty_text(function) or nonempty_text(call.get("name")), arguments_of(
        call.get("args", call.get("arguments"))
    )


def tool_piece(turn: JsonObject, calls: Calls) -> Piece:
    """A turn with the role ``tool`` or ``function``."""
    return result_piece(turn, calls, turn.get("content"))


def result_piece(block: JsonObject, calls: Calls, content: object, trust: TrustLevel | None = None) -> Piece:
    """A result: whose words it is by the tool's name, how it ended where that is recorded.

    Args:
        block: Turn, block or item.
        calls: The calls before it.
        content: What came back.
        trust: Whose words it is, where that is known otherwise.
    """
    native = next((block[k] for k in _RESULT_IDS if nonempty_text(block.get(k))), None)
    call_id = calls.answer(native)
    named = nonempty_text(block.get("name")) or calls.name_of(call_id)
    parts, text = blocks_of(content), texts_of(content)
    failed = block.get("is_error") is True or bool(block.get("error"))
    part = PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust or trust_of_result(named, calls.arguments_of(call_id), text),
        text=text,
        data=_rest(block, parts),
        status=_status(block, failed=failed),
        error_category="tool_error" if failed else None,
        tool_call_id=call_id or f"unidentified:{digest(block)}",
        tool_name=named,
    )
    return MessageKind.TOOL_CALL_RESULT, named or "tool", part


_RESULT_IDS: Final = ("tool_call_id", "tool_use_id", "call_id")


def _status(block: JsonObject, *, failed: bool) -> ToolStatus:
    """A result says how the call ended only if it has a field for that (Anthropic: false unless it is there)."""
    if failed:
        return ToolStatus.FAILED
    told = "error" in block or "is_error" in block or "tool_use_id" in block
    return ToolStatus.SUCCEEDED if told else ToolStatus.UNKNOWN


def _rest(block: JsonObject, parts: list[JsonObject]) -> JsonObject | None:
    """What a result holds beside its text: blocks of other types, an error's words."""
    others = [part for part in parts if not isinstance(part.get("text", part.get("content")), str)]
    rest: JsonObject = {"blocks": others} if others else {}
    return rest | ({"error": block["error"]} if block.get("error") else {}) or None
