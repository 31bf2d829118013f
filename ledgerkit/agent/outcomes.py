"""What tools answer: the text for the model, and the fields behind it.

The rule: the text is all that the model sees; the fields are what a log keeps beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ledgerkit.protocol.usage import Usage
from ledgerkit.protocol.vocabulary import ToolStatus


@dataclass(frozen=True, slots=True)
class ShellFields:
    """A shell command: its streams and exit code."""

    stdout: str
    stderr: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class FileFields:
    """A file that was read, or a range of its lines."""

    path: str
    content: str
    start_line: int
    line_count: int
    total_lines: int


@dataclass(frozen=True, slots=True)
class ChangeFields:
    """A file that was changed or created (``before`` is null then)."""

    path: str
    before: str | None
    after: str
    old: str | None = None
    new: str | None = None
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class SearchFields:
    """Matches of a search in file contents."""

    mode: str
    filenames: tuple[str, ...]
    content: str
    line_count: int


@dataclass(frozen=True, slots=True)
class ListFields:
    """File names that match a pattern."""

    filenames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanFields:
    """The plan before and after it was rewritten."""

    before: tuple[Mapping[str, str], ...]
    after: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class SubagentFields:
    """What a subagent did for its parent."""

    agent_id: str
    run_id: str
    prompt: str
    answer: str
    total_tokens: int
    tool_calls: int
    duration_ms: int
    usage: Usage

    @property
    def note(self) -> str:
        """What stands under its answer."""
        totals = f"total_tokens: {self.total_tokens}\ntool_uses: {self.tool_calls}\nduration_ms: {self.duration_ms}"
        return (
            f"agentId: {self.agent_id} (for resuming to continue this agent's work if needed)\n<usage>{totals}</usage>"
        )


Fields = ShellFields | FileFields | ChangeFields | SearchFields | ListFields | PlanFields | SubagentFields


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a tool call ended.

    Attributes:
        text: What the model sees.
        status: How it ended.
        fields: What the tool knows beside the text; null on errors.
        full_text: The whole output, where ``text`` shows only its head.
        error_category: Kind of failure.
    """

    text: str
    status: ToolStatus = ToolStatus.SUCCEEDED
    fields: Fields | None = field(default=None)
    full_text: str | None = None
    error_category: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether the model is told that the call failed."""
        return self.status is not ToolStatus.SUCCEEDED

    @classmethod
    def refused(cls, reason: str, category: str) -> Outcome:
        """A call that the tool itself would not carry out."""
        text = f"<tool_use_error>{reason}</tool_use_error>"
        return cls(text, ToolStatus.FAILED, error_category=category)
