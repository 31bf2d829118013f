"""Run working memory: the state of a run at one of its steps, projected from what is recorded."""

from __future__ import annotations

from ledgerkit.memory.working.projector import RunRecord, working_memory
from ledgerkit.memory.working.proposals import PROPOSAL_NOTE, ItemVerdict, judge_update

__all__ = ["PROPOSAL_NOTE", "ItemVerdict", "RunRecord", "judge_update", "working_memory"]
