"""One small task for the agent: a ledger to record in, a workspace to work in, and a tool that notes outside the ledger
what was really carried out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import ledgerkit as lk
from ledgerkit.agent.live import (
    AgentEnd,
    Model,
    ScriptedModel,
    Tool,
    ToolOutcome,
    Workspace,
    decide,
    resume_agent,
    run_agent,
    standard_tools,
)
from ledgerkit.protocol.contracts import (
    ApprovalDecision,
    ApprovalRequest,
    PermissionProfile,
    RiskClass,
    SuccessCheck,
    TaskContract,
)
from ledgerkit.protocol.requests import ToolDefinition

SESSION: Final = "session-1"
RUN: Final = "run-000001"
ROOT: Final = "/workspace"
NOTED: Final = "carried_out.log"
START: Final = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

TASK: Final = TaskContract(
    task_id="ship-three",
    goal="Ship the three parcels.",
    success_checks=(SuccessCheck(name="shipped", command="grep -c part-c shipped.txt", scope="suite"),),
)
PROFILE: Final = PermissionProfile(
    name="ship",
    allowed_tools=("read_file", "search_files", "write_file", "edit_file", "run_command", "ship"),
    readable_paths=("**",),
    writable_paths=("**",),
    risk_class=RiskClass.HIGH,
)


def call(tool: str, why: str = "It is next.", /, **arguments: Any) -> dict[str, Any]:
    """An answer that asks for a call."""
    return {"nextAction": "CALL_TOOL", "rationaleSummary": why, "toolName": tool, "toolArguments": arguments}


def finish(action: str = "FINISH_WITH_PATCH", why: str = "All three are shipped.") -> dict[str, Any]:
    """An answer that ends the run."""
    return {"nextAction": action, "rationaleSummary": why}


SCRIPT: Final = (
    call("ship", parcel="part-a"),
    call("read_file", path="shipped.txt"),
    call("ship", parcel="part-b"),
    call("ship", parcel="part-c"),
    finish(),
)


def note(workspace: Path, line: str) -> None:
    """Notes what was carried out, on disk, where no ledger sees it."""
    descriptor = os.open(workspace / NOTED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shipping_tool(hook: Callable[[str], None] = lambda _when: None) -> Tool:
    """A destructive tool: shipping twice ships twice. The hook is called before and after it has shipped."""

    def ship(workspace: Workspace, arguments: Any, seconds: float) -> ToolOutcome:
        del seconds
        hook("before")
        note(workspace.root, arguments["parcel"])
        with (workspace.root / "shipped.txt").open("a", encoding="utf-8") as file:
            file.write(f"{arguments['parcel']}\n")
        hook("after")
        return ToolOutcome(f"Shipped {arguments['parcel']}.")

    schema: dict[str, Any] = {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]}
    return Tool(ToolDefinition(name="ship", description="Ships a parcel.", parameters=schema), ship, RiskClass.HIGH,
                is_destructive=True)  # fmt: skip


@dataclass
class Clock:
    """A clock that moves on by a second whenever it is looked at."""

    now: datetime = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class Person:
    """Answers requests, and keeps them."""

    approves: bool = True
    asked: list[ApprovalRequest] = field(default_factory=list[ApprovalRequest])

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        assert request.requested_at is not None
        return decide(request, approve=self.approves, by="ann", at=request.requested_at)


@dataclass
class Looking(Person):
    """Looks before something is repeated: what was carried out is not carried out again."""

    workspace: Path = Path()

    def __call__(self, request: ApprovalRequest) -> ApprovalDecision:
        path = self.workspace / NOTED
        done = path.read_text("utf-8").split() if path.exists() else []
        self.approves = not any(f'"{parcel}"' in request.action for parcel in done)
        return super().__call__(request)


@dataclass
class Case:
    """A ledger and a workspace in one folder."""

    folder: Path
    tools: Sequence[Tool] = field(default_factory=lambda: (*standard_tools(), shipping_tool()))
    model: Model = field(default_factory=lambda: ScriptedModel(SCRIPT))
    clock: Callable[[], datetime] = field(default_factory=Clock)
    person: Callable[[ApprovalRequest], ApprovalDecision | None] = field(default_factory=Person)
    profile: PermissionProfile = PROFILE
    task: TaskContract = TASK

    def __post_init__(self) -> None:
        (self.folder / "work").mkdir(exist_ok=True)
        self.ledger = lk.open(self.folder / "runs.ledger", key=bytes(32))

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "work", ROOT)

    @property
    def carried_out(self) -> list[str]:
        path = self.folder / "work" / NOTED
        return path.read_text("utf-8").split() if path.exists() else []

    def run(self, **settings: Any) -> AgentEnd:
        return run_agent(
            self.ledger, self.task, self.model, self.tools, session_id=SESSION, run_id=RUN, workspace=self.workspace,
            profile=self.profile, approvals=self.person, clock=self.clock, wait=lambda _seconds: None, **settings,
        )  # fmt: skip

    def resume(self) -> AgentEnd:
        return resume_agent(
            self.ledger, RUN, self.model, self.tools, workspace=self.workspace, approvals=self.person,
            clock=self.clock, wait=lambda _seconds: None,
        )  # fmt: skip

    def messages(self, *kinds: str) -> list[lk.AgentMessage]:
        return [m for m in self.ledger.list_messages(SESSION, RUN) if not kinds or m.kind.value in kinds]
