"""Evidence: what a run did, in frames that do not depend on which agent it was."""

from __future__ import annotations

from ledgerkit.memory.evidence.calls import CALL_SCHEMA, calls_frame
from ledgerkit.memory.evidence.changes import changes_frame
from ledgerkit.memory.evidence.checks import checks_frame, reach
from ledgerkit.memory.evidence.shellwork import Search, ShellWork, shell_work

__all__ = ["CALL_SCHEMA", "Search", "ShellWork", "calls_frame", "changes_frame", "checks_frame", "reach", "shell_work"]
