"""Tool calls of Gemini CLI: what came back, whose words it is, and how the call ended.

A call and its result stand in one record. Where a result comes from is told by the tool: files, searches and shell
output are the repository's, the web's and MCP servers' the network's. Fixed words of the client itself are the tool's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.pieces import media_part, path_of
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of
from ledgerkit.importers.tool_names import trust_of_shell
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

Piece = tuple[MessageKind, str, PartDraft]
_SHELL: Final = "run_shell_command"
_READS: Final = frozenset({"read_file", "read_many_files"})
_EDITS: Final = frozenset({"replace", "write_file", "edit"})
_REPOSITORY: Final = _READS | _EDITS | {
    *(_SHELL, "list_directory", "glob", "search_file_content", "grep_search", "grep"),
}  # fmt: skip
_NETWORK: Final = frozenset({"google_web_search", "web_fetch"})
_DONE: Final = re.compile(
    r"Successfully (?:modified file|created and wrote to new file|overwrote file|created new file): [^\n]+\.?"
)
_NOTHING: Final = re.compile(
    r"Directory [^\n]+ is empty\.|No files found matching pattern [^\n]+|No matches found for pattern [^\n]+"
)
"""A folder or search that holds nothing, in the client's words about what the model asked for."""
_OWN_ERRORS: Final = re.compile(
    r"(?:File )?[Pp]ath must be absolute: [^\n]+|File not found: [^\n]+|params must have required property '\w+'"
    r"|Tool \"[\w.-]+\" not found in registry\. Tools must use the exact names that are registered\."
    r"(?: Did you mean (?:one of: )?\"[\w.-]+\"(?:, \"[\w.-]+\")*\?)?"
)
"""What the client says of a call that does not fit its tool."""
_SEARCHES: Final = frozenset({"list_directory", "glob", "search_file_content", "grep_search", "grep"})
_CANCELLED: Final = re.compile(r"\[Operation Cancelled\] Reason: User (?:cancelled|did not allow)[^\n]*")
_ENDS: Final = {
    "success": ToolStatus.SUCCEEDED, "error": ToolStatus.FAILED, "cancelled": ToolStatus.CANCELLED,
}  # fmt: skip


def has_ended(call: JsonObject) -> bool:
    """Whether a call holds its result."""
    return str(call.get("status")) in _ENDS or call.get("result") is not None


def result_pieces(call: JsonObject, call_id: str) -> Iterator[Piece]:
    """The result of a call, and the change that an edit made."""
    name = nonempty_text(call.get("name"))
    text, others = _returned(call.get("result"))
    status = _ENDS.get(str(call.get("status")), ToolStatus.UNKNOWN)
    kind, trust = _origin(name, text, status, call.get("args"))
    path = path_of(call.get("args"))
    actor = "user" if kind is MessageKind.APPROVAL_DECISION else name or "tool"
    yield (
        kind,
        actor,
        PartDraft(
            part_type=PartType.TOOL_RESULT,
            trust=trust,
            text=text,
            data=_shown(call.get("resultDisplay"), text),
            status=status,
            error_category=_category(text, status),
            tool_call_id=call_id,
            tool_name=name,
            path=path,
        ),
    )
    for block in others:
        part = media_part(block.get("data"), block.get("mimeType"), trust)
        part.tool_call_id, part.tool_name, part.path = call_id, name, path
        yield kind, actor, part
    display = call.get("resultDisplay")
    if is_object(display) and isinstance(display.get("fileDiff"), str):
        yield kind, actor, _diff(display, call_id, name, path)


