"""Strategies that cut long tool results to their beginning and end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import ints
from ledgerkit.strategies.placements import RENDITIONS
from ledgerkit.strategies.strategy import Strategy


@dataclass(frozen=True)
class HeadTail(Strategy):
    """A tool result of more than ``limit`` characters is its first and last ``keep`` characters, from the start.

    The defaults are those of mini-swe-agent: up to 10,000 characters whole, else 5,000 from each end.

    Attributes:
        limit: Characters up to which a result stays whole.
        keep: Characters kept at each end.
    """

    limit: int = 10_000
    keep: int = 5_000

    def __post_init__(self) -> None:
        if not 0 < 2 * self.keep <= self.limit:
            raise StrategyError(f"keep ({self.keep}) is more than 0 and at most half of limit ({self.limit}).")

    def excerpt(self, text: str) -> tuple[str, ...]:
        """The beginning, a note of what is left out, and the end."""
        return excerpt_blocks(text, self.keep)

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Shows excerpts of long results."""
        long = frames.parts.filter("is_result", "is_eligible", pl.col("characters") > self.limit)
        if not long.height:
            return placements
        if frames.count_excerpts is None:
            raise StrategyError("HeadTail needs frames that can count excerpts: pass count_excerpts to run_frames.")
        tokens = np.full(frames.parts.height + 1, -1, np.int64)
        tokens[ints(long["part"])] = ints(frames.count_excerpts(long, self.keep))
        found = tokens[ints(placements["part"])]
        is_full = (placements["rendition"] == pl.Series([Rendition.FULL.value], dtype=RENDITIONS)).to_numpy()
        whole = ints(placements["tokens"])
        cut = is_full & (found >= 0) & (found < whole)
        return placements.with_columns(
            rendition=pl.when(pl.Series(cut)).then(pl.lit(Rendition.EXCERPT.value, RENDITIONS)).otherwise("rendition"),
            tokens=pl.Series(np.where(cut, found, whole), dtype=pl.Int64),
        )


def excerpt_text(text: str, keep: int) -> str:
    r"""The first and last characters of a text, and how much lies between them.

    Example:
        >>> excerpt_text("a" * 6 + "b" * 10 + "c" * 6, 6)
        'aaaaaa\n[10 characters left out]\ncccccc'
    """
    return "\n".join(excerpt_blocks(text, keep))


def excerpt_blocks(text: str, keep: int) -> tuple[str, str, str]:
    """The blocks of an excerpt, counted one by one: beginning, note, end."""
    return text[:keep], f"[{len(text) - 2 * keep} characters left out]", text[-keep:]
