"""Events that say how something ended: a command, a call of a server, a subagent, a review. Details for audits.

The model was shown the result in an item of its context; what the event adds stands beside it and never in its place.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.importers.codex import patches
from ledgerkit.importers.codex.envelope import NAME
from ledgerkit.importers.codex.scene import Scene
from ledgerkit.importers.drafts import JsonObject, Link, MessageDraft, PartDraft, RecordDraft
from ledgerkit.importers.pieces import JSON_TYPE, json_part
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, TrustLevel, Verdict, Visibility

_TRUST: Final = {
    "exec_command_begin": TrustLevel.MODEL_GENERATED, "exec_command_end": TrustLevel.REPOSITORY_UNTRUSTED,
    "patch_apply_begin": TrustLevel.MODEL_GENERATED, "mcp_tool_call_begin": TrustLevel.MODEL_GENERATED,
    "mcp_tool_call_end": TrustLevel.NETWORK_UNTRUSTED, "web_search_begin": TrustLevel.MODEL_GENERATED,
    "web_search_end": TrustLevel.NETWORK_UNTRUSTED, "image_generation_end": TrustLevel.MODEL_GENERATED,
    "view_image_tool_call": TrustLevel.MODEL_GENERATED, "dynamic_tool_call_request": TrustLevel.MODEL_GENERATED,
    "dynamic_tool_call_response": TrustLevel.UNKNOWN, "collab_agent_spawn_end": TrustLevel.MODEL_GENERATED,
    "collab_agent_interaction_end": TrustLevel.MODEL_GENERATED, "collab_waiting_end": TrustLevel.MODEL_GENERATED,
    "collab_close_end": TrustLevel.MODEL_GENERATED, "collab_resume_end": TrustLevel.MODEL_GENERATED,
}  # fmt: skip
_REQUESTS: Final = frozenset({"exec_approval_request", "apply_patch_approval_request"})
COMPLETED: Final = {
    "UserMessage": None, "AgentMessage": None, "Reasoning": None, "Plan": TrustLevel.MODEL_GENERATED,
    "CommandExecution": TrustLevel.REPOSITORY_UNTRUSTED, "FileChange": TrustLevel.REPOSITORY_UNTRUSTED,
    "McpToolCall": TrustLevel.NETWORK_UNTRUSTED, "Extension": TrustLevel.NETWORK_UNTRUSTED,
    "WebSearch": TrustLevel.NETWORK_UNTRUSTED, "ImageView": TrustLevel.MODEL_GENERATED,
}  # fmt: skip
"""Whose words a completed item holds; those without stand in the dialogue."""
_DOUBLED: Final = ("stdout", "stderr", "formatted_output")
_LONG: Final = 8 * 1024
_PASSED: Final = frozenset({"approved", "patch is correct", "correct"})
_FAILED: Final = frozenset({"denied", "patch is incorrect", "incorrect"})


def message_of(scene: Scene, kind: str, payload: JsonObject, draft: RecordDraft) -> MessageDraft | None:
    """The message of such an event; ``None`` if it is no such event."""
    if kind == "exited_review_mode":
        return _review(payload)
    if kind == "guardian_assessment":
        return _judgement("guardian", "action", payload, nonempty_text(payload.get("status")))
    call_id = nonempty_text(payload.get("call_id")) or nonempty_text(payload.get("callId"))
    if kind in _REQUESTS:
        part = _detail(payload, TrustLevel.MODEL_GENERATED, call_id)
        return MessageDraft(MessageKind.APPROVAL_REQUEST, scene.actor, [part])
    if kind not in _TRUST:
        return None
    if kind == "exec_command_end" and call_id in scene.calls and isinstance(payload.get("exit_code"), int):
        scene.calls[call_id].exit_code = payload["exit_code"]
    started = nonempty_text(payload.get("new_thread_id"))
    if kind == "collab_agent_spawn_end" and started and call_id:
        draft.links = [Link(started, call_id)]
    part = _detail({"event": kind, **payload}, _TRUST[kind], call_id)
    return MessageDraft(MessageKind.TOOL_CALL_RESULT, NAME, [part])


def completed_message(item: JsonObject) -> MessageDraft | None:
    """The message of a completed item that is no part of the dialogue."""
    kind = str(item.get("type"))
    trust = COMPLETED.get(kind)
    if trust is None:
        return None
    part = _detail({"event": kind, **item}, trust, nonempty_text(item.get("id")))
    if kind == "Plan":
        part.visibility = Visibility.HUMAN_VISIBLE
        return MessageDraft(MessageKind.ASSISTANT_RESPONSE, "assistant", [part])
    if kind != "FileChange":
        return MessageDraft(MessageKind.TOOL_CALL_RESULT, NAME, [part])
    part.data = {k: v for k, v in part.data.items() if k != "changes"}
    applied = patches.change_parts(item.get("changes")) if item.get("status") == "completed" else []
    for change in applied:
        change.tool_call_id = part.tool_call_id
    return MessageDraft(MessageKind.DIFF_OBSERVATION, NAME, [part, *applied])


def _detail(payload: JsonObject, trust: TrustLevel, call_id: str | None) -> PartDraft:
    leave = ("type", *_DOUBLED) if "aggregated_output" in payload else ("type",)
    said = {k: _shortened(v) for k, v in payload.items() if k not in leave and v is not None}
    part = json_part(said, trust, visibility=Visibility.AUDIT_ONLY)
    part.tool_call_id = call_id
    return part


def _shortened(value: object) -> object:
    """A value without the long texts in it: the model was shown what it was to see of them."""
    if isinstance(value, str):
        return value if len(value) <= _LONG else {"omitted_characters": len(value)}
    if is_object(value):
        return {k: _shortened(v) for k, v in value.items()}
    return [_shortened(v) for v in value] if is_list(value) else value


def _review(payload: JsonObject) -> MessageDraft:
    """What a model that reviewed the work said of it."""
    output = payload.get("review_output")
    output = output if is_object(output) else {}
    said = _judgement("review", "review", output, nonempty_text(output.get("overall_correctness")))
    said.parts[0].text = nonempty_text(output.get("overall_explanation"))
    return said


def _judgement(check: str, scope: str, recorded: JsonObject, word: str | None) -> MessageDraft:
    known = (word or "").strip().lower()
    verdict = Verdict.PASSED if known in _PASSED else Verdict.FAILED if known in _FAILED else Verdict.INCONCLUSIVE
    kept = {k: v for k, v in recorded.items() if v is not None and k not in ("check", "scope", "verdict")}
    part = PartDraft(
        part_type=PartType.VERIFICATION,
        trust=TrustLevel.MODEL_GENERATED,
        visibility=Visibility.HUMAN_VISIBLE,
        data={"check": check, "scope": scope, "verdict": verdict.value, **kept},
        content_type=JSON_TYPE,
        status=verdict.value,
    )
    return MessageDraft(MessageKind.JUDGE_RESULT, check, [part])
