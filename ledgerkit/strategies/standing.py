"""Placements side by side on a grid of steps: from which slot each stands, and to which."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ledgerkit.strategies.grid import Ints, StepGrid, ints


@dataclass(frozen=True)
class Standing:
    """Placements on a grid.

    Attributes:
        grid: The steps.
        run: Run of each placement, shape (placements,), as the others.
        start: Slot from which it stands.
        end: Slot from which it no longer does.
        position: Its place in the context.
        tokens: Its tokens.
    """

    grid: StepGrid
    run: Ints
    start: Ints
    end: Ints
    position: Ints
    tokens: Ints

    @classmethod
    def of(cls, grid: StepGrid, placements: pl.DataFrame) -> Standing:
        """From a strategy's answer."""
        run = ints(placements["run"])
        start, end = (grid.slots(run, ints(placements[name])) for name in ("from_step", "to_step"))
        return cls(grid, run, start, end, ints(placements["position"]), ints(placements["tokens"]))
