from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import polars as pl
import pytest

Calls = Callable[..., pl.DataFrame]

SCHEMA: Mapping[str, pl.DataType] = {
    "session_id": pl.String(),
    "run_id": pl.String(),
    "created_at": pl.Datetime("us", "UTC"),
    "model": pl.String(),
    "provider": pl.String(),
    "service_tier": pl.String(),
    "input_tokens": pl.Int64(),
    "cache_read_tokens": pl.Int64(),
    "cache_write_5m_tokens": pl.Int64(),
    "cache_write_1h_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "reasoning_tokens": pl.Int64(),
    "reported_cost": pl.Decimal(18, 9),
    "billed": pl.Boolean(),
    "billed_reason": pl.String(),
    "repository": pl.String(),
}
DEFAULTS: Mapping[str, object] = {
    "session_id": "s1",
    "run_id": "r1",
    "created_at": datetime(2026, 1, 5, 12, tzinfo=UTC),
    "model": "claude-sonnet-4-5-20250929",
    "input_tokens": 1000,
    "output_tokens": 100,
    "billed": True,
}


@pytest.fixture
def calls() -> Calls:
    """A frame of model calls from what is special about each of them."""

    def build(*rows: Mapping[str, object]) -> pl.DataFrame:
        return pl.DataFrame([{**DEFAULTS, **row} for row in rows], schema=SCHEMA)

    return build
