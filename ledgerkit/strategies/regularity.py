"""Which runs are plain enough for closed forms: nothing ends of itself, and what belongs together enters together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import ints


def plain_runs(frames: RunFrames, placements: pl.DataFrame, *, results_only: bool) -> npt.NDArray[np.bool_]:
    """Runs in which no placement ends before the run, and the parts of a unit enter at one step.

    Args:
        frames: Steps and parts.
        placements: What stands there.
        results_only: Whether only the results of a unit have to enter together.

    Returns:
        One flag per run, shape (runs,).
    """
    run = ints(placements["run"])
    plain = np.ones(frames.runs.height, np.bool_)
    plain[run[ints(placements["to_step"]) < frames.grid.steps[run]]] = False
    rows = np.flatnonzero(frames.of_rows("is_result", placements, summary=0) == 1) if results_only else slice(None)
    run, enters = run[rows], ints(placements["from_step"])[rows]
    unit = frames.of_rows("unit", placements)[rows]
    first = np.full(frames.parts.height + 1, -1, np.int64)
    key = np.where(unit >= 0, frames.first_part[run] + unit, frames.parts.height)
    first[key] = enters  # any of a unit's steps; the others are compared with it
    plain[run[(first[key] != enters) & (unit >= 0)]] = False
    return plain
