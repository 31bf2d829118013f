"""Claims that assistants made, held against what their runs did."""

from __future__ import annotations

from ledgerkit.memory.spoken.check import CHECKED_SCHEMA, check_claims

__all__ = ["CHECKED_SCHEMA", "check_claims"]
