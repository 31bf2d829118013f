"""Placements: which rendition of which part stands in the context of which steps, as a frame.

One rule: a placement holds for the steps from ``from_step`` up to, not including, ``to_step``. Two of one run never
share a position at a step, and what does not change is one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.protocol.vocabulary import ContextSection, Rendition
from ledgerkit.strategies.grid import Ints, ints

RENDITIONS: Final = pl.Enum([one.value for one in Rendition])
SECTIONS: Final = pl.Enum([one.value for one in ContextSection])

PLACEMENTS: Final = pl.Schema(
    {
        "run": pl.UInt32(),
        "part": pl.Int64(),
        "rendition": RENDITIONS,
        "section": SECTIONS,
        "from_step": pl.Int32(),
        "to_step": pl.Int32(),
        "position": pl.Int32(),
        "tokens": pl.Int64(),
    }
)
"""Columns of placements: the run and the part as numbers (see ``RunFrames``; summaries that a strategy makes are -1, -2
and so on), and what stands where, when, in how many tokens."""

EXTRA_CALLS: Final = pl.Schema(
    {
        "run": pl.UInt32(),
        "step": pl.Int32(),
        "purpose": pl.String(),
        "input_tokens": pl.Int64(),
        "output_tokens": pl.Int64(),
    }
)
"""Columns of model calls that a strategy makes itself: before which step, what for, and how large."""


@dataclass(frozen=True)
class Projection:
    """A strategy's answer.

    Attributes:
        strategy: What was asked, as text.
        placements: Columns of ``PLACEMENTS``.
        calls: Model calls that the strategy makes itself: columns of ``EXTRA_CALLS``.
    """

    strategy: str
    placements: pl.DataFrame
    calls: pl.DataFrame


def no_calls() -> pl.DataFrame:
    """No extra model calls."""
    return pl.DataFrame(schema=EXTRA_CALLS)


def end_at(placements: pl.DataFrame, at: Ints) -> pl.DataFrame:
    """Takes rows out from a step on.

    Args:
        placements: Rows.
        at: Step for each of them, shape (rows,); at or behind its end changes nothing.
    """
    starts, ends = ints(placements["from_step"]), ints(placements["to_step"])
    if (at >= ends).all():
        return placements
    left = placements.with_columns(to_step=pl.Series(np.minimum(ends, at), dtype=pl.Int32))
    return left.filter(pl.Series(at > starts))


def change_at(placements: pl.DataFrame, at: Ints, rendition: Rendition, tokens: Ints) -> pl.DataFrame:
    """Shows rows in another rendition from a step on.

    Args:
        placements: Rows.
        at: Step for each of them, shape (rows,); at or behind its end changes nothing.
        rendition: What they look like from then on.
        tokens: Their tokens then, shape (rows,).
    """
    starts, ends = ints(placements["from_step"]), ints(placements["to_step"])
    changes = at < ends
    if not changes.any():
        return placements
    rows = np.flatnonzero(changes)
    after = placements[rows].with_columns(
        rendition=pl.lit(rendition.value, RENDITIONS),
        from_step=pl.Series(np.maximum(starts, at)[rows], dtype=pl.Int32),
        tokens=pl.Series(tokens[rows], dtype=pl.Int64),
    )
    return pl.concat([end_at(placements, at), after.select(placements.columns)], rechunk=True)


def in_order(placements: pl.DataFrame) -> pl.DataFrame:
    """Sorted by run, position and step."""
    return placements.sort("run", "position", "from_step")


def merge_equal(placements: pl.DataFrame) -> pl.DataFrame:
    """Joins rows of one part that follow each other and say the same, so that a change is a change.

    Example:
        >>> row = {"run": 0, "part": 1, "rendition": "full", "section": "recent_messages", "position": 1, "tokens": 5}
        >>> two = pl.DataFrame([{**row, "from_step": 0, "to_step": 2}, {**row, "from_step": 2, "to_step": 4}])
        >>> merge_equal(two.select(*PLACEMENTS).cast(PLACEMENTS)).select("from_step", "to_step").rows()
        [(0, 4)]
    """
    same = ("run", "position", "part", "rendition", "section", "tokens")
    rows = placements.sort("run", "position", "from_step", maintain_order=True)
    begins = pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in same) | (
        pl.col("from_step") != pl.col("to_step").shift()
    )
    return (
        rows.with_columns(stretch=begins.fill_null(value=True).cum_sum())
        .group_by("stretch", maintain_order=True)
        .agg(*(pl.col(name).first() for name in PLACEMENTS if name != "to_step"), pl.col("to_step").last())
        .select(*PLACEMENTS)
    )
