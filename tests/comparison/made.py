"""Observed runs made up for tests: what a ledger would say of them, without one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from ledgerkit.comparison import OBSERVATIONS

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def observed(
    states: Sequence[str],
    *,
    tasks: Sequence[str | None] | None = None,
    name: str = "run",
    **columns: Sequence[Any],
) -> pl.DataFrame:
    """Runs with these states, a task each unless told otherwise; every column can be given."""
    count = len(states)
    said: dict[str, Any] = {
        "session_id": [f"{name}-session-{n:04d}" for n in range(count)],
        "run_id": [f"{name}-{n:04d}" for n in range(count)],
        "task_id": list(tasks) if tasks is not None else [f"task-{n:04d}" for n in range(count)],
        "repository": ["shop"] * count,
        "agent": ["agent"] * count,
        "agent_version": ["1"] * count,
        "model": ["model"] * count,
        "started_at": [START + timedelta(days=n % 21) for n in range(count)],
        "finished_at": [START + timedelta(days=n % 21, seconds=60 + n) for n in range(count)],
        "state": list(states),
        "state_reason": ["recorded outcome"] * count,
        "cost": [0.1] * count,
        "unpriced_calls": [0] * count,
        "input_tokens": [1000] * count,
        "output_tokens": [100] * count,
        "steps": [10] * count,
        "claims": [0] * count,
        "unsupported_claims": [0] * count,
        "contradicted_claims": [0] * count,
        "injection_markers": [0] * count,
        "is_verified": [True] * count,
        "subagents": [0] * count,
        **columns,
    }
    return pl.DataFrame(
        {column: pl.Series(said.get(column, [None] * count), dtype=kind) for column, kind in OBSERVATIONS.items()}
    )


def drawn(
    chances: np.ndarray[Any, np.dtype[np.float64]],
    random: np.random.Generator,
    *,
    trials: int = 1,
    name: str = "run",
    cost: float = 0.1,
    spread: float = 0.4,
) -> pl.DataFrame:
    """Runs of tasks with these chances of success; costs are log-normal around one of each task."""
    tasks = np.repeat(np.arange(chances.size), trials)
    passed = random.random(tasks.size) < chances[tasks]
    costs = cost * np.exp(0.5 * np.sin(tasks) + spread * random.standard_normal(tasks.size))
    return observed(
        ["passed" if one else "failed" for one in passed],
        tasks=[f"task-{task:04d}" for task in tasks],
        name=name,
        cost=costs.tolist(),
    )