def _returned(result: object) -> tuple[str, list[JsonObject]]:
    """What the model was given: the texts of the function's response and of parts beside it, and media."""
    texts: list[str] = []
    media: list[JsonObject] = []
    listed: list[Any] = result if is_list(result) else [result]
    for part in listed:
        if isinstance(part, str):
            texts.append(part)
        elif is_object(part):
            answer = part.get("functionResponse")
            response = answer.get("response") if is_object(answer) else None
            texts += _texts(response) if is_object(response) else []
            texts += [part["text"]] if isinstance(part.get("text"), str) else []
            inline = [part.get("inlineData")]
            inline += [each.get("inlineData") for each in objects_of(answer.get("parts"))] if is_object(answer) else []
            media += objects_of(inline)
    return "\n".join(texts), media


def _texts(response: JsonObject) -> list[str]:
    return [response[name] for name in ("output", "error", "content") if isinstance(response.get(name), str)]


def _origin(name: str | None, text: str, status: ToolStatus, arguments: object) -> tuple[MessageKind, TrustLevel]:
    """Kind and trust of a result."""
    if status is ToolStatus.CANCELLED and _CANCELLED.fullmatch(text.strip()):
        return MessageKind.APPROVAL_DECISION, TrustLevel.USER_TRUSTED
    kind = MessageKind.TOOL_CALL_RESULT
    if name in _READS:
        kind = MessageKind.FILE_OBSERVATION
    elif name in _EDITS:
        kind = MessageKind.DIFF_OBSERVATION
    is_own = _is_own(name, text.strip(), status)
    return kind, TrustLevel.TOOL_TRUSTED if is_own else _trust(name, arguments)


def _is_own(name: str | None, said: str, status: ToolStatus) -> bool:
    """Whether a result is nothing but fixed words of the client; a shell's never is."""
    if name == _SHELL or name not in _REPOSITORY:
        return False
    if status is ToolStatus.FAILED:
        return _OWN_ERRORS.fullmatch(said) is not None
    found = _DONE.fullmatch(said) if name in _EDITS else _NOTHING.fullmatch(said) if name in _SEARCHES else None
    return found is not None


def _trust(name: str | None, arguments: object) -> TrustLevel:
    if name in _NETWORK or (name and "__" in name) or (name and name.startswith("mcp_")):
        return TrustLevel.NETWORK_UNTRUSTED
    if name == _SHELL:
        return trust_of_shell(arguments)
    return TrustLevel.REPOSITORY_UNTRUSTED if name in _REPOSITORY else TrustLevel.UNKNOWN


def _category(text: str, status: ToolStatus) -> str | None:
    if status is ToolStatus.CANCELLED:
        return "denied_by_user" if _CANCELLED.fullmatch(text.strip()) else "cancelled"
    return "tool_error" if status is ToolStatus.FAILED else None


def _shown(display: object, text: str) -> JsonObject | None:
    """What people saw where it is not what the model was given."""
    if is_object(display):
        kept = {k: v for k, v in display.items() if k not in ("fileDiff", "originalContent", "newContent")}
        return {"shown": kept} if kept else None
    if isinstance(display, str) and display.strip() and display.strip() not in text:
        return {"shown": display}
    return None


def _diff(display: JsonObject, call_id: str, name: str | None, path: str | None) -> PartDraft:
    """The change that an edit made. The model did not see it; the lines around it are the repository's."""
    diff = str(display["fileDiff"])
    body = [line for line in diff.splitlines() if not line.startswith(("+++", "---"))]
    # Lines that were there are the repository's; where there are none, all of it is what the model wrote.
    is_written = all(line.startswith(("+", "@@", "\\", "Index: ", "=====")) for line in body)
    created = display.get("isNewFile") is True or display.get("originalContent") is None
    return PartDraft(
        part_type=PartType.DIFF,
        trust=TrustLevel.MODEL_GENERATED if created and is_written else TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        content_type="text/x-diff",
        text=diff,
        data={
            "change": "created" if created else "modified",
            "lines_added": sum(line.startswith("+") for line in body),
            "lines_removed": sum(line.startswith("-") for line in body),
        },
        tool_call_id=call_id,
        tool_name=name,
        path=nonempty_text(display.get("filePath")) or path or nonempty_text(display.get("fileName")),
    )
