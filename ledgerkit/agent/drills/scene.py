"""What all drills need: a fresh ledger, a workspace, an agent with a script, a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from ledgerkit.agent.live import AgentEnd, Approve, ScriptedModel, Tool, Workspace, nobody, run_agent, standard_tools
from ledgerkit.agent.live.models import ScriptedAnswer
from ledgerkit.ledger import Ledger, open
from ledgerkit.protocol.contracts import PermissionProfile, RiskClass, TaskContract
from ledgerkit.safety.redaction import RedactionKey, standard_redactor

SESSION: Final = "drill-session"
RUN: Final = "run-1"
ROOT: Final = "/workspace"
_START: Final = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass
class DrillClock:
    """A clock that moves on by a second whenever it is looked at."""

    now: datetime = _START

    def __call__(self) -> datetime:
        """The time."""
        self.now += timedelta(seconds=1)
        return self.now


@dataclass(frozen=True)
class Scene:
    """A folder with a ledger and a workspace.

    Attributes:
        folder: The folder.
        clock: The time.
    """

    folder: Path
    clock: DrillClock = field(default_factory=DrillClock)

    def ledger(self) -> Ledger:
        """The ledger, fresh or as it was left. Its key is the public one: a drill holds nothing worth hiding."""
        opened = open(self.folder / "drill.ledger", key=bytes(32))
        opened.redactor = standard_redactor(RedactionKey.public())
        return opened

    def workspace(self, files: Mapping[str, str] | None = None) -> Workspace:
        """The workspace, with some files in it."""
        root = self.folder / "workspace"
        root.mkdir(exist_ok=True)
        workspace = Workspace(root, ROOT)
        for path, text in (files or {}).items():
            workspace.write(path, text)
        return workspace

    def command(self, name: str, script: str) -> None:
        """Puts a command into the workspace that the agent can run."""
        self.workspace({name: script})
        (self.folder / "workspace" / name).chmod(0o755)

    def run(
        self,
        ledger: Ledger,
        goal: str,
        script: Sequence[ScriptedAnswer],
        *,
        tools: Sequence[Tool] | None = None,
        approvals: Approve = nobody,
        **settings: Any,  # noqa: ANN401
    ) -> AgentEnd:
        """Lets the agent work through a script."""
        chosen = standard_tools() if tools is None else tuple(tools)
        profile = PermissionProfile(
            name="drill",
            allowed_tools=tuple(tool.name for tool in chosen),
            readable_paths=("**",),
            writable_paths=("**",),
            risk_class=RiskClass.HIGH,
        )
        return run_agent(
            ledger, TaskContract(goal=goal), ScriptedModel(script), chosen, session_id=SESSION, run_id=RUN,
            workspace=self.workspace(), profile=profile, approvals=approvals, clock=self.clock,
            wait=lambda _seconds: None, **settings,
        )  # fmt: skip


def call(tool: str, why: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    """An answer that asks for a call."""
    return {"nextAction": "CALL_TOOL", "rationaleSummary": why, "toolName": tool, "toolArguments": arguments}


def ends(action: str, why: str) -> dict[str, Any]:
    """An answer that ends the run."""
    return {"nextAction": action, "rationaleSummary": why}
