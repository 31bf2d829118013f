"""What was found and what was put in its place. No value of a secret is ever part of a ``repr``."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Final

PLACEHOLDER: Final = re.compile(r"\[REDACTED_SECRET:[a-z0-9-]{1,40}#[0-9a-f]{12}\]")
"""What stands in the place of a secret."""
_LONGEST: Final = 80


def is_in_placeholder(text: str, place: int) -> bool:
    """Whether a place of a text lies in what stands for a secret that is gone.

    Example:
        >>> is_in_placeholder("password=[REDACTED_SECRET:password#0123456789ab]", 9)
        True
    """
    start = text.rfind("[REDACTED_SECRET:", max(0, place - _LONGEST), place + 17)
    found = PLACEHOLDER.match(text, start) if start >= 0 else None
    return found is not None and found.start() <= place < found.end()


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text.

    Attributes:
        start: Its first character in the text.
        end: The character behind its last one.
        type: What it is: ``github-token``, ``password``, ``private-key``.
        rule: The rule that found it.
        value: The secret itself, without the escapes of the place where it stands.
        form: How it is written there: ``raw``, ``escaped`` (its surroundings are), ``decoded`` or ``base64``.
        inside: What was found inside it, if it was put together from several findings.
        found_by: As in ``Replacement``.
    """

    start: int
    end: int
    type: str
    rule: str
    value: str = field(repr=False)
    form: str = "raw"
    inside: tuple[Secret, ...] = field(default=(), repr=False)
    found_by: str = "rule"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A place that lost a secret.

    Attributes:
        text_index: The text, by its number among those that were given.
        start: First character of the place in the original text.
        end: The character behind the last one, in the original text.
        type: What the secret is.
        rule: The rule that confirmed it.
        placeholder: What stands there now.
        fingerprint: Keyed fingerprint of the secret, 12 hexadecimal digits.
        found_by: ``rule``; ``propagation`` of a value that a rule confirmed elsewhere; or ``fingerprint`` of one that
            was confirmed before.
        form: How the secret was written: ``raw``, ``json``, ``url``, ``base64`` and so on.
    """

    text_index: int
    start: int
    end: int
    type: str
    rule: str
    placeholder: str
    fingerprint: str
    found_by: str
    form: str


def fingerprint_of(key: bytes, value: str) -> str:
    """The keyed fingerprint of a secret: the same for the same value, and worthless without the key.

    Twelve digits: among 10,000 secrets, two have the same one with a probability of 2e-7.
    """
    message = b"ledgerkit secret\0" + value.encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:12]


def placeholder_of(secret_type: str, fingerprint: str) -> str:
    """What stands in the place of a secret.

    Example:
        >>> placeholder_of("password", "0123456789ab")
        '[REDACTED_SECRET:password#0123456789ab]'
    """
    return f"[REDACTED_SECRET:{secret_type}#{fingerprint}]"
