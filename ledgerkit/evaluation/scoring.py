"""All metrics of some runs under some strategies: frames in, small frames out.

Amounts are summed over all steps as whole numbers. A metric that a step or run does not define is null, and how many
define it stands beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.errors import UnknownNameError
from ledgerkit.evaluation.edits import Edits
from ledgerkit.evaluation.evidence import LOST_SCHEMA, Evidence
from ledgerkit.evaluation.failures import Failures
from ledgerkit.evaluation.files import Files
from ledgerkit.evaluation.labels import Labels
from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.refetching import repeated_reads
from ledgerkit.evaluation.schema import METRICS, RUN_SCHEMA, STEP_SCHEMA
from ledgerkit.evaluation.totals import Columns, mean_of_steps, run_totals
from ledgerkit.evaluation.units import Units
from ledgerkit.strategies import AsRecorded, CacheRules, Measures, Projection, Strategy, measure, project
from ledgerkit.strategies.grid import Ints, tokens_by_step
from ledgerkit.strategies.placements import no_calls
from ledgerkit.strategies.windows import drop_at_random

EVALUATION_VERSION: Final = 1
"""Version of the rules of this package: raised whenever the same runs would give other figures."""


@dataclass(frozen=True)
class Options:
    """What is measured, and how.

    Attributes:
        metrics: Names of metrics (``METRICS``).
        cache: Rules of the prompt cache.
        budget: Tokens above which a context overflows; null overflow without one.
        control_seeds: Seeds of the control that drops at random; the mean of their retention is the control's.
        steps: Whether rows by step are wanted.
        lost: Whether rows of what was dropped and then needed are wanted.
    """

    metrics: tuple[str, ...] = METRICS
    cache: CacheRules = field(default_factory=CacheRules)
    budget: int | None = None
    control_seeds: tuple[int, ...] = (0,)
    steps: bool = False
    lost: bool = True

    def __post_init__(self) -> None:
        for name in self.metrics:
            if name not in METRICS:
                raise UnknownNameError.among("metric", name, METRICS)

    def wants(self, *metrics: str) -> bool:
        """Whether one of some metrics is wanted."""
        return any(name in self.metrics for name in metrics)


@dataclass(frozen=True)
class Scores:
    """What strategies come to on some runs.

    Attributes:
        runs: One row per run and strategy (``RUN_SCHEMA``).
        steps: One row per step and strategy (``STEP_SCHEMA``); empty unless wanted.
        lost: What was dropped and then needed (``LOST_SCHEMA``).
    """

    runs: pl.DataFrame
    steps: pl.DataFrame
    lost: pl.DataFrame


@dataclass(frozen=True)
class Prepared:
    """Some runs with all that does not depend on a strategy; computed when first asked for."""

    material: Material

    @cached_property
    def evidence(self) -> Evidence:
        """Needs and mentions."""
        return Evidence.of(self.material)

    @cached_property
    def edits(self) -> Edits:
        """Lines that edits quote."""
        return Edits.of(self.material)

    @cached_property
    def failures(self) -> Failures:
        """Open failures."""
        return Failures.of(self.material)

    @cached_property
    def labels(self) -> Labels:
        """Labels of parts."""
        return Labels.of(self.material)

    @cached_property
    def files(self) -> Files:
        """Content of files."""
        return Files.of(self.material)

    @cached_property
    def units(self) -> Units:
        """Units of several parts."""
        return Units.of(self.material)

    @cached_property
    def repeated(self) -> Ints:
        """Repeated calls that only read, by run."""
        return repeated_reads(self.material)


def strategy_hash(strategy: Strategy) -> str:
    """What tells a strategy with its settings from every other, in 16 hexadecimal digits."""
    return hashlib.sha256(f"{EVALUATION_VERSION}:{strategy.label}".encode()).hexdigest()[:16]


def score(material: Material, strategies: Sequence[Strategy], options: Options | None = None) -> Scores:
    """Scores strategies on some runs.

    Args:
        material: The runs.
        strategies: The strategies.
        options: What is measured; everything by run if not given.
    """
    chosen = options or Options()
    prepared = Prepared(material)
    tables = [score_prepared(prepared, strategy, chosen) for strategy in strategies]
    return Scores(
        *(
            pl.concat([pl.DataFrame(schema=schema), *(getattr(one, name) for one in tables)])
            for name, schema in (("runs", RUN_SCHEMA), ("steps", STEP_SCHEMA), ("lost", LOST_SCHEMA))
        )
    )


def score_prepared(prepared: Prepared, strategy: Strategy, options: Options) -> Scores:
    """The same for one strategy, on runs that are prepared."""
    material = prepared.material
    frames, grid = material.frames, material.frames.grid
    projection = project(frames, strategy)
    measures = measure(frames, projection, cache=options.cache, rates=material.rates, context_window=options.budget)
    placed = Placed(material, strategy, projection)
    columns: Columns = {"tokens": measures.prefixes.tokens}
    extra = [measures.runs().drop("strategy", "steps", "session_id", "run_id")]
    lost = pl.DataFrame(schema=LOST_SCHEMA)
    if options.wants("evidence_retention", "recency_distance", "refetch_exposure"):
        held, sourced = prepared.evidence.held(placed)
        columns |= prepared.evidence.steps(grid, held, sourced)
        extra.append(_by_number(prepared.evidence.runs(held), frames.runs.height))
        lost = prepared.evidence.lost(placed, held) if options.lost else lost
    if options.wants("evidence_retention"):
        extra.append(_control(prepared, placed, columns, options))
    if options.wants("edit_support"):
        columns |= prepared.edits.steps(grid, prepared.edits.held(placed))
    if options.wants("failure_visibility"):
        columns |= prepared.failures.steps(placed, grid)
    if options.wants("policy_retention", "untrusted_share"):
        columns |= prepared.labels.steps(placed)
    if options.wants("staleness"):
        columns |= prepared.files.steps(placed)
    if options.wants("validity"):
        columns |= prepared.units.steps(placed)
        extra.append(_determinism(placed))
    if options.wants("refetch_exposure"):
        extra.append(pl.DataFrame({"repeated_reads": prepared.repeated}))
    extra.append(_cache_error(material, strategy, measures))
    runs = run_totals(grid, columns)
    table = pl.concat([frames.runs.drop("run"), runs, *extra], how="horizontal")
    return Scores(
        _finished(table, strategy, options),
        _steps(material, strategy, measures, columns) if options.steps else pl.DataFrame(schema=STEP_SCHEMA),
        lost,
    )


def _by_number(table: pl.DataFrame, runs: int) -> pl.DataFrame:
    """A row for every run, also those of which a table knows nothing."""
    every = pl.DataFrame({"run": pl.Series(range(runs), dtype=pl.UInt32)})
    return every.join(table.with_columns(pl.col("run").cast(pl.UInt32)), on="run", how="left").sort("run").drop("run")


def _control(prepared: Prepared, placed: Placed, columns: Columns, options: Options) -> pl.DataFrame:
    """Retention of dropping at random: in each run with the peak of the strategy's contexts as its budget."""
    frames, grid = prepared.material.frames, prepared.material.frames.grid
    tokens = columns["tokens"]
    first = grid.first[:-1]
    peak = np.maximum.reduceat(np.where(grid.is_step, tokens, 0), first) if first.size else first
    retained, spent = np.zeros(frames.runs.height), np.zeros(frames.runs.height)
    for seed in options.control_seeds:
        rows = drop_at_random(frames, frames.base, peak[grid.run].astype(np.int64), seed)
        control = Placed(prepared.material, placed.strategy, Projection("control", rows, no_calls()))
        held, sourced = prepared.evidence.held(control)
        by_step = prepared.evidence.steps(grid, held, sourced)["evidence_retention"]
        retained += mean_of_steps(by_step, grid.is_step, first)[0] / len(options.control_seeds)
        there = np.where(grid.is_step, tokens_by_step(grid, rows), 0)
        spent += (np.add.reduceat(there, first) if first.size else first) / len(options.control_seeds)
    mine = mean_of_steps(columns["evidence_retention"], grid.is_step, first)[0]
    return pl.DataFrame(
        {
            "control_retention": pl.Series(retained, nan_to_null=True),
            "lift": pl.Series(mine - retained, nan_to_null=True),
            "control_input_tokens": spent.round().astype(np.int64),
        }
    )


