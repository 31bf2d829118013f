"""The columns of what goes in and comes out, declared once."""

from __future__ import annotations

from typing import Final

import polars as pl

_TEXT, _INT, _REAL, _FLAG, _TIME = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean(), pl.Datetime("us", "UTC")

OBSERVATIONS: Final = pl.Schema(
    {
        "session_id": _TEXT,
        "run_id": _TEXT,
        "task_id": _TEXT,
        "title": _TEXT,
        "task": _TEXT,
        "repository": _TEXT,
        "branch": _TEXT,
        "agent": _TEXT,
        "agent_version": _TEXT,
        "model": _TEXT,
        "started_at": _TIME,
        "finished_at": _TIME,
        "state": _TEXT,
        "state_reason": _TEXT,
        "cost": _REAL,
        "unpriced_calls": _INT,
        "input_tokens": _INT,
        "output_tokens": _INT,
        "steps": _INT,
        "tool_calls": _INT,
        "failed_tool_calls": _INT,
        "claims": _INT,
        "unsupported_claims": _INT,
        "contradicted_claims": _INT,
        "injection_markers": _INT,
        "is_verified": _FLAG,
        "subagents": _INT,
    }
)
"""A row per run, with what its subagents did counted in: what a comparison starts from (``frame("runs")``)."""

TRIALS: Final = pl.Schema(
    {
        "side": _TEXT,
        "pair": _TEXT,
        "session_id": _TEXT,
        "run_id": _TEXT,
        "runs": _INT,
        "state": _TEXT,
        "state_reason": _TEXT,
        "success": _REAL,
        "contradicted_claims": _REAL,
        "unsupported_claims": _REAL,
        "injection_exposure": _REAL,
        "verified": _REAL,
        "cost": _REAL,
        "input_tokens": _REAL,
        "output_tokens": _REAL,
        "steps": _REAL,
        "time": _REAL,
    }
)
"""A row per trial: the runs of one session on one task. Metrics have a column each; null where it is not known."""

TASKS: Final = pl.Schema(
    {
        "metric": _TEXT,
        "pair": _TEXT,
        "baseline_trials": _INT,
        "candidate_trials": _INT,
        "baseline": _REAL,
        "candidate": _REAL,
        "difference": _REAL,
    }
)
"""A row per metric and matched task: means of its trials (of logarithms for ratios), and their difference."""

METRIC_ROWS: Final = pl.Schema(
    {
        "metric": _TEXT,
        "kind": _TEXT,
        "better": _TEXT,
        "family": _TEXT,
        "tasks": _INT,
        "missing_tasks": _INT,
        "baseline_trials": _INT,
        "candidate_trials": _INT,
        "baseline": _REAL,
        "candidate": _REAL,
        "effect": _REAL,
        "low": _REAL,
        "high": _REAL,
        "worse": _INT,
        "better_tasks": _INT,
        "worst_case": _REAL,
        "best_case": _REAL,
        "test": _TEXT,
        "p_value": _REAL,
        "p_adjusted": _REAL,
        "adjustment": _TEXT,
        "margin": _REAL,
        "non_inferior": _FLAG,
        "mde": _REAL,
        "mde_alpha": _REAL,
        "mde_method": _TEXT,
        "verdict": _TEXT,
        "reason": _TEXT,
    }
)
"""A row per metric. ``effect`` is candidate less baseline for shares, candidate by baseline for ratios."""

GATE_ROWS: Final = pl.Schema({"metric": _TEXT, "margin": _REAL, "status": _TEXT, "verdict": _TEXT, "reason": _TEXT})
"""A row per gate: ``status`` is passed, failed or inconclusive."""

UNMATCHED: Final = pl.Schema({"pair": _TEXT, "side": _TEXT, "trials": _INT, "reason": _TEXT})
"""A row per task and side that has no pair, and why."""

MISSING: Final = pl.Schema(
    {
        "side": _TEXT,
        "trials": _INT,
        "passed": _INT,
        "failed": _INT,
        "timed_out": _INT,
        "infrastructure": _INT,
        "unknown": _INT,
    }
)
"""A row per side: trials by how they ended."""

FLIPS: Final = pl.Schema(
    {
        "pair": _TEXT,
        "direction": _TEXT,
        "baseline": _REAL,
        "candidate": _REAL,
        "baseline_run": _TEXT,
        "candidate_run": _TEXT,
        "baseline_replay": _TEXT,
        "candidate_replay": _TEXT,
    }
)
"""A row per task whose success changed: shares of trials that passed, and a run of each side to look at."""

PASS_K: Final = pl.Schema(
    {
        "measure": _TEXT,
        "k": _INT,
        "tasks": _INT,
        "baseline": _REAL,
        "candidate": _REAL,
        "difference": _REAL,
        "low": _REAL,
        "high": _REAL,
    }
)
"""A row per k: ``pass@k`` (one of k trials passes) and ``pass^k`` (all k do), means over tasks with k trials a side."""

FLAKINESS: Final = pl.Schema(
    {
        "side": _TEXT,
        "pair": _TEXT,
        "trials": _INT,
        "passed": _INT,
        "is_flaky": _FLAG,
        "variance": _REAL,
    }
)
"""A row per side and task with two known outcomes or more: ``variance`` is that of its trials (unbiased)."""

SLICES: Final = pl.Schema(
    {
        "slice": _TEXT,
        "value": _TEXT,
        **{name: METRIC_ROWS[name] for name in ("metric", "tasks", "baseline", "candidate", "effect", "low", "high",
                                                "p_value", "p_adjusted", "verdict")},
    }
)  # fmt: skip
"""A row per slice and metric, corrected together."""

SETS: Final = pl.Schema({"side": _TEXT, "name": _TEXT, "runs": _INT, "trials": _INT, "tasks": _INT, "shared": _INT})
"""A row per side: what was compared; ``shared`` counts runs that are on both sides."""

SPREAD: Final = pl.Schema(
    {
        "metric": _TEXT,
        "side": _TEXT,
        "trials": _INT,
        "total": _REAL,
        "mean": _REAL,
        "median": _REAL,
        "p95": _REAL,
    }
)
"""A row per amount and side: over the trials of matched tasks."""
