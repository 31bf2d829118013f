"""From the tables of buckets to one result."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from ledgerkit.evaluation.evidence import LOST_SCHEMA
from ledgerkit.evaluation.result import About, Evaluation
from ledgerkit.evaluation.schema import RUN_SCHEMA, STEP_SCHEMA
from ledgerkit.evaluation.scoring import EVALUATION_VERSION, Options, strategy_hash
from ledgerkit.strategies import Strategy
from ledgerkit.tokens import TokenCounter

_KEYS: Final = ("session_id", "run_id")


def assemble(
    buckets: Sequence[Mapping[str, bytes]],
    given: pl.DataFrame,
    summaries: pl.DataFrame | None,
    strategies: Sequence[Strategy],
    options: Options,
    prices: str,
) -> Evaluation:
    """Puts the tables of buckets together.

    Args:
        buckets: Parquet files ``runs``, ``steps`` and ``lost`` of each bucket.
        given: What is known of runs: ``session_id``, ``run_id``, ``task_id``, ``repository``, ``outcome``.
        summaries: Checked items of recorded compactions (``memory.compactions``); not asked for if ``None``.
        strategies: The strategies, in order.
        options: What was measured.
        prices: Name and version of the list of prices.
    """
    rank = {one.label: number for number, one in enumerate(strategies)}
    runs = _together(buckets, "runs", RUN_SCHEMA)
    if summaries is not None:
        runs = _with_summaries(runs, summaries)
    runs = runs.join(given.unique(_KEYS), on=_KEYS, how="left", maintain_order="left")
    first = (*_KEYS, "task_id", "repository", "outcome", "strategy")
    runs = runs.select(*first, *(name for name in RUN_SCHEMA if name not in first))
    about = About(
        version=EVALUATION_VERSION,
        tokenizer=TokenCounter().encoding,
        prices=prices,
        strategies={one.label: strategy_hash(one) for one in strategies},
        metrics=options.metrics,
        budget=options.budget,
        cache=repr(options.cache),
        control_seeds=options.control_seeds,
    )
    order = pl.col("strategy").replace_strict(rank, return_dtype=pl.Int64)
    return Evaluation(
        runs=runs.sort(*_KEYS, order),
        steps=_together(buckets, "steps", STEP_SCHEMA).sort(*_KEYS, order, "step"),
        lost=_together(buckets, "lost", LOST_SCHEMA).sort(*_KEYS, order, "step", "type", "value"),
        about=about,
    )


def _together(buckets: Sequence[Mapping[str, bytes]], name: str, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    empty = pl.DataFrame(schema=schema)
    return pl.concat([empty, *(pl.read_parquet(io.BytesIO(one[name])) for one in buckets)], rechunk=True)


def _with_summaries(runs: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Fidelity of the summaries that a run recorded; it is the run's, whatever the strategy."""
    verdict = pl.col("verdict")
    by_run = items.group_by(_KEYS).agg(
        summary_items=(~verdict.is_in(["unknown", "unverified"])).sum().cast(pl.Int64),
        kept=(verdict == "kept").sum(),
        failure_omissions=(verdict == "hidden").sum().cast(pl.Int64),
        invented_items=(verdict == "invented").sum().cast(pl.Int64),
    )
    by_run = by_run.with_columns(
        summary_fidelity=pl.when(pl.col("summary_items") > 0).then(pl.col("kept") / pl.col("summary_items"))
    ).drop("kept")
    columns = [name for name in by_run.columns if name not in _KEYS]
    return runs.drop(columns).join(by_run, on=_KEYS, how="left", maintain_order="left")
