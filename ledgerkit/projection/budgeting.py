"""Fitting a context to its budget: written sections and boundaries count like everything else.

One rule: what is written for the context becomes rows that stand in every step, and boundaries become tokens of the
parts that they enclose; then the section budgets decide about all of it together, and nothing overflows unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from ledgerkit.errors import ContextError
from ledgerkit.projection.written import COUNT, Written
from ledgerkit.protocol.budget import BudgetName, TokenBudget
from ledgerkit.protocol.vocabulary import ContextSection
from ledgerkit.strategies.frames import PART_COLUMNS, RunFrames
from ledgerkit.strategies.placements import SECTIONS

_MOST_ROUNDS: Final = 24


@dataclass(frozen=True)
class Room:
    """What a budget leaves to written sections.

    Attributes:
        written: Those that fit, cut where they may be.
        absent: Names of sections of which nothing fitted.
    """

    written: list[Written]
    absent: list[ContextSection]


def room_for(written: Sequence[Written], budget: TokenBudget, frame_tokens: int, count: COUNT) -> Room:
    """Cuts the written sections that may be cut to their shares.

    Args:
        written: The sections.
        budget: The shares.
        frame_tokens: Tokens of the tags around one section.
        count: Counts tokens.
    """
    kept, absent = list[Written](), list[ContextSection]()
    left = budget.allotment()
    for one in written:
        share = budget.share_of(one.section)
        if one.is_mandatory:
            kept.append(one)
            continue
        cut = None if share is None else one.within(left[share.name] - frame_tokens, count)
        if cut is None or share is None:
            absent.append(one.section)
            continue
        left[share.name] -= sum(count([cut.text])) + frame_tokens
        kept.append(cut)
    return Room(kept, absent)


def with_written(frames: RunFrames, written: Sequence[tuple[Written, int]], framing: Mapping[int, int]) -> RunFrames:
    """Frames of one run in which written sections are pinned rows, and boundaries are part of the parts' tokens.

    Args:
        frames: The frames of the run.
        written: The sections with their tokens, tags included. They become parts 0, 1, … in this order.
        framing: Tokens of tags by part.
    """
    shift = len(written)
    extra = pl.Series([framing.get(part, 0) for part in frames.parts["part"].to_list()], dtype=pl.Int64)
    moved = frames.parts.with_columns(
        *((pl.col(name) + shift).cast(PART_COLUMNS[name]) for name in ("part", "position", "unit")),
        *((pl.col(name) + extra).alias(name) for name in ("tokens", "reference_tokens")),
    )
    rows = [_row(number, one, tokens) for number, (one, tokens) in enumerate(written)]
    head = pl.DataFrame(rows, schema=PART_COLUMNS)
    return replace(frames, parts=pl.concat([head, moved.select(head.columns)]).rechunk())


def _row(number: int, one: Written, tokens: int) -> dict[str, object]:
    given = {
        "run": 0, "part": number, "message_id": None, "part_index": None, "sequence_no": -1, "kind": "", "part_type": "",
        "trust_level": one.trust_level.value, "tool_name": None, "step": None, "visible_from": 0, "position": number,
        "unit": number, "is_result": False, "is_pinned": True, "section": one.section.value, "tokens": tokens,
        "reference_tokens": tokens, "characters": len(one.text), "is_counted": True, "is_eligible": True,
        "absence": None, "ends_at": None,
    }  # fmt: skip
    return {name: given[name] for name in PART_COLUMNS}


def shrunk(budget: TokenBudget, tokens: int) -> TokenBudget:
    """The budget with a smaller window, so that what is pinned beyond its share leaves the others less.

    Raises:
        ContextError: If nothing would be left.
    """
    left = budget.context_window - tokens
    if left < 1:
        raise ContextError(
            f"The sections that stand whole need {tokens} tokens more than the window of {budget.context_window} has."
        )
    return budget.model_copy(update={"context_window": left})


def over_by(tokens: int, budget: TokenBudget) -> int:
    """Tokens by which a context exceeds its window, what is reserved for the answer taken off."""
    return max(tokens - (budget.context_window - budget.tokens(BudgetName.ANSWER)), 0)


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
        ``state``: ``present``, ``empty`` or, for what neither a log nor the caller gave, ``not recorded``.
    """
    frame = pl.DataFrame(
        list(rows),
        schema={"section": SECTIONS, "tokens": pl.Int64(), "framing_tokens": pl.Int64(), "is_written": pl.Boolean()},
    )
    sums = frame.group_by("section").agg(pl.len().cast(pl.Int64).alias("pieces"), pl.col("tokens", "framing_tokens").sum())
    allotted = budget.allotment() if budget is not None else {}
    known = [_known(section, budget, allotted, notes.get(section)) for section in ContextSection]
    schema = {"section": SECTIONS, "share": pl.String(), "share_tokens": pl.Int64(), "written_by": pl.String(),
              "left_out": pl.Int64(), "may_be_unrecorded": pl.Boolean()}  # fmt: skip
    table = pl.DataFrame(known, schema=schema).join(sums, on="section", how="left", maintain_order="left")
    there = pl.col("pieces").fill_null(0) > 0
    return table.with_columns(
        pl.col("pieces", "tokens", "framing_tokens").fill_null(0),
        state=pl.when(there).then(pl.lit("present")).when("may_be_unrecorded").then(pl.lit("not recorded"))
        .otherwise(pl.lit("empty")),
    ).select("section", "state", "pieces", "tokens", "framing_tokens", "share", "share_tokens", "written_by", "left_out")  # fmt: skip


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
