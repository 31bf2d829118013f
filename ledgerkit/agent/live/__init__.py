"""An agent at work on the recorder: it starts runs, works on them, and takes them up after a crash."""

from __future__ import annotations

from ledgerkit.agent.live.ending import AgentEnd, Approve, Ending
from ledgerkit.agent.live.loop import nobody, resume_agent, run_agent
from ledgerkit.agent.live.models import Model, ScriptedModel
from ledgerkit.agent.live.permitting import decide
from ledgerkit.agent.live.setup import Limits
from ledgerkit.agent.live.tools import Tool, ToolOutcome
from ledgerkit.agent.live.toolset import standard_tools
from ledgerkit.agent.workspace import Workspace
from ledgerkit.providers.http import HttpModel

__all__ = [
    "AgentEnd",
    "Approve",
    "Ending",
    "HttpModel",
    "Limits",
    "Model",
    "ScriptedModel",
    "Tool",
    "ToolOutcome",
    "Workspace",
    "decide",
    "nobody",
    "resume_agent",
    "run_agent",
    "standard_tools",
]
