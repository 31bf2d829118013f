"""What contexts consist of, step by step, from placements alone.

No table of parts × steps is made: a placement adds its tokens where it begins and takes them away where it ends.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.errors import UnknownNameError
from ledgerkit.strategies import RunFrames

LABELS: Final = ("section", "trust_level", "kind", "tool_name")
"""What placements can be told apart by."""
ASSUMED: Final = "assumed summary"
"""Label of summaries that a strategy only assumes: no part of the ledger says them."""


def composition(frames: RunFrames, placements: pl.DataFrame, by: str = "section") -> pl.DataFrame:
    """Tokens of the contexts of one run, by step and label.

    Args:
        frames: Frames of the run.
        placements: A strategy's placements of it.
        by: One of ``LABELS``.

    Returns:
        ``step``, ``label``, ``tokens``: a row for each step at which a label has any, in order.

    Raises:
        UnknownNameError: If there is no such label.
    """
    if by not in LABELS:
        raise UnknownNameError.among("label of a context", by, LABELS)
    rows = placements.select("part", "from_step", "to_step", "tokens", "section")
    if by == "section":
        labelled = rows.with_columns(label=pl.col("section").cast(pl.String))
    else:
        own = frames.parts.select("part", label=pl.col(by).cast(pl.String))
        labelled = rows.join(own, on="part", how="left", maintain_order="left").with_columns(
            label=pl.when(pl.col("part") < 0).then(pl.lit(ASSUMED)).otherwise("label")
        )
    changes = pl.concat(
        [
            labelled.select("label", "tokens", step="from_step"),
            labelled.select("label", tokens=-pl.col("tokens"), step="to_step"),
        ]
    )
    steps = int(str(frames.runs["steps"].max())) if frames.runs.height else 0
    labels = labelled.select(pl.col("label").unique().sort(nulls_last=True))
    every = labels.join(pl.DataFrame({"step": pl.int_range(steps, eager=True, dtype=pl.Int32)}), how="cross")
    sums = changes.group_by("label", "step").agg(pl.col("tokens").sum())
    whole = every.join(sums, on=["label", "step"], how="left", nulls_equal=True, maintain_order="left")
    grown = whole.with_columns(pl.col("tokens").fill_null(0).cum_sum().over("label"))
    return grown.filter(pl.col("tokens") > 0).select("step", "label", "tokens").sort("step", "label", nulls_last=True)
