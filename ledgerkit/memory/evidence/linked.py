"""Evidence of other runs: what a subagent did counts for the run that called it, once its result came back."""

from __future__ import annotations

from typing import Final

import polars as pl

RUN: Final = ["session_id", "run_id"]
LINK_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "linked_session_id": pl.String,
    "linked_run_id": pl.String,
    "came_back_at": pl.Int64,
}
"""A run, one whose evidence counts in it, and the sequence number of the result by which that came back."""


def closed_links(links: pl.DataFrame) -> pl.DataFrame:
    """Links with those over several runs: what a subagent of a subagent did came back with the former."""
    found = step = links.select(LINK_SCHEMA.keys()).unique(maintain_order=True)
    inner = links.select(
        *(pl.col(name).alias(f"linked_{name}") for name in RUN),
        next_session_id="linked_session_id",
        next_run_id="linked_run_id",
    )
    while step.height:
        further = step.join(inner, on=["linked_session_id", "linked_run_id"], how="inner").select(
            *RUN, "came_back_at", linked_session_id="next_session_id", linked_run_id="next_run_id"
        )
        step = further.join(found, on=[*RUN, "linked_session_id", "linked_run_id"], how="anti").select(
            LINK_SCHEMA.keys()
        )
        found = pl.concat([found, step.unique(maintain_order=True)])
    return found.unique(maintain_order=True)


def with_linked(checks: pl.DataFrame, changes: pl.DataFrame, links: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Checks and changes, with those of linked runs as if they had happened where their result came back.

    Of several results of one check in a linked run the last counts. One that was followed by changes of code in that
    run proves nothing any more.

    Args:
        checks: As ``checks_frame`` gives them.
        changes: As ``changes_frame`` gives them.
        links: Columns of ``LINK_SCHEMA``.
    """
    closed = closed_links(links)
    last_change = (
        changes.filter(~pl.col("is_doc"), pl.col("is_ok").fill_null(value=True))
        .group_by(RUN)
        .agg(changed_at=pl.col("seen_at").max())
    )
    last = (
        checks.sort("seen_at", "check_id")
        .unique([*RUN, "kind", "tool", "check_scope"], keep="last", maintain_order=True)
        .join(last_change, on=RUN, how="left", maintain_order="left")
    )
    is_old = (pl.col("changed_at") > pl.col("seen_at")).fill_null(value=False) & (pl.col("verdict") == "passed")
    judged = last.with_columns(
        verdict=pl.when(is_old).then(pl.lit("inconclusive")).otherwise("verdict"),
        reason=pl.when(is_old).then(pl.lit("the subagent changed files after it")).otherwise("reason"),
    )
    first = checks.height
    lifted = _lifted(judged, checks.columns, closed).with_columns(
        check_id=(first + pl.int_range(pl.len())).cast(checks.schema["check_id"])
    )
    order = ["session_id", "run_id", "seen_at"]
    return (
        pl.concat([checks, lifted]).sort(*order, "check_id"),
        pl.concat([changes, _lifted(changes, changes.columns, closed)]).sort(*order, "path", "change", "tool_call_id"),
    )


def _lifted(rows: pl.DataFrame, columns: list[str], links: pl.DataFrame) -> pl.DataFrame:
    linked = links.join(
        rows.rename({"session_id": "linked_session_id", "run_id": "linked_run_id"}),
        on=["linked_session_id", "linked_run_id"],
        how="inner",
        maintain_order="left_right",
    )
    return linked.with_columns(seen_at=pl.col("came_back_at").cast(rows.schema["seen_at"])).select(columns)
