"""Conversation records of Claude Code (``user`` and ``assistant``) as messages.

A record is not a message: one record may hold reasoning, an answer and a call, or results of several calls.
Blocks in a row that are of one kind make one message. Text in a user record is the user's only where neither
the client nor a hook nor another model put it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from ledgerkit.importers.claude_code import blocks, own_words, results
from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, PartDraft
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

_Piece = tuple[MessageKind, str, PartDraft]
SYNTHETIC_MODEL = "<synthetic>"
CLIENT = "claude-code"
COMPACTION_PROMPT = "Your task is to create a detailed summary of the conversation"


def assistant_messages(record: JsonObject, created_at: int | None, *, keep_reasoning: bool) -> list[MessageDraft]:
    """The messages of an ``assistant`` record, in block order."""
    message = record["message"]
    model = message.get("model") if isinstance(message.get("model"), str) else None
    if model == SYNTHETIC_MODEL:
        return [_client_notice(record, message)]
    pieces = [_assistant_piece(b, created_at, keep_reasoning=keep_reasoning) for b in _blocks(message.get("content"))]
    provider = "anthropic" if model and model.startswith("claude") else None
    out = _grouped((kind, model or "assistant", part) for kind, part in pieces)
    for draft in out:
        draft.model, draft.provider = model, provider
    return out


def _assistant_piece(
    block: JsonObject, created_at: int | None, *, keep_reasoning: bool
) -> tuple[MessageKind, PartDraft]:
    kind, model = block.get("type"), TrustLevel.MODEL_GENERATED
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        wants_approval = block.get("name") in results.APPROVAL_TOOLS
        request = MessageKind.APPROVAL_REQUEST if wants_approval else MessageKind.TOOL_CALL_REQUEST
        return request, blocks.call_part(block, created_at)
    if kind in ("thinking", "redacted_thinking"):
        return MessageKind.AGENT_THOUGHT_SUMMARY, blocks.reasoning_part(block, keep=keep_reasoning)
    if kind == "text" and isinstance(block.get("text"), str):
        return MessageKind.ASSISTANT_RESPONSE, blocks.text_part(block["text"], model)
    if isinstance(kind, str) and kind.endswith("_tool_result"):
        return MessageKind.TOOL_CALL_RESULT, _server_result(block)
    return MessageKind.ASSISTANT_RESPONSE, blocks.json_part(block, model, visibility=Visibility.AUDIT_ONLY)


def _server_result(block: JsonObject) -> PartDraft:
    call_id = block.get("tool_use_id")
    return PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=TrustLevel.NETWORK_UNTRUSTED,
        data=block.get("content"),
        content_type=blocks.JSON_TYPE,
        tool_call_id=call_id if isinstance(call_id, str) else blocks.unidentified(block),
        status="SUCCEEDED",
    )


def _client_notice(record: JsonObject, message: JsonObject) -> MessageDraft:
    """What the client wrote in the model's place: an API error, or a notice that nothing was asked."""
    text, _ = blocks.result_texts(message.get("content"))
    if record.get("isApiErrorMessage") is True or record.get("error"):
        part = PartDraft(
            part_type=PartType.ERROR,
            trust=TrustLevel.TOOL_TRUSTED,
            text=text,
            error_category="api_error",
            data=record.get("error"),
        )
        return MessageDraft(MessageKind.ERROR_EVENT, CLIENT, [part], model=SYNTHETIC_MODEL)
    part = blocks.text_part(text, TrustLevel.TOOL_TRUSTED)
    return MessageDraft(MessageKind.ASSISTANT_RESPONSE, CLIENT, [part], model=SYNTHETIC_MODEL)


def user_messages(
    record: JsonObject, calls: dict[str, JsonObject], measure: Callable[[str], str]
) -> list[MessageDraft]:
    """The messages of a ``user`` record.

    Args:
        record: The record.
        calls: Tool-call blocks read so far, by id.
        measure: Content id of a text that is not kept.
    """
    content = _blocks(record["message"].get("content"))
    several = sum(block.get("type") == "tool_result" for block in content) > 1
    twin = None if several else record.get("toolUseResult")
    pieces: list[_Piece] = []
    for block in content:
        if block.get("type") == "tool_result":
            pieces += _result_pieces(block, twin, calls, measure)
        else:
            pieces.append(_said_piece(block, record))
    return _grouped(iter(pieces))


def _result_pieces(
    block: JsonObject, twin: object, calls: dict[str, JsonObject], measure: Callable[[str], str]
) -> Iterator[_Piece]:
    named = block.get("tool_use_id")
    call_id = named if isinstance(named, str) and named else blocks.unidentified(block)
    call = calls.get(call_id, {})
    name = nonempty_text(call.get("name"))
    text, others = blocks.result_texts(block.get("content"))
    status, category = results.status_of(block, twin, text)
    kind, trust = results.origin_of(name, twin, category)
    if kind is not MessageKind.APPROVAL_DECISION:
        trust = own_words.trust_of_result(name, call, text, trust, is_error=block.get("is_error") is True)
    path = results.path_of(twin, call.get("input"))
    labels: blocks.PartLabels = {"tool_call_id": call_id, "tool_name": name, "path": path}
    part = PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=trust,
        text=text,
        data=results.fields_of(twin, text, measure),
        status=status,
        error_category=category,
        tool_call_id=call_id,
        tool_name=name,
        path=path,
    )
    actor = name or "tool"
    yield kind, actor, part
    for other in others:
        if other.get("type") in ("image", "document"):
            yield kind, actor, blocks.media_part(other, trust, **labels)
        else:
            yield kind, actor, blocks.json_part(other, trust, **labels)
    if diff := results.diff_part(twin, path, call_id, name):
        yield kind, actor, diff


