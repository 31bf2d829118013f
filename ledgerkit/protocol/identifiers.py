"""Identifiers: time-ordered, and for imports a pure function of what they name.

Live messages get a UUIDv7; imported ones a UUIDv8 whose last 74 bits are a hash of the source's own
identity, so that the same record imported twice has the same id (RFC 9562, §5.7 and §5.8).
Clock and randomness are arguments.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_MS = (1 << 48) - 1


def unix_ms(moment: datetime | None) -> int:
    """Milliseconds since 1970, held to the 48 bits that a UUID has for them; 0 where no time is known."""
    if moment is None:
        return 0
    delta = moment - _EPOCH
    return min(max((delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000, 0), _MAX_MS)


def uuid7(moment: datetime, random: bytes) -> str:
    """A UUIDv7 of a moment and at least ten random bytes.

    Example:
        >>> uuid7(datetime(2026, 1, 1, tzinfo=UTC), bytes(10))
        '019b76da-a800-7000-8000-000000000000'
    """
    return _assemble(unix_ms(moment), 7, int.from_bytes(random[:10], "big"))


def uuid8(ms: int, *identity: str) -> str:
    """A UUIDv8 of a time in milliseconds (0: unknown) and an identity; equal inputs give equal ids.

    Example:
        >>> uuid8(0, "claude-code", "session-1") == uuid8(0, "claude-code", "session-1")
        True
    """
    digest = hashlib.blake2b("\x1f".join(identity).encode("utf-8", "surrogatepass"), digest_size=10)
    return _assemble(ms, 8, int.from_bytes(digest.digest(), "big"))


def hash_uuid(*identity: str) -> str:
    """A UUIDv8 of an identity alone, for things that have no time of their own (sessions and runs).

    Example:
        >>> hash_uuid("run", "1")[:8] == hash_uuid("run", "2")[:8]
        False
    """
    digest = hashlib.blake2b("\x1f".join(identity).encode("utf-8", "surrogatepass"), digest_size=16).digest()
    value = int.from_bytes(digest, "big")
    return _assemble(value >> 80, 8, value & ((1 << 80) - 1))


def _assemble(ms: int, version: int, bits: int) -> str:
    value = (ms << 80) | (version << 76) | (((bits >> 62) & 0xFFF) << 64) | (0b10 << 62) | (bits & ((1 << 62) - 1))
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in its usual form."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
