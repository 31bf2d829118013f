"""What happens in a run, entry by entry, in no log format.

The rule: the loop says everything that happens to a recorder, in order, and writers derive every format from these
entries alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ledgerkit.agent.exchange import Request, Response, ToolUse
from ledgerkit.agent.outcomes import Outcome
from ledgerkit.protocol.contracts import PermissionProfile, TaskContract
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Verdict


@dataclass(frozen=True, slots=True)
class Instructed:
    """A standing instruction that the run begins with."""

    at: datetime
    kind: MessageKind
    trust_level: TrustLevel
    name: str
    text: str
    path: str | None = None
    profile: PermissionProfile | None = None


@dataclass(frozen=True, slots=True)
class Prompted:
    """The user said something."""

    at: datetime
    step: int
    text: str
    queued_at: datetime | None = None
    contract: TaskContract | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The model answered a request."""

    at: datetime
    step: int
    asked_at: datetime
    request: Request
    response: Response


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended and its result reached the agent."""

    at: datetime
    step: int
    started_at: datetime
    call: ToolUse
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ResultLost:
    """A call was asked for, and the session ended before a result of it arrived."""

    at: datetime
    step: int
    call: ToolUse


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call needs somebody's approval."""

    at: datetime
    step: int
    call: ToolUse
    reason: str


@dataclass(frozen=True, slots=True)
class ApprovalDecided:
    """Somebody approved a call or did not."""

    at: datetime
    step: int
    call: ToolUse
    approved: bool
    by: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """The conversation so far was replaced by a summary that a model wrote."""

    at: datetime
    step: int
    asked_at: datetime
    request: Request
    response: Response
    tokens_before: int


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call failed and is tried again."""

    at: datetime
    step: int
    status: int
    error: str
    attempt: int
    retry_ms: int


@dataclass(frozen=True, slots=True)
class Verified:
    """The harness ran a check on the work after the run."""

    at: datetime
    step: int
    check: str
    scope: str
    command: str
    verdict: Verdict
    exit_code: int
    output: str


Entry = (
    Instructed
    | Prompted
    | Answered
    | ToolFinished
    | ResultLost
    | ApprovalAsked
    | ApprovalDecided
    | Compacted
    | ModelFailed
    | Verified
)


class Recorder(Protocol):
    """Takes entries in order; when ``append`` returns, the entry is safe."""

    def append(self, entry: Entry, /) -> None:
        """Take one entry."""
        ...


@dataclass(slots=True)
class RunRecord:
    """A run and its entries.

    Attributes:
        run_id: Id of the run.
        agent: The agent program.
        agent_version: Its version.
        model: Model that the run uses.
        task_id: The task.
        title: A short title.
        branch: Branch that it works on.
        working_directory: Folder as the agent knows it.
        agent_id: Short id of a subagent; None for a main run.
        parent_call: Task call of the parent that began a subagent.
        entries: What happened.
        subagents: Runs that this one began, in order.
    """

    run_id: str
    agent: str
    agent_version: str
    model: str
    task_id: str
    title: str
    branch: str
    working_directory: str
    agent_id: str | None = None
    parent_call: ToolUse | None = None
    entries: list[Entry] = field(default_factory=list[Entry])
    subagents: list[RunRecord] = field(default_factory=list["RunRecord"])

    def append(self, entry: Entry) -> None:
        """Take one entry."""
        self.entries.append(entry)

    @property
    def answers(self) -> list[Response]:
        """The model's answers to steps, in order."""
        return [e.response for e in self.entries if isinstance(e, Answered)]

    @property
    def finished_at(self) -> datetime:
        """Time of the last entry."""
        return self.entries[-1].at


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: one main run with its subagents."""

    session_id: str
    main: RunRecord

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The main run, then its subagents in order."""
        return (self.main, *self.main.subagents)
