"""The process of drill 4 that dies: an agent whose second deployment is carried out, and never comes back.

``python -m ledgerkit.agent.drills.dying FOLDER`` kills itself (SIGKILL) between the deed and the record of it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

from ledgerkit.agent.drills.scene import Scene, call, ends
from ledgerkit.agent.live import Tool, ToolOutcome, Workspace
from ledgerkit.protocol.contracts import RiskClass
from ledgerkit.protocol.requests import ToolDefinition

GOAL: Final = "Deploy service-a, then service-b."
SCRIPT: Final = (
    call("deploy", "It is first.", service="service-a"),
    call("deploy", "It is next.", service="service-b"),
    ends("FINISH_BLOCKED", "Whether service-b is deployed has to be looked up."),
)
DEPLOYED: Final = "deployed.log"


def deploying_tool(dies_at: str | None = None) -> Tool:
    """A tool whose repetition does harm. It notes each deployment in the workspace, outside the ledger."""

    def deploy(workspace: Workspace, arguments: Any, seconds: float) -> ToolOutcome:  # noqa: ANN401
        del seconds
        with (workspace.root / DEPLOYED).open("a", encoding="utf-8") as file:
            file.write(f"{arguments['service']}\n")
            file.flush()
            os.fsync(file.fileno())
        if arguments["service"] == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return ToolOutcome(f"Deployed {arguments['service']}.")

    schema: dict[str, Any] = {"type": "object", "properties": {"service": {"type": "string"}}, "required": ["service"]}
    definition = ToolDefinition(name="deploy", description="Deploys a service.", parameters=schema)
    return Tool(definition, deploy, RiskClass.HIGH, is_destructive=True)


def main(folder: Path) -> None:
    """Works until it dies."""
    scene = Scene(folder)
    with scene.ledger() as ledger:
        scene.run(ledger, GOAL, SCRIPT, tools=[deploying_tool("service-b")])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
