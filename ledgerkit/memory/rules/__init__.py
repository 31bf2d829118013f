"""The evidence rules R1 to R19: small pure functions from frames to rulings."""

from __future__ import annotations

from ledgerkit.memory.rules.checks import (
    r8_counts_agree,
    r10_verdict_consistent,
    r11_scope,
    r12_not_stale,
    r13_not_superseded,
    r14_negative,
)
from ledgerkit.memory.rules.contents import (
    r7_quote_match,
    r8_number_match,
    r9_ident_match,
    r15_no_invented_requirement,
    r19_taint,
)
from ledgerkit.memory.rules.references import (
    MAY_SUPPORT,
    r1_ref_exists,
    r2_ref_before,
    r3_ref_visible,
    r4_span_in_range,
    r5_hash_match,
    r6_ref_kind_ok,
    r10_cited_verdict,
)
from ledgerkit.memory.rules.sets import (
    r16_failure_completeness,
    r16_finished_without_failure,
    r17_changed_files,
    r17_number_of_files,
    r18_coverage,
)

__all__ = [
    "MAY_SUPPORT",
    "r1_ref_exists",
    "r2_ref_before",
    "r3_ref_visible",
    "r4_span_in_range",
    "r5_hash_match",
    "r6_ref_kind_ok",
    "r7_quote_match",
    "r8_counts_agree",
    "r8_number_match",
    "r9_ident_match",
    "r10_cited_verdict",
    "r10_verdict_consistent",
    "r11_scope",
    "r12_not_stale",
    "r13_not_superseded",
    "r14_negative",
    "r15_no_invented_requirement",
    "r16_failure_completeness",
    "r16_finished_without_failure",
    "r17_changed_files",
    "r17_number_of_files",
    "r18_coverage",
    "r19_taint",
]
