"""What checks said: what is known to pass, what is still failing, and what failed before.

A result of a check counts until the same check, or the whole of which it is a part, is run again. A check whose output
proves nothing takes nothing back: a failure stays open until something passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ledgerkit.errors import ProtocolError
from ledgerkit.memory.evidence import reach
from ledgerkit.memory.working.intentions import sentence
from ledgerkit.memory.working.record import RunRecord, call_ref, message_ref
from ledgerkit.protocol.memory import Fact, Failure, OpenProblem
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import ClaimOutcome, TrustLevel, Verdict

MOST_NAMES: Final = 50
"""Failing names of one result that become problems of their own; the rest are counted in one more."""


@dataclass(frozen=True)
class Check:
    """A result of a check."""

    key: tuple[str, str]
    scope: str
    row: dict[str, Any]

    @property
    def verdict(self) -> str:
        """``passed``, ``failed`` or ``inconclusive``."""
        return self.row["verdict"]

    @property
    def name(self) -> str:
        """What was run, for people."""
        named = self.scope if self.scope.startswith(self.key[1]) else f"{self.key[1]} {self.scope}".strip()
        return sentence(self.row["command"] or named or "a check")

    @property
    def refs(self) -> tuple[EvidenceRef, ...]:
        """What says so."""
        return _refs(self.row)

    @property
    def trust_level(self) -> TrustLevel:
        """Trust of the part that says so."""
        return TrustLevel(self.row["part_trust_level"])

    def covers(self, other: Check) -> bool:
        """Whether a run of this check says what the other one said."""
        if self.key != other.key:
            return False
        return self.scope == other.scope or reach(self.key[1], self.scope) == "all"


def checks(record: RunRecord) -> list[Check]:
    """Results of checks in order; what the source recorded goes before what was read from its output."""
    rows = record.verifier_results.filter(pl.col("superseded_by").is_null()).sort(
        "sequence_no", "message_id", "tool", "scope", nulls_last=True
    )
    return [
        Check((str(r["kind"] or r["scope"] or ""), str(r["tool"] or r["scope"] or "")), _scope(r), r)
        for r in rows.iter_rows(named=True)
    ]


def standing(found: list[Check]) -> list[Check]:
    """Results that nothing has replaced: the last of each check, and failures until what covers them passes."""
    left: list[Check] = []
    for one in found:
        if one.verdict == Verdict.INCONCLUSIVE.value:
            left = [c for c in left if not (one.covers(c) and c.verdict != Verdict.FAILED.value)]
        else:
            left = [c for c in left if not one.covers(c)]
        left.append(one)
    return left


def known_facts(record: RunRecord, found: list[Check]) -> list[Fact]:
    """What passed last; out of date if something was changed since."""
    last_change = record.changes["seen_at"].max() if record.changes.height else None
    facts = list[Fact]()
    for check in standing(found):
        if check.verdict != Verdict.PASSED.value:
            continue
        is_stale = last_change is not None and int(last_change) > check.row["sequence_no"]  # pyright: ignore[reportArgumentType]
        count = check.row["passed"]
        facts.append(
            Fact(
                fact=sentence(f"{check.name} passed" + (f" ({count} passed)" if count is not None else "")),
                evidence_refs=check.refs,
                trust_level=check.trust_level,
                outcome=ClaimOutcome.STALE if is_stale else ClaimOutcome.SUPPORTED,
            )
        )
    return facts


def open_problems(found: list[Check]) -> list[OpenProblem]:
    """What failed and has not passed since, by failing name where the output gives names."""
    problems = list[OpenProblem]()
    for check in standing(found):
        if check.verdict != Verdict.FAILED.value:
            continue
        names = list(check.row["failing"] or [])
        said = [f"{name} fails in {check.name}" for name in names[:MOST_NAMES]]
        if len(names) > MOST_NAMES:
            said.append(f"{len(names) - MOST_NAMES} more fail in {check.name}")
        for text in said or [f"{check.name} fails"]:
            problems.append(
                OpenProblem(
                    problem=sentence(text),
                    evidence_refs=check.refs,
                    trust_level=check.trust_level,
                    outcome=ClaimOutcome.SUPPORTED,
                )
            )
    return problems


def failures(found: list[Check]) -> list[Failure]:
    """Every check that ever failed: when first, when last, and whether it has passed since."""
    open_now = {(c.key, c.scope) for c in standing(found) if c.verdict == Verdict.FAILED.value}
    by_check = dict[tuple[tuple[str, str], str], list[Check]]()
    for check in found:
        if check.verdict == Verdict.FAILED.value:
            by_check.setdefault((check.key, check.scope), []).append(check)
    return [
        Failure(
            check=failed[-1].name,
            first_failed_at=failed[0].row["sequence_no"],
            last_failed_at=failed[-1].row["sequence_no"],
            is_resolved=key not in open_now,
            evidence_refs=tuple(dict.fromkeys(ref for one in (failed[0], failed[-1]) for ref in one.refs)),
            trust_level=failed[-1].trust_level,
        )
        for key, failed in by_check.items()
    ]


def _scope(row: dict[str, Any]) -> str:
    return " ".join(row["targets"] or []) if row["source"] == "parsed" else str(row["scope"] or "")


def _refs(row: dict[str, Any]) -> tuple[EvidenceRef, ...]:
    read = list[EvidenceRef]()
    texts: list[str] = row["evidence_refs"] or []
    for text in texts:
        try:
            read.append(EvidenceRef.parse(text))
        except ProtocolError:  # an id of a log that is none here; the call and the message stand below
            continue
    if read:
        return tuple(read)
    return (call_ref(row["tool_call_id"]),) if row["tool_call_id"] else (message_ref(row["message_id"]),)
