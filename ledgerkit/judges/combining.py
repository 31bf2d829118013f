"""Rules first: what a model judge may add to what the rules say.

The rule: a model may lift what the rules leave ``unverified``. A rule that failed stays failed, whatever a model says;
a proof that rules accept stays a proof.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.judges.judgement import Label

VERDICTS: Final = pl.Schema(
    {
        "kind": pl.String(),
        "session_id": pl.String(),
        "run_id": pl.String(),
        "reference": pl.String(),
        "verdict": pl.String(),
        "decided_by": pl.String(),
        "by_rules": pl.String(),
        "by_model": pl.String(),
        "judge_id": pl.String(),
        "rubric_hash": pl.String(),
        "is_calibrated": pl.Boolean(),
    }
)
"""One row a subject: the verdict, who decided it (``rules``, ``model``, or null where nobody did), what each said, and
of the model judge who it is and whether it was calibrated."""
_SUBJECT: Final = ["kind", "session_id", "run_id", "reference"]
_MOVES: Final = [Label.PASSED.value, Label.FAILED.value]


def combined(judgements: pl.DataFrame, calibrations: pl.DataFrame) -> pl.DataFrame:
    """The verdict on every subject that rules have judged.

    Args:
        judgements: Current judgements (``JUDGEMENTS``); of several model judges the last one counts.
        calibrations: ``judge_id``, ``judge_version``, ``rubric_hash`` and ``kind`` of what was calibrated.

    Returns:
        ``VERDICTS``, by subject.
    """
    rules = judgements.filter(pl.col("judge_id") == "rules").unique(_SUBJECT, keep="last", maintain_order=True)
    keys = ["judge_id", "judge_version", "rubric_hash", "kind"]
    known = calibrations.select(*keys, is_calibrated=pl.lit(value=True)).unique()
    models = (
        judgements.filter(pl.col("judge_id") != "rules")
        .unique(_SUBJECT, keep="last", maintain_order=True)
        .join(known, on=keys, how="left", maintain_order="left")
        .select(*_SUBJECT, "judge_id", "rubric_hash", pl.col("is_calibrated").fill_null(value=False), by_model="label")
    )
    both = rules.select(*_SUBJECT, by_rules="label").join(
        models, on=_SUBJECT, how="left", nulls_equal=True, maintain_order="left"
    )
    lifted = (pl.col("by_rules") == Label.UNVERIFIED.value) & pl.col("by_model").is_in(_MOVES)
    is_decided = pl.col("by_rules").is_in(_MOVES)
    return (
        both.with_columns(
            verdict=pl.when(lifted.fill_null(value=False)).then("by_model").otherwise("by_rules"),
            decided_by=pl.when(is_decided).then(pl.lit("rules")).when(lifted).then(pl.lit("model")),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in VERDICTS.items())
        .sort(_SUBJECT, nulls_last=False)
    )
