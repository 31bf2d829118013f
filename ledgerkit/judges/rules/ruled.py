"""What one criterion says of many runs: how it stands with each, and everything that breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.judges.judgement import Outcome
from ledgerkit.judges.material import RUN

FAILURES: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "sequence_no": pl.Int64(),
        "place": pl.String(),
        "why": pl.String(),
        "evidence": pl.List(pl.String()),
    }
)
"""One row for each thing that breaks a criterion: ``place`` is what it is about, ``evidence`` what shows it."""
STATES: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "state": pl.String(),
        "said": pl.String(),
        "evidence": pl.List(pl.String()),
    }
)
"""One row a run: how it stands with the criterion where nothing breaks it, why, and what shows it."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """What one criterion says.

    Attributes:
        states: ``STATES``.
        failures: ``FAILURES``.
    """

    states: pl.DataFrame
    failures: pl.DataFrame


def failures(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the form of ``FAILURES``; ``evidence`` without nulls, each reference once."""
    if not rows.height:
        return FAILURES.to_frame()
    clean = rows.with_columns(evidence=pl.col("evidence").list.drop_nulls().list.unique(maintain_order=True))
    return clean.select(pl.col(name).cast(dtype) for name, dtype in FAILURES.items()).sort(*RUN, "sequence_no", "place")


def states(
    runs: pl.DataFrame, having: pl.DataFrame, passed: str, without: str, otherwise: Outcome = Outcome.NOT_APPLICABLE
) -> pl.DataFrame:
    """How runs stand where nothing breaks the criterion.

    Args:
        runs: The runs.
        having: The runs that the criterion can be asked of; ``evidence`` (lists), if it is there, is what shows it.
        passed: What to say of these.
        without: What to say of the others.
        otherwise: How the others stand.
    """
    shown = having if "evidence" in having.columns else having.with_columns(evidence=pl.lit([], pl.List(pl.String)))
    known = shown.unique(RUN, keep="last", maintain_order=True).select(
        *RUN, "evidence", state=pl.lit(Outcome.PASSED.value), said=pl.lit(passed)
    )
    return (
        runs.select(RUN)
        .join(known, on=RUN, how="left", maintain_order="left")
        .with_columns(
            pl.col("state").fill_null(otherwise.value),
            pl.col("said").fill_null(without),
            pl.col("evidence").fill_null([]),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in STATES.items())
    )
