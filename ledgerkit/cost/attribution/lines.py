"""Named lines: what a call cost that no recorded part can be charged with."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import polars as pl


class Line(StrEnum):
    """What an amount is for that belongs to no part."""

    UNSEEN = "unseen"
    """Input before the parts of the log: system prompt, tool declarations, history that the log does not hold. As much
    as was unseen at the run's first call."""
    UNCOUNTED = "uncounted"
    """Input beyond that and beyond what the parts were counted as: framing of messages, reminders that a client adds, a
    tokeniser that cuts finer than the one that counted."""
    OPAQUE = "opaque"
    """The same in a context with sealed content: encrypted reasoning, a compaction on the provider's side."""
    NO_CONTEXT = "no_context"
    """Input of calls in whose context the log holds no part: totals of a run, calls outside its steps."""
    HIDDEN_OUTPUT = "hidden_output"
    """Output that no part holds: hidden reasoning, calls whose text is not recorded."""
    FEE = "fee"
    """A fee per call."""


LINES: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "call_id": pl.String(),
        "step": pl.Int32(),
        "line": pl.String(),
        "cost_pico": pl.Int64(),
    }
)
"""Columns of ``Attribution.lines``."""
