"""Which strategies are worth a trial: not beaten in cost and retention at once, by family of tasks, with intervals.

Runs are drawn again whole, the same ones for every strategy, so that what makes a run hard is the same for all.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.errors import UnknownNameError
from ledgerkit.evaluation.caveats import CAVEATS
from ledgerkit.evaluation.presence import Flags, Floats

_LEVEL: Final = (0.025, 0.975)
_FEW: Final = 20
"""Below so many runs an interval says little."""


@dataclass(frozen=True, repr=False)
class Recommendation:
    """Strategies by family of tasks.

    Attributes:
        table: One row per family and strategy: ``family``, ``strategy``, ``runs`` (with a need; the others say nothing
            about retention), ``cost_equivalent_tokens`` and ``retention`` (means per run, with ``…_low`` and
            ``…_high``: 95 % intervals over runs), ``on_frontier`` (no other strategy is as good in both and better in
            one), ``frontier_share`` (share of the bootstrap samples in which that holds), and ``few_runs``.
        caveats: What the figures cannot say.
    """

    table: pl.DataFrame
    caveats: tuple[str, ...] = CAVEATS

    @property
    def frontier(self) -> pl.DataFrame:
        """The strategies that are not beaten, cheapest first."""
        return self.table.filter("on_frontier").sort("family", "cost_equivalent_tokens", "strategy", nulls_last=True)

    def __repr__(self) -> str:
        lines = [
            f"{row['family'] or 'no family':<24}  {row['strategy']}: "
            f"{row['cost_equivalent_tokens']:,.0f} tokens a run, "
            f"retention {row['retention']:.3f} ({row['retention_low']:.3f} to {row['retention_high']:.3f}), "
            f"{row['runs']} runs" + (" (few)" if row["few_runs"] else "")
            for row in self.frontier.iter_rows(named=True)
        ]
        return "\n".join([*lines, "", *(f"* {caveat}" for caveat in self.caveats)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def recommend(
    runs: pl.DataFrame, by: str, *, resamples: int = 1_000, seed: int = 0, caveats: tuple[str, ...] = CAVEATS
) -> Recommendation:
    """The frontier of cost and retention of each family.

    Args:
        runs: ``Evaluation.runs``.
        by: Column that names the family.
        resamples: Bootstrap samples.
        seed: Draws them.
        caveats: What the figures cannot say.

    Raises:
        UnknownNameError: If there is no such column.
    """
    if by not in runs.columns:
        raise UnknownNameError.among("column of runs", by, runs.columns)
    known = runs.drop_nulls("evidence_retention").with_columns(family=pl.col(by).cast(pl.String))
    random = np.random.default_rng(seed)
    tables = [
        _family(family, resamples, random)
        for family in known.sort("family", nulls_last=True).partition_by("family", maintain_order=True)
    ]
    return Recommendation(pl.concat([pl.DataFrame(schema=_SCHEMA), *tables]), caveats)


def _family(rows: pl.DataFrame, resamples: int, random: np.random.Generator) -> pl.DataFrame:
    """One row per strategy."""
    strategies = rows["strategy"].unique(maintain_order=True).to_list()
    order = {name: number for number, name in enumerate(strategies)}
    # Runs that every strategy defines, so that all are compared on the same.
    keys = ["session_id", "run_id"]
    whole = rows.filter(pl.len().over(keys) == len(strategies))
    rank = pl.col("strategy").replace_strict(order, return_dtype=pl.Int64)
    ordered = whole.sort(rank, *keys)
    shape = (len(strategies), ordered.height // max(1, len(strategies)))
    cost, kept = (ordered[name].to_numpy().reshape(shape) for name in ("cost_equivalent_tokens", "evidence_retention"))
    if not shape[1]:
        return pl.DataFrame(schema=_SCHEMA)
    drawn = random.integers(0, shape[1], (resamples, shape[1]))
    weights = np.apply_along_axis(np.bincount, 1, drawn, minlength=shape[1]) / shape[1]
    costs, retentions = weights @ cost.T, weights @ kept.T  # (resamples, strategies)
    frontier = _frontier(cost.mean(axis=1)[None], kept.mean(axis=1)[None])[0]
    shares = _frontier(costs, retentions).mean(axis=0) if resamples else np.full(shape[0], np.nan)
    bounds = {
        f"{name}_{end}": np.quantile(values, level, axis=0)
        for name, values in (("cost_equivalent_tokens", costs), ("retention", retentions))
        for end, level in zip(("low", "high"), _LEVEL, strict=True)
    }
    made = {
        "family": [rows["family"][0]] * shape[0],
        "strategy": strategies,
        "runs": [shape[1]] * shape[0],
        "cost_equivalent_tokens": cost.mean(axis=1),
        "retention": kept.mean(axis=1),
        **bounds,
        "on_frontier": frontier,
        "frontier_share": shares,
        "few_runs": [shape[1] < _FEW] * shape[0],
    }
    return pl.DataFrame(made, schema_overrides=_SCHEMA).select(*_SCHEMA)


def _frontier(cost: Floats, kept: Floats) -> Flags:
    """Whether each strategy is beaten by no other, shape (samples, strategies)."""
    no_dearer = cost[:, :, None] <= cost[:, None, :]
    no_worse = kept[:, :, None] >= kept[:, None, :]
    better = (cost[:, :, None] < cost[:, None, :]) | (kept[:, :, None] > kept[:, None, :])
    return np.logical_not(np.any(no_dearer & no_worse & better, axis=1))


_SCHEMA: Final = pl.Schema(
    {
        "family": pl.String(),
        "strategy": pl.String(),
        "runs": pl.Int64(),
        "cost_equivalent_tokens": pl.Float64(),
        "cost_equivalent_tokens_low": pl.Float64(),
        "cost_equivalent_tokens_high": pl.Float64(),
        "retention": pl.Float64(),
        "retention_low": pl.Float64(),
        "retention_high": pl.Float64(),
        "on_frontier": pl.Boolean(),
        "frontier_share": pl.Float64(),
        "few_runs": pl.Boolean(),
    }
)
"""Columns of a recommendation."""
