"""How a stretch of an agent's work ends, and who is asked on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ledgerkit.protocol.contracts import ApprovalDecision, ApprovalRequest

Approve = Callable[[ApprovalRequest], ApprovalDecision | None]
"""Answers a request for approval; ``None`` if nobody is there to answer: the run waits, and can be taken up later."""


class Ending(StrEnum):
    """How a stretch of work ended."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    FAILED = "failed"
    STEP_LIMIT = "step_limit"
    BUDGET_SPENT = "budget_spent"
    WAITING = "waiting_for_approval"
    MODEL_UNAVAILABLE = "model_unavailable"

    @property
    def is_final(self) -> bool:
        """Whether the run is over. The others can be taken up."""
        return self not in (Ending.WAITING, Ending.MODEL_UNAVAILABLE)


@dataclass(frozen=True)
class AgentEnd:
    """How a stretch of work ended.

    Attributes:
        session_id: The session.
        run_id: The run.
        ending: How.
        steps: Model calls that were answered, in all.
        waiting_for: The request that nobody answered.
    """

    session_id: str
    run_id: str
    ending: Ending
    steps: int
    waiting_for: ApprovalRequest | None = None
