"""Tool results of pi: whose words they are by the tool, how the call ended, and the change that an edit made."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import digest, path_of
from ledgerkit.importers.shapes import is_object, nonempty_text
from ledgerkit.importers.tool_names import trust_of_shell
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

_REPOSITORY: Final = frozenset({"bash", "read", "edit", "write", "grep", "find", "ls"})
_NETWORK: Final = re.compile(r"web_?\w+|fetch\w*|browser\w*|mcp\w*|\w+__\w+", re.IGNORECASE)
_KINDS: Final = {
    "read": MessageKind.FILE_OBSERVATION, "edit": MessageKind.DIFF_OBSERVATION, "write": MessageKind.DIFF_OBSERVATION,
}  # fmt: skip
_DONE: Final = re.compile(r"Successfully (?:replaced (?:text|\d+ block\(s\)) in [^\n]+|wrote \d+ bytes to [^\n]+)\.?")
_UNDONE: Final = re.compile(
    r"Could not find the exact text in [^\n]+\. The old text must match exactly[^\n]*"
    r"|Found \d+ occurrences of the text in [^\n]+\. The text must be unique\.[^\n]*"
    r"|No changes made to [^\n]+\. The replacement produced identical content\.[^\n]*|File not found: [^\n]+"
)
"""An edit that was not made, in pi's words about the path that the model gave."""
_NOTHING: Final = frozenset({"No matches found", "No files found matching pattern", "(empty directory)"})
_ABORTED: Final = ("Command aborted", "Operation aborted")


def result_part(message: JsonObject, call: JsonObject, text: str) -> tuple[MessageKind, PartDraft]:
    """A result, and its kind."""
    name = nonempty_text(message.get("toolName")) or nonempty_text(call.get("name"))
    status, category = _ended(message, text)
    return _KINDS.get(name or "", MessageKind.TOOL_CALL_RESULT), PartDraft(
        part_type=PartType.TOOL_RESULT,
        trust=_trust(name, text, call.get("arguments")),
        text=text,
        data=_details(message.get("details")),
        status=status,
        error_category=category,
        tool_call_id=nonempty_text(message.get("toolCallId")) or f"unidentified:{digest(message)}",
        tool_name=name,
        path=path_of(call.get("arguments")),
    )


def _trust(name: str | None, text: str, arguments: object) -> TrustLevel:
    """Whose words a result is; fixed sentences of edits and searches are the tool's own."""
    said = text.strip()
    if name in ("edit", "write") and (_DONE.fullmatch(said) or _UNDONE.fullmatch(said)):
        return TrustLevel.TOOL_TRUSTED
    if name in ("grep", "find", "ls") and said in _NOTHING:
        return TrustLevel.TOOL_TRUSTED
    if name == "bash":
        return trust_of_shell(arguments)
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
