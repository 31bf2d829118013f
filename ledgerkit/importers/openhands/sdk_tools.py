"""Calls and results of the V1 SDK as messages."""

from __future__ import annotations

import re
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.openhands.records import (
    NAME,
    Returned,
    exit_status,
    has_run,
    images_of,
    small,
    texts_of,
    trust_of,
    trust_of_error,
)
from ledgerkit.importers.pieces import arguments_of, call_part, json_part, path_of, reasoning_part, text_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel, Visibility

_THOUGHT: Final = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)
_EDITORS: Final = frozenset({"file_editor", "str_replace_editor", "planning_file_editor", "edit_file"})
_OWN: Final = frozenset({
    *("content", "output", "is_error", "kind", "command", "old_content", "new_content", "prev_content", "path", "text"),
    *("screenshot_data", "full_output_save_dir", "cmd", "error"),
})  # fmt: skip
_ACP_ENDS: Final = {"completed": ToolStatus.SUCCEEDED, "failed": ToolStatus.FAILED, "cancelled": ToolStatus.CANCELLED}


def hidden_messages(said: JsonObject, actor: str, *, keep: bool) -> list[MessageDraft]:
    """Hidden reasoning of an answer, measured; the summary that a service shows is for people."""
    parts: list[PartDraft] = []
    for block in objects_of(said.get("thinking_blocks")):
        sealed = len(str(block.get("signature") or block.get("data") or ""))
        parts.append(reasoning_part(nonempty_text(block.get("thinking")) or "", keep=keep, sealed_bytes=sealed))
    text = nonempty_text(said.get("reasoning_content"))
    if text and not parts:
        parts.append(reasoning_part(text, keep=keep))
    item = said.get("responses_reasoning_item")
    if is_object(item):
        listed: list[Any] = item["summary"] if is_list(item.get("summary")) else []
        summary = "\n".join(each if isinstance(each, str) else texts_of(each) for each in listed)
        if summary:
            parts.append(text_part(summary, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE))
        parts.append(reasoning_part("", keep=keep, sealed_bytes=len(str(item.get("encrypted_content") or ""))))
    return [MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [part]) for part in parts]


def action_messages(
    event: JsonObject, actor: str, at: int | None, *, keep: bool
) -> tuple[list[MessageDraft], PartDraft]:
    """What the model wrote of an action, and its call."""
    messages = hidden_messages(event, actor, keep=keep)
    if thought := _without_hidden(texts_of(event.get("thought")), event.get("reasoning_content")):
        part = text_part(thought, TrustLevel.MODEL_GENERATED)
        messages.append(MessageDraft(MessageKind.AGENT_THOUGHT_SUMMARY, actor, [part]))
    native = event.get("tool_call")
    native = native if is_object(native) else {}
    function = native.get("function")
    function = function if is_object(function) else native
    asked = function.get("arguments")
    if asked is None:
        action = event.get("action")
        asked = {k: v for k, v in action.items() if k != "kind"} if is_object(action) else action
    call_id = nonempty_text(event.get("tool_call_id")) or nonempty_text(native.get("id")) or f"event:{event.get('id')}"
    name = nonempty_text(event.get("tool_name")) or nonempty_text(function.get("name"))
    call = call_part(call_id, name, arguments_of(asked), at)
    about = {k: event.get(k) for k in ("security_risk", "summary") if event.get(k) not in (None, "UNKNOWN")}
    messages.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, actor, [call], metadata=about))
    return messages, call


def _without_hidden(text: str, reasoning: object) -> str:
    """A thought without the hidden reasoning that some models write into it and the SDK keeps twice."""
    found = _THOUGHT.match(text)
    is_same = found is not None and isinstance(reasoning, str) and found[1].strip() == reasoning.strip()
    return text[found.end() :].strip() if found and is_same else text


