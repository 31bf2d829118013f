"""Claims: sentences of an assistant that can be held against what is recorded."""

from __future__ import annotations

from ledgerkit.extract.claims.arguments import SPEAKING_LINES, SPEAKING_TOOLS, spoken_parts
from ledgerkit.extract.claims.frame import SPEAKING_KINDS, claims_frame, read_claims
from ledgerkit.extract.claims.model import (
    ANY_CHECK,
    CLAIM_SCHEMA,
    EXTRACTOR_VERSION,
    PREVIOUS_CHECK,
    Claim,
    ClaimClass,
    Polarity,
    Scope,
)

__all__ = [
    "ANY_CHECK",
    "CLAIM_SCHEMA",
    "EXTRACTOR_VERSION",
    "PREVIOUS_CHECK",
    "SPEAKING_KINDS",
    "SPEAKING_LINES",
    "SPEAKING_TOOLS",
    "Claim",
    "ClaimClass",
    "Polarity",
    "Scope",
    "claims_frame",
    "read_claims",
    "spoken_parts",
]
