"""Events of a rollout as messages: what people were shown, token counts, how turns ended, what a judge said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ledgerkit.importers.codex import ended, patches
from ledgerkit.importers.codex.envelope import NAME, Entry
from ledgerkit.importers.codex.identity import counts_of
from ledgerkit.importers.codex.items import REPEATED, changes
from ledgerkit.importers.codex.scene import Scene
from ledgerkit.importers.codex.settings import take_settings
from ledgerkit.importers.codex.spoken import NEAR, Piece, grouped, image_part, said_by_user
from ledgerkit.importers.drafts import JsonObject, MessageDraft, Node, PartDraft, RecordDraft, RunFacts
from ledgerkit.importers.pieces import json_part, note_message, reasoning_part, text_part, unknown_message
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Visibility

_USAGE_FIELDS: Final = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
                        "reasoning_output_tokens", "total_tokens")  # fmt: skip
_FAILURES: Final = frozenset({"error", "stream_error", "warning", "turn_aborted"})
_BY_CLIENT: Final = frozenset({"undo_completed", "undo_started", "entered_review_mode", "thread_rolled_back",
                               "shutdown_complete", "session_configured"})  # fmt: skip
_NOTES: Final = frozenset({"thread_goal_updated", "sub_agent_activity", "plan_update", "turn_diff", "plan_delta"})
_BEGINS: Final = frozenset({"task_started", "turn_started"})
_ENDS: Final = frozenset({"task_complete", "turn_complete"})
_WORDS: Final = frozenset({"agent_message", "agent_reasoning", "agent_reasoning_raw_content"})


def take_event(scene: Scene, entry: Entry, draft: RecordDraft) -> None:
    """Makes messages of an event."""
    kind, payload = entry.kind, entry.payload
    take = _TAKES.get(kind)
    if take is not None:
        take(scene, payload, draft)
    elif kind == "token_count":
        _counts(scene, entry, draft)
    elif kind in _WORDS:
        said = payload.get("message" if kind == "agent_message" else "text")
        _written(scene, kind, said, "event", draft)
    elif kind in _BEGINS:
        draft.skipped = "begins a turn"
    elif kind in _ENDS:
        _turn_end(scene, payload, draft)
    elif kind in _FAILURES:
        draft.messages = [_failure(kind, payload)]
    elif kind in _BY_CLIENT or kind in _NOTES:
        trust = TrustLevel.TOOL_TRUSTED if kind in _BY_CLIENT else TrustLevel.UNKNOWN
        draft.messages = [note_message({"note": kind, **_rest(payload)}, NAME, trust)]
    else:
        found = ended.message_of(scene, kind, payload, draft)
        draft.messages = [found] if found else [unknown_message(entry.item.value, NAME)]


def _user(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    text = payload.get("message")
    text = text if isinstance(text, str) else ""
    pieces: list[Piece] = []
    if text and not scene.repeats.repeats("event", "user", text, scene.place):
        pieces += said_by_user(text, scene.person(), is_input=scene.thread.is_subagent)
    kind, actor, trust = scene.person()
    for url in _texts(payload.get("images")):
        if not scene.repeats.repeats("event", "image", url, 0):
            pieces.append((kind, actor, image_part(url, trust)))
    draft.messages = grouped(iter(pieces))
    if draft.messages and (paths := _texts(payload.get("local_images"))):
        draft.messages[0].metadata = {"local_images": paths}
    if any(message.kind is MessageKind.USER_TASK for message in draft.messages):
        draft.node = Node.PROMPT
    if not draft.messages:
        draft.skipped = REPEATED if text else "event without content"


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str) and text] if is_list(value) else []


def _written(scene: Scene, kind: str, said: object, form: str, draft: RecordDraft) -> None:
    """What the model wrote, unless the item of it stands above."""
    role = {"agent_message": "assistant", "agent_reasoning": "reasoning"}.get(kind, "hidden")
    text = said if isinstance(said, str) else ""
    if not text or scene.repeats.repeats(form, role, text, scene.place):
        draft.skipped = REPEATED if text else "event without content"
        return
    if role == "assistant":
        scene.answer = text
        part = text_part(text, TrustLevel.MODEL_GENERATED)
    elif role == "reasoning":
        part = text_part(text, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
    else:
        part = reasoning_part(text, keep=scene.keep_reasoning)
    kind_of = MessageKind.ASSISTANT_RESPONSE if role == "assistant" else MessageKind.AGENT_THOUGHT_SUMMARY
    draft.messages = [MessageDraft(kind_of, scene.actor, [part])]


def _counts(scene: Scene, entry: Entry, draft: RecordDraft) -> None:
    """A token count. What of it is usage, the reading knows: a count repeats what was said before, too."""
    info = counts_of(entry)
    if info is None:
        draft.skipped = "says how much of a limit is used, and no tokens"
        return
    scene.model = nonempty_text(info.get("model")) or scene.model
    used = {name: _figures(info.get(f"{name}_token_usage")) for name in ("last", "total")}
    rest = {k: v for k, v in info.items() if k not in ("last_token_usage", "total_token_usage") and v is not None}
    note = {"note": "token_count", **{k: v for k, v in used.items() if v is not None}, **rest}
    draft.messages = [note_message(note, NAME, TrustLevel.TOOL_TRUSTED)]


def _figures(value: object) -> JsonObject | None:
    return {name: value[name] for name in _USAGE_FIELDS if name in value} if is_object(value) else None


def _turn_end(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    answer = nonempty_text(payload.get("last_agent_message"))
    error = payload.get("error")
    if answer and answer.split() != scene.answer.split():
        part = text_part(answer, TrustLevel.MODEL_GENERATED, visibility=Visibility.HUMAN_VISIBLE)
        draft.messages.append(MessageDraft(MessageKind.RUN_SUMMARY, scene.actor, [part]))
    if error:
        draft.messages.append(_failure("error", error if is_object(error) else {"message": str(error)}))
    if not draft.messages:
        draft.skipped = "ends a turn; its last answer stands above"


def _failure(kind: str, payload: JsonObject) -> MessageDraft:
    """What went wrong, in the client's words, or those of the service that it passes on."""
    category = "aborted" if kind == "turn_aborted" else "api_error" if kind != "warning" else "warning"
    part = PartDraft(
        part_type=PartType.ERROR,
        trust=TrustLevel.TOOL_TRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        text=nonempty_text(payload.get("message")) or nonempty_text(payload.get("reason")),
        data=_rest(payload, "message", "reason") or None,
        error_category=category,
    )
    return MessageDraft(MessageKind.ERROR_EVENT, NAME, [part])


