"""Tool results of Claude Code: what came back, from where, and how the call ended.

Where a result comes from decides its trust: what a shell, a file or a search returns is repository text even
though a tool carried it. The structured twin of a result (``toolUseResult``) decides first, since it says so
itself; the tool's name decides where there is no twin.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.shapes import is_list, is_object, objects_of
from ledgerkit.protocol.vocabulary import MessageKind, PartType, ToolStatus, TrustLevel, Visibility

_FILE_TOOLS = frozenset({"Read", "NotebookRead"})
_EDIT_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_WEB_TOOLS = frozenset({"WebFetch", "WebSearch"})
_AGENT_TOOLS = frozenset({"Task", "Agent", "TaskOutput"})
_CLIENT_TOOLS = frozenset(
    {"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "KillBash", "KillShell", "EnterPlanMode"}
)
_REPOSITORY_TOOLS = _EDIT_TOOLS | {
    *("Bash", "BashOutput", "Grep", "Glob", "LS", "LSP", "Search", "Skill", "SlashCommand", "NotebookRead", "Monitor"),
}
_REPOSITORY_KEYS = frozenset({"stdout", "stderr", "filenames"})
APPROVAL_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})

_DENIALS = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
DENIED = "denied_by_user"
_KEPT_STRING_BYTES = 8 * 1024


def status_of(block: JsonObject, twin: object, text: str) -> tuple[ToolStatus, str | None]:
    """How the call ended, and the kind of failure if it failed."""
    if block.get("is_error") is True and text.startswith(_DENIALS):
        return ToolStatus.CANCELLED, DENIED
    if is_object(twin) and twin.get("interrupted") is True:
        return ToolStatus.CANCELLED, "interrupted"
    if block.get("is_error") is True:
        return ToolStatus.FAILED, _error_category(text)
    return ToolStatus.SUCCEEDED, None


def _error_category(text: str) -> str:
    head = text[:400].lower()
    for marker, category in (
        ("interrupted by user", "interrupted"),
        ("timed out", "timeout"),
        ("inputvalidationerror", "invalid_arguments"),
        ("file has not been read yet", "precondition"),
        ("file has been modified since read", "precondition"),
        ("string to replace not found", "precondition"),
        ("permission", "permission"),
        ("exit code", "exit_code"),
        ("does not exist", "not_found"),
    ):
        if marker in head:
            return category
    return "tool_error"


def origin_of(tool_name: str | None, twin: object, error_category: str | None) -> tuple[MessageKind, TrustLevel]:
    """Kind and trust of a result, from its twin and the tool's name. A twin never lifts what a named tool returned."""
    keys = twin.keys() if is_object(twin) else frozenset[str]()
    name = tool_name or ""
    if error_category == DENIED or name in APPROVAL_TOOLS or (not name and {"questions", "answers"} <= keys):
        return MessageKind.APPROVAL_DECISION, TrustLevel.USER_TRUSTED
    if name.startswith("mcp__"):
        return MessageKind.TOOL_CALL_RESULT, TrustLevel.NETWORK_UNTRUSTED
    if "structuredPatch" in keys or (name in _EDIT_TOOLS and twin is None):
        return MessageKind.DIFF_OBSERVATION, TrustLevel.REPOSITORY_UNTRUSTED
    if "file" in keys or name in _FILE_TOOLS:
        return MessageKind.FILE_OBSERVATION, TrustLevel.REPOSITORY_UNTRUSTED
    return MessageKind.TOOL_CALL_RESULT, _trust_of(name, keys)


def _trust_of(name: str, keys: Set[str]) -> TrustLevel:
    if name in _WEB_TOOLS or "mcpMeta" in keys:
        return TrustLevel.NETWORK_UNTRUSTED
    if name in _AGENT_TOOLS or (not name and "totalToolUseCount" in keys):
        return TrustLevel.MODEL_GENERATED
    if name in _CLIENT_TOOLS or (not name and {"oldTodos", "newTodos"} <= keys):
        return TrustLevel.TOOL_TRUSTED
    known = name in _REPOSITORY_TOOLS or not keys.isdisjoint(_REPOSITORY_KEYS)
    return TrustLevel.REPOSITORY_UNTRUSTED if known else TrustLevel.UNKNOWN


