"""How far a judge can be trusted: held against people's labels, against itself, and against the order of a pair.

Needs the extra ``stats``; nothing else of the judges does.
"""

from __future__ import annotations

from ledgerkit.judges.calibration.calibrating import CALIBRATIONS, Calibration, calibrate
from ledgerkit.judges.calibration.figures import Estimate, corrected_prevalence, kappa, proportion
from ledgerkit.judges.calibration.pairwise import PositionCheck, check_positions

__all__ = [
    "CALIBRATIONS",
    "Calibration",
    "Estimate",
    "PositionCheck",
    "calibrate",
    "check_positions",
    "corrected_prevalence",
    "kappa",
    "proportion",
]
