"""Tools that take simulated time, and tools whose results get lost.

The rule: both carry out the real call first; the one moves the clock, the other drops the result.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ledgerkit.agent.clock import SimulatedClock
from ledgerkit.agent.exchange import ToolUse
from ledgerkit.agent.loop import ResultLostError
from ledgerkit.agent.outcomes import Outcome
from ledgerkit.agent.tools import Tools

_SECONDS: Final = {"Bash": 0.4, "Task": 0.05, "Grep": 0.08, "Glob": 0.06, "Read": 0.02, "Edit": 0.03, "Write": 0.03}
_TEST_SECONDS: Final = 1.1
_LOOP_SECONDS: Final = 6.0


@dataclass(slots=True)
class SimulatedTools:
    """Carries out calls and lets the simulated time pass that they would take.

    Attributes:
        tools: What carries them out.
        clock: Moved on.
    """

    tools: Tools
    clock: SimulatedClock

    def run(self, call: ToolUse) -> Outcome:
        """Carry out a call."""
        outcome = self.tools.run(call)
        self.clock.spend(_seconds(call), spread=0.5)
        return outcome


@dataclass(slots=True)
class FaultyTools:
    """Carries out calls and loses some results.

    Attributes:
        tools: What carries them out.
        lose: Numbers of the calls, from 0, whose results are lost.
    """

    tools: Tools
    lose: Collection[int]
    _count: int = field(default=0, init=False)

    def run(self, call: ToolUse) -> Outcome:
        """Carry out a call.

        Raises:
            ResultLostError: If its result is to be lost.
        """
        number, self._count = self._count, self._count + 1
        outcome = self.tools.run(call)
        if number in self.lose:
            raise ResultLostError(f"The result of {call.name} did not arrive. Ask for it again.")
        return outcome


def _seconds(call: ToolUse) -> float:
    command = str(call.arguments.get("command", ""))
    if command.startswith("for "):
        return _LOOP_SECONDS
    return _TEST_SECONDS if "python" in command else _SECONDS.get(call.name, 0.02)
