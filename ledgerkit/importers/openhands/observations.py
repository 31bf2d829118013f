"""Observations of V0 as messages: results of calls, knowledge that was recalled, states and errors."""

from __future__ import annotations

from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, MessageDraft, PartDraft
from ledgerkit.importers.openhands.records import (
    NAME,
    Returned,
    error_message,
    exit_status,
    has_run,
    image_part,
    small,
    trust_of,
    trust_of_error,
)
from ledgerkit.importers.patches import diff_part, is_patch
from ledgerkit.importers.pieces import note_message, text_part
from ledgerkit.importers.shapes import is_object, nonempty_text, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel

_KINDS: Final = {
    "read": MessageKind.FILE_OBSERVATION,
    "edit": MessageKind.DIFF_OBSERVATION,
    "write": MessageKind.DIFF_OBSERVATION,
}
_RESULTS: Final = frozenset({
    *("run", "run_ipython", "read", "write", "edit", "browse", "mcp", "delegate", "think", "task_tracking", "success"),
    *("recall_failure", "download", "agent_skills"),
})  # fmt: skip
_NOT_KEPT: Final = frozenset({
    *("old_content", "new_content", "diff", "_diff_cache", "formatted_output_and_error", "screenshot", "set_of_marks"),
    *("axtree_object", "dom_object", "command", "path", "image_urls", "screenshot_path"),
})  # fmt: skip
_ERROR: Final = "ERROR:\n"
"""Begins what the file tools say of a call that failed."""


def observation_messages(
    kind: str, event: JsonObject, call: PartDraft | None, native: str | None
) -> list[MessageDraft]:
    """What an observation says. Nothing for a type that is not known."""
    extras = event.get("extras")
    extras = extras if is_object(extras) else {}
    content = event.get("content")
    text = content if isinstance(content, str) else str(event.get("message") or "")
    if kind in _RESULTS:
        return [_result(kind, text, extras, call, native)]
    if kind == "recall":
        return _recalled(extras)
    if kind == "agent_state_changed":
        return [_state(extras)]
    if kind == "condense":
        return [note_message({"note": "condense", "content": text, **extras}, NAME, TrustLevel.UNKNOWN)]
    return _refused(kind, text, call, native)


def _refused(kind: str, text: str, call: PartDraft | None, native: str | None) -> list[MessageDraft]:
    """A call that a person refused, or an error of the agent's program, which may be of no call."""
    said = Returned(call, native, _tool(call), text, trust_of_error(text), ToolStatus.FAILED, "agent_error")
    if kind == "user_rejected":
        said.trust, said.status, said.category = TrustLevel.USER_TRUSTED, ToolStatus.CANCELLED, "denied_by_user"
        return [MessageDraft(MessageKind.APPROVAL_DECISION, "user", [said.part()])]
    if kind == "error" and call is None and native is None:
        return [error_message(text, "agent_error", is_shown=True)]
    return [MessageDraft(MessageKind.TOOL_CALL_RESULT, NAME, [said.part()])] if kind == "error" else []


def _tool(call: PartDraft | None) -> str | None:
    return call.tool_name if call else None


def _result(kind: str, text: str, extras: JsonObject, call: PartDraft | None, native: str | None) -> MessageDraft:
    told = nonempty_text(extras.get("formatted_output_and_error"))
    diff = nonempty_text(extras.get("diff")) or (text if kind == "edit" and is_patch(text) else None)
    shown = told if told is not None else text
    about = extras.get("metadata")
    trust = TrustLevel.MODEL_GENERATED
    if kind != "delegate":
        trust = trust_of(kind, shown, call, has_run=has_run(about))
    code = about.get("exit_code") if is_object(about) else extras.get("exit_code")
    status, category = exit_status(code)
    if kind in ("read", "edit", "write") and shown.startswith(_ERROR):
        status, category = ToolStatus.FAILED, "tool_error"
    data = small({k: v for k, v in extras.items() if k not in _NOT_KEPT})
    path = nonempty_text(extras.get("path")) or (call.path if call else None)
    data |= {"exit_code": code} if status is not ToolStatus.UNKNOWN and code is not None else {}
    said = Returned(call, native, _tool(call) or kind, shown, trust, status, category, data, path).part()
    parts = [said]
    if diff is not None:
        change = diff_part(diff, path)
        # A file that was not there holds only what the model wrote.
        is_new = trust is TrustLevel.TOOL_TRUSTED and not any(line[:1] in (" ", "-") for line in diff.splitlines()[2:])
        change.trust = TrustLevel.MODEL_GENERATED if is_new else change.trust
        change.tool_call_id, change.tool_name = said.tool_call_id, said.tool_name
        parts.append(change)
    if nonempty_text(extras.get("screenshot")):
        parts.append(image_part(extras["screenshot"], trust))
    kind_of = _KINDS.get(kind, MessageKind.TOOL_CALL_RESULT)
    return MessageDraft(kind_of, said.tool_name or kind, parts)


def _recalled(extras: JsonObject) -> list[MessageDraft]:
    """What the agent was reminded of: the repository's instructions, knowledge by keywords, facts of the run."""
    out: list[MessageDraft] = []
    if text := nonempty_text(extras.get("repo_instructions")):
        part = text_part(text, TrustLevel.REPOSITORY_UNTRUSTED)
        out.append(MessageDraft(MessageKind.REPOSITORY_INSTRUCTION, "repository", [part]))
    for name in ("additional_agent_instructions", "conversation_instructions"):
        if text := nonempty_text(extras.get(name)):
            part = text_part(text, TrustLevel.ORG_TRUSTED)
            out.append(MessageDraft(MessageKind.DEVELOPER_INSTRUCTION, "operator", [part]))
    for known in objects_of(extras.get("microagent_knowledge")):
        part = text_part(str(known.get("content") or ""), TrustLevel.UNKNOWN)  # the repository's or the product's
        part.data = {k: v for k, v in known.items() if k != "content"}
        out.append(MessageDraft(MessageKind.REPOSITORY_INSTRUCTION, "microagent", [part]))
    rest = {k: v for k, v in extras.items() if k not in _RECALLED and v not in (None, "", [], {})}
    if rest or not out:
        trust = TrustLevel.TOOL_TRUSTED if rest.keys() <= _OF_CLIENT else TrustLevel.UNKNOWN
        out.append(note_message({"note": "recall", **rest}, NAME, trust))
    return out


_RECALLED: Final = frozenset({
    "repo_instructions", "additional_agent_instructions", "conversation_instructions", "microagent_knowledge",
})  # fmt: skip
_OF_CLIENT: Final = frozenset({"recall_type", "runtime_hosts", "date", "working_dir"})


def _state(extras: JsonObject) -> MessageDraft:
    """A change of the agent's state; an error says why."""
    state: Any = extras.get("agent_state")
    if state == "error":
        return error_message(str(extras.get("reason") or "error"), "agent_error", is_shown=False)
    about = {k: v for k, v in extras.items() if v}
    return note_message({"note": "state", **about}, NAME, TrustLevel.TOOL_TRUSTED)
