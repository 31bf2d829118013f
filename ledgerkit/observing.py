"""What is observed of runs before they are compared: one row a run, its subagents counted in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.comparison.outcomes import run_states
from ledgerkit.comparison.schema import OBSERVATIONS
from ledgerkit.run_sets import LABELS, LINE, with_given_tasks

_ENDINGS: Final = """
    with said as (
        select session_id, run_id, sequence_no, kind, error_category, data from current_history
        where list_contains($runs, run_id) and (kind in ('ASSISTANT_RESPONSE', 'TOOL_CALL_REQUEST', 'VERIFIER_RESULT')
            or (kind = 'ERROR_EVENT' and error_category is distinct from 'unknown_record'))
    ), ends as (
        select session_id, run_id,
            coalesce(max(sequence_no) filter (kind in ('ASSISTANT_RESPONSE', 'TOOL_CALL_REQUEST')), -1) as spoke,
            max(sequence_no) filter (kind = 'ERROR_EVENT') as erred,
            arg_max(error_category, sequence_no) filter (kind = 'ERROR_EVENT') as category,
            arg_max(data->>'$.exit_status', sequence_no) filter (
                kind = 'VERIFIER_RESULT' and data->>'$.exit_status' is not null) as exit_status
        from said group by all
    )
    select session_id, run_id, if(erred > spoke, category, null) as broke_off, exit_status from ends order by all
"""
_VERIFIED: Final = """
    with checks as (
        select run_id, max(sequence_no) as checked from verifier_results
        where list_contains($runs, run_id) and scope is distinct from 'run' and superseded_by is null
            and verdict in ('passed', 'failed') group by all
    ), changes as (
        select run_id, max(sequence_no) as changed from file_changes where list_contains($runs, run_id) group by all
    )
    select run_id, checked >= coalesce(changed, -1) as is_verified from checks left join changes using (run_id)
    order by all
"""
_FACTS: Final = ("session_id", "run_id", "task_id", "title", "task", "repository", "branch", "agent", "agent_version")
_UNSUPPORTED: Final = ("unsupported", "stale")


@dataclass(frozen=True)
class Observer:
    """What a ledger answers about runs.

    Attributes:
        frame: Runs one of ledgerkit's own queries.
        runs: ``Ledger.runs``.
        claims: ``Ledger.check_claims`` of some runs.
        markers: ``Ledger.injection_markers`` of some runs.
    """

    frame: Callable[[str, dict[str, object]], pl.DataFrame]
    runs: Callable[[], pl.DataFrame]
    claims: Callable[[list[str]], pl.DataFrame]
    markers: Callable[[list[str]], pl.DataFrame]

    def observe(self, ids: tuple[str, ...]) -> pl.DataFrame:
        """Columns ``OBSERVATIONS``, by session and run; what is not recorded is null."""
        line = self.frame(LINE, {"runs": list(ids)})
        members = line["run_id"].unique().sort().to_list()
        if not members:
            return pl.DataFrame(schema=OBSERVATIONS)
        rows = self.runs().filter(pl.col("run_id").is_in(members)).join(line, on="run_id", how="inner")
        mine = rows.filter(pl.col("run_id") == pl.col("root"))
        labels = self.frame(LABELS, {})
        made = with_given_tasks(mine.select(*_FACTS, "outcome", model=pl.col("models").list.first()), labels)
        for part in (_amounts(rows), self._claims(members, line), self._markers(members, line)):
            made = made.join(part, left_on="run_id", right_on="root", how="left")
        made = made.join(self.frame(_VERIFIED, {"runs": list(ids)}), on="run_id", how="left")
        states = run_states(made, self.frame(_ENDINGS, {"runs": list(ids)}), _failures(labels))
        made = made.join(states, on=["session_id", "run_id"], how="left").with_columns(
            pl.col("claims", "unsupported_claims", "contradicted_claims", "injection_markers").fill_null(0),
            pl.col("is_verified").fill_null(value=False),
        )
        return made.select(pl.col(n).cast(t) for n, t in OBSERVATIONS.items()).sort("session_id", "run_id")

    def _claims(self, members: list[str], line: pl.DataFrame) -> pl.DataFrame:
        claims = self.claims(members).join(line.select("run_id", "root"), on="run_id", how="inner")
        verdict = pl.col("verdict")
        return claims.group_by("root").agg(
            claims=pl.len(),
            unsupported_claims=verdict.is_in(_UNSUPPORTED).sum(),
            contradicted_claims=(verdict == "contradicted").sum(),
        )

    def _markers(self, members: list[str], line: pl.DataFrame) -> pl.DataFrame:
        untrusted = pl.col("part_trust_level").str.ends_with("UNTRUSTED") | (pl.col("part_trust_level") == "UNKNOWN")
        found = self.markers(members).filter(pl.col("exposure") == "shown", untrusted)
        found = found.join(line.select("run_id", "root"), on="run_id", how="inner")
        return found.group_by("root").agg(injection_markers=pl.len())


def _failures(labels: pl.DataFrame) -> pl.DataFrame:
    return labels.filter(pl.col("name") == "failure").select("session_id", "run_id", failure="value")


def _amounts(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums over a run and its subagents; a cost only where every call has a price."""
    priced = (pl.col("unpriced_calls").fill_null(0).sum() == 0) & pl.col("cost").is_not_null().any()
    tokens = {
        name: pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())
        for name in ("input_tokens", "output_tokens")
    }
    return rows.group_by("root").agg(
        pl.col("started_at").min(),
        pl.col("finished_at").max(),
        pl.col("steps", "tool_calls", "failed_tool_calls").sum(),
        pl.col("unpriced_calls").fill_null(0).sum(),
        cost=pl.when(priced).then(pl.col("cost").cast(pl.Float64).sum()),
        subagents=pl.len() - 1,
        **tokens,
    )
