"""Steps and parts of many runs as frames: all that a strategy knows.

Runs and parts are numbered, so that millions of placements hold no text; :meth:`RunFrames.named` gives the ids back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.errors import StrategyError, UnknownNameError
from ledgerkit.protocol.vocabulary import ContextSection, Rendition
from ledgerkit.strategies.grid import Ints, StepGrid, ints
from ledgerkit.strategies.placements import PLACEMENTS, RENDITIONS, SECTIONS

Excerpts = Callable[[pl.DataFrame, int], pl.Series]
"""Tokens of the beginnings and ends of some parts: their rows of ``parts`` and the characters kept at each side."""

PART_COLUMNS: Final = pl.Schema(
    {
        "run": pl.UInt32(),
        "part": pl.Int64(),
        "message_id": pl.String(),
        "part_index": pl.Int32(),
        "sequence_no": pl.Int64(),
        "kind": pl.String(),
        "part_type": pl.String(),
        "trust_level": pl.String(),
        "tool_name": pl.String(),
        "step": pl.Int32(),
        "visible_from": pl.Int32(),
        "position": pl.Int32(),
        "unit": pl.Int32(),
        "is_result": pl.Boolean(),
        "is_pinned": pl.Boolean(),
        "section": SECTIONS,
        "tokens": pl.Int64(),
        "reference_tokens": pl.Int64(),
        "characters": pl.Int64(),
        "is_counted": pl.Boolean(),
        "is_eligible": pl.Boolean(),
        "absence": pl.String(),
        "ends_at": pl.Int32(),
    }
)
"""Columns of ``RunFrames.parts``."""

_MOST_TOKENS: Final = 1 << 39


@dataclass(frozen=True)
class RunFrames:
    """Steps and parts of some runs.

    Attributes:
        runs: One row per run: ``run`` (its number, from 0), ``session_id``, ``run_id``, ``steps``.
        steps: One row per step, in order: ``run``, ``step``, ``created_at``, ``model``, ``provider``,
            ``service_tier``, ``output_tokens``; null where nothing is recorded.
        parts: One row per part, by run and position. Of the columns of ``PART_COLUMNS``: ``part`` is its number,
            ``visible_from`` the first step whose context may hold it, ``position`` its place among the run's parts,
            ``unit`` the position of the first part of its unit, ``is_result`` whether it is (part of) a tool's answer,
            ``is_pinned`` whether it stands in every context, ``tokens`` what it holds in full and
            ``reference_tokens`` what a reference to it would (the same where that would be no shorter),
            ``is_counted`` whether its tokens are known (0 if not), ``is_eligible`` whether a context may hold it at
            all, ``absence`` why not, and ``ends_at`` the step at which the recorded run took it out (a compaction);
            null if it did not.
        count_excerpts: Counts tokens of excerpts; needed by ``HeadTail`` alone.
    """

    runs: pl.DataFrame
    steps: pl.DataFrame
    parts: pl.DataFrame
    count_excerpts: Excerpts | None = None

    def __post_init__(self) -> None:
        if missing := [name for name in PART_COLUMNS if name not in self.parts.columns]:
            raise UnknownNameError.among("column of parts", missing[0], self.parts.columns)
        if self.parts.height and int(self.parts["tokens"].sum()) >= _MOST_TOKENS:
            raise StrategyError(
                f"Parts of {self.parts['tokens'].sum()} tokens are too many for one batch; take fewer runs at a time."
            )

    @cached_property
    def grid(self) -> StepGrid:
        """All steps side by side."""
        return StepGrid(ints(self.runs["steps"]))

    @cached_property
    def base(self) -> pl.DataFrame:
        """Every eligible part in full from the step that first sees it: what strategies start from."""
        return (
            self.parts.lazy()
            .filter("is_eligible")
            .join(self.runs.lazy().select("run", to_step=pl.col("steps")), on="run", maintain_order="left")
            .select(
                "run",
                "part",
                pl.lit(Rendition.FULL.value, RENDITIONS).alias("rendition"),
                "section",
                pl.col("visible_from").alias("from_step"),
                "to_step",
                "position",
                "tokens",
            )
            .cast(PLACEMENTS)
            .collect()
            .rechunk()
        )

    def column(self, name: str) -> Ints:
        """A column of ``parts`` as numbers, by part; nulls are -1."""
        if name not in self._columns:
            self._columns[name] = ints(self.parts[name].cast(pl.Int64).fill_null(-1))
        return self._columns[name]

    @cached_property
    def first_part(self) -> Ints:
        """Number of each run's first part, shape (runs,)."""
        counts = np.bincount(self.column("run"), minlength=self.runs.height)
        return (np.cumsum(counts) - counts).astype(np.int64)

    @cached_property
    def _columns(self) -> dict[str, Ints]:
        return {}

    def of_rows(self, name: str, placements: pl.DataFrame, summary: int = -1) -> Ints:
        """A column of ``parts`` for each placement; ``summary`` where it is none of a part."""
        part = ints(placements["part"])
        if not self.parts.height:
            return np.full(part.size, summary, np.int64)
        return np.where(part >= 0, self.column(name)[np.maximum(part, 0)], summary)

    def named(self, placements: pl.DataFrame) -> pl.DataFrame:
        """Placements with the ids of their runs and parts, sorted.

        Returns:
            ``session_id``, ``run_id``, ``message_id``, ``part_index`` (null for a summary that a strategy made), and
            the other columns of placements.
        """
        ids = self.parts.select("part", "message_id", "part_index")
        return (
            placements.sort("run", "position", "from_step")
            .join(self.runs.select("run", "session_id", "run_id"), on="run", how="left", maintain_order="left")
            .join(ids, on="part", how="left", maintain_order="left")
            .select(
                "session_id", "run_id", "message_id", "part_index", *(n for n in PLACEMENTS if n not in ("run", "part"))
            )
        )

    def context(self, placements: pl.DataFrame, run: int, step: int) -> pl.DataFrame:
        """What stands in the context of one step, in order.

        Args:
            placements: A strategy's answer.
            run: Number of the run.
            step: The step.
        """
        return placements.filter(pl.col("run") == run, pl.col("from_step") <= step, pl.col("to_step") > step).sort(
            "position"
        )


def section_rank(section: pl.Expr) -> pl.Expr:
    """Place of a section in a context, from 0: what changes least comes first."""
    return section.cast(pl.String).replace_strict(
        {one.value: rank for rank, one in enumerate(ContextSection)}, return_dtype=pl.Int32
    )
