"""What the client and its own tools say of themselves, as against what they carry from elsewhere.

A tool's result is untrusted as a rule, because what it carries is. Some results carry nothing: an edit that says that
it was done, a search that found nothing, a refusal by the client. These are the tool's own words, and trusted like it.
Only fixed forms count, and only of tools of the client whose output cannot hold another's text in that form; a shell's
output never does.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_object, objects_of
from ledgerkit.importers.tool_names import reaches_network
from ledgerkit.protocol.vocabulary import TrustLevel

_EDITS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_OWN_ERRORS: Final = _EDITS | {"Read", "NotebookRead", "Glob", "Grep", "LS", "LSP", "Skill", "Task", "Agent"}
_EDITED: Final = re.compile(
    r"(?:The file \S[^\n]* has been (?:updated|created)(?: successfully)?\.?"
    r"|File created successfully at: [^\n]+)(?: \(file state is current[^\n]*\))?\s*"
)
_NOTHING: Final = re.compile(r"No (?:files|matches|symbols|references|results) found[^\n]*")
_IDLE: Final = re.compile(r"(?:<(status|timestamp|exit_code|retrieval_status|task_id|task_type)>[^<>]*</\1>\s*)+")
_GIT_STATUS: Final = re.compile(r"\s*git(?:\s+-C\s+[\w./~-]+)?\s+status(?:\s+-[-\w=]+)*\s*")

_REMINDERS: Final = frozenset(
    {
        *("auto_mode", "batching_reminder_sent", "budget_usd", "plan_mode", "plan_mode_exit", "silent_turn_reminder"),
        *("todo_reminder", "task_reminder", "total_tokens_reminder", "ultra_effort_enter", "ultra_effort_exit"),
        *("command_permissions", "agent_listing_delta", "deferred_tools_delta"),
    }
)
_FROM_FILES: Final = frozenset({"skill_listing", "invoked_skills", "dynamic_skill"})
_OWN_NOTES: Final = frozenset(
    {"bridge-session", "turn_duration", "session_start", "ui_telemetry", "slash_command", "started"}
)


def trust_of_result(name: str | None, call: JsonObject, text: str, trust: TrustLevel, *, is_error: bool) -> TrustLevel:
    """Trust of a tool result whose tool alone says ``trust``.

    Args:
        name: The tool.
        call: The block that asked for it; empty if it is not there.
        text: What came back.
        trust: What the tool's name and the structured twin say.
        is_error: Whether the client marked it as an error.
    """
    if name == "TaskOutput":
        return _of_task_output(text)
    if name == "Bash" and reaches_network(_command(call)):
        return TrustLevel.NETWORK_UNTRUSTED
    if is_own_result(name, call, text, is_error=is_error):
        return TrustLevel.TOOL_TRUSTED
    return trust


def is_own_result(name: str | None, call: JsonObject, text: str, *, is_error: bool) -> bool:
    """Whether a result is nothing but its tool's own words."""
    if name == "Bash":
        return not is_error and _GIT_STATUS.fullmatch(_command(call)) is not None
    if is_error:
        return name in _OWN_ERRORS and text.startswith("<tool_use_error>")
    if name in _EDITS:
        return _EDITED.fullmatch(text) is not None or (name == "MultiEdit" and text.startswith("Applied "))
    if name == "Skill":
        return re.fullmatch(r"Launching skill: [\w:.-]+", text) is not None
    if name in ("BashOutput", "AgentOutput"):
        return _IDLE.fullmatch(text) is not None
    return name in ("Glob", "Grep", "LSP") and _NOTHING.fullmatch(text.strip()) is not None


def _command(call: JsonObject) -> str:
    arguments = call.get("input")
    command = arguments.get("command") if is_object(arguments) else None
    return command if isinstance(command, str) else ""


def _of_task_output(text: str) -> TrustLevel:
    """A background task's output: a shell's is repository text, an agent's the model's."""
    if _IDLE.fullmatch(text):
        return TrustLevel.TOOL_TRUSTED
    if "<task_type>local_bash</task_type>" in text[:1000]:
        return TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.MODEL_GENERATED if "agent</task_type>" in text[:1000] else TrustLevel.REPOSITORY_UNTRUSTED


def trust_of_notification(text: str) -> TrustLevel:
    """Trust of a notice that a background task ended: what it quotes of the task is the model's, or worse."""
    return TrustLevel.REPOSITORY_UNTRUSTED if "<result>" in text or "<output>" in text else TrustLevel.TOOL_TRUSTED


def trust_of_attachment(kind: str) -> TrustLevel:
    """Trust of what the client put beside the conversation and no rule names."""
    if kind in _FROM_FILES:
        return TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.TOOL_TRUSTED if kind in _REMINDERS else TrustLevel.UNKNOWN


def trust_of_note(note: str, record: JsonObject) -> TrustLevel:
    """Trust of a fact about the run that only the client needed."""
    if note in _OWN_NOTES:
        return TrustLevel.TOOL_TRUSTED
    if note == "queue-operation":
        content = record.get("content")
        if not isinstance(content, str):
            return TrustLevel.TOOL_TRUSTED if content is None else TrustLevel.UNKNOWN
        notifies = content.lstrip().startswith("<task-notification>")
        return trust_of_notification(content) if notifies else TrustLevel.USER_TRUSTED
    return TrustLevel.USER_TRUSTED if note == "last-prompt" else TrustLevel.UNKNOWN


def trust_of_hooks(fields: JsonObject) -> TrustLevel:
    """Trust of what hooks left: that they ran is the client's word, what they printed the repository's."""
    printed = [fields.get(name) for name in ("content", "stdout", "stderr", "hookErrors")]
    infos = fields.get("hookInfos")
    for info in objects_of(infos):
        printed += [info.get(name) for name in ("output", "stdout", "stderr")]
    return TrustLevel.REPOSITORY_UNTRUSTED if any(printed) else TrustLevel.TOOL_TRUSTED
