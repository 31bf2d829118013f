"""Summaries by the schema of specification §17: made from the ledger, or written by a model and held against it."""

from __future__ import annotations

from ledgerkit.memory.summaries.checking import FINDING_SCHEMA, check_summary, repaired
from ledgerkit.memory.summaries.writing import EvidenceBoundSummarizer, Summarizer
from ledgerkit.memory.summaries.written import (
    Citable,
    Discarded,
    SummaryDraft,
    SummaryRequest,
    SummaryWriter,
    WritingSummarizer,
    WrittenSummary,
    write_summary,
)

__all__ = [
    "FINDING_SCHEMA",
    "Citable",
    "Discarded",
    "EvidenceBoundSummarizer",
    "Summarizer",
    "SummaryDraft",
    "SummaryRequest",
    "SummaryWriter",
    "WritingSummarizer",
    "WrittenSummary",
    "check_summary",
    "repaired",
    "write_summary",
]
