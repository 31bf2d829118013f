"""The standard tools: read, search, write and edit files of a workspace, and run commands in it."""

from __future__ import annotations

from typing import Any, Final

from ledgerkit.agent.live.commands import Ran, run_in
from ledgerkit.agent.live.tools import Arguments, Tool, ToolOutcome, refused
from ledgerkit.agent.workspace import Workspace
from ledgerkit.protocol.contracts import RiskClass
from ledgerkit.protocol.requests import ToolDefinition
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel

MAX_FILE_CHARACTERS: Final = 400_000
MAX_HITS: Final = 200
_MAX_LINE: Final = 400


def _read(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    del seconds
    path = arguments["path"]
    text = workspace.read(path)
    cut = text[:MAX_FILE_CHARACTERS]
    note = "" if cut == text else f"\n[{len(text) - len(cut)} more characters]"
    trust, kind = TrustLevel.REPOSITORY_UNTRUSTED, MessageKind.FILE_OBSERVATION
    return ToolOutcome(cut + note, trust_level=trust, path=path, kind=kind)


def _write(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    del seconds
    path, content = arguments["path"], arguments["content"]
    before = workspace.read(path) if workspace.locate(path).exists() else None
    workspace.write(path, content)
    return _changed(f"Wrote {len(content)} characters.", path, before, content)


def _edit(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    del seconds
    path, old = arguments["path"], arguments["old"]
    before = workspace.read(path)
    found = before.count(old) if old else 0
    if found != 1:
        return refused(f"The old text stands {found} times in the file; it must stand there once.", "no_single_match")
    after = before.replace(old, arguments["new"])
    workspace.write(path, after)
    return _changed("Replaced the text once.", path, before, after)


def _changed(text: str, path: str, before: str | None, after: str) -> ToolOutcome:
    return ToolOutcome(text, path=path, kind=MessageKind.DIFF_OBSERVATION, change=(before, after))


def _search(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    del seconds
    wanted, hits = arguments["text"], list[str]()
    for path in workspace.paths():
        try:
            lines = workspace.read(path).splitlines()
        except UnicodeDecodeError:
            continue
        hits += [f"{path}:{n}:{line[:_MAX_LINE]}" for n, line in enumerate(lines, 1) if wanted in line]
        if len(hits) > MAX_HITS:
            hits = [*hits[:MAX_HITS], f"[more than {MAX_HITS} lines; search for a longer text]"]
            break
    return ToolOutcome("\n".join(hits) or "No line holds it.", trust_level=TrustLevel.REPOSITORY_UNTRUSTED)


def _run(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    return command_outcome(run_in(workspace.root, arguments["command"], seconds))


def command_outcome(ran: Ran) -> ToolOutcome:
    """A command's end as the outcome of a call."""
    status, category = ToolStatus.SUCCEEDED, None
    if ran.exit_code is None:
        status, category = ToolStatus.TIMED_OUT, "timeout"
    elif ran.exit_code:
        status, category = ToolStatus.FAILED, "exit_code"
    text = ran.output or "(no output)"
    return ToolOutcome(text, status, TrustLevel.REPOSITORY_UNTRUSTED, category, ran.exit_code)


def _definition(name: str, description: str, /, **arguments: str) -> ToolDefinition:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": "string", "description": said} for key, said in arguments.items()},
        "required": list(arguments),
        "additionalProperties": False,
    }
    return ToolDefinition(name=name, description=description, parameters=schema)


_PATH: Final = "Path of the file, relative to the workspace."


def standard_tools() -> tuple[Tool, ...]:
    """Read, search, write and edit files of the workspace, and run commands in it.

    Example:
        >>> [(tool.name, tool.risk.value, tool.is_destructive) for tool in standard_tools()][:3]
        [('read_file', 'low', False), ('search_files', 'low', False), ('write_file', 'medium', True)]
    """
    medium = RiskClass.MEDIUM
    return (
        Tool(_definition("read_file", "Read a text file.", path=_PATH), _read),
        Tool(_definition("search_files", "Find lines that hold a text.", text="The text, as it stands."), _search),
        Tool(
            _definition("write_file", "Write a whole file.", path=_PATH, content="All of it."), _write, medium,
            is_destructive=True,
        ),
        Tool(
            _definition("edit_file", "Replace a text that stands once in a file.", path=_PATH, old="The text.",
                        new="What takes its place."),
            _edit, medium, is_destructive=True,
        ),
        Tool(
            _definition("run_command", "Run a shell command in the workspace.", command="The command."),
            _run, medium, is_destructive=True,
        ),
    )  # fmt: skip
