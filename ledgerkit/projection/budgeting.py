"""Fitting a context to its budget: written sections and boundaries count like everything else.

One rule: what is written for the context becomes rows that stand in every step, and boundaries become tokens of the
parts that they enclose; then the section budgets decide about all of it together, and nothing overflows unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from ledgerkit.errors import ContextError
from ledgerkit.projection.written import COUNT, Written
from ledgerkit.protocol.budget import BudgetName, TokenBudget
from ledgerkit.strategies import RunFrames, SectionBudgets, Strategy, project
from ledgerkit.strategies.frames import PART_COLUMNS, Excerpts

_MOST_ROUNDS: Final = 32
"""How often a budget is drawn tighter; each round takes off all that was too much."""


def room_for(
    written: Sequence[Written], budget: TokenBudget, frame_tokens: int, count: COUNT
) -> tuple[list[Written], list[Written]]:
    """Written sections that fit, those that may be cut to their shares; and those of which nothing fits, emptied.

    Args:
        written: The sections.
        budget: The shares.
        frame_tokens: Tokens of the tags around one section, at most.
        count: Counts tokens.
    """
    kept, absent = list[Written](), list[Written]()
    left = budget.allotment()
    for one in written:
        share = budget.share_of(one.section)
        if one.is_mandatory:
            kept.append(one)
            continue
        cut = None if share is None else one.within(left[share.name] - frame_tokens, count)
        if cut is None or share is None:
            absent.append(replace(one, lines=(), left_out=len(one.lines)))
            continue
        left[share.name] -= count([cut.text])[0] + frame_tokens
        kept.append(cut)
    return kept, absent


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
    excerpts = None if frames.count_excerpts is None else _framed(frames.count_excerpts, framing, shift)
    return replace(frames, parts=pl.concat([head, moved.select(head.columns)]).rechunk(), count_excerpts=excerpts)


def _framed(count: Excerpts, framing: Mapping[int, int], shift: int) -> Excerpts:
    def framed(rows: pl.DataFrame, keep: int) -> pl.Series:
        tags = pl.Series([framing.get(part - shift, 0) for part in rows["part"].to_list()], dtype=pl.Int64)
        return count(rows, keep) + tags

    return framed


def _row(number: int, one: Written, tokens: int) -> dict[str, object]:
    given = {
        "run": 0, "part": number, "message_id": None, "part_index": None, "sequence_no": -1, "kind": "",
        "part_type": "", "trust_level": one.trust_level.value, "tool_name": None, "step": None,
        "visible_from": 0, "position": number, "unit": number, "is_result": False, "is_pinned": True,
        "section": one.section.value, "tokens": tokens, "reference_tokens": tokens, "characters": len(one.text),
        "is_counted": True, "is_eligible": True, "absence": None, "ends_at": None,
    }  # fmt: skip
    return {name: given[name] for name in PART_COLUMNS}


def standing_within(frames: RunFrames, strategy: Strategy, budget: TokenBudget, step: int) -> pl.DataFrame:
    """What stands at a step. What is pinned beyond its share leaves the others less, until all of it fits.

    Args:
        frames: Frames of one run, written sections among its parts.
        strategy: What stands where, before the budget.
        budget: The shares.
        step: The step.

    Raises:
        ContextError: If what must stand whole does not fit.
    """
    most = budget.context_window - budget.tokens(BudgetName.ANSWER)
    taken = 0
    for _ in range(_MOST_ROUNDS):
        tighter = budget.model_copy(update={"context_window": budget.context_window - taken})
        placements = project(frames, strategy | SectionBudgets(tighter)).placements
        standing = frames.context(placements, 0, step)
        excess = int(standing["tokens"].sum()) - most
        if excess <= 0:
            return standing
        taken += excess
        if taken >= budget.context_window:
            break
    raise ContextError(
        f"What must stand whole does not fit: a window of {budget.context_window} tokens has {most} before the answer. "
        "Give a larger window, or supply less."
    )
