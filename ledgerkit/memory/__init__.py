"""Memory: what runs know, held against what they did. Frames in, frames out."""

from __future__ import annotations

from ledgerkit.memory.citations import CITING_SCHEMA, resolve_citations, rule_on_citations
from ledgerkit.memory.rulings import RULES, RULING_SCHEMA, Rule, decide
from ledgerkit.memory.spoken import CHECKED_SCHEMA, check_claims

__all__ = [
    "CHECKED_SCHEMA",
    "CITING_SCHEMA",
    "RULES",
    "RULING_SCHEMA",
    "Rule",
    "check_claims",
    "decide",
    "resolve_citations",
    "rule_on_citations",
]