def path_of(twin: object, arguments: object) -> str | None:
    """The file that a result is about."""
    for source in (twin, twin.get("file") if is_object(twin) else None, arguments):
        if is_object(source):
            for key in ("filePath", "file_path", "notebook_path", "path"):
                if isinstance(source.get(key), str):
                    return source[key]
    return None


def fields_of(twin: object, text: str, measure: Callable[[str], str]) -> JsonObject | None:
    """The twin's fields that say more than the text does.

    Strings that the text repeats are left out; long ones that it does not (the whole file before an edit) are
    replaced by their size and content id.
    """
    if isinstance(twin, str) or twin is None:
        return None
    if not is_object(twin):
        return {"value": _pruned(twin, text, measure)}
    if "structuredPatch" in twin:
        twin = {k: v for k, v in twin.items() if k not in ("structuredPatch", "oldString", "newString", "edits")}
    kept = {key: value for key, raw in twin.items() if (value := _pruned(raw, text, measure)) not in (None, "", [], {})}
    return kept or None


def _pruned(value: object, text: str, measure: Callable[[str], str]) -> object:
    if isinstance(value, str):
        if len(value) > 40 and value.strip() in text:
            return None
        return _measured(value, measure) if len(value) > _KEPT_STRING_BYTES else value
    if is_object(value):
        if isinstance(value.get("base64"), str):
            value = value | {"base64": _measured(value["base64"], measure)}
        return {k: p for k, v in value.items() if (p := _pruned(v, text, measure)) is not None}
    if is_list(value):
        return [p for v in value if (p := _pruned(v, text, measure)) is not None]
    return value


def _measured(value: str, measure: Callable[[str], str]) -> JsonObject:
    return {"omitted_bytes": len(value.encode()), "content_id": measure(value)}


def diff_part(twin: object, path: str | None, tool_call_id: str | None, tool_name: str | None) -> PartDraft | None:
    """The change that an edit made, as a unified diff. The model did not see it, so it is for audits and people."""
    if not is_object(twin) or not is_list(twin.get("structuredPatch")):
        return None
    hunks = objects_of(twin["structuredPatch"])
    lines = [f"--- {path or ''}", f"+++ {path or ''}"] if hunks else []
    added = removed = 0
    for hunk in hunks:
        listed: list[Any] = hunk["lines"] if is_list(hunk.get("lines")) else []
        body = [line for line in listed if isinstance(line, str)]
        added += sum(line.startswith("+") for line in body)
        removed += sum(line.startswith("-") for line in body)
        start = tuple(hunk.get(k) for k in ("oldStart", "oldLines", "newStart", "newLines"))
        lines += ["@@ -{},{} +{},{} @@".format(*start), *body]
    created = twin.get("type") == "create" or (not hunks and isinstance(twin.get("content"), str))
    if created and not hunks:
        body = [f"+{line}" for line in str(twin.get("content", "")).splitlines()]
        added = len(body)
        lines = ["--- /dev/null", f"+++ {path or ''}", f"@@ -0,0 +1,{added} @@", *body]
    return PartDraft(
        part_type=PartType.DIFF,
        # A new file is what the model wrote; the diff of one that was there shows its lines too.
        trust=TrustLevel.MODEL_GENERATED if created and not hunks else TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        content_type="text/x-diff",
        text="\n".join(lines),
        data={
            "change": "created" if created else "modified",
            "lines_added": added,
            "lines_removed": removed,
            "user_modified": twin.get("userModified") is True,
        },
        tool_call_id=tool_call_id,
        tool_name=tool_name,
        path=path,
    )
