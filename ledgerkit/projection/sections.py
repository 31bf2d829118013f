"""The sections of a context as a table: what each holds, how much of its share, and what is not recorded at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from ledgerkit.projection.written import Written
from ledgerkit.protocol.budget import BudgetName, TokenBudget
from ledgerkit.protocol.vocabulary import ContextSection
from ledgerkit.strategies.placements import SECTIONS


def section_table(
    rows: Sequence[Mapping[str, object]], budget: TokenBudget | None, notes: Mapping[ContextSection, Written]
) -> pl.DataFrame:
    """One row per section, in the order of a context.

    Args:
        rows: Pieces: ``section``, ``tokens`` (as rendered), ``framing_tokens``, ``is_written``.
        budget: The budget, if there is one.
        notes: What was written, by section.

    Returns:
        ``section``, ``pieces``, ``tokens``, ``framing_tokens``, ``share`` and ``share_tokens`` (null without a budget),
        ``written_by`` (null where nothing was written) and ``left_out`` (lines of it that did not fit), and
        ``state``: ``present``, ``empty``, ``no room`` (nothing of it fitted its share) or, for what neither a log nor
        the caller gave, ``not recorded``.
    """
    frame = pl.DataFrame(
        list(rows),
        schema={"section": SECTIONS, "tokens": pl.Int64(), "framing_tokens": pl.Int64(), "is_written": pl.Boolean()},
    )
    sums = frame.group_by("section").agg(
        pl.len().cast(pl.Int64).alias("pieces"), pl.col("tokens", "framing_tokens").sum()
    )
    allotted = budget.allotment() if budget is not None else {}
    known = [_known(section, budget, allotted, notes.get(section)) for section in ContextSection]
    schema = {"section": SECTIONS, "share": pl.String(), "share_tokens": pl.Int64(), "written_by": pl.String(),
              "left_out": pl.Int64(), "may_be_unrecorded": pl.Boolean()}  # fmt: skip
    table = pl.DataFrame(known, schema=schema).join(sums, on="section", how="left", maintain_order="left")
    there = pl.col("pieces").fill_null(0) > 0
    return table.with_columns(
        pl.col("pieces", "tokens", "framing_tokens").fill_null(0),
        state=pl.when(there).then(pl.lit("present")).when("may_be_unrecorded").then(pl.lit("not recorded"))
        .when(pl.col("left_out") > 0).then(pl.lit("no room")).otherwise(pl.lit("empty")),
    ).select(_COLUMNS)  # fmt: skip


_COLUMNS: Final = (
    "section", "state", "pieces", "tokens", "framing_tokens", "share", "share_tokens", "written_by", "left_out",
)  # fmt: skip
_MAY_BE_UNRECORDED: Final = (
    ContextSection.PLATFORM_POLICY,
    ContextSection.ORG_POLICY,
    ContextSection.PERMISSION_PROFILE,
    ContextSection.TASK_CONTRACT,
    ContextSection.RESPONSE_CONTRACT,
)


def _known(
    section: ContextSection, budget: TokenBudget | None, allotted: Mapping[BudgetName, int], written: Written | None
) -> dict[str, object]:
    share = budget.share_of(section) if budget is not None else None
    return {
        "section": section.value,
        "share": share.name.value if share is not None else None,
        "share_tokens": allotted[share.name] if share is not None else None,
        "written_by": written.by if written is not None else None,
        "left_out": written.left_out if written is not None else None,
        "may_be_unrecorded": section in _MAY_BE_UNRECORDED,
    }
