"""Taint: actions whose arguments only untrusted text had named. Never says that a run is clean."""

from __future__ import annotations

from ledgerkit.safety.taint.findings import (
    FINDING_SCHEMA,
    PART_COLUMNS,
    RULE,
    TRACE_SCHEMA,
    count_origins,
    find_tainted_actions,
    trace_arguments,
)
from ledgerkit.safety.taint.known import SinkClass

__all__ = [
    "FINDING_SCHEMA",
    "PART_COLUMNS",
    "RULE",
    "TRACE_SCHEMA",
    "SinkClass",
    "count_origins",
    "find_tainted_actions",
    "trace_arguments",
]
