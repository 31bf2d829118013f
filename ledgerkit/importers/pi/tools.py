"""Tool results of pi: whose words they are by the tool, how the call ended, and the change that an edit made."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import digest, path_of
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

_REPOSITORY: Final = frozenset({"bash", "read", "edit", "write", "grep", "find", "ls"})
_NETWORK: Final = re.compile(r"web_?\w+|fetch\w*|browser\w*|mcp\w*|\w+__\w+", re.IGNORECASE)
_KINDS: Final = {
    "read": MessageKind.FILE_OBSERVATION, "edit": MessageKind.DIFF_OBSERVATION, "write": MessageKind.DIFF_OBSERVATION,
}  # fmt: skip
_DONE: Final = re.compile(r"Successfully (?:replaced (?:text|\d+ block\(s\)) in [^\n]+|wrote \d+ bytes to [^\n]+)\.?")
_ABORTED: Final = ("Command aborted", "Operation aborted")


def result_part(message: JsonObject, call: JsonObject, text: str) -> tuple[MessageKind, PartDraft]:
    """A result, and its kind."""
    name = nonempty_text(message.get("toolName")) or nonempty_text(call.get("name"))
    status, category = _ended(message, text)
    return _KINDS.get(name or "", MessageKind.TOOL_CALL_RESULT), PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=_trust(name, text),
        text=text,
        data=_details(message.get("details")),
        status=status,
        error_category=category,
        tool_call_id=nonempty_text(message.get("toolCallId")) or f"unidentified:{digest(message)}",
        tool_name=name,
        path=path_of(call.get("arguments")),
    )


def _trust(name: str | None, text: str) -> TrustLevel:
    """Whose words a result is; an edit's fixed sentence is the tool's own."""
    if name in ("edit", "write") and _DONE.fullmatch(text.strip()):
        return TrustLevel.TOOL_TRUSTED
    if name in _REPOSITORY:
        return TrustLevel.REPOSITORY_UNTRUSTED
    return TrustLevel.NETWORK_UNTRUSTED if name and _NETWORK.fullmatch(name) else TrustLevel.UNKNOWN


def _ended(message: JsonObject, text: str) -> tuple[ToolStatus, str | None]:
    if message.get("isError") is True:
        if text.strip() in _ABORTED:
            return ToolStatus.CANCELLED, "interrupted"
        return ToolStatus.FAILED, "tool_error"
    return ToolStatus.SUCCEEDED if message.get("isError") is False else ToolStatus.UNKNOWN, None


def _details(details: object) -> JsonObject | None:
    if not is_object(details):
        return None if details is None else {"value": details}
    return {k: v for k, v in details.items() if k not in ("diff", "patch") and v is not None} or None


def diff_part(details: object, of: PartDraft) -> PartDraft | None:
    """The change that an edit made, as pi shows it: numbered lines, or a patch. The model did not see it."""
    if not is_object(details):
        return None
    text = nonempty_text(details.get("patch")) or nonempty_text(details.get("diff"))
    if text is None:
        return None
    body = [line for line in text.splitlines() if not line.startswith(("+++", "---"))]
    return PartDraft(
        part_type=PartType.DIFF,
        trust=TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        content_type="text/x-diff" if nonempty_text(details.get("patch")) else "text/plain",
        text=text,
        data={
            "change": "modified",
            "lines_added": sum(line.startswith("+") for line in body),
            "lines_removed": sum(line.startswith("-") for line in body),
        },
        tool_call_id=of.tool_call_id,
        tool_name=of.tool_name,
        path=of.path,
    )
