"""The tools, really carried out in a workspace.

The rule: a tool reads and changes the workspace and nothing else, and answers every call, also a wrong one, with an
outcome; it never raises for what a model asked.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from ledgerkit.agent.exchange import ToolUse
from ledgerkit.agent.outcomes import (
    ChangeFields,
    FileFields,
    ListFields,
    Outcome,
    PlanFields,
    SearchFields,
    ShellFields,
)
from ledgerkit.agent.shell import TIMED_OUT, Shell
from ledgerkit.agent.workspace import OutsideWorkspaceError, Workspace
from ledgerkit.protocol.vocabulary import ToolStatus

OUTPUT_LIMIT = 30_000
"""Characters of a command's output that a model is shown; beyond it only the head."""

PREVIEW_CHARACTERS = 2000
_READ_LIMIT = 2000

Arguments = Mapping[str, object]
Delegate = Callable[[ToolUse], Outcome]


class Tools(Protocol):
    """Whatever can carry out tool calls."""

    def run(self, call: ToolUse) -> Outcome:
        """Carry out a call. Never raises for what the model asked."""
        ...


class Toolbox:
    """The tools of one run.

    Args:
        workspace: What Read, Edit, Write, Grep and Glob work on.
        shell: What Bash runs in.
        outputs: Folder, as the agent knows it, that long outputs are said to be kept in.
        delegate: Carries out Task calls; without it there is no such tool.
    """

    def __init__(self, workspace: Workspace, shell: Shell, *, outputs: str, delegate: Delegate | None = None) -> None:
        self._workspace = workspace
        self._shell = shell
        self._outputs = outputs
        self._delegate = delegate
        self._plan: tuple[Mapping[str, str], ...] = ()

    def run(self, call: ToolUse) -> Outcome:
        """Carry out a call."""
        tools: dict[str, Callable[[Arguments], Outcome]] = {
            "Read": self._read,
            "Edit": self._edit,
            "Write": self._write,
            "Grep": self._grep,
            "Glob": self._glob,
            "TodoWrite": self._todo,
        }
        try:
            if call.name == "Bash":
                return self._bash(call)
            if call.name == "Task" and self._delegate is not None:
                return self._delegate(call)
            if call.name in tools:
                return tools[call.name](call.arguments)
        except OutsideWorkspaceError as error:
            return Outcome.refused(str(error), "outside_workspace")
        except FileNotFoundError:
            return Outcome.refused("File does not exist.", "file_not_found")
        return Outcome.refused(f"No such tool available: {call.name}", "unknown_tool")

    def _read(self, arguments: Arguments) -> Outcome:
        path = _text(arguments, "file_path")
        lines = self._workspace.read(path).splitlines()
        start = _number(arguments, "offset", 1)
        shown = lines[start - 1 : start - 1 + _number(arguments, "limit", _READ_LIMIT)]
        numbered = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(shown, start))
        return Outcome(numbered, fields=FileFields(path, "\n".join(shown), start, len(shown), len(lines)))

    def _edit(self, arguments: Arguments) -> Outcome:
        path, old, new = (_text(arguments, name) for name in ("file_path", "old_string", "new_string"))
        before = self._workspace.read(path)
        every = arguments.get("replace_all") is True
        found = before.count(old)
        if not found:
            return Outcome.refused(f"String to replace not found in file.\nString: {old}", "text_not_found")
        if found > 1 and not every:
            reason = f"Found {found} matches of the string to replace, but replace_all is false.\nString: {old}"
            return Outcome.refused(reason, "text_not_unique")
        after = before.replace(old, new)
        self._workspace.write(path, after)
        fields = ChangeFields(path, before, after, old, new, every)
        return Outcome(f"The file {path} has been updated successfully.", fields=fields)

    def _write(self, arguments: Arguments) -> Outcome:
        path, content = _text(arguments, "file_path"), _text(arguments, "content")
        before = self._workspace.read(path) if self._workspace.locate(path).exists() else None
        self._workspace.write(path, content)
        created = f"File created successfully at: {path}"
        text = created if before is None else f"The file {path} has been updated successfully."
        return Outcome(text, fields=ChangeFields(path, before, content))

    def _glob(self, arguments: Arguments) -> Outcome:
        pattern = _text(arguments, "pattern")
        found = [p for p in self._paths(arguments) if _matches(p, pattern)]
        shown = tuple(self._workspace.absolute(p) for p in found)
        return Outcome("\n".join(shown) or "No files found", fields=ListFields(shown))

    def _grep(self, arguments: Arguments) -> Outcome:
        try:
            pattern = re.compile(_text(arguments, "pattern"))
        except re.error as error:
            return Outcome.refused(f"Not a regular expression: {error}", "bad_pattern")
        glob = _text(arguments, "glob", "*")
        paths = [p for p in self._paths(arguments) if _matches(p, glob)]
        hits = [
            (path, number, line)
            for path in paths
            for number, line in enumerate(self._workspace.read(path).splitlines(), 1)
            if pattern.search(line)
        ]
        if _text(arguments, "output_mode", "files_with_matches") == "content":
            content = "\n".join(f"{path}:{number}:{line}" for path, number, line in hits)
            return Outcome(content or "No matches found", fields=SearchFields("content", (), content, len(hits)))
        names = tuple(self._workspace.absolute(p) for p in dict.fromkeys(path for path, _, _ in hits))
        text = f"Found {len(names)} file{'' if len(names) == 1 else 's'}\n" + "\n".join(names)
        return Outcome(text if names else "No files found", fields=SearchFields("files_with_matches", names, "", 0))

    def _bash(self, call: ToolUse) -> Outcome:
        done = self._shell.run(_text(call.arguments, "command"))
        output = "\n".join(part.rstrip("\n") for part in (done.stdout, done.stderr) if part.strip())
        whole = f"Exit code {done.exit_code}\n{output}".rstrip() if done.exit_code else output
        shown = self._preview(whole, call.tool_call_id) if len(whole) > OUTPUT_LIMIT else whole
        return Outcome(
            shown or "(no output)",
            _status(done.exit_code),
            ShellFields(done.stdout.rstrip("\n"), done.stderr.rstrip("\n"), done.exit_code),
            full_text=whole if shown is not whole else None,
            error_category="exit_code" if done.exit_code else None,
        )

    def _preview(self, whole: str, tool_call_id: str) -> str:
        head = whole[:PREVIEW_CHARACTERS].rpartition("\n")[0]
        size = f"{len(whole.encode()) / 1024:.1f}KB"
        place = f"{self._outputs}/{tool_call_id}.txt"
        note = f"Output too large ({size}). Full output saved to: {place}\n\nPreview (first 2KB):"
        return f"<persisted-output>\n{note}\n{head}\n...\n</persisted-output>"

    def _todo(self, arguments: Arguments) -> Outcome:
        entries = cast("Sequence[Mapping[str, str]]", arguments.get("todos", ()))
        before, self._plan = self._plan, tuple(dict(entry) for entry in entries)
        text = "Todos have been modified successfully. Proceed with the current tasks if applicable."
        return Outcome(text, fields=PlanFields(before, self._plan))

    def _paths(self, arguments: Arguments) -> list[str]:
        below = self._workspace.relative(_text(arguments, "path", self._workspace.shown_as))
        return [p for p in self._workspace.paths() if below in {".", p} or p.startswith(f"{below}/")]


def _status(exit_code: int) -> ToolStatus:
    if exit_code == TIMED_OUT:
        return ToolStatus.TIMED_OUT
    return ToolStatus.FAILED if exit_code else ToolStatus.SUCCEEDED


def _matches(path: str, pattern: str) -> bool:
    name = path.rpartition("/")[2]
    return fnmatch.fnmatchcase(path, pattern.replace("**/", "*")) or fnmatch.fnmatchcase(name, pattern)


def _text(arguments: Arguments, name: str, default: str = "") -> str:
    value = arguments.get(name, default)
    return value if isinstance(value, str) else default


def _number(arguments: Arguments, name: str, default: int) -> int:
    value = arguments.get(name, default)
    return value if isinstance(value, int) else default
