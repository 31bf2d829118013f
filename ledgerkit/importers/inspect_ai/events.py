"""Events that are no part of the conversation: approvals, limits, errors, what ran in the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.inspect_ai.evaluation import NAME
from ledgerkit.importers.pieces import json_part, note_message, unknown_message
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

LEFT_OUT: Final = {
    "sample_init": "stands on the sample",
    "state": "a change of the solver's state: what the model saw of it stands in its messages",
    "store": "a change of the solver's store, whose last state stands on the sample",
    "step": "structure: stands on the records within it",
    "span_begin": "structure: stands on the records within it",
    "span_end": "structure: stands on the records within it",
}
"""Events that hold nothing of their own, and where it stands."""

_NOTES: Final = frozenset({"info", "logger", "subtask", "branch", "anchor", "checkpoint", "interrupt", "score_edit"})
_SHOWN: Final = frozenset({"info", "input", "score_edit"})
_ENVELOPE: Final = frozenset({"event", "uuid", "span_id", "timestamp", "working_start", "pending", "events"})
_APPROVERS: Final = {"human": TrustLevel.USER_TRUSTED, "auto": TrustLevel.TOOL_TRUSTED}
_PEOPLE: Final = Visibility.HUMAN_VISIBLE


def event_messages(event: JsonObject) -> list[MessageDraft]:
    """What an event says that is none of the conversation, with its attachments put back."""
    kind = event.get("event")
    said = {name: value for name, value in event.items() if name not in _ENVELOPE and value is not None}
    if kind == "approval":
        return approval_messages(said)
    if isinstance(kind, str) and kind in _ONE_MESSAGE:
        return [_ONE_MESSAGE[kind](said)]
    if isinstance(kind, str) and (kind in _NOTES or kind in _SHOWN):
        message = note_message({"note": kind, **said}, NAME, TrustLevel.UNKNOWN)
        if kind in _SHOWN:
            message.parts[0].visibility = _PEOPLE
        return [message]
    return [unknown_message(event, NAME)]


def approval_messages(said: JsonObject) -> list[MessageDraft]:
    """What the model wanted to do, and what somebody said to it."""
    call = said.get("call")
    names = {"tool_call_id": call.get("id"), "tool_name": call.get("function")} if is_object(call) else {}
    asked = {name: said[name] for name in ("message", "call", "view", "stage") if name in said}
    decided = {name: value for name, value in said.items() if name not in ("message", "call", "view")}
    approver = nonempty_text(said.get("approver")) or "approver"
    # Approvers of other names are programs or models: whose words their explanation holds is not recorded.
    request = json_part(asked, TrustLevel.MODEL_GENERATED, visibility=_PEOPLE)
    decision = json_part(decided, _APPROVERS.get(approver, TrustLevel.UNKNOWN), visibility=_PEOPLE)
    for part in (request, decision):
        part.tool_call_id = nonempty_text(names.get("tool_call_id"))
        part.tool_name = nonempty_text(names.get("tool_name"))
    decision.status = nonempty_text(said.get("decision"))
    return [
        MessageDraft(MessageKind.APPROVAL_REQUEST, NAME, [request]),
        MessageDraft(MessageKind.APPROVAL_DECISION, approver, [decision]),
    ]


def error_message(error: object, category: str = "sample_error") -> MessageDraft:
    """An error that ended a sample, an attempt at it or a call. It may quote anything."""
    said: JsonObject = error if is_object(error) else {"message": error}
    beside = {name: value for name, value in said.items() if name not in ("message", "traceback_ansi", "events")}
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.UNKNOWN,
        visibility=_PEOPLE,
        text=str(said.get("message") or ""),
        data=beside or None,
        error_category=category,
    )
    return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])


def limit_message(limit: JsonObject) -> MessageDraft:
    """A limit that ended a sample."""
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.TOOL_TRUSTED,
        visibility=_PEOPLE,
        text=nonempty_text(limit.get("message")) or f"{limit.get('type')} limit",
        data={name: value for name, value in limit.items() if name != "message"},
        error_category=f"limit_{nonempty_text(limit.get('type')) or 'unknown'}",
    )
    return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])


def _sandbox_message(said: JsonObject) -> MessageDraft:
    """What ran in the sandbox; of it the model saw what the tool made of it."""
    file = nonempty_text(said.get("file"))
    output = said.get("output")
    if said.get("action") == "read_file" and isinstance(output, str):
        part = PartDraft(
            part_type=PartType.FILE_SNIPPET,
            trust=TrustLevel.REPOSITORY_UNTRUSTED,
            visibility=Visibility.AUDIT_ONLY,
            text=output,
            path=file,
        )
        return MessageDraft(MessageKind.FILE_OBSERVATION, "sandbox", [part])
    message = note_message({"note": "sandbox", **said}, "sandbox", TrustLevel.REPOSITORY_UNTRUSTED)
    message.parts[0].path = file
    return message


def _compaction_message(said: JsonObject) -> MessageDraft:
    return note_message({"note": "compaction", **said}, NAME, TrustLevel.TOOL_TRUSTED)


def _failure_message(said: JsonObject) -> MessageDraft:
    return error_message(said.get("error"))


_ONE_MESSAGE: Final[dict[str, Callable[[JsonObject], MessageDraft]]] = {
    "error": _failure_message,
    "sample_limit": limit_message,
    "sandbox": _sandbox_message,
    "compaction": _compaction_message,
}
