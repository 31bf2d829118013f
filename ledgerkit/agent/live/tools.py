"""Tools that really work in a workspace: declared with their risk, bounded in time and output, answering every call.

The rule: a tool never raises for what a model asked; what it did and how it ended is its outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ledgerkit.agent.live.commands import Ran, run_in
from ledgerkit.agent.workspace import OutsideWorkspaceError, Workspace
from ledgerkit.errors import ConfigurationError
from ledgerkit.protocol.contracts import RiskClass
from ledgerkit.protocol.requests import ToolDefinition
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel

MAX_FILE_CHARACTERS: Final = 400_000
MAX_HITS: Final = 200
_MAX_LINE: Final = 400
_GRACE: Final = 5.0

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class ToolOutcome:
    """How a call ended.

    Attributes:
        text: What it gave, whole.
        status: How it ended.
        trust_level: Where the text comes from.
        error_category: Kind of failure.
        exit_code: Of a command.
        path: The file that it is about.
        kind: Kind of the message that records it.
    """

    text: str
    status: ToolStatus = ToolStatus.SUCCEEDED
    trust_level: TrustLevel = TrustLevel.TOOL_TRUSTED
    error_category: str | None = None
    exit_code: int | None = None
    path: str | None = None
    kind: MessageKind = MessageKind.TOOL_CALL_RESULT


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        definition: What the model is told of it.
        carry_out: Does it; given the workspace, the arguments and the seconds that it may take.
        risk: The greatest harm that it can do.
        is_destructive: Whether a repetition may do what cannot be undone.
    """

    definition: ToolDefinition
    carry_out: Callable[[Workspace, Arguments, float], ToolOutcome] = field(repr=False)
    risk: RiskClass = RiskClass.LOW
    is_destructive: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name


def refused(reason: str, category: str) -> ToolOutcome:
    """A call that the tool would not carry out; the reason is in our own words."""
    return ToolOutcome(reason, ToolStatus.FAILED, error_category=category)


def use_tool(tool: Tool, workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    """Carries out a call and answers within the time, whatever the tool does.

    A tool that is not back in time goes on in a thread of its own that nobody can stop: what it did is not known then,
    and the outcome says so.
    """
    if problem := _problem(tool.definition, arguments):
        return refused(problem, "bad_arguments")
    answers: list[ToolOutcome | BaseException] = []

    def work() -> None:
        try:
            answers.append(_carried_out(tool, workspace, arguments, seconds))
        except BaseException as error:
            answers.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds + _GRACE)
    if answers:
        if isinstance(answers[0], BaseException):
            raise answers[0]
        return answers[0]
    text = f"{tool.name} was not back after {seconds:g} s and may still be at work."
    return ToolOutcome(text, ToolStatus.TIMED_OUT, error_category="timeout")


def _carried_out(tool: Tool, workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    try:
        return tool.carry_out(workspace, arguments, seconds)
    except OutsideWorkspaceError as error:
        return refused(str(error), "outside_workspace")
    except FileNotFoundError:
        return refused("There is no such file.", "file_not_found")
    except UnicodeDecodeError:
        return refused("The file is no text in UTF-8.", "not_text")
    except OSError as error:
        return refused(f"The system refused it: {error.strerror or type(error).__name__}.", "os_error")
    except Exception as error:
        return ToolOutcome(f"The tool itself failed: {type(error).__name__}.", ToolStatus.FAILED, error_category="tool")


def _problem(definition: ToolDefinition, arguments: Arguments) -> str | None:
    """What is wrong with arguments, by what the tools here use of JSON Schema: names, required, simple types."""
    schema: dict[str, Any] = dict(definition.parameters)
    known: dict[str, Any] = schema.get("properties") or {}
    if missing := [name for name in schema.get("required") or () if name not in arguments]:
        return f"{definition.name} needs the argument {missing[0]!r}."
    for name, value in arguments.items():
        if name not in known:
            return f"{definition.name} has no argument {str(name)[:40]!r}. It has: {', '.join(known)}."
        wanted = known[name].get("type")
        if wanted == "string" and not isinstance(value, str):
            return f"The argument {name!r} of {definition.name} is a string."
    return None


# The standard tools


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
    workspace.write(arguments["path"], arguments["content"])
    return ToolOutcome(f"Wrote {len(arguments['content'])} characters.", path=arguments["path"])


def _edit(workspace: Workspace, arguments: Arguments, seconds: float) -> ToolOutcome:
    del seconds
    path, old = arguments["path"], arguments["old"]
    before = workspace.read(path)
    found = before.count(old) if old else 0
    if found != 1:
        return refused(f"The old text stands {found} times in the file; it must stand there once.", "no_single_match")
    workspace.write(path, before.replace(old, arguments["new"]))
    return ToolOutcome("Replaced the text once.", path=path)


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


def tools_by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Tools by their names.

    Raises:
        ConfigurationError: If two have one name.
    """
    found = dict[str, Tool]()
    for tool in tools:
        if tool.name in found:
            raise ConfigurationError(f"Two tools are called {tool.name!r}. Give each a name of its own.")
        found[tool.name] = tool
    return found
