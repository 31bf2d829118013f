"""From rows of the ledger's views to the steps and parts that strategies take, lazily, for any number of runs."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.strategies import eligibility, recorded
from ledgerkit.strategies.frames import PART_COLUMNS, Excerpts, RunFrames

_REFERENCE_TOKENS: Final = 9
"""Tokens of a reference but for its numbers: ``[message N: M lines left out]``."""

_GIVEN: Final[dict[str, pl.DataType]] = {
    "session_id": pl.String(),
    "run_id": pl.String(),
    "inherited": pl.Int32(),
    "message_id": pl.String(),
    "part_index": pl.Int32(),
    "sequence_no": pl.Int64(),
    "source_record": pl.String(),
    "kind": pl.String(),
    "part_type": pl.String(),
    "part_trust_level": pl.String(),
    "part_visibility": pl.String(),
    "tool_call_id": pl.String(),
    "tool_name": pl.String(),
    "step": pl.Int32(),
    "visible_from": pl.Int32(),
    "token_count": pl.Int64(),
    "lines": pl.Int64(),
    "characters": pl.Int64(),
    "has_content": pl.Boolean(),
    "is_restricted": pl.Boolean(),
    "erased": pl.String(),
    "compaction": pl.String(),
}
_CALLS: Final[dict[str, pl.DataType]] = {
    "session_id": pl.String(),
    "run_id": pl.String(),
    "step": pl.Int32(),
    "created_at": pl.Datetime("us", "UTC"),
    "model": pl.String(),
    "provider": pl.String(),
    "service_tier": pl.String(),
    "output_tokens": pl.Int64(),
}


def run_frames(parts: pl.DataFrame, calls: pl.DataFrame, count_excerpts: Excerpts | None = None) -> RunFrames:
    """The frames of some runs.

    Args:
        parts: Rows of the ``parts`` view: ``session_id``, ``run_id``, ``message_id``, ``part_index``, ``sequence_no``,
            ``kind``, ``part_type``, ``part_trust_level``, ``part_visibility``, ``tool_call_id``, ``tool_name``,
            ``step``, ``visible_from``, ``token_count``; and, where given, ``inherited`` (how far up the line of runs
            that a run branched off from the part stands; 0 for its own), ``source_record``, ``lines`` and
            ``characters`` of the
            text (or ``text``), ``has_content``, ``is_restricted`` (an artifact of it is), ``erased``, and
            ``compaction``: what a record of a compaction says (see ``recorded``).
        calls: Rows of the ``model_calls`` view; only those with a step are steps.
        count_excerpts: Counts tokens of excerpts, for ``HeadTail``.

    Returns:
        The frames. Runs without a step are left out.
    """
    steps = _steps(_typed(calls.lazy(), _CALLS)).collect()
    runs = _runs(steps)
    numbered = recorded.with_ends(context_parts(_with_defaults(parts.lazy()), runs.lazy()).collect())
    return RunFrames(
        runs, _dense(steps, runs), numbered.select(*PART_COLUMNS).cast(PART_COLUMNS).rechunk(), count_excerpts
    )


def context_parts(parts: pl.LazyFrame, runs: pl.LazyFrame) -> pl.LazyFrame:
    """One row per part of some runs, as ``RunFrames.parts`` has them, but for ``ends_at``.

    Args:
        parts: Columns as given to ``run_frames``, all of them.
        runs: ``run``, ``session_id``, ``run_id``, ``steps``.
    """
    ordered = (
        parts.join(runs.rename({"steps": "run_steps"}), on=["session_id", "run_id"], how="inner")
        .sort("run", -pl.col("inherited"), "sequence_no", "part_index")
        .with_columns(
            position=pl.int_range(pl.len(), dtype=pl.Int32).over("run"),
            entered=pl.col("visible_from"),
            visible_from=pl.when(pl.col("inherited") > 0).then(0).otherwise("visible_from").cast(pl.Int32),
            is_result=pl.col("tool_call_id").is_not_null() & (pl.col("part_type") != "tool_call"),
        )
        .with_row_index("part")
    )
    call = pl.when(pl.col("tool_call_id").is_null()).then(pl.col("position")).otherwise(None)
    return (
        ordered.with_columns(unit=pl.coalesce(call, pl.col("position").min().over("run", "tool_call_id")))
        .with_columns(
            absence=eligibility.absence(),
            is_pinned=eligibility.is_pinned(),
            is_counted=pl.col("token_count").is_not_null(),
            tokens=pl.col("token_count").fill_null(0),
        )
        .with_columns(
            section=eligibility.section(),
            is_eligible=pl.col("absence").is_null(),
            reference_tokens=pl.min_horizontal("tokens", _reference_tokens()),
            trust_level=pl.col("part_trust_level"),
        )
    )


def reference_text(sequence_no: int, lines: int) -> str:
    """What stands in place of a part that is left out: where it is, and how long it was.

    Example:
        >>> reference_text(12, 340)
        '[message 12: 340 lines left out]'
    """
    return f"[message {sequence_no}: {lines} lines left out]"


def _reference_tokens() -> pl.Expr:
    """Tokens of ``reference_text``: the vocabularies cut numbers into groups of up to three digits."""
    numbers = (pl.col("sequence_no"), pl.col("lines"))
    groups = [(number.cast(pl.String).str.len_chars().cast(pl.Int64) + 2) // 3 for number in numbers]
    return pl.lit(_REFERENCE_TOKENS, pl.Int64) + pl.sum_horizontal(groups)


def _with_defaults(parts: pl.LazyFrame) -> pl.LazyFrame:
    names = parts.collect_schema().names()
    text = pl.col("text") if "text" in names else pl.lit(None, pl.String)
    held = [pl.col(name).is_not_null() for name in ("text", "data") if name in names]
    held += [pl.col("artifact_refs").list.len() > 0] if "artifact_refs" in names else []
    counted = (pl.col("token_count") > 0,)
    defaults = {
        "inherited": pl.lit(0),
        "lines": text.str.count_matches("\n", literal=True).cast(pl.Int64) + 1,
        "characters": text.str.len_chars(),
        "has_content": pl.any_horizontal(*held, *counted),
        "is_restricted": pl.lit(value=False),
    }
    missing = {name: expr.alias(name) for name, expr in defaults.items() if name not in names}
    typed = _typed(parts.with_columns(*missing.values()), _GIVEN)
    return typed.with_columns(pl.col("lines", "characters").fill_null(0))


def _typed(frame: pl.LazyFrame, columns: dict[str, pl.DataType]) -> pl.LazyFrame:
    names = frame.collect_schema().names()
    return frame.select(
        (pl.col(name) if name in names else pl.lit(None)).cast(dtype).alias(name) for name, dtype in columns.items()
    )


def _steps(calls: pl.LazyFrame) -> pl.LazyFrame:
    named = calls.filter(pl.col("step").is_not_null()).sort("session_id", "run_id", "step", "created_at")
    return named.unique(["session_id", "run_id", "step"], keep="first", maintain_order=True)


def _runs(steps: pl.DataFrame) -> pl.DataFrame:
    return (
        steps.group_by("session_id", "run_id")
        .agg(steps=(pl.col("step").max() + 1).cast(pl.Int32))
        .sort("session_id", "run_id")
        .with_row_index("run")
        .select("run", "session_id", "run_id", "steps")
    )


def _dense(steps: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """One row per step, also where the record of one is missing."""
    every = runs.select("run", "session_id", "run_id", step=pl.int_ranges(pl.col("steps"), dtype=pl.Int32)).explode(
        "step"
    )
    joined = every.join(steps, on=["session_id", "run_id", "step"], how="left", maintain_order="left")
    return joined.drop("session_id", "run_id")
