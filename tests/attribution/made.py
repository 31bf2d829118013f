"""Calls with usage drawn at random for drawn runs: estimates too low and too high, exact ones, odd prices."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import polars as pl

from ledgerkit import cost
from ledgerkit.cost.price_file import PriceRow, TokenPrices
from ledgerkit.strategies import AsRecorded, RunFrames, project
from tests.strategies.drawn import drawn_frames

WHEN = datetime(2026, 1, 5, tzinfo=UTC)
_ODD = TokenPrices(
    input=Decimal("0.1234567"), output=Decimal("1.000001"), cache_read=Decimal("0.0123"), reasoning=Decimal("0.7")
)
BOOK = cost.PriceBook((PriceRow(model="odd", usd_per_mtok=_ODD), PriceRow(model="free", usd_per_mtok=TokenPrices(
    input=Decimal(0), output=Decimal(0)))))  # fmt: skip
_COUNTS = ("cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "reasoning_tokens")
SCHEMA: dict[str, pl.DataType] = {
    "session_id": pl.String(), "run_id": pl.String(), "call_id": pl.String(), "step": pl.Int32(),
    "message_id": pl.String(), "created_at": pl.Datetime("us", "UTC"), "model": pl.String(), "billed": pl.Boolean(),
    "billed_reason": pl.String(), "input_tokens": pl.Int64(), "output_tokens": pl.Int64(), "is_opaque": pl.Boolean(),
    **dict.fromkeys(_COUNTS, pl.Int64()),
}  # fmt: skip
MODELS = ("claude-sonnet-4-5", "claude-sonnet-4-5", "odd", "free", "nobody-knows")


def drawn(seed: int, runs: int, *, exact: bool = False) -> tuple[RunFrames, pl.DataFrame, pl.DataFrame]:
    """Frames, priced calls and what they wrote.

    Args:
        seed: What the runs are drawn with.
        runs: How many.
        exact: Whether the recorded tokens are those of the parts, and every call is billed and priced.
    """
    random = Random(seed)
    frames = drawn_frames(seed, runs, most_steps=9)
    placements = project(frames, AsRecorded()).placements
    names = frames.runs.rows_by_key("run", named=True, unique=True)
    rows: list[dict[str, Any]] = []
    for step in frames.steps.select("run", "step").to_dicts():
        size = int(frames.context(placements, step["run"], step["step"])["tokens"].sum())
        rows += [
            _call(random, names[step["run"]], step["step"], size, exact=exact) for _ in range(_copies(random, exact))
        ]
    calls = pl.DataFrame(rows, schema=SCHEMA).with_columns(call_id=pl.format("c{}", pl.int_range(pl.len())))
    return frames, cost.price_calls(calls, BOOK), _written(frames, calls)


def _copies(random: Random, exact: bool) -> int:
    return 1 if exact else random.choice([0, 1, 1, 1, 1, 2])


def _call(random: Random, run: dict[str, Any], step: int, size: int, *, exact: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "session_id": run["session_id"], "run_id": run["run_id"], "step": step, "created_at": WHEN, "billed": True,
        "model": MODELS[0], "output_tokens": random.randint(0, 700), "is_opaque": False,
    }  # fmt: skip
    total = size
    if not exact:
        total = max(0, int(size * random.choice([0, 0.4, 0.9, 1, 1, 1.1, 2])) + random.choice([0, 0, 3, 500]))
        row |= {"model": random.choice(MODELS), "is_opaque": random.random() < 0.2,
                "billed": random.random() > 0.1, "step": None if random.random() < 0.05 else step}  # fmt: skip
    read, five, hour = 0, 0, 0
    if random.random() < 0.8:
        read = random.randint(0, total)
        five = random.randint(0, total - read) if random.random() < 0.7 else 0
        hour = random.randint(0, total - read - five) if random.random() < 0.3 else 0
    reasoning = random.randint(0, row["output_tokens"]) if random.random() < 0.4 else None
    figures = zip(_COUNTS, (read, five, hour, reasoning), strict=True)
    return {**row, "input_tokens": total, **dict(figures)}


def _written(frames: RunFrames, calls: pl.DataFrame) -> pl.DataFrame:
    """Texts and calls for tools of a step are those of the first of its calls."""
    kinds = ["ASSISTANT_RESPONSE", "TOOL_CALL_REQUEST", "AGENT_THOUGHT_SUMMARY"]
    parts = frames.parts.filter(pl.col("kind").is_in(kinds)).join(frames.runs, on="run")
    first = calls.drop_nulls("step").unique(["session_id", "run_id", "step"], keep="first", maintain_order=True)
    return parts.join(first, on=["session_id", "run_id", "step"]).select(
        "session_id", "run_id", "call_id", "message_id", "part_index"
    )
