"""Two sets of observed runs, compared: frames in, frames out."""

from __future__ import annotations

import shlex

import polars as pl

from ledgerkit.comparison import outcomes, repeats, slicing
from ledgerkit.comparison.deciding import gate_rows, metric_rows
from ledgerkit.comparison.gates import SLICE_COLUMNS, Gates
from ledgerkit.comparison.metrics import METRICS
from ledgerkit.comparison.pairing import BASELINE, CANDIDATE, Pairs, matched_tasks, pairs_of, unmatched
from ledgerkit.comparison.result import Compared
from ledgerkit.comparison.schema import FLIPS, MISSING, OBSERVATIONS, SETS, SPREAD, TASKS
from ledgerkit.comparison.trials import PAIR_COLUMNS, is_usable, trials_of
from ledgerkit.comparison.verdicts import Settings
from ledgerkit.errors import ComparisonError, UnknownNameError


def compare_runs(
    baseline: pl.DataFrame, candidate: pl.DataFrame, gates: Gates, *, names: tuple[str, str] = (BASELINE, CANDIDATE)
) -> Compared:
    """Compares two sets of runs, task by task.

    Args:
        baseline: Observed runs, columns ``OBSERVATIONS``.
        candidate: Likewise.
        gates: What must hold, and how it is tested.
        names: What the sides are called.

    Raises:
        ComparisonError: If a side is empty, or no task is on both.
        UnknownNameError: If there is no such column to pair or slice by.
    """
    _check(baseline, candidate, gates, names)
    settings = Settings(gates.alpha, gates.draws, gates.seed)
    sides = {BASELINE: baseline, CANDIDATE: candidate}
    trials = pl.concat([trials_of(runs, side, gates.pair_by) for side, runs in sides.items()])
    tasks = matched_tasks(trials)
    lost = unmatched(trials, gates.pair_by)
    if not tasks:
        said = "; ".join(f"{reason} ({count})" for reason, count in lost["reason"].value_counts(sort=True).iter_rows())
        raise ComparisonError(
            f"No task is on both sides, paired by {gates.pair_by}: {said}. Choose other runs, or another column "
            f"({', '.join(PAIR_COLUMNS)}), or say which task each run is about in a table with the columns run_id and "
            "task_id: ledgerkit import --labels FILE"
        )
    pairs = {name: pairs_of(trials, metric, tasks) for name, metric in METRICS.items()}
    runs = pl.concat([rows.select(pl.lit(side).alias("side"), *OBSERVATIONS) for side, rows in sides.items()])
    metrics = metric_rows(trials, pairs, gates, settings)
    values = {name: slicing.slice_values(runs, trials, name, gates.pair_by) for name in gates.slices}
    frames = {
        "metrics": metrics,
        "gates": gate_rows(metrics, gates),
        "tasks": pl.concat([pl.DataFrame(schema=TASKS), *(one.table for one in pairs.values())]),
        "trials": trials,
        "runs": runs.sort("side", "session_id", "run_id"),
        "unmatched": lost,
        "missing": _missing(trials),
        "flips": _flips(trials, pairs["success"]),
        "pass_k": repeats.pass_k(trials, tasks, settings),
        "flakiness": repeats.flakiness(trials.filter(pl.col("pair").is_in(tasks))),
        "slices": slicing.slices(pairs, values, settings),
        "amounts": _amounts(trials, pairs),
        "sets": _sets(runs, trials, dict(zip(sides, names, strict=True))),
    }
    return Compared(frames, gates)


def _check(baseline: pl.DataFrame, candidate: pl.DataFrame, gates: Gates, names: tuple[str, str]) -> None:
    for side, runs, name in ((BASELINE, baseline, names[0]), (CANDIDATE, candidate, names[1])):
        if runs.is_empty():
            raise ComparisonError(f"The {side} has no runs: nothing fits {name}.")
    if gates.pair_by not in PAIR_COLUMNS:
        raise UnknownNameError.among("column to pair by", gates.pair_by, PAIR_COLUMNS)
    for name in gates.slices:
        if name not in SLICE_COLUMNS:
            raise UnknownNameError.among("column to slice by", name, SLICE_COLUMNS)
    for name in gates.margins:
        if name not in METRICS:
            raise UnknownNameError.among("metric", name, METRICS)


