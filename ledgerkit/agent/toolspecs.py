"""The tools as a model is told of them.

The rule: declared once, as data, in a fixed order; the same declarations stand in every request of a run.
"""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.exchange import ToolSpec


def _text(description: str) -> dict[str, object]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, object]:
    return {"type": "integer", "description": description}


def _spec(name: str, purpose: str, required: str, /, **properties: dict[str, object]) -> ToolSpec:
    schema: dict[str, object] = {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }
    return ToolSpec(name, purpose, schema)


_PATH = _text("Absolute path of the file.")
_PLAN: dict[str, object] = {
    "type": "array",
    "description": "The whole plan, in order.",
    "items": {
        "type": "object",
        "properties": {
            "content": _text("What to do."),
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
            "activeForm": _text("The same as something under way."),
        },
        "required": ["content", "status", "activeForm"],
    },
}

TOOLS: Final[tuple[ToolSpec, ...]] = (
    _spec(
        "Task",
        "Give a well-described part of the work to a subagent that can read and search. It answers once.",
        "description prompt subagent_type",
        description=_text("Three to five words."),
        prompt=_text("Everything that the subagent needs to know."),
        subagent_type=_text("Kind of subagent; Explore is the only one."),
    ),
    _spec(
        "Bash",
        "Run a command with the shell in the workspace. Output beyond 30,000 characters is kept in a file; you see its "
        "head.",
        "command",
        command=_text("The command."),
        description=_text("What it does, in a few words."),
        timeout=_number("Milliseconds to wait at most."),
    ),
    _spec(
        "Glob", "Find files by name.", "pattern", pattern=_text("Such as **/*.py."), path=_text("Folder to look in.")
    ),
    _spec(
        "Grep",
        "Search the contents of files with a regular expression.",
        "pattern",
        pattern=_text("The regular expression."),
        path=_text("File or folder to search."),
        glob=_text("Only files whose name matches."),
        output_mode={"type": "string", "enum": ["content", "files_with_matches"]},
    ),
    _spec(
        "Read",
        "Read a text file. Lines are numbered from 1.",
        "file_path",
        file_path=_PATH,
        offset=_number("First line."),
        limit=_number("Number of lines."),
    ),
    _spec(
        "Edit",
        "Replace a text in a file. The old text must stand in it exactly once, unless replace_all is set.",
        "file_path old_string new_string",
        file_path=_PATH,
        old_string=_text("The text to replace."),
        new_string=_text("The text to put there."),
        replace_all={"type": "boolean", "description": "Replace every occurrence."},
    ),
    _spec(
        "Write",
        "Write a whole file, new or over an old one.",
        "file_path content",
        file_path=_PATH,
        content=_text("The whole content."),
    ),
    _spec("TodoWrite", "Write down the plan and how far it is.", "todos", todos=_PLAN),
)

READ_ONLY: Final[tuple[ToolSpec, ...]] = tuple(t for t in TOOLS if t.name in {"Glob", "Grep", "Read"})
"""The tools of a subagent that explores."""
