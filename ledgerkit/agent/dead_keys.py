"""A dead secret for a demo: made from a seed when runs are made, in the shape of a real one.

The rule: no key stands in the source, and none ever belonged to anybody.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from ledgerkit.agent.clock import stream

_ID_ALPHABET = string.ascii_uppercase + "234567"
_SECRET_ALPHABET = string.ascii_letters + string.digits + "+/"
_ID_LENGTH = 16
_SECRET_LENGTH = 40


@dataclass(frozen=True, slots=True)
class DeadKey:
    """An access key pair in the shape of Amazon's."""

    access_key_id: str
    secret_access_key: str


def dead_key(seed: int) -> DeadKey:
    """The pair of a seed.

    Example:
        >>> key = dead_key(1)
        >>> key.access_key_id[:4], len(key.access_key_id), len(key.secret_access_key)
        ('AKIA', 20, 40)
    """
    rng = stream("dead key", seed)
    access = "AKIA" + "".join(rng.choices(_ID_ALPHABET, k=_ID_LENGTH))
    return DeadKey(access, "".join(rng.choices(_SECRET_ALPHABET, k=_SECRET_LENGTH)))
