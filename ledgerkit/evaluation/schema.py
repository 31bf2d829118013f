"""The columns of an evaluation, declared once."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.evaluation.lexemes import TYPES

METRICS: Final = (
    "tokens",
    "peak",
    "cost",
    "evidence_retention",
    "edit_support",
    "failure_visibility",
    "policy_retention",
    "untrusted_share",
    "staleness",
    "recency_distance",
    "refetch_exposure",
    "validity",
    "summary_fidelity",
)
"""The thirteen metrics, by name. Tokens, peak and cost are always there."""

_INT, _SHARE, _TEXT = pl.Int64(), pl.Float64(), pl.String()

RUN_SCHEMA: Final = pl.Schema(
    {
        "session_id": _TEXT,
        "run_id": _TEXT,
        "strategy": _TEXT,
        "strategy_hash": _TEXT,
        "steps": _INT,
        "input_tokens": _INT,
        "peak_tokens": _INT,
        "overflow_rate": _SHARE,
        "cost_pico": _INT,
        "unpriced_steps": _INT,
        "cost_equivalent_tokens": _SHARE,
        "prefix_reuse": _SHARE,
        "shared_prefix_tokens": _INT,
        "cache_read_tokens": _INT,
        "cache_write_tokens": _INT,
        "fresh_tokens": _INT,
        "extra_calls": _INT,
        "extra_input_tokens": _INT,
        "extra_output_tokens": _INT,
        "cache_read_error": _SHARE,
        "evidence_retention": _SHARE,
        "evidence_retention_steps": _INT,
        "evidence_retention_micro": _SHARE,
        "evidence_retention_idf": _SHARE,
        **{f"evidence_retention_{name}": _SHARE for name in TYPES},
        "source_retention": _SHARE,
        "control_retention": _SHARE,
        "lift": _SHARE,
        "control_input_tokens": _INT,
        "needs": _INT,
        "missing_needs": _INT,
        "edit_support": _SHARE,
        "edit_support_steps": _INT,
        "edit_lines": _INT,
        "failure_visibility": _SHARE,
        "failure_visibility_steps": _INT,
        "policy_retention": _SHARE,
        "policy_retention_steps": _INT,
        "untrusted_share": _SHARE,
        "untrusted_share_p95": _SHARE,
        "unlabelled_share": _SHARE,
        "trust_inversions": _INT,
        "staleness": _SHARE,
        "file_tokens": _INT,
        "contradictions": _INT,
        "missing_age_p50": _INT,
        "missing_age_p90": _INT,
        "missing_age_max": _INT,
        "refetch_exposure": _SHARE,
        "refetch_tokens": _INT,
        "repeated_reads": _INT,
        "validity": _SHARE,
        "determinism": _SHARE,
        "summary_items": _INT,
        "summary_fidelity": _SHARE,
        "failure_omissions": _INT,
        "invented_items": _INT,
        "uncounted_parts": _INT,
        "unknown_gaps": _INT,
    }
)
"""Columns of a row per run and strategy. Shares are null where no step defines them; ``…_steps`` says how many do."""

STEP_SCHEMA: Final = pl.Schema(
    {
        "session_id": _TEXT,
        "run_id": _TEXT,
        "strategy": _TEXT,
        "step": pl.Int32(),
        "tokens": _INT,
        "overflow_tokens": _INT,
        "shared_prefix_tokens": _INT,
        "cache_read_tokens": _INT,
        "cache_write_tokens": _INT,
        "fresh_tokens": _INT,
        "cost_pico": _INT,
        "needs": _INT,
        "needs_held": _INT,
        "evidence_retention": _SHARE,
        "source_retention": _SHARE,
        "edit_lines": _INT,
        "edit_lines_held": _INT,
        "edit_support": _SHARE,
        "open_failures": _INT,
        "failures_visible": _INT,
        "failure_visibility": _SHARE,
        "mandatory_parts": _INT,
        "mandatory_kept": _INT,
        "policy_retention": _SHARE,
        "untrusted_tokens": _INT,
        "unlabelled_tokens": _INT,
        "trust_inversions": _INT,
        "file_tokens": _INT,
        "stale_tokens": _INT,
        "staleness": _SHARE,
        "contradictions": _INT,
        "broken_units": _INT,
    }
)
"""Columns of a row per step and strategy."""
