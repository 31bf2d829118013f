"""Redaction: secrets are taken out of texts before anything is written."""

from __future__ import annotations

from ledgerkit.safety.redaction.keys import RedactionKey, redaction_key
from ledgerkit.safety.redaction.memory import SecretMemory
from ledgerkit.safety.redaction.offsets import OffsetMap
from ledgerkit.safety.redaction.redactor import RedactionResult, SecretRedactor
from ledgerkit.safety.redaction.scanner import SecretScanner
from ledgerkit.safety.redaction.secrets import PLACEHOLDER, Replacement, Secret
from ledgerkit.safety.redaction.standard import standard_redactor

__all__ = [
    "PLACEHOLDER",
    "OffsetMap",
    "RedactionKey",
    "RedactionResult",
    "Replacement",
    "Secret",
    "SecretMemory",
    "SecretRedactor",
    "SecretScanner",
    "redaction_key",
    "standard_redactor",
]
