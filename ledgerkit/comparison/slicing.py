"""The same metrics within parts of the tasks: where to look next, with all of them corrected together.

A slice is a property of the task and the same for both sides; where the sides differ (a model that was exchanged), the
task is in no slice of that column.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Final

import polars as pl

from ledgerkit.comparison.metrics import METRICS
from ledgerkit.comparison.pairing import Pairs
from ledgerkit.comparison.schema import SLICES
from ledgerkit.comparison.verdicts import Effect, Settings, benjamini_hochberg, judge, measure

FEWEST: Final = 5
"""Tasks below which a slice is not looked at."""
_DRAWS: Final = 1_999


def slice_values(runs: pl.DataFrame, trials: pl.DataFrame, column: str, pair_by: str) -> pl.DataFrame:
    """The slice of each task: ``pair`` and ``value``."""
    if column == "length":
        return _lengths(trials)
    known = runs.select(pair=pl.col(pair_by).cast(pl.String), value=pl.col(column).cast(pl.String))
    one = known.drop_nulls("pair").group_by("pair").agg(pl.col("value").drop_nulls().unique().alias("values"))
    return one.filter(pl.col("values").list.len() == 1).select("pair", value=pl.col("values").list.first()).sort("pair")


def slices(pairs: dict[str, Pairs], values: dict[str, pl.DataFrame], settings: Settings) -> pl.DataFrame:
    """All metrics in all slices, p-values corrected together; columns ``SLICES``.

    A column with a single value makes no slices: it would repeat the whole.
    """
    quick = replace(settings, draws=min(settings.draws, _DRAWS))
    found: list[tuple[str, str, str, Effect]] = []
    for name, table in values.items():
        parts = table.partition_by("value", as_dict=True, maintain_order=True)
        for (value,), tasks in sorted(parts.items(), key=str) if len(parts) > 1 else ():
            for metric, whole in pairs.items():
                part = Pairs(whole.table.join(tasks, on="pair", how="semi", maintain_order="left"), 0)
                if part.table.height >= FEWEST:
                    found.append((name, str(value), metric, measure(METRICS[metric], part, quick)))
    corrected = benjamini_hochberg([effect.p_value or 1.0 for *_, effect in found])
    rows = [_row(*one, p_adjusted=p, alpha=settings.alpha) for one, p in zip(found, corrected, strict=True)]
    return pl.DataFrame(rows, schema=SLICES, orient="row").sort("p_adjusted", "slice", "value", "metric")


def natural(kind: str, value: float | None) -> float | None:
    """A value in the terms of its metric: amounts and ratios come back from their logarithms."""
    return value if value is None or kind == "share" else exp(value)


def _row(name: str, value: str, metric: str, effect: Effect, *, p_adjusted: float, alpha: float) -> tuple[object, ...]:
    about = METRICS[metric]
    verdict, _ = judge(about, effect, p_adjusted=p_adjusted, margin=about.margin, alpha=alpha)
    figures = (effect.baseline, effect.candidate, effect.difference, effect.low, effect.high)
    shown = (natural(about.kind, figure) for figure in figures)
    return (name, value, metric, effect.tasks, *shown, effect.p_value, p_adjusted, verdict)


def _lengths(trials: pl.DataFrame) -> pl.DataFrame:
    """Thirds by the mean of both sides' logarithms: a third by one side alone would regress to the mean."""
    sides = trials.drop_nulls(["pair", "steps"]).filter(pl.col("steps") > 0)
    tasks = sides.group_by("pair", "side").agg(pl.col("steps").log().mean()).group_by("pair")
    long = tasks.agg(pl.col("steps").mean().round(9), sides=pl.len()).filter(pl.col("sides") == 2).sort("steps", "pair")
    third = (pl.int_range(pl.len()) * 3 // pl.len().clip(1)).replace_strict(
        {0: "1 short", 1: "2 middling", 2: "3 long"}, default="1 short", return_dtype=pl.String
    )
    return long.select("pair", value=third).sort("pair")