def _compacted(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    if scene.compacted is not None and scene.place - scene.compacted < NEAR:
        draft.skipped = REPEATED
    else:
        draft.messages = [note_message({"note": "context_compacted", **_rest(payload)}, NAME, TrustLevel.TOOL_TRUSTED)]
    scene.compacted = None


def _named(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    del scene
    title = nonempty_text(payload.get("thread_name"))
    draft.facts = RunFacts(title=title)
    part = json_part({"note": "title", **_rest(payload)}, TrustLevel.UNKNOWN, visibility=Visibility.HUMAN_VISIBLE)
    part.text = title
    draft.messages = [MessageDraft(MessageKind.RUN_SUMMARY, NAME, [part])]


def _settings(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    settings = payload.get("thread_settings")
    take_settings(scene, "thread", settings if is_object(settings) else _rest(payload), draft)


def _completed(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    """A completed item, as newer versions show it to people."""
    item = payload.get("item")
    item = item if is_object(item) else {}
    kind = str(item.get("type"))
    texts = [b["text"] for b in objects_of(item.get("content")) if isinstance(b.get("text"), str)]
    draft.record_type = f"event_msg/item_completed/{kind}" if kind in ended.COMPLETED else draft.record_type
    if kind == "UserMessage":
        text = "\n".join(texts)
        is_repeated = scene.repeats.repeats("completed", "user", text, scene.place)
        pieces = (
            said_by_user(text, scene.person(), is_input=scene.is_agents(text)) if text and not is_repeated else iter(())
        )
        draft.messages, draft.node = grouped(pieces), Node.PASSIVE if is_repeated else Node.PROMPT
    elif kind == "AgentMessage":
        _written(scene, "agent_message", "\n".join(texts), "completed", draft)
    elif kind == "Reasoning":
        _written(scene, "agent_reasoning", "\n".join(_texts(item.get("summary_text"))), "completed", draft)
    else:
        found = ended.completed_message(item)
        draft.messages = [found] if found else [unknown_message(payload, NAME)]
    if not draft.messages and not draft.skipped:
        draft.skipped = REPEATED


def _patched(scene: Scene, payload: JsonObject, draft: RecordDraft) -> None:
    """Changes that were applied."""
    call_id = nonempty_text(payload.get("call_id"))
    asked = scene.calls.get(call_id or "")
    about = json_part(_rest(payload, "changes"), TrustLevel.REPOSITORY_UNTRUSTED, visibility=Visibility.AUDIT_ONLY)
    about.tool_call_id = call_id
    parts = [about]
    if payload.get("success") is True and not (asked and asked.patched):
        parts += changes(patches.change_parts(payload.get("changes")), call_id, asked.name if asked else None)
        if asked:
            asked.patched = True
    draft.messages = [MessageDraft(MessageKind.DIFF_OBSERVATION, NAME, parts)]


def _rest(payload: JsonObject, *names: str) -> JsonObject:
    return {k: v for k, v in payload.items() if k not in ("type", *names) and v is not None}


_TAKES: Final[dict[str, Callable[[Scene, JsonObject, RecordDraft], None]]] = {
    "user_message": _user, "context_compacted": _compacted, "thread_name_updated": _named,
    "thread_settings_applied": _settings, "item_completed": _completed, "patch_apply_end": _patched,
}  # fmt: skip
