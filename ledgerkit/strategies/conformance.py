"""What every strategy has to keep, as a check that a strategy of your own can use in its tests.

Example:
    >>> from ledgerkit.strategies import LastObservations
    >>> check_strategy(LastObservations(2))
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.parts import run_frames
from ledgerkit.strategies.placements import Projection
from ledgerkit.strategies.strategy import Strategy, project


class Rule(StrEnum):
    """What is checked."""

    BOUNDS = "bounds"
    """A placement begins before it ends, and ends with its run at the latest."""
    FUTURE = "future"
    """Nothing stands in a step before it was visible."""
    ALLOWLIST = "allowlist"
    """Only eligible parts stand in a context, and summaries that the strategy made."""
    PLACE = "place"
    """Two placements of a run never share a position at a step, and no part stands twice."""
    UNIT = "unit"
    """A tool call stands with all its results that have come, or none of it stands."""
    PINNED = "pinned"
    """Pinned parts stand in every context from their first step on."""
    TOKENS = "tokens"
    """Tokens are not below 0, and those of a part in full are the part's."""
    CHANGE = "change"
    """What does not change is one row: two that follow each other differ."""


def violations(frames: RunFrames, projection: Projection) -> pl.DataFrame:
    """Where an answer breaks a rule.

    It makes a row per part and step: use it on frames of moderate size.

    Returns:
        ``rule``, ``run_id``, ``position``, ``step``; none if every rule is kept.
    """
    placed = projection.placements.join(frames.runs.select("run", "run_id", "steps"), on="run", how="left")
    known = frames.parts.select(
        "part", "unit", "visible_from", "is_eligible", "is_pinned", full_tokens=pl.col("tokens")
    )
    placed = placed.join(known, on="part", how="left")
    step = pl.col("from_step").alias("step")
    is_part = pl.col("part") >= 0
    spans = (pl.col("from_step") < pl.col("to_step")) & (pl.col("to_step") <= pl.col("steps"))
    found = {
        Rule.BOUNDS: placed.filter(~(spans & (pl.col("from_step") >= 0)).fill_null(value=False)),
        Rule.FUTURE: placed.filter(is_part, pl.col("from_step") < pl.col("visible_from")),
        Rule.ALLOWLIST: placed.filter(is_part, ~pl.col("is_eligible").fill_null(value=False)),
        Rule.TOKENS: placed.filter(
            (pl.col("tokens") < 0)
            | (is_part & (pl.col("rendition") == "full") & (pl.col("tokens") != pl.col("full_tokens")))
        ),
        Rule.CHANGE: _unchanged(placed),
    }
    rows = [_rows(rule, table.with_columns(step)) for rule, table in found.items()]
    by_step = placed.filter(spans).with_columns(step=pl.int_ranges("from_step", "to_step")).explode("step")
    rows += [
        _rows(Rule.PLACE, by_step.filter(pl.struct("run", "step", "position").is_duplicated())),
        _rows(Rule.PLACE, by_step.filter(pl.struct("run", "step", "part").is_duplicated())),
        _rows(Rule.UNIT, _missing(frames, by_step, of_units=True)),
        _rows(Rule.PINNED, _missing(frames, by_step, of_units=False)),
    ]
    return pl.concat(rows).unique().sort("rule", "run_id", "step", "position")


def check_strategy(strategy: Strategy, frames: RunFrames | None = None) -> None:
    """Checks a strategy on some runs.

    Args:
        strategy: The strategy.
        frames: Steps and parts; a few small runs that have everything difficult in them, if not given.

    Raises:
        StrategyError: If it breaks a rule, or gives two answers to one question; says which and where.
    """
    runs = frames if frames is not None else difficult_runs()
    answer = project(runs, strategy)
    again = project(runs, strategy)
    if not answer.placements.equals(again.placements) or not answer.calls.equals(again.calls):
        raise StrategyError(f"{strategy.label} gives two answers to one question.")
    broken = violations(runs, answer)
    if broken.height:
        rule, run_id, position, step = broken.row(0)
        raise StrategyError(
            f"{strategy.label} breaks the rule {rule!r} at step {step} of run {run_id!r}, position {position} "
            f"({broken.height} places in all): {_SAYS[Rule(rule)]}."
        )


