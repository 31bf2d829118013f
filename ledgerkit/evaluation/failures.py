"""Visibility of failures: whether checks that fail and are not repaired yet stand in the context, with their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.presence import Floats, Spans, ratio, standing
from ledgerkit.strategies.grid import Ints, StepGrid, ints


@dataclass(frozen=True)
class Failures:
    """Failing verdicts that are open for some steps.

    Attributes:
        table: One row each: ``failure`` (its number), ``run``, ``part`` (what says it), ``start`` and ``end`` (the
            steps for which it is the newest verdict of its check), ``lines`` (error lines; empty where none is known).
    """

    table: pl.DataFrame

    @classmethod
    def of(cls, material: Material) -> Failures:
        """Finds when which check is known to fail: from the step that sees the verdict until the next one is seen.

        Of verdicts on one check in one part, the worst counts.
        """
        frames = material.frames
        runs = frames.runs.select("run", "steps")
        seen = frames.parts.filter("is_eligible").select("part", "visible_from")
        said = material.verdicts.filter(pl.col("verdict").is_in(["passed", "failed"])).join(
            material.part_of, on=["session_id", "run_id", "message_id", "part_index"]
        )
        one = (
            said.join(seen, on="part")
            .group_by("run", "check", "part", "visible_from")
            .agg(
                failed=(pl.col("verdict") == "failed").any(),
                lines=pl.col("lines").explode().drop_nulls().unique().sort(),
            )
            .sort("run", "check", "visible_from", "part")
            .join(runs, on="run", maintain_order="left")
        )  # fmt: skip
        following = pl.col("visible_from").shift(-1).over("run", "check")
        spans = one.with_columns(start=pl.col("visible_from"), end=following.fill_null(pl.col("steps")))
        kept = spans.filter("failed", pl.col("start") < pl.col("end")).sort("run", "part", "check")
        return cls(kept.select("run", "part", "start", "end", "lines").with_row_index("failure"))

    def steps(self, placed: Placed, grid: StepGrid) -> dict[str, Floats | Ints]:
        """By slot: how many failures are open, how many of them are seen, and whether all are.

        Returns:
            ``open_failures``, ``failures_visible``, and ``failure_visibility``: 1 where every open one is seen, 0 where
            one is not, NaN where none is open.
        """
        run, start, end = (ints(self.table[name]) for name in ("run", "start", "end"))
        ones = np.ones(run.size, np.int64)
        opened = standing(grid, run, start, end, ones)
        seen = self._seen(placed).union().within(start, end)
        visible = standing(grid, run[seen.key], seen.start, seen.end, np.ones(seen.key.size, np.int64))
        return {
            "open_failures": opened,
            "failures_visible": visible,
            "failure_visibility": ratio((visible == opened).astype(np.int64) * opened, opened),
        }

    def _seen(self, placed: Placed) -> Spans:
        """Steps at which each failure's verdict stands with one of its error lines."""
        parts, numbers = ints(self.table["part"]), ints(self.table["failure"])
        rows = placed.is_full
        whole = placed.of_keys(rows, parts, numbers)
        if not placed.is_excerpt.any() or not parts.size:
            return whole
        shown = placed.excerpts(np.unique(parts)).select("part", excerpt="text")
        told = self.table.select("failure", "part", "lines").join(shown, on="part")
        good = [
            not lines or any(line in excerpt for line in lines)
            for lines, excerpt in told.select("lines", "excerpt").iter_rows()
        ]
        told = told.filter(pl.Series(good, dtype=pl.Boolean)).sort("part", "failure")
        cut = placed.of_keys(placed.is_excerpt, ints(told["part"]), ints(told["failure"]))
        fields = zip((whole.key, whole.start, whole.end), (cut.key, cut.start, cut.end), strict=True)
        return Spans(*(np.concatenate(pair) for pair in fields))
