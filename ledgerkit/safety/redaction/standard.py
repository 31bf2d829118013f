"""The redactor that ledgers use if they are given no other."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from ledgerkit.safety.redaction.keys import RedactionKey, redaction_key
from ledgerkit.safety.redaction.redactor import SecretRedactor
from ledgerkit.safety.redaction.scanner import SecretScanner

CACHE: Final = "LEDGERKIT_CACHE"
"""The variable that may name the folder of compiled rules."""


def standard_redactor(key: RedactionKey | None = None) -> SecretRedactor:
    """A redactor with this user's key, whose compiled rules are kept in the user's cache folder.

    Args:
        key: Another key.

    Raises:
        ConfigurationError: If the user's key cannot be read or made.
    """
    return SecretRedactor(key or redaction_key(), scanner=_scanner())


@cache
def _scanner() -> SecretScanner:
    """One for the process: it has no state but its rules, which take tens of megabytes."""
    named = os.environ.get(CACHE)
    return SecretScanner(Path(named) if named else user_cache_path("ledgerkit", appauthor=False) / "rules")
