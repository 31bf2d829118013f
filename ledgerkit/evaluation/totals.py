"""From figures of steps to figures of runs: sums as whole numbers, means over the steps that define a metric."""

from __future__ import annotations

import numpy as np
import polars as pl

from ledgerkit.evaluation.presence import Flags, Floats, ratio
from ledgerkit.strategies.grid import Ints, StepGrid

Columns = dict[str, Floats | Ints]
"""Figures by slot of the grid."""


def run_totals(grid: StepGrid, columns: Columns) -> pl.DataFrame:
    """Metrics of whole runs from those of steps."""
    first, there = grid.first[:-1], grid.is_step

    def total(name: str) -> Ints:
        return np.add.reduceat(np.where(there, columns[name], 0).astype(np.int64), first) if first.size else first

    made: dict[str, Ints | Floats] = {}
    for name in ("evidence_retention", "source_retention", "edit_support", "failure_visibility", "policy_retention"):
        if name in columns:
            made[name], made[f"{name}_steps"] = mean_of_steps(columns[name], there, first)
    for name in ("needs", "needs_held", "edit_lines", "open_failures", "trust_inversions"):
        if name in columns:
            made[name] = total(name)
    if "untrusted_tokens" in columns:
        share = ratio(columns["untrusted_tokens"], columns["tokens"])
        made["untrusted_share"], _ = mean_of_steps(share, there, first)
        made["untrusted_share_p95"] = _p95(grid, share)
        made["unlabelled_share"] = ratio(total("unlabelled_tokens"), total("tokens"))
    if "file_tokens" in columns:
        made["staleness"] = ratio(total("stale_tokens"), total("file_tokens"))
        made["file_tokens"] = total("file_tokens")
        made["contradictions"] = total("contradictions")
    if "broken_units" in columns:
        broken = (there & (columns["broken_units"] > 0)).astype(np.int64)
        bad = np.add.reduceat(broken, first) if first.size else first
        made["validity"] = ratio(grid.steps - bad, grid.steps)
    return pl.DataFrame({name: pl.Series(name, values, nan_to_null=True) for name, values in made.items()})


def mean_of_steps(values: Floats | Ints, there: Flags, first: Ints) -> tuple[Floats, Ints]:
    """Mean of the defined steps of each run, and how many they are."""
    if not first.size:
        return np.zeros(0), first
    known = there & ~np.isnan(values)
    count = np.add.reduceat(known.astype(np.int64), first)
    return ratio(np.add.reduceat(np.where(known, values, 0.0), first), count), count


def _p95(grid: StepGrid, share: Floats) -> Floats:
    steps = pl.DataFrame({"run": grid.run[grid.is_step], "share": pl.Series(share[grid.is_step], nan_to_null=True)})
    found = steps.group_by("run").agg(pl.col("share").quantile(0.95, "higher")).sort("run")
    return found["share"].cast(pl.Float64).fill_null(np.nan).to_numpy()
