"""Comparison of two sets of runs, task by task. Frames in, frames out.

``lk.compare(baseline, candidate)`` is the way in.
"""

from __future__ import annotations

from ledgerkit.comparison.comparing import compare_runs
from ledgerkit.comparison.gates import Gates, read_gates
from ledgerkit.comparison.metrics import DEFAULT_GATES, METRICS, Metric
from ledgerkit.comparison.result import CAVEATS, COMPARISON_VERSION, Compared
from ledgerkit.comparison.schema import OBSERVATIONS

__all__ = [
    "CAVEATS",
    "COMPARISON_VERSION",
    "DEFAULT_GATES",
    "METRICS",
    "OBSERVATIONS",
    "Compared",
    "Gates",
    "Metric",
    "compare_runs",
    "read_gates",
]
