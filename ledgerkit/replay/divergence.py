"""Where two runs of a task, or two strategies on one run, part for the first time.

One rule: what was done is compared, not how it was worded. Deeds are tool calls (tool and arguments) and what they gave
(content); what the model said stands beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import polars as pl

from ledgerkit.strategies import Projection, RunFrames


class Parting(StrEnum):
    """What differed first."""

    NOTHING = "nothing"
    """The runs did the same to the end."""
    TASK = "task"
    """They were asked for something else."""
    TOOL = "tool"
    """They called another tool."""
    ARGUMENTS = "arguments"
    """They called the same tool with other arguments."""
    RESULT = "result"
    """The same call gave something else."""
    END = "end"
    """One had ended where the other went on."""


@dataclass(frozen=True)
class Divergence:
    """Where two runs part.

    Attributes:
        what: What differed first.
        same: How many deeds they share up to there.
        a: The first run's deed: ``step``, ``sequence_no``, ``message_id``, ``tool_name``, ``text``; ``None`` if it had
            ended.
        b: The second run's.
    """

    what: Parting
    same: int
    a: dict[str, Any] | None
    b: dict[str, Any] | None

    @property
    def sentence(self) -> str:
        """It in words."""
        if self.what is Parting.NOTHING:
            return f"Both runs did the same: {self.same} deeds."
        told = [_told(one) for one in (self.a, self.b)]
        return f"After {self.same} deeds that are the same: {_WORDS[self.what]} ({told[0]}; {told[1]})."


_WORDS: Final = {
    Parting.TASK: "they were asked for something else",
    Parting.TOOL: "they called different tools",
    Parting.ARGUMENTS: "they called one tool with different arguments",
    Parting.RESULT: "one call gave different results",
    Parting.END: "one of them had ended",
}
_SHOWN: Final = ("step", "sequence_no", "message_id", "tool_name", "text")


def deeds(parts: pl.DataFrame) -> pl.DataFrame:
    """What a run was asked, called and was given, in order.

    Args:
        parts: Its rows of the ``parts`` view.

    Returns:
        ``role`` (``asked``, ``called`` or ``given``), ``key`` (equal for equal deeds of one ledger), ``step``,
        ``sequence_no``, ``message_id``, ``tool_name``, ``text``. A call is followed by what it gave, however late that
        came.
    """
    is_call = pl.col("part_type") == "tool_call"
    is_given = pl.col("tool_call_id").is_not_null() & ~is_call & (pl.col("part_type") == "tool_result")
    is_asked = (pl.col("kind") == "USER_TASK") & pl.col("tool_call_id").is_null() & pl.col("text").is_not_null()
    rows = parts.filter(is_call | is_given | is_asked).sort("sequence_no", "part_index")
    key = pl.when(is_call).then(pl.coalesce("arguments_hash", "content_id")).otherwise("content_id")
    called_at = pl.col("sequence_no").min().over("tool_call_id")
    return (
        rows.with_columns(
            role=pl.when(is_call)
            .then(pl.lit("called"))
            .when(is_asked)
            .then(pl.lit("asked"))
            .otherwise(pl.lit("given")),
            key=key,
            place=pl.when(pl.col("tool_call_id").is_null()).then(pl.col("sequence_no")).otherwise(called_at),
            text=pl.coalesce("text", "data"),
        )
        .sort("place", "tool_call_id", "sequence_no", "part_index", nulls_last=False)
        .select("role", "key", *_SHOWN)
    )


def first_divergence(a: pl.DataFrame, b: pl.DataFrame) -> Divergence:
    """Where two runs part.

    Args:
        a: Rows of the ``parts`` view of one run.
        b: Rows of the other.
    """
    first, second = deeds(a), deeds(b)
    both = min(first.height, second.height)
    same = (
        (first["role"][:both] == second["role"][:both])
        & first["key"][:both].eq_missing(second["key"][:both])
        & first["tool_name"][:both].eq_missing(second["tool_name"][:both])
    )
    at = int(same.arg_min() or 0) if both and not same.all() else both
    one = first.row(at, named=True) if at < first.height else None
    other = second.row(at, named=True) if at < second.height else None
    if one is None and other is None:
        return Divergence(Parting.NOTHING, at, None, None)
    return Divergence(_what(one, other), at, _shown(one), _shown(other))


def _what(one: dict[str, Any] | None, other: dict[str, Any] | None) -> Parting:
    if one is None or other is None or one["role"] != other["role"]:
        return Parting.END
    if one["role"] == "asked":
        return Parting.TASK
    if one["tool_name"] != other["tool_name"]:
        return Parting.TOOL
    return Parting.ARGUMENTS if one["role"] == "called" else Parting.RESULT


def _shown(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {name: row[name] for name in _SHOWN}


def _told(row: dict[str, Any] | None) -> str:
    if row is None:
        return "ended"
    return f"step {row['step']}, message {row['sequence_no']}, {row['tool_name'] or 'a prompt'}"


def first_difference(frames: RunFrames, a: Projection, b: Projection) -> pl.DataFrame:
    """The first step of each run whose context two strategies fill differently.

    Args:
        frames: Steps and parts of some runs.
        a: One strategy's answer.
        b: The other's.

    Returns:
        One row per run that has one: ``session_id``, ``run_id``, ``step``, ``only_a`` and ``only_b`` (placements that
        only one of them has there), ``tokens_a`` and ``tokens_b`` of the contexts.
    """
    keys = ["run", "part", "rendition"]
    steps = ["from_step", "to_step"]
    left, right = (
        one.placements.filter(pl.col("from_step") < pl.col("to_step")).sort(*keys, *steps).select(*keys, *steps)
        for one in (a, b)
    )
    edges = pl.concat([left.with_columns(of=pl.lit(1)), right.with_columns(of=pl.lit(-1))])
    # Where the two have the same parts in the same renditions, what begins and ends in them cancels out.
    changes = pl.concat(
        [edges.select(*keys, "of", step="from_step"), edges.select(*keys, step="to_step", of=-pl.col("of"))],
        how="diagonal",
    )
    open_now = changes.group_by(*keys, "step").agg(pl.col("of").sum()).filter(pl.col("of") != 0)
    first = open_now.group_by("run").agg(step=pl.col("step").min())
    rows = [_there(frames, a, b, run, step) for run, step in first.sort("run").iter_rows()]
    schema = {
        "session_id": pl.String(), "run_id": pl.String(), "step": pl.Int32(), "only_a": pl.Int64(),
        "only_b": pl.Int64(), "tokens_a": pl.Int64(), "tokens_b": pl.Int64(),
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema)


def _there(frames: RunFrames, a: Projection, b: Projection, run: int, step: int) -> dict[str, Any]:
    one, other = (frames.context(projection.placements, run, step) for projection in (a, b))
    keys = ["part", "rendition"]
    ids = frames.runs.filter(run=run).row(0, named=True)
    return {
        "session_id": ids["session_id"],
        "run_id": ids["run_id"],
        "step": step,
        "only_a": one.join(other, on=keys, how="anti").height,
        "only_b": other.join(one, on=keys, how="anti").height,
        "tokens_a": int(one["tokens"].sum()),
        "tokens_b": int(other["tokens"].sum()),
    }
