"""Summarising at a threshold: what is old becomes one summary, and making it is a model call of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.protocol.vocabulary import ContextSection, Rendition
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import Ints, ints
from ledgerkit.strategies.placements import EXTRA_CALLS, PLACEMENTS, RENDITIONS, SECTIONS, Projection, end_at
from ledgerkit.strategies.regularity import plain_runs
from ledgerkit.strategies.strategy import Strategy
from ledgerkit.strategies.summary_walk import Made, Rule, summarise_all, summarise_by_steps

PURPOSE = "summarise"


@dataclass(frozen=True)
class SummariseAt(Strategy):
    """Above ``trigger`` tokens, all but the newest ``keep_last`` tokens become a summary.

    Whole units become part of it, in the order in which they came; pinned parts and the newest step's parts never do. A
    new summary takes in the one before. It is made only where it is shorter than what it replaces.

    Attributes:
        trigger: Tokens of a context above which a summary is made.
        keep_last: Tokens that stay in full, at most, behind the summary.
        summary_tokens: Tokens of a summary. They are assumed: nobody has written it.
    """

    trigger: int = 100_000
    keep_last: int = 20_000
    summary_tokens: int = 2_000

    def __post_init__(self) -> None:
        if min(self.trigger, self.summary_tokens) < 1 or self.keep_last < 0:
            raise StrategyError(
                f"trigger ({self.trigger}) and summary_tokens ({self.summary_tokens}) are at least 1, keep_last "
                f"({self.keep_last}) at least 0."
            )

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> Projection:
        """Ends what is summarised, and adds summaries and the calls that write them."""
        plain = plain_runs(frames, placements, results_only=False)
        rule = Rule(self.trigger, self.keep_last, self.summary_tokens)
        pinned = frames.of_rows("is_pinned", placements, summary=0) == 1
        ends = ints(placements["to_step"]).copy()
        made = summarise_all(frames, placements, pinned, plain, rule, ends)
        made = made.joined(summarise_by_steps(frames, placements, pinned, ~plain, rule, ends))
        left = end_at(placements, ends)
        used = min(int(placements["part"].min() or 0), 0) if placements.height else 0  # pyright: ignore[reportArgumentType]
        summaries = self._summaries(made, frames.grid.steps, used)
        placed = pl.concat([left, summaries]) if summaries.height else left
        return Projection(self.label, placed, self._calls(made))

    def _summaries(self, made: Made, steps: Ints, used: int) -> pl.DataFrame:
        order = np.lexsort((made.step, made.run))
        run, step, position = made.run[order], made.step[order], made.position[order]
        is_last = np.append(run[1:] != run[:-1], np.ones(min(run.size, 1), np.bool_))
        until = np.where(is_last, steps[run], np.append(step[1:], 0)[: run.size])
        return pl.DataFrame(
            {
                "run": run,
                "part": used - 1 - np.arange(run.size),
                "rendition": pl.repeat(Rendition.SUMMARY.value, run.size, dtype=RENDITIONS, eager=True),
                "section": pl.repeat(ContextSection.WORKING_MEMORY.value, run.size, dtype=SECTIONS, eager=True),
                "from_step": step,
                "to_step": until,
                "position": position,
                "tokens": np.full(run.size, self.summary_tokens, np.int64),
            }
        ).cast(PLACEMENTS)  # pyright: ignore[reportArgumentType]

    def _calls(self, made: Made) -> pl.DataFrame:
        return (
            pl.DataFrame(
                {
                    "run": made.run,
                    "step": made.step,
                    "purpose": pl.repeat(PURPOSE, made.run.size, dtype=pl.String, eager=True),
                    "input_tokens": made.read,
                    "output_tokens": np.full(made.run.size, self.summary_tokens, np.int64),
                }
            )
            .cast(EXTRA_CALLS)  # pyright: ignore[reportArgumentType]
            .sort("run", "step")
        )
