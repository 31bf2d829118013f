"""Tools that really work in a workspace: declared with their risk, bounded in time and output, answering every call.

The rule: a tool never raises for what a model asked; what it did and how it ended is its outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ledgerkit.agent.workspace import OutsideWorkspaceError, Workspace
from ledgerkit.errors import ConfigurationError
from ledgerkit.protocol.contracts import RiskClass
from ledgerkit.protocol.requests import ToolDefinition
from ledgerkit.protocol.vocabulary import MessageKind, ToolStatus, TrustLevel

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
        change: What a file held before (``None`` if it was not there) and holds now.
    """

    text: str
    status: ToolStatus = ToolStatus.SUCCEEDED
    trust_level: TrustLevel = TrustLevel.TOOL_TRUSTED
    error_category: str | None = None
    exit_code: int | None = None
    path: str | None = None
    kind: MessageKind = MessageKind.TOOL_CALL_RESULT
    change: tuple[str | None, str] | None = None


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
