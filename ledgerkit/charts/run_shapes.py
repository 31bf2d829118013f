"""The numbers behind the pictures of one run: frames in, small frames out, no Altair.

One rule: what is not recorded stays null; a picture leaves a gap where a number is unknown.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.charts.shapes import FAILED
from ledgerkit.protocol.vocabulary import MessageKind

MAX_STEPS: Final = 400
"""Steps that a chart can show one by one; of more, neighbours share a bar."""
MAX_BINS: Final = 150
"""Stretches of a run that a timeline tells apart."""

FAMILIES: Final[dict[str, tuple[MessageKind, ...]]] = {
    "instructions and people": (
        MessageKind.SYSTEM_INSTRUCTION,
        MessageKind.DEVELOPER_INSTRUCTION,
        MessageKind.ORG_POLICY,
        MessageKind.REPOSITORY_INSTRUCTION,
        MessageKind.USER_TASK,
        MessageKind.APPROVAL_REQUEST,
        MessageKind.APPROVAL_DECISION,
    ),
    "model": (MessageKind.AGENT_THOUGHT_SUMMARY, MessageKind.ASSISTANT_RESPONSE, MessageKind.TOOL_CALL_REQUEST),
    "tools and repository": (
        MessageKind.TOOL_CALL_RESULT,
        MessageKind.FILE_OBSERVATION,
        MessageKind.DIFF_OBSERVATION,
    ),
    "checks and records": (MessageKind.VERIFIER_RESULT, MessageKind.JUDGE_RESULT, MessageKind.RUN_SUMMARY),
    "failures": (MessageKind.ERROR_EVENT,),
}
"""Who or what speaks in a message of a kind."""


def steps_of(calls: pl.DataFrame) -> pl.DataFrame:
    """What each step of a run read, and what the run had cost by then.

    Args:
        calls: Columns ``step``, ``input_tokens``, ``cache_read_tokens`` and, if there, ``cache_write_5m_tokens``,
            ``cache_write_1h_tokens`` and ``cost``: the priced model calls of one run. Rows without a step are left out.

    Returns:
        One row per step: ``step``, ``input_tokens``, ``cache_read``, ``cache_write``, ``fresh`` (they sum to
        ``input_tokens``; all null where it is not recorded), ``cost`` and ``cost_so_far``: the sum of the known costs
        up to this step.
    """
    written = [name for name in ("cache_write_5m_tokens", "cache_write_1h_tokens") if name in calls.columns]
    recorded = pl.col("input_tokens").is_not_null()
    cost = pl.col("cost") if "cost" in calls.columns else pl.lit(None, pl.Decimal(18, 9)).alias("cost")
    read = pl.col("cache_read_tokens").fill_null(0)
    write = pl.sum_horizontal(pl.col(name).fill_null(0) for name in written) if written else pl.lit(0, pl.Int64)
    return (
        calls.filter(pl.col("step").is_not_null())
        .sort("step")
        .select(
            "step",
            "input_tokens",
            pl.when(recorded).then(read).alias("cache_read"),
            pl.when(recorded).then(write).alias("cache_write"),
            (pl.col("input_tokens") - read - write).alias("fresh"),
            cost,
            cost.fill_null(0).cum_sum().alias("cost_so_far"),
        )
    )


def thinned(steps: pl.DataFrame, *, most: int = MAX_STEPS) -> pl.DataFrame:
    """At most so many rows of ``steps_of``: of neighbours, the step that read most stands for all.

    Returns:
        The rows with ``from_step`` and ``to_step`` (exclusive), the steps that each stands for. ``cost_so_far`` is that
        of the last of them.
    """
    width = max(-(-steps.height // most), 1)
    return (
        steps.with_row_index("row")
        .group_by(pl.col("row") // width, maintain_order=True)
        .agg(
            pl.col("step").first().alias("from_step"),
            (pl.col("step").last() + 1).alias("to_step"),
            pl.all()
            .exclude("row", "cost", "cost_so_far")
            .sort_by("input_tokens", descending=True, nulls_last=True, maintain_order=True)
            .first(),
            pl.col("cost").is_null().any().alias("cost_unknown"),
            pl.col("cost_so_far").last(),
        )
        .drop("row")
    )


def timeline(messages: pl.DataFrame, *, bins: int = MAX_BINS) -> pl.DataFrame:
    """Where in a run messages of each kind stand.

    Args:
        messages: One row per message (or part): ``sequence_no``, ``kind`` and, if there, ``status``.
        bins: Most bins; a run of fewer messages has one for each.

    Returns:
        Columns ``kind``, ``family`` (who or what speaks), ``from_sequence``, ``to_sequence`` (exclusive) and
        ``messages``: a row per unbroken row of bins, kinds in the order of the vocabulary. Results with the status
        FAILED or TIMED_OUT are of the family ``failures``.
    """
    families = {kind.value: family for family, kinds in FAMILIES.items() for kind in kinds}
    status = pl.col("status") if "status" in messages.columns else pl.lit(None, pl.String)
    last = messages["sequence_no"].max() if messages.height else 0
    width = max(-(-(int(str(last)) + 1) // bins), 1)
    order = {kind.value: place for place, kind in enumerate(MessageKind)}
    family = pl.col("kind").replace_strict(families, default="checks and records", return_dtype=pl.String)
    return (
        messages.select(
            "kind",
            pl.when(status.is_in(FAILED)).then(pl.lit("failures")).otherwise(family).alias("family"),
            (pl.col("sequence_no") // width * width).alias("from_sequence"),
            "sequence_no",
        )
        .unique()
        .group_by("kind", "family", "from_sequence")
        .agg(pl.len().cast(pl.Int64).alias("messages"))
        .sort(
            pl.col("kind").replace_strict(order, default=len(order), return_dtype=pl.Int64), "family", "from_sequence"
        )
        .with_columns(
            (pl.col("from_sequence") != pl.col("from_sequence").shift(1) + width)
            .fill_null(value=True)
            .cum_sum()
            .over("kind", "family")
            .alias("stretch")
        )
        .group_by("kind", "family", "stretch", maintain_order=True)
        .agg(
            pl.col("from_sequence").first(),
            (pl.col("from_sequence").last() + width).alias("to_sequence"),
            pl.col("messages").sum(),
        )
        .drop("stretch")
    )
