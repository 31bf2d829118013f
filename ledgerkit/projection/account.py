"""The account of a context: every part of the ledger up to its step is in, or out for one named reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import polars as pl

from ledgerkit.projection.pieces import Piece
from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.strategies.eligibility import Absence
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.placements import RENDITIONS, SECTIONS


class Left(StrEnum):
    """Why a part that a context may hold does not stand in it. Parts that none may hold say so themselves."""

    COMPACTED = "compacted"
    """The recorded run took it out of its context."""
    BY_STRATEGY = "left_out_by_strategy"
    """The strategy took it out, or never let it in."""
    OVER_BUDGET = "over_budget"
    """Its section had no room for it."""


ACCOUNT: Final = pl.Schema(
    {
        "message_id": pl.String(),
        "part_index": pl.Int32(),
        "sequence_no": pl.Int64(),
        "kind": pl.String(),
        "part_type": pl.String(),
        "trust_level": pl.String(),
        "tool_name": pl.String(),
        "section": SECTIONS,
        "rendition": RENDITIONS,
        "position": pl.Int32(),
        "part_tokens": pl.Int64(),
        "tokens": pl.Int64(),
        "rendered_tokens": pl.Int64(),
        "framing_tokens": pl.Int64(),
        "neutralised": pl.Int64(),
        "reason": pl.String(),
    }
)
"""Columns of an account: the part, where it stands and how, its tokens in full, as its strategy placed it and as it was
rendered, those of its tags, characters that were neutralised; or the reason why it is out."""


def account(
    frames: RunFrames,
    step: int,
    pieces: Sequence[Piece],
    sizes: Sequence[tuple[int, int]],
    *,
    without_budget: frozenset[int],
    follows_recorded: bool,
) -> pl.DataFrame:
    """One row per part that the ledger holds up to a step, in order.

    Args:
        frames: Frames of the run.
        step: The step.
        pieces: What stands in the context.
        sizes: Rendered tokens and tokens of the tags of each piece.
        without_budget: Parts that the strategy alone would have placed at this step.
        follows_recorded: Whether the strategy follows recorded compactions.
    """
    is_in = {piece.part for piece in pieces}
    there = [_placed(piece, *size) for piece, size in zip(pieces, sizes, strict=True) if (piece.part or 0) >= 0]
    placed = pl.DataFrame(there, schema=_PLACED)
    is_later = (pl.col("absence") == Absence.AFTER_LAST_STEP.value).fill_null(value=False)
    is_later = (pl.col("absence") == Absence.AFTER_LAST_STEP.value).fill_null(value=False)
    known = frames.parts.filter(pl.col("visible_from") <= step, ~is_later)
    reasons = [
        _reason(row, is_in, without_budget, step, follows_recorded=follows_recorded)
        for row in known.select("part", "absence", "ends_at").iter_rows(named=True)
    ]
    return (
        known.drop("section", "position")
        .rename({"tokens": "part_tokens"})
        .with_columns(reason=pl.Series(reasons, dtype=pl.String()))
        .join(placed, on="part", how="left", maintain_order="left")
        .select(*ACCOUNT)
        .cast(ACCOUNT)
    )


def reasons_of(account: pl.DataFrame) -> pl.DataFrame:
    """How many parts, and how many tokens, are out for which reason: ``reason``, ``parts``, ``tokens``."""
    return (
        account.filter(pl.col("reason").is_not_null())
        .group_by("reason")
        .agg(pl.len().cast(pl.Int64).alias("parts"), pl.col("part_tokens").sum().alias("tokens"))
        .sort("reason")
    )


_PLACED: Final = {
    "part": pl.Int64(),
    "section": SECTIONS,
    "rendition": RENDITIONS,
    "position": pl.Int32(),
    "tokens": pl.Int64(),
    "rendered_tokens": pl.Int64(),
    "framing_tokens": pl.Int64(),
    "neutralised": pl.Int64(),
}


def _placed(piece: Piece, rendered: int, framing: int) -> dict[str, Any]:
    return {
        "part": piece.part,
        "section": piece.section.value,
        "rendition": piece.rendition.value,
        "position": piece.position,
        "tokens": piece.predicted,
        "rendered_tokens": rendered,
        "framing_tokens": framing,
        "neutralised": piece.edits,
    }


def _reason(
    row: Mapping[str, Any], is_in: set[int | None], without_budget: frozenset[int], step: int, *, follows_recorded: bool
) -> str | None:
    if row["part"] in is_in:
        return None
    if row["absence"] is not None:
        return str(row["absence"])
    if row["part"] in without_budget:
        return Left.OVER_BUDGET.value
    if follows_recorded and row["ends_at"] is not None and row["ends_at"] <= step:
        return Left.COMPACTED.value
    return Left.BY_STRATEGY.value


QUESTIONS: Final = (
    "which instructions are in",
    "how much of the history is in",
    "which tools are shown",
    "which files are shown",
    "which changes are shown",
    "which verifier errors are shown",
    "what is hidden, and why",
    "must the answer have a form",
)
"""The eight questions of specification §12, which every context answers."""


def answers(
    account: pl.DataFrame,
    pieces: Sequence[Piece],
    tools: pl.DataFrame,
    contract: str | None,
) -> pl.DataFrame:
    """The eight questions of specification §12 and their answers: ``question``, ``answer``, ``refs``.

    Args:
        account: The account of the parts.
        pieces: What stands in the context.
        tools: The account of the tools.
        contract: Name of the response contract, if there is one.
    """
    there = account.filter(pl.col("reason").is_null())
    out = reasons_of(account)
    instructing = [piece for piece in pieces if piece.form.value == "instruction"]
    files = there.filter(pl.col("kind") == "FILE_OBSERVATION")
    diffs = there.filter(pl.col("kind") == "DIFF_OBSERVATION")
    checks = there.filter(pl.col("kind") == "VERIFIER_RESULT")
    full = there.filter(pl.col("rendition") == Rendition.FULL.value)
    shown = tools.filter("is_declared")["tool"].to_list()
    said = [
        _counted(len(instructing), "instruction")
        + _in_brackets(sorted({piece.section.value for piece in instructing})),
        f"{there.height} of {account.height} parts, {full.height} of them in full",
        _counted(len(shown), "tool") + _in_brackets(shown) if tools.height else "not recorded",
        _counted(files.height, "part"),
        _counted(diffs.height, "part"),
        _counted(checks.height, "part"),
        "; ".join(f"{row['parts']} {row['reason'].replace('_', ' ')}" for row in out.iter_rows(named=True))
        or "nothing",
        contract or "no: free text",
    ]
    refs = [
        _refs(pl.Series([piece.message_id for piece in instructing], dtype=pl.String).drop_nulls()),
        [], [], *(_refs(frame["message_id"]) for frame in (files, diffs, checks)), [], [],
    ]  # fmt: skip
    schema = {"question": pl.String(), "answer": pl.String(), "refs": pl.List(pl.String())}
    return pl.DataFrame({"question": list(QUESTIONS), "answer": said, "refs": refs}, schema=schema)


def _refs(message_ids: pl.Series) -> list[str]:
    return [f"message:{one}" for one in message_ids.unique(maintain_order=True)]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else f"no {what}s"


def _in_brackets(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
