"""Strategies that leave the history as it is, or as the recorded run had it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.placements import end_at
from ledgerkit.strategies.strategy import Strategy

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class FullHistory(Strategy):
    """Every eligible part in full, from the step that first sees it to the end: append-only."""

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Changes nothing."""
        return placements


@dataclass(frozen=True)
class AsRecorded(Strategy):
    """What the recorded run kept: parts end where a recorded compaction took them out.

    What a client left out without a record of it cannot be known; see ``ledgerkit.strategies.recorded`` for the rules
    of the clients' compactions.
    """

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Ends what compactions took out."""
        ends = frames.of_rows("ends_at", placements)
        return end_at(placements, np.where(ends >= 0, ends, _NEVER))
