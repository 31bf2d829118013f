"""Clearing at a threshold: when the context is full, many old tool results become references at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.strategies.clearing_walk import Goal, clear_all, clear_by_steps
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.observations import NEVER, observations, refer_at
from ledgerkit.strategies.regularity import plain_runs
from ledgerkit.strategies.strategy import Strategy


@dataclass(frozen=True)
class ClearAt(Strategy):
    """Above ``trigger`` tokens, the oldest tool results become references until ``target`` is reached.

    The newest ``keep`` results are never cleared. With a target of 0 all others are, as in Anthropic's context editing
    (``clear_tool_uses_20250919``); its ``clear_at_least`` is ``at_least`` here. A result that is no longer than a
    reference to it stays as it is.

    Attributes:
        trigger: Tokens of a context above which results are cleared.
        target: Tokens to come down to.
        keep: Newest results that stay.
        at_least: Nothing is cleared unless that frees so many tokens.
    """

    trigger: int = 100_000
    target: int = 0
    keep: int = 3
    at_least: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.target <= self.trigger or self.keep < 0 or self.at_least < 0:
            raise StrategyError(
                f"target ({self.target}) lies between 0 and trigger ({self.trigger}), and keep ({self.keep}) and "
                f"at_least ({self.at_least}) are not below 0."
            )

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Refers to old results whenever a context is above the trigger."""
        results = observations(frames, placements)
        if not results.run.size:
            return placements
        plain = plain_runs(frames, placements, results_only=True)
        goal = Goal(self.trigger, self.target, self.keep, max(self.at_least, 1))
        cleared = np.full(results.run.size, NEVER, np.int64)
        clear_all(frames, placements, results, plain & (results.count > 0), goal, cleared)
        clear_by_steps(frames, placements, results, ~plain & (results.count > 0), goal, cleared)
        return refer_at(frames, placements, results.of_part(frames, cleared))
