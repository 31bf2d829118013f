"""What an audit looked at and what it found, with its limits said plainly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.safety.injection.audit import FIELDS, audited, authority_attempts
from ledgerkit.safety.injection.rules import RULES

LIMITS: Final = (
    "The audit finds known markers. It cannot find an instruction that is written like ordinary text, and an attacker "
    "who knows the rules can avoid them. No marker does not mean that a text is harmless or a run clean; a marker does "
    "not mean that there was an attack, or that it worked. Whether untrusted text led to an action is asked by the "
    "taint findings."
)
"""What the audit cannot know."""


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """Counts of an audit.

    Attributes:
        parts: Parts that were given.
        parts_read: Parts that at least the rules for characters read.
        parts_read_fully: Parts that every rule read.
        bytes_read: Bytes of their text, data and summaries.
        runs: Runs among the parts.
        markers: Markers found.
        parts_with_markers: Parts that hold one.
        runs_with_markers: Runs that hold one.
        runs_exposed: Runs in which a model call could see one.
        authority_attempts: Markers in untrusted parts that claim authority (``authority_attempts`` lists them).
        by_rule: A row for each rule: ``rule``, ``severity``, ``title``, ``markers``, ``shown``, ``parts``, ``runs``.
        by_severity: A row for each severity, the gravest first: ``severity``, ``markers``, ``shown``, ``runs``.
        limits: What no audit of this kind can say.
    """

    parts: int
    parts_read: int
    parts_read_fully: int
    bytes_read: int
    runs: int
    markers: int
    parts_with_markers: int
    runs_with_markers: int
    runs_exposed: int
    authority_attempts: int
    by_rule: pl.DataFrame
    by_severity: pl.DataFrame
    limits: str = LIMITS

    def __str__(self) -> str:
        """The counts and the limits in a few lines."""
        return (
            f"{self.markers} markers in {self.parts_with_markers} parts of {self.runs_with_markers} of {self.runs} "
            f"runs; in {self.runs_exposed} runs the model could see one. {self.authority_attempts} try to instruct "
            f"from untrusted parts. Read: {self.parts_read} of {self.parts} parts "
            f"({self.parts_read_fully} by every rule), {self.bytes_read} bytes.\n{self.limits}"
        )


def audit_summary(
    findings: pl.DataFrame, parts: pl.DataFrame | pl.LazyFrame, *, everything: bool = False
) -> AuditSummary:
    """What an audit of the parts looked at and found.

    Args:
        findings: What ``audit_injection`` found in the parts.
        parts: The parts that it was given.
        everything: As it was given there.

    Example:
        >>> from ledgerkit.safety.injection import audit_injection
        >>> parts = pl.DataFrame({"part_id": ["p"], "text": ["hello"]})
        >>> audit_summary(audit_injection(parts), parts).markers
        0
    """
    read = audited(parts, everything=everything)
    whole = parts.lazy().select(pl.len()).collect().item()
    names = parts.lazy().collect_schema().names()
    run = [name for name in ("session_id", "run_id") if name in names]
    return AuditSummary(
        parts=whole,
        parts_read=read.height,
        parts_read_fully=int(read["is_untrusted"].sum()),
        bytes_read=int(read.select(pl.sum_horizontal(pl.col(*FIELDS).str.len_bytes().sum())).item()),
        runs=parts.lazy().select(pl.struct(run).n_unique()).collect().item() if run else 0,
        markers=findings.height,
        parts_with_markers=findings.select(pl.struct("message_id", "part_id").n_unique()).item(),
        runs_with_markers=_runs(findings),
        runs_exposed=_runs(findings.filter(pl.col("exposure") == "shown")),
        authority_attempts=authority_attempts(findings).height,
        by_rule=_by_rule(findings),
        by_severity=_by_severity(findings),
    )


_RUN: Final = pl.struct("session_id", "run_id").n_unique().cast(pl.Int64)
_SHOWN: Final = (pl.col("exposure") == "shown").sum().cast(pl.Int64)


def _runs(findings: pl.DataFrame) -> int:
    return int(findings.select(_RUN).item())


def _by_rule(findings: pl.DataFrame) -> pl.DataFrame:
    known = pl.DataFrame(
        [(rule.rule_id, rule.severity.value, rule.title) for rule in RULES.values()],
        schema={"rule": pl.String, "severity": pl.String, "title": pl.String},
        orient="row",
    )
    counted = findings.group_by("rule").agg(
        markers=pl.len().cast(pl.Int64),
        shown=_SHOWN,
        parts=pl.struct("message_id", "part_id").n_unique().cast(pl.Int64),
        runs=_RUN,
    )
    joined = known.join(counted, on="rule", how="left", maintain_order="left")
    return joined.with_columns(pl.col("markers", "shown", "parts", "runs").fill_null(0))


def _by_severity(findings: pl.DataFrame) -> pl.DataFrame:
    known = pl.DataFrame({"severity": ["critical", "high", "medium", "low"]})
    counted = findings.group_by("severity").agg(markers=pl.len().cast(pl.Int64), shown=_SHOWN, runs=_RUN)
    joined = known.join(counted, on="severity", how="left", maintain_order="left")
    return joined.with_columns(pl.col("markers", "shown", "runs").fill_null(0))