def _missing(trials: pl.DataFrame) -> pl.DataFrame:
    counts = [pl.col("state").eq(state).sum().alias(state) for state in outcomes.STATES]
    made = trials.group_by("side").agg(pl.len().alias("trials"), *counts)
    return made.select(pl.col(name).cast(dtype) for name, dtype in MISSING.items()).sort("side")


def _flips(trials: pl.DataFrame, success: Pairs) -> pl.DataFrame:
    """Tasks whose success changed, those that got worse first, each with a run of both sides that shows it."""
    moved = success.table.filter(pl.col("difference") != 0)
    known = is_usable(trials).drop_nulls(["pair", "success"]).sort("session_id", "run_id")
    shown = moved.select("pair", "baseline", "candidate", fell=pl.col("difference") < 0)
    for side, wanted in ((BASELINE, pl.col("fell")), (CANDIDATE, ~pl.col("fell"))):
        mine = known.filter(pl.col("side") == side).join(shown.select("pair", "fell"), on="pair")
        telling = mine.filter((pl.col("success") == 1) == wanted).group_by("pair").agg(pl.col("run_id").first())
        shown = shown.join(telling.rename({"run_id": f"{side}_run"}), on="pair", how="left")
    direction = pl.when("fell").then(pl.lit("worse")).otherwise(pl.lit("better"))
    size = (pl.col("candidate") - pl.col("baseline")).abs()
    # The id of a run comes from a log: quoted, it can only ever be one argument of the command.
    quoted = [pl.col(f"{side}_run").map_elements(shlex.quote, return_dtype=pl.String) for side in (BASELINE, CANDIDATE)]
    commands = [
        pl.format("ledgerkit replay {}", one).alias(f"{side}_replay")
        for side, one in zip((BASELINE, CANDIDATE), quoted, strict=True)
    ]
    made = shown.with_columns(*commands, direction=direction).sort("fell", size, "pair", descending=[True, True, False])
    return made.select(pl.col(name).cast(dtype) for name, dtype in FLIPS.items())


def _amounts(trials: pl.DataFrame, pairs: dict[str, Pairs]) -> pl.DataFrame:
    """What trials of matched tasks came to, in plain sums and quantiles."""
    rows: list[pl.DataFrame] = []
    for name, metric in METRICS.items():
        if metric.kind != "ratio":
            continue
        mine = is_usable(trials).filter(pl.col("pair").is_in(pairs[name].table["pair"].to_list()))
        value = pl.col(name).sort()
        figures = (
            mine.drop_nulls(name)
            .group_by("side")
            .agg(
                trials=pl.len(),
                total=value.sum(),
                mean=value.mean(),
                median=value.median(),
                p95=value.quantile(0.95, "higher"),
            )
        )
        rows.append(figures.with_columns(metric=pl.lit(name)).sort("side").select(
            pl.col(column).cast(dtype) for column, dtype in SPREAD.items()
        ))  # fmt: skip
    return pl.concat(rows)


def _sets(runs: pl.DataFrame, trials: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    keys = ["session_id", "run_id"]
    counted = runs.group_by("side").agg(
        runs=pl.len(), shared=pl.struct(keys).is_in(_shared(runs, keys).implode()).sum()
    )
    tried = trials.group_by("side").agg(trials=pl.len(), tasks=pl.col("pair").drop_nulls().n_unique())
    made = counted.join(tried, on="side").with_columns(name=pl.col("side").replace_strict(names))
    return made.select(pl.col(name).cast(dtype) for name, dtype in SETS.items()).sort("side")


def _shared(runs: pl.DataFrame, keys: list[str]) -> pl.Series:
    both = runs.group_by(keys).agg(sides=pl.col("side").n_unique()).filter(pl.col("sides") == 2).sort(keys)
    return both.select(pl.struct(keys).alias("shared"))["shared"]
