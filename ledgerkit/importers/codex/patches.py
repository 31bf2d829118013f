"""Changes of files: the model's own patches, and the ones that Codex says it applied. No model was shown them."""

from __future__ import annotations

import re
from typing import Any, Final

from ledgerkit.importers import patches
from ledgerkit.importers.drafts import JsonObject, PartDraft
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text
from ledgerkit.protocol.vocabulary import PartType, TrustLevel, Visibility

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_SECTION: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED: Final = re.compile(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_CHANGES: Final = {"Add": "created", "Update": "modified", "Delete": "deleted"}


def patch_of(name: str | None, arguments: object) -> str | None:
    """The patch that a call asks to apply: the tool's own argument, or that of a shell command."""
    if is_object(arguments):
        asked = [arguments.get(key) for key in ("input", "patch", "command", "cmd")]
    else:
        asked = [arguments]
    texts: list[Any] = []
    for value in asked:
        texts += value if is_list(value) else [value]
    for text in texts:
        if isinstance(text, str) and _BEGIN in text and (name == "apply_patch" or _applies(text, texts)):
            inside = text[text.index(_BEGIN) :]
            return inside[: inside.index(_END)] if _END in inside else inside
    return None


def _applies(text: str, texts: list[Any]) -> bool:
    return not {"apply_patch", "applypatch"}.isdisjoint(t for t in texts if isinstance(t, str)) or (
        "apply_patch" in text[: text.index(_BEGIN)]
    )


def patch_parts(patch: str) -> list[PartDraft]:
    """The parts of a patch in Codex's form, one for each file."""
    heads = list(_SECTION.finditer(patch))
    ends = [*(head.start() for head in heads[1:]), len(patch)]
    return [_section(head, patch[head.start() : end]) for head, end in zip(heads, ends, strict=True)]


def _section(head: re.Match[str], text: str) -> PartDraft:
    lines = text.splitlines()[1:]
    moved = _MOVED.search(text)
    data: JsonObject = {
        "change": "renamed" if moved else _CHANGES[head[1]],
        "lines_added": sum(line.startswith("+") for line in lines),
        "lines_removed": sum(line.startswith("-") for line in lines),
    }
    path = (moved[1] if moved else head[2]).strip()
    if moved:
        data["previous_path"] = head[2].strip()
    return PartDraft(
        part_type=PartType.DIFF,
        # A new file is what the model wrote; the lines around a change are the repository's.
        trust=TrustLevel.MODEL_GENERATED if head[1] == "Add" else TrustLevel.REPOSITORY_UNTRUSTED,
        visibility=Visibility.HUMAN_VISIBLE,
        content_type="text/plain",
        text=text.rstrip("\n"),
        data=data,
        path=path,
    )


def change_parts(changes: object) -> list[PartDraft]:
    """The parts of applied changes: an object of paths."""
    if not is_object(changes):
        return []
    return [_change(path, change) for path, change in changes.items() if is_object(change)]


def _change(path: str, change: JsonObject) -> PartDraft:
    kind = change.get("type")
    moved = nonempty_text(change.get("move_path"))
    content = change.get("content")
    lines = content.splitlines() if isinstance(content, str) else []
    if kind == "add":
        text = "\n".join(["--- /dev/null", f"+++ {path}", f"@@ -0,0 +1,{len(lines)} @@", *(f"+{x}" for x in lines)])
    elif kind == "delete":
        text = "\n".join([f"--- {path}", "+++ /dev/null", f"@@ -1,{len(lines)} +0,0 @@", *(f"-{x}" for x in lines)])
    else:
        text = f"--- {path}\n+++ {moved or path}\n{change.get('unified_diff') or ''}"
    part = patches.diff_part(text, moved or path)
    if kind == "add":
        part.trust = TrustLevel.MODEL_GENERATED
    if moved:
        part.data = {**part.data, "change": "renamed", "previous_path": path}
    return part
