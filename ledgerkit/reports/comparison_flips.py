"""Tasks whose success changed, with the runs that show it.

One rule: every run that is named leads to its row on the page, and to the command that replays it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from ledgerkit.comparison import Compared
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.blocks import Cell
from ledgerkit.reports.comparison_tables import NAME, verdict_chip
from ledgerkit.reports.excerpts import one_line


@dataclass(frozen=True, slots=True)
class Flip:
    """A task whose success changed.

    Attributes:
        task: Its name.
        direction: ``worse`` or ``better``, as a chip.
        shares: Success before and after.
        sides: Of each side its name, the anchor of its run below, the run and the command that replays it.
    """

    task: str
    direction: Cell
    shares: str
    sides: list[tuple[str, str, str, str]]


@dataclass(frozen=True, slots=True)
class Flips:
    """Tasks whose success changed, and the trials of their tasks.

    Attributes:
        rows: The tasks.
        left_out: Tasks that are not shown.
        trials: Their trials: anchor, side, task, run, how it ended and why.
    """

    rows: list[Flip]
    left_out: int
    trials: list[tuple[str, str, str, str, Cell, str]]

    @classmethod
    def of(cls, compared: Compared, most: int) -> Flips:
        """The first so many."""
        flips = compared.frame("flips")
        shown = flips.head(most)
        trials = compared.frame("trials").filter(pl.col("pair").is_in(shown["pair"].to_list()))
        ordered = trials.sort("pair", "side", "session_id", "run_id").to_dicts()
        anchors = {(row["side"], row["run_id"]): f"run-{number}" for number, row in enumerate(ordered)}
        return cls(
            [_flip(row, anchors) for row in shown.to_dicts()],
            flips.height - shown.height,
            [
                (
                    anchors[row["side"], row["run_id"]],
                    row["side"],
                    one_line(row["pair"], NAME),
                    row["run_id"],
                    verdict_chip(row["state"]),
                    one_line(row["state_reason"], NAME),
                )
                for row in ordered
            ],
        )


def _flip(row: dict[str, Any], anchors: dict[tuple[str, str], str]) -> Flip:
    before, after = (words.side_value("success", row[side]) for side in ("baseline", "candidate"))
    sides = [
        (side, anchors[side, row[f"{side}_run"]], row[f"{side}_run"], row[f"{side}_replay"])
        for side in ("baseline", "candidate")
        if row[f"{side}_run"] is not None
    ]
    return Flip(one_line(row["pair"], NAME), verdict_chip(row["direction"]), f"{before} → {after}", sides)
