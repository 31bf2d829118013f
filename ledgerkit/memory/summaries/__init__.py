"""Summaries by the schema of specification §17: made from the ledger, or written by a model and held against it."""

from __future__ import annotations

from ledgerkit.memory.summaries.checking import FINDING_SCHEMA, check_summary, repaired
from ledgerkit.memory.summaries.writing import EvidenceBoundSummarizer, Summarizer

__all__ = ["FINDING_SCHEMA", "EvidenceBoundSummarizer", "Summarizer", "check_summary", "repaired"]
