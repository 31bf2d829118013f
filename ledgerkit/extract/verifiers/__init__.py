"""Verifier results: checks recognised in shell lines, and their verdicts read from what they printed."""

from __future__ import annotations

from ledgerkit.extract.verifiers.frame import VERIFIER_SCHEMA, read_check, verifier_frame
from ledgerkit.extract.verifiers.model import EXTRACTOR_VERSION, Check, CheckKind, ErrorLine, Outcome, Shown
from ledgerkit.extract.verifiers.reading import READERS, read_output
from ledgerkit.extract.verifiers.recognise import recognise

__all__ = [
    "EXTRACTOR_VERSION",
    "READERS",
    "VERIFIER_SCHEMA",
    "Check",
    "CheckKind",
    "ErrorLine",
    "Outcome",
    "Shown",
    "read_check",
    "read_output",
    "recognise",
    "verifier_frame",
]
