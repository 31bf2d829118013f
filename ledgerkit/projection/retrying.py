"""Retry hints: what was wrong with the answer before, said once, to the step that is to do better."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from ledgerkit.protocol.vocabulary import Audience, MessageKind, Visibility
from ledgerkit.strategies import Absence, RunFrames

_SEEN = [level.value for level in Visibility if Audience.MODEL.may_see(level)]


def with_retry_hints(frames: RunFrames, contents: pl.DataFrame, step: int) -> RunFrames:
    """Lets in error events that hold a retry hint for a step (``retry_hint`` in their data); no other step sees them.

    Args:
        frames: Frames of one run.
        contents: What its parts say: ``message_id``, ``part_index``, ``data``, ``part_visibility``.
        step: The step.
    """
    keys = ["message_id", "part_index"]
    waiting = frames.parts.filter(
        pl.col("kind") == MessageKind.ERROR_EVENT.value,
        pl.col("visible_from") == step,
        pl.col("absence") == Absence.NOT_SELECTED.value,
    ).select("part", *keys)
    if not waiting.height:
        return frames
    says = contents.select(pl.col("part_index").cast(pl.Int32), "message_id", "data", "part_visibility")
    hints = waiting.join(says, on=keys, how="left").filter(
        pl.col("part_visibility").is_in(_SEEN), pl.col("data").str.contains('"retry_hint"', literal=True)
    )
    chosen = pl.col("part").is_in(hints["part"].implode())
    return replace(
        frames,
        parts=frames.parts.with_columns(
            is_eligible=pl.col("is_eligible") | chosen,
            absence=pl.when(chosen).then(None).otherwise("absence"),
        ),
    )
