"""Events of the V1 SDK that are about the conversation: states, errors, hooks, pauses, condensations."""

from __future__ import annotations

from typing import Final

from ledgerkit.importers.compactions import forgets
from ledgerkit.importers.drafts import JsonObject, MessageDraft
from ledgerkit.importers.openhands.records import NAME, error_message, name_of
from ledgerkit.importers.openhands.stats import Growth, totals_of
from ledgerkit.importers.pieces import json_part, note_message, text_part, verdict_message
from ledgerkit.importers.shapes import nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict, Visibility

_ENDS: Final = frozenset({"finished", "error", "stuck"})
_WAITS: Final = "waiting_for_confirmation"
_ENVELOPE: Final = frozenset({"id", "timestamp", "source", "parent_id", "kind"})
_HOOK: Final = ("hook_event_type", "success", "blocked", "exit_code", "tool_name", "action_id")
_BY_PERSON: Final = frozenset({"PauseEvent", "InterruptEvent"})


def messages_of(kind: str, event: JsonObject) -> list[MessageDraft]:
    """What an event says of the conversation. Nothing for a kind that is not known."""
    if kind == "ConversationStateUpdateEvent":
        return [_state(event)]
    if kind == "ConversationErrorEvent":
        words = [nonempty_text(event.get("code")), nonempty_text(event.get("detail"))]
        return [error_message(": ".join(filter(None, words)), "conversation_error", is_shown=False)]
    if kind == "HookExecutionEvent":
        return [_hook(event)]
    if kind == "CondensationSummaryEvent":
        part = text_part(str(event.get("summary") or ""), TrustLevel.MODEL_GENERATED)
        return [MessageDraft(MessageKind.RUN_SUMMARY, "condenser", [part])]
    if kind == "CondensationRequest" or kind in _BY_PERSON:
        trust = TrustLevel.USER_TRUSTED if kind in _BY_PERSON else TrustLevel.TOOL_TRUSTED
        about = {k: v for k, v in event.items() if k not in _ENVELOPE}
        return [note_message({"note": kind, **about}, name_of(event.get("source")), trust)]
    return []


def _state(event: JsonObject) -> MessageDraft:
    key, value = event.get("key"), event.get("value")
    if key == "execution_status" and str(value) in _ENDS:
        return verdict_message("execution status", Verdict.INCONCLUSIVE, {"exit_status": value})
    if key == "execution_status" and value == _WAITS:
        part = json_part({"state": value}, TrustLevel.TOOL_TRUSTED, visibility=Visibility.HUMAN_VISIBLE)
        return MessageDraft(MessageKind.APPROVAL_REQUEST, NAME, [part])
    is_count = key == "stats" and any(True for _ in totals_of(event))
    trust = TrustLevel.TOOL_TRUSTED if is_count or key == "execution_status" else TrustLevel.UNKNOWN
    return note_message({"note": "state", "key": key, "value": value}, NAME, trust)


def _hook(event: JsonObject) -> MessageDraft:
    """What a hook decided; what it printed is its command's."""
    recorded = {name: event[name] for name in _HOOK if event.get(name) is not None}
    refused = event.get("blocked") is True or event.get("success") is False
    verdict = Verdict.FAILED if refused else Verdict.PASSED if event.get("success") is True else Verdict.INCONCLUSIVE
    message = verdict_message("hook", verdict, recorded, scope="hook")
    rest = {k: v for k, v in event.items() if k not in _ENVELOPE and k not in recorded and v not in (None, "", [], {})}
    if rest:
        message.parts.append(json_part(rest, TrustLevel.UNKNOWN, visibility=Visibility.AUDIT_ONLY))
    return message


def condensed_message(event: JsonObject, actor: str, forgotten: list[str] | None) -> MessageDraft:
    """Events that the agent forgot, and the summary in their place.

    Args:
        event: The event.
        actor: Who wrote the summary.
        forgotten: Ids of the records that left the context; ``None`` if the event does not say.
    """
    summary = nonempty_text(event.get("summary"))
    about = {k: v for k, v in event.items() if k not in _ENVELOPE and k != "summary" and v is not None}
    part = json_part(about, TrustLevel.TOOL_TRUSTED, visibility=Visibility.AUDIT_ONLY)
    parts = [text_part(summary, TrustLevel.MODEL_GENERATED)] if summary else []
    rule = None if forgotten is None else forgets(forgotten)
    about_it = {"reason": "compaction"}
    return MessageDraft(MessageKind.RUN_SUMMARY, actor, [*parts, part], metadata=about_it, compaction=rule)


def counted_message(grown: Growth) -> MessageDraft:
    """That the totals count a model call, and which it was."""
    about = {"note": "model call", "usage_id": grown.name, "response_id": grown.response}
    message = note_message(about, NAME, TrustLevel.TOOL_TRUSTED)
    message.metadata = {"derived": ["usage"]}
    return message
