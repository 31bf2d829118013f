"""Tool calls with their results as one row each, and what they cost together."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.cost.waste.rows import Waste, reference, rows_of

_RUN: Final = ["session_id", "run_id"]
_UNIT: Final = [*_RUN, "tool_call_id"]
_FAILED: Final = ("FAILED", "TIMED_OUT")


def units(parts: pl.DataFrame) -> pl.DataFrame:
    """One row per tool call that has a result.

    Args:
        parts: ``session_id``, ``run_id``, ``sequence_no``, ``message_id``, ``part_type``, ``tool_call_id``,
            ``tool_name``, ``path``, ``arguments_hash``, ``status``, ``content_id``, ``step``, ``visible_from``,
            ``tokens``, ``carrying_cost``, ``creation_cost``, ``carried_calls``.

    Returns:
        ``session_id``, ``run_id``, ``tool_call_id``, ``step``, ``sequence_no`` and ``visible_from`` of the result,
        ``tool_name``, ``path``, ``arguments_hash``, ``is_failed``; ``request`` and ``result`` (messages),
        ``content_id`` and ``tokens`` of its longest part, ``carried_calls`` of that, the ``cost`` of all parts, and
        ``result_cost``: that of carrying the results.
    """
    is_call = pl.col("part_type") == "tool_call"
    longest = pl.col("tokens").filter(~is_call).arg_max()

    def of_longest(name: str) -> pl.Expr:
        return pl.col(name).filter(~is_call).get(longest).alias(name)

    return (
        parts.filter(pl.col("tool_call_id").is_not_null())
        .sort(*_RUN, "sequence_no", "part_index")
        .group_by(_UNIT, maintain_order=True)
        .agg(
            pl.col("step").first(),
            *(pl.col(name).drop_nulls().first().alias(name) for name in ("tool_name", "path", "arguments_hash")),
            pl.col("sequence_no").filter(~is_call).first(),
            pl.col("visible_from").filter(~is_call).first(),
            pl.col("message_id").filter(is_call).first().alias("request"),
            pl.col("message_id").filter(~is_call).first().alias("result"),
            pl.col("status").is_in(_FAILED).any().alias("is_failed"),
            pl.col("tokens").filter(~is_call).max().alias("tokens"),
            *(of_longest(name) for name in ("content_id", "carried_calls")),
            (pl.col("carrying_cost") + pl.col("creation_cost")).sum().alias("cost"),
            pl.col("carrying_cost").filter(~is_call).sum().alias("result_cost"),
        )
        .filter(pl.col("result").is_not_null())
    )


def repeated_reads(found: pl.DataFrame, compacted: pl.DataFrame, *, least_tokens: int) -> pl.DataFrame:
    """Results whose content an earlier call of the run had given.

    Args:
        found: Rows of :func:`units`.
        compacted: ``session_id``, ``run_id``, ``visible_from`` of summaries: what stood before them may be gone.
        least_tokens: Shorter contents say nothing.
    """
    same = [*_RUN, "content_id"]
    rows = (
        found.filter(pl.col("tokens") >= least_tokens, pl.col("content_id").is_not_null())
        .sort(*_RUN, "sequence_no")
        .with_columns(
            before=pl.col("result").shift().over(same),
            since=pl.col("visible_from").shift().over(same),
        )
        .filter(pl.col("before").is_not_null())
    )
    gone = (
        rows.select(*_UNIT, "since", at="visible_from")
        .join(compacted.select(*_RUN, cut="visible_from"), on=_RUN)
        .filter(pl.col("cut") > pl.col("since"), pl.col("cut") <= pl.col("at"))
        .select(_UNIT)
        .unique()
        .with_columns(was_gone=pl.lit(value=True))
    )
    said = pl.when(pl.col("was_gone")).then(pl.lit("read again after a compaction")).otherwise(
        pl.lit("read again while it stood in the context")
    )  # fmt: skip
    named = rows.join(gone, on=_UNIT, how="left", maintain_order="left")
    return rows_of(
        Waste.REPEATED_READ,
        named.with_columns(detail=said, refs=pl.concat_list(reference("result"), reference("before"))),
    )


def retries(found: pl.DataFrame) -> pl.DataFrame:
    """Failed calls that the run made again: with the same arguments, or of the same tool for the same file."""
    ordered = found.sort(*_RUN, "sequence_no")
    tool = [*_RUN, "tool_name"]
    again = [
        pl.col("request").shift(-1).over([*tool, key]).alias(name)
        for key, name in (("arguments_hash", "same"), ("path", "alike"))
    ]
    rows = ordered.with_columns(again).with_columns(
        same=pl.when(pl.col("arguments_hash").is_not_null()).then("same"),
        alike=pl.when(pl.col("path").is_not_null()).then("alike"),
    )
    failed = rows.filter("is_failed").with_columns(later=pl.coalesce("same", "alike")).drop_nulls("later")
    said = pl.when(pl.col("same").is_not_null()).then(pl.lit("failed, and made again with the same arguments"))
    return rows_of(
        Waste.RETRY,
        failed.with_columns(
            detail=said.otherwise(pl.lit("failed, and made again for the same file")),
            refs=pl.concat_list(reference("result"), reference("later")),
        ),
    )
