"""The compaction check: what a recorded summary lost, invented or hid of the context whose place it took."""

from __future__ import annotations

from ledgerkit.memory.compactions.check import COMPACTION_SCHEMA, check_run

__all__ = ["COMPACTION_SCHEMA", "check_run"]
"""Columns of the answer, and the check of one run."""
