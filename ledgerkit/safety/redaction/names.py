"""What the name left of a value says: that the value is a secret, that it is none, or nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ledgerkit.safety.redaction.ruleset import words

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAME: Final = re.compile(r"[\w.\-$\[\]\"']*$")

_ENDINGS: Final = (
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("secretkey", "secret"),
    ("secret", "secret"),
    ("token", "token"),
    ("apikey", "api-key"),
    ("accesskey", "api-key"),
    ("authkey", "api-key"),
    ("privatekey", "api-key"),
)


@lru_cache(maxsize=20_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case.

    Example:
        >>> words_of("awsSecretAccessKey"), words_of("DB_PASSWORD")
        (('aws', 'secret', 'access', 'key'), ('db', 'password'))
    """
    return tuple(part.lower() for part in _PARTS.findall(name))


def name_before(text: str, end: int) -> str:
    """The name that ends at a place in a text."""
    found = _NAME.search(text[max(0, end - 80) : end])
    return found[0].strip("\"'[]$.-") if found else ""


@lru_cache(maxsize=20_000)
def type_by_name(name: str) -> str | None:
    """What the value of a name is; ``None`` for names that hold no secrets, ``key`` where the name says little.

    Example:
        >>> type_by_name("DB_PASSWORD"), type_by_name("max_tokens"), type_by_name("cache_key"), type_by_name("apiKey")
        ('password', None, None, 'api-key')
        >>> type_by_name("client_secret_id"), type_by_name("STRIPE_KEY"), type_by_name("key")
        (None, 'api-key', 'key')
    """
    parts = words_of(name)
    trimmed = parts[:-1] if parts and parts[-1].isdigit() else parts
    if not trimmed or trimmed[-1] in words("tails") or not words("never").isdisjoint(trimmed):
        return None
    present = frozenset(trimmed)
    if trimmed[-1] in words("password") or not present.isdisjoint(words("password") - {"pass", "pw", "pat"}):
        return "password"
    if not present.isdisjoint(words("secret")):
        return "secret"
    if not present.isdisjoint(words("token")):
        return "token"
    if not present.isdisjoint(words("key")):
        return "api-key"
    return (
        _type_of_key(trimmed)
        or _type_of_run(trimmed[-1])
        or ("credential" if not present.isdisjoint(words("auth")) else None)
    )


def _type_of_run(word: str) -> str | None:
    """What a word is that was written together with the words before it: ``dbpassword``."""
    return next((kind for ending, kind in _ENDINGS if word.endswith(ending)), None)


def _type_of_key(parts: tuple[str, ...]) -> str | None:
    """What the value of a name that ends in ``key`` is, by the word before it."""
    last = parts[-1]
    if last not in {"key", "dsn", "sid", "cookie", "webhook"}:
        return None
    if last != "key":
        return "session" if last in {"sid", "cookie"} else "key"
    if len(parts) > 1 and (parts[-2] in words("before_key") or not words("vendors").isdisjoint(parts[:-1])):
        return "session-key" if parts[-2] in {"session", "user", "host", "function", "server", "client"} else "api-key"
    return "key"