def difficult_runs() -> RunFrames:
    """A few small runs: parallel calls, results late, twice, never or without a call, pinned and hidden parts."""
    parts = pl.DataFrame(_DIFFICULT, schema=_DIFFICULT_COLUMNS, orient="row")
    place = pl.int_range(pl.len()).over("run_id")
    named = parts.with_columns(
        session_id=pl.lit("s"),
        message_id=pl.format("{}-{}", "run_id", place),
        part_index=pl.lit(0),
        sequence_no=place,
        part_trust_level=pl.lit("REPOSITORY_UNTRUSTED"),
        step=(pl.col("visible_from") - 1).clip(0),
        lines=pl.col("token_count") // 10 + 1,
        characters=pl.col("token_count") * 4,
        has_content=pl.lit(value=True),
        part_type=pl.when(pl.col("kind") == "TOOL_CALL_REQUEST").then(pl.lit("tool_call")).otherwise(pl.lit("text")),
    )
    calls = parts.group_by("run_id").agg(last=pl.col("visible_from").max()).sort("run_id")
    steps = calls.select("run_id", session_id=pl.lit("s"), step=pl.int_ranges(0, pl.col("last") + 1)).explode("step")
    return run_frames(named, steps, lambda rows, keep: rows["characters"].clip(0, 2 * keep) // 4 + 1)


_SAYS: Final = {
    Rule.BOUNDS: "a placement begins before it ends, within its run",
    Rule.FUTURE: "nothing stands in a step before it was visible",
    Rule.ALLOWLIST: "only eligible parts stand in a context",
    Rule.PLACE: "no two placements share a position at a step, and no part stands twice",
    Rule.UNIT: "a tool call stands with all its results, or none of it stands",
    Rule.PINNED: "pinned parts stand in every context",
    Rule.TOKENS: "tokens of a part in full are the part's",
    Rule.CHANGE: "two placements that follow each other differ (merge_equal joins them)",
}
_DIFFICULT_COLUMNS: Final = ["run_id", "kind", "visible_from", "token_count", "tool_call_id", "part_visibility"]
_SEEN, _HIDDEN = "MODEL_VISIBLE", "AUDIT_ONLY"
_DIFFICULT: Final = [
    ("a", "SYSTEM_INSTRUCTION", 0, 400, None, _SEEN),
    ("a", "USER_TASK", 0, 60, None, _SEEN),
    *(
        row
        for n in range(1, 25)
        for row in (
            ("a", "ASSISTANT_RESPONSE", n, 40 + n, None, _SEEN),
            ("a", "TOOL_CALL_REQUEST", n, 30, f"c{n}", _SEEN),
            ("a", "TOOL_CALL_RESULT", n, 50 * n % 700 * 20, f"c{n}", _SEEN),
            ("a", "RUN_SUMMARY", n, 500, None, _HIDDEN),
        )
    ),
    ("b", "USER_TASK", 0, 0, None, _SEEN),
    *(
        row
        for n in range(1, 13)
        for row in (
            ("b", "TOOL_CALL_REQUEST", n, 20, f"x{n}", _SEEN),
            ("b", "TOOL_CALL_REQUEST", n, 20, f"y{n}", _SEEN),
            ("b", "TOOL_CALL_RESULT", n, 900, f"y{n}", _SEEN),
            ("b", "FILE_OBSERVATION", n, 2500, f"x{n - 3 if n > 3 else 0}", _SEEN),  # late, and one without a call
            ("b", "TOOL_CALL_RESULT", n, 70, f"y{n}", _SEEN),
            ("b", "ERROR_EVENT", n, 90, None, _SEEN),
        )
    ),
    ("c", "ASSISTANT_RESPONSE", 0, 5, None, _SEEN),
]


def _rows(rule: Rule, table: pl.DataFrame) -> pl.DataFrame:
    return table.select(
        rule=pl.lit(rule.value),
        run_id="run_id",
        position=pl.col("position").cast(pl.Int32),
        step=pl.col("step").cast(pl.Int32),
    )


def _unchanged(placed: pl.DataFrame) -> pl.DataFrame:
    same = ("run", "position", "part", "rendition", "section", "tokens")
    rows = placed.sort("run", "position", "from_step")
    repeats = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in same)
    return rows.filter((repeats & (pl.col("from_step") == pl.col("to_step").shift())).fill_null(value=False))


def _missing(frames: RunFrames, by_step: pl.DataFrame, *, of_units: bool) -> pl.DataFrame:
    """Parts that have to stand at a step, because they are pinned or others of their unit do, and do not."""
    parts = frames.parts.filter("is_eligible")
    if of_units:
        standing = by_step.filter(pl.col("part") >= 0).select("run", "unit", "step").unique()
        asked = standing.join(parts.filter(~pl.col("is_pinned")), on=["run", "unit"])
    else:
        steps = frames.steps.select("run", "step").with_columns(pl.col("step").cast(pl.Int64))
        asked = parts.filter("is_pinned").drop("step").join(steps, on="run")
    there = by_step.select("run", "part", "step")
    gone = asked.filter(pl.col("visible_from") <= pl.col("step")).join(there, on=["run", "part", "step"], how="anti")
    return gone.join(frames.runs.select("run", "run_id"), on="run")