def _said_piece(block: JsonObject, record: JsonObject) -> _Piece:
    if block.get("type") in ("image", "document"):
        kind, actor, trust = _speaker("", record)
        return kind, actor, blocks.media_part(block, trust)
    text = block.get("text")
    if not isinstance(text, str):
        part = blocks.json_part(block, TrustLevel.UNKNOWN, visibility=Visibility.AUDIT_ONLY)
        return MessageKind.USER_TASK, "user", part
    kind, actor, trust = _speaker(text, record)
    return kind, actor, blocks.text_part(text, trust)


_CLIENT_COMMANDS = ("<command-name>", "<command-message>", "<bash-input>")
_Speaker = tuple[MessageKind, str, TrustLevel]
_BY_PREFIX: tuple[tuple[str, _Speaker], ...] = (
    ("[Request interrupted by user", (MessageKind.APPROVAL_DECISION, "user", TrustLevel.USER_TRUSTED)),
    ("<local-command-caveat>", (MessageKind.DEVELOPER_INSTRUCTION, CLIENT, TrustLevel.TOOL_TRUSTED)),
    ("Caveat: The messages below were generated", (MessageKind.DEVELOPER_INSTRUCTION, CLIENT, TrustLevel.TOOL_TRUSTED)),
    ("<local-command-std", (MessageKind.TOOL_CALL_RESULT, "shell", TrustLevel.REPOSITORY_UNTRUSTED)),
    ("<bash-std", (MessageKind.TOOL_CALL_RESULT, "shell", TrustLevel.REPOSITORY_UNTRUSTED)),
    ("<ide_", (MessageKind.DEVELOPER_INSTRUCTION, "ide", TrustLevel.REPOSITORY_UNTRUSTED)),
    ("Base directory for this skill", (MessageKind.REPOSITORY_INSTRUCTION, "skill", TrustLevel.REPOSITORY_UNTRUSTED)),
)


def _speaker(text: str, record: JsonObject) -> _Speaker:
    """Who really speaks in a text of a user record, and how far that is to be trusted."""
    if record.get("isCompactSummary") is True:
        return MessageKind.RUN_SUMMARY, "assistant", TrustLevel.MODEL_GENERATED
    head = text.lstrip()[:200]
    for prefix, speaker in _BY_PREFIX:
        if head.startswith(prefix):
            return speaker
    if record.get("isMeta") is True or head.startswith(("<system-reminder>", "<task-notification>")):
        return _injected(text, record)
    if text.startswith(COMPACTION_PROMPT):
        return MessageKind.DEVELOPER_INSTRUCTION, CLIENT, TrustLevel.TOOL_TRUSTED
    if record.get("isSidechain") is True or record.get("agentId"):
        # A subagent's task is written by the model of the run that started it.
        return MessageKind.USER_TASK, "parent agent", TrustLevel.MODEL_GENERATED
    return MessageKind.USER_TASK, "user", TrustLevel.USER_TRUSTED


def _injected(text: str, record: JsonObject) -> _Speaker:
    """Text that the client put into the conversation."""
    head = text[:2000]
    if head.lstrip().startswith("<task-notification>"):
        return MessageKind.TOOL_CALL_RESULT, CLIENT, own_words.trust_of_notification(text)
    if "CLAUDE.md" in head or "claudeMd" in head or "AGENTS.md" in head or record.get("sourceToolUseID"):
        return MessageKind.REPOSITORY_INSTRUCTION, "repository", TrustLevel.REPOSITORY_UNTRUSTED
    if " hook " in head:
        return MessageKind.DEVELOPER_INSTRUCTION, "hook", TrustLevel.REPOSITORY_UNTRUSTED
    return MessageKind.DEVELOPER_INSTRUCTION, CLIENT, TrustLevel.UNKNOWN


def agent_link(record: JsonObject) -> Link | None:
    """The subagent that a result names, with the call that started it."""
    twin = record.get("toolUseResult")
    if is_object(twin) and isinstance(twin.get("agentId"), str):
        for block in _blocks(record["message"].get("content")):
            if isinstance(block.get("tool_use_id"), str):
                return Link(twin["agentId"], block["tool_use_id"])
    return None


def _blocks(content: object) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if is_list(content):
        return [block if is_object(block) else {"type": "text", "text": str(block)} for block in content]
    return []


def _grouped(pieces: Iterator[_Piece]) -> list[MessageDraft]:
    return [
        MessageDraft(kind, actor, [piece[2] for piece in group])
        for (kind, actor), group in groupby(pieces, key=lambda piece: (piece[0], piece[1]))
    ]


def opens_a_turn(messages: list[MessageDraft]) -> bool:
    """Whether a user record is a prompt: something the user (or a parent agent) asks the model for.

    Commands of the client and of its shell are not: the model is asked, if at all, by the record that follows.
    """
    asked = (part for m in messages if m.kind is MessageKind.USER_TASK for part in m.parts)
    return any(not (part.text or "").lstrip().startswith(_CLIENT_COMMANDS) for part in asked)
