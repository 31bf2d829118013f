"""The rule judge: deterministic criteria over any number of runs at once."""

from __future__ import annotations

from ledgerkit.judges.rules.judge import RuleJudge
from ledgerkit.judges.rules.rubrics import RULES

__all__ = ["RULES", "RuleJudge"]