def _determinism(placed: Placed) -> pl.DataFrame:
    """Whether the strategy, asked again, gives the same placements; by run."""
    frames = placed.material.frames
    again = project(frames, placed.strategy).placements
    same = np.ones(frames.runs.height)
    if not placed.table.equals(again):
        numbered = ((one.with_row_index("n") if one.height else one) for one in (placed.table, again))
        parts = [dict(one.partition_by("run", as_dict=True)) for one in numbered]
        for run in range(frames.runs.height):
            mine, other = (one.get((run,)) for one in parts)
            same[run] = (mine is None) == (other is None) and (
                mine is None or other is None or mine.drop("n").equals(other.drop("n"))
            )
    return pl.DataFrame({"determinism": same})


def _cache_error(material: Material, strategy: Strategy, measures: Measures) -> pl.DataFrame:
    """How far simulated cache reads are from recorded ones, of the strategy that follows the record."""
    frames = material.frames
    nothing = pl.DataFrame({"cache_read_error": pl.repeat(None, frames.runs.height, dtype=pl.Float64, eager=True)})
    if not isinstance(strategy, AsRecorded) or not material.usage.height:
        return nothing
    keys = ["session_id", "run_id", "step"]
    recorded = material.usage.with_columns(pl.col("step").cast(pl.Int32)).unique(keys)
    recorded = recorded.select(*keys, pl.col("cache_read_tokens").cast(pl.Int64).alias("recorded")).drop_nulls()
    both = measures.steps().join(recorded, on=keys, how="inner")
    sums = both.group_by("session_id", "run_id").agg(pl.col("cache_read_tokens", "recorded").sum())
    error = (pl.col("cache_read_tokens") - pl.col("recorded")).abs() / pl.col("recorded")
    sums = sums.with_columns(cache_read_error=pl.when(pl.col("recorded") > 0).then(error))
    joined = frames.runs.join(sums, on=["session_id", "run_id"], how="left", maintain_order="left")
    return joined.select("cache_read_error")