def critic_message(result: object) -> MessageDraft | None:
    """What a critic model made of an answer."""
    if not is_object(result):
        return None
    part = json_part(result, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
    return MessageDraft(MessageKind.JUDGE_RESULT, "critic", [part])


def result_message(event: JsonObject, call: PartDraft | None) -> list[MessageDraft]:
    """What came back of a call: a tool's output, a person's or hook's refusal, an error of the agent's program."""
    native, name = nonempty_text(event.get("tool_call_id")), nonempty_text(event.get("tool_name"))
    if event.get("kind") == "UserRejectObservation":
        by_person = event.get("rejection_source") in (None, "user")
        trust, category = (TrustLevel.USER_TRUSTED, "denied_by_user") if by_person else (TrustLevel.UNKNOWN, "hook")
        reason = str(event.get("rejection_reason") or "")
        said = Returned(call, native, name, reason, trust, ToolStatus.CANCELLED, category)
        return [MessageDraft(MessageKind.APPROVAL_DECISION, "user" if by_person else "hook", [said.part()])]
    if event.get("kind") == "AgentErrorEvent":
        text = str(event.get("error") or "")
        said = Returned(call, native, name, text, trust_of_error(text), ToolStatus.FAILED, "agent_error")
        return [MessageDraft(MessageKind.TOOL_CALL_RESULT, NAME, [said.part()])]
    seen = event.get("observation")
    return _observed(event, seen, call, native, name) if is_object(seen) else []


def _observed(
    event: JsonObject, seen: JsonObject, call: PartDraft | None, native: str | None, name: str | None
) -> list[MessageDraft]:
    content = seen.get("content") or seen.get("output") or seen.get("text") or seen.get("error")
    text = texts_of(content)
    is_remote = str(seen.get("kind")).startswith(("MCP", "Browser"))
    trust = (
        TrustLevel.NETWORK_UNTRUSTED if is_remote else trust_of(name, text, call, has_run=has_run(seen.get("metadata")))
    )
    status, category = _ended(seen)
    data = small({k: v for k, v in seen.items() if k not in _OWN})
    path = nonempty_text(seen.get("path")) or (path_of(call.data) if call else None)
    said = Returned(call, native, name, text, trust, status, category, data, path)
    message = MessageDraft(_kind(name, seen, call), name or NAME, [said.part(), *images_of(content, trust)])
    out = [message]
    if added := texts_of(event.get("extended_content")):
        part = text_part(added, TrustLevel.UNKNOWN)  # rules that the touched file brought up
        out.append(MessageDraft(MessageKind.REPOSITORY_INSTRUCTION, "skill", [part]))
    return out


def _ended(seen: JsonObject) -> tuple[ToolStatus, str | None]:
    """How a call ended: an error that is recorded as one, a time limit, else the exit code."""
    if seen.get("timeout") is True:
        return ToolStatus.TIMED_OUT, "timeout"
    if seen.get("is_error") is True:
        return ToolStatus.FAILED, "tool_error"
    about = seen.get("metadata")
    code = seen.get("exit_code", about.get("exit_code") if is_object(about) else None)
    if code is not None:
        return exit_status(code)
    return (ToolStatus.SUCCEEDED if seen.get("is_error") is False else ToolStatus.UNKNOWN), None


def _kind(name: str | None, seen: JsonObject, call: PartDraft | None) -> MessageKind:
    if name not in _EDITORS:
        return MessageKind.TOOL_CALL_RESULT
    asked = call.data.get("command") if call and is_object(call.data) else None
    command = seen.get("command") or asked
    return MessageKind.FILE_OBSERVATION if command == "view" else MessageKind.DIFF_OBSERVATION


def acp_messages(event: JsonObject, native: str, at: int | None, *, is_new: bool) -> list[MessageDraft]:
    """A call that another agent made (Agent Client Protocol), and its result once it has ended."""
    name = nonempty_text(event.get("tool_kind")) or nonempty_text(event.get("title"))
    out: list[MessageDraft] = []
    if is_new:
        call = call_part(native, name, arguments_of(event.get("raw_input")), at)
        about: JsonObject = {"title": event.get("title")}
        out.append(MessageDraft(MessageKind.TOOL_CALL_REQUEST, "acp agent", [call], metadata=about))
    status = _ACP_ENDS.get(str(event.get("status")))
    if status is not None:
        failed = event.get("is_error") is True
        raw = event.get("raw_output")
        text = raw if isinstance(raw, str) else _acp_text(event.get("content"))
        data: JsonObject = {} if isinstance(raw, str) or raw is None else {"raw_output": raw}
        ended = ToolStatus.FAILED if failed else status
        category = "tool_error" if ended is ToolStatus.FAILED else None
        said = Returned(None, native, name, text, TrustLevel.UNKNOWN, ended, category, data)
        out.append(MessageDraft(MessageKind.TOOL_CALL_RESULT, name or NAME, [said.part()]))
    return out


def _acp_text(content: object) -> str:
    held = [block.get("content", block) for block in objects_of(content)]
    return "\n".join(filter(None, map(texts_of, held)))
