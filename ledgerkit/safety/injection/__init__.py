"""Injection audit: markers of text that wants to steer an agent. Never says that a run is clean."""

from __future__ import annotations

from ledgerkit.safety.injection.audit import FINDING_SCHEMA, PART_COLUMNS, audit_injection, authority_attempts
from ledgerkit.safety.injection.rules import RULES, InjectionRule, Severity
from ledgerkit.safety.injection.summary import LIMITS, AuditSummary, audit_summary

__all__ = [
    "FINDING_SCHEMA",
    "LIMITS",
    "PART_COLUMNS",
    "RULES",
    "AuditSummary",
    "InjectionRule",
    "Severity",
    "audit_injection",
    "audit_summary",
    "authority_attempts",
]
