"""Evaluation: what strategies would have cost and lost on recorded runs. Frames in, frames out.

``ledger.evaluate(strategies)`` is the way in.
"""

from __future__ import annotations

from ledgerkit.evaluation.caveats import CAVEATS
from ledgerkit.evaluation.material import Material
from ledgerkit.evaluation.recommending import Recommendation, recommend
from ledgerkit.evaluation.result import About, Evaluation
from ledgerkit.evaluation.running import Progress
from ledgerkit.evaluation.schema import METRICS, RUN_SCHEMA, STEP_SCHEMA
from ledgerkit.evaluation.scoring import Options, Scores, score
from ledgerkit.evaluation.strategy_files import StrategyFile, read_strategy_file
from ledgerkit.evaluation.validation import correlate_outcomes

__all__ = [
    "CAVEATS",
    "METRICS",
    "RUN_SCHEMA",
    "STEP_SCHEMA",
    "About",
    "Evaluation",
    "Material",
    "Options",
    "Progress",
    "Recommendation",
    "Scores",
    "StrategyFile",
    "correlate_outcomes",
    "read_strategy_file",
    "recommend",
    "score",
]