def _finished(table: pl.DataFrame, strategy: Strategy, options: Options) -> pl.DataFrame:
    """The columns of ``RUN_SCHEMA``; what was not asked for is null."""
    known = pl.col("unpriced_steps") < pl.col("steps")
    rest = pl.col("fresh_tokens") + pl.col("extra_input_tokens")
    reads, writes = pl.col("cache_read_tokens"), pl.col("cache_write_tokens")
    table = table.with_columns(
        strategy=pl.lit(strategy.label),
        strategy_hash=pl.lit(strategy_hash(strategy)),
        overflow_rate=pl.col("overflowing_steps") / pl.col("steps"),
        prefix_reuse=pl.when(pl.col("input_tokens") > 0).then(pl.col("shared_prefix_tokens") / pl.col("input_tokens")),
        cost_pico=pl.when(known).then(pl.col("cost_pico") + pl.col("extra_cost_pico")),
        # Hundredths are whole numbers, so that sums are exact: reads cost a tenth of fresh input, writes 1.25 of it.
        cost_equivalent_tokens=100 * rest + 10 * reads + 125 * writes,
    )  # fmt: skip
    # Divided one by one: a whole column may be multiplied by 1 / 100 instead, which rounds otherwise.
    hundredths = table["cost_equivalent_tokens"].to_numpy()
    table = table.with_columns(cost_equivalent_tokens=pl.Series(np.true_divide(hundredths, 100.0)))
    if "needs" in table.columns:
        table = table.with_columns(missing_needs=pl.col("needs") - pl.col("needs_held"))
    if options.wants("refetch_exposure"):
        table = table.with_columns(pl.col("refetch_tokens").fill_null(0))  # of a run that needs nothing
    hidden = {column for name, of in _COLUMNS_OF.items() if name not in options.metrics for column in of}
    return table.select(
        (pl.col(n) if n in table.columns and n not in hidden else pl.lit(None)).cast(t).alias(n)
        for n, t in RUN_SCHEMA.items()
    )


_COLUMNS_OF: Final = {
    "recency_distance": ("missing_age_p50", "missing_age_p90", "missing_age_max"),
    "refetch_exposure": ("refetch_exposure", "refetch_tokens", "repeated_reads"),
    "evidence_retention": tuple(name for name in RUN_SCHEMA if name.startswith(("evidence_retention", "source_"))),
}
"""Columns that are computed together with others, and shown only where their metric is wanted."""


def _steps(material: Material, strategy: Strategy, measures: Measures, columns: Columns) -> pl.DataFrame:
    there = material.frames.grid.is_step
    mine = {name: pl.Series(name, values[there], nan_to_null=True) for name, values in columns.items()}
    table = measures.steps().with_columns(strategy=pl.lit(strategy.label), **mine)
    return table.select(
        (pl.col(n) if n in table.columns else pl.lit(None)).cast(t).alias(n) for n, t in STEP_SCHEMA.items()
    )
