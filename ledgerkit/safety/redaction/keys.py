"""The key of the fingerprints: it stays outside every ledger, since who has it can try out what a secret was."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

from ledgerkit.errors import ConfigurationError

ENVIRONMENT: Final = "LEDGERKIT_REDACTION_KEY"
"""The variable that may hold the key, in hexadecimal digits, or the word ``public``."""
PUBLIC: Final = "public"
_FILE: Final = "redaction.key"
_LEAST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class RedactionKey:
    """A key.

    Attributes:
        secret: The key itself.
        key_id: Says which key it is, without giving it away; ``public`` for the one that everybody has.
    """

    secret: bytes = field(repr=False)
    key_id: str

    @classmethod
    def of(cls, secret: bytes) -> RedactionKey:
        """A key of some bytes.

        Raises:
            ConfigurationError: If there are fewer than 16.
        """
        if len(secret) < _LEAST_BYTES:
            raise ConfigurationError(f"A redaction key has at least {_LEAST_BYTES} bytes; this one has {len(secret)}.")
        return cls(secret, hmac.new(secret, b"ledgerkit key", hashlib.sha256).hexdigest()[:8])

    @classmethod
    def public(cls) -> RedactionKey:
        """The key that everybody has: for examples and tests, where the same input must give the same ledger.

        Example:
            >>> RedactionKey.public().key_id
            'public'
        """
        return cls(hashlib.sha256(b"ledgerkit public redaction key").digest(), PUBLIC)


def redaction_key(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> RedactionKey:
    """The key of this user: from the environment, else from a file that only the user can read.

    The file is made at the first use. Keep it: with another key, the same secret has another fingerprint.

    Args:
        environment: Variables of the environment; those of the process if not given.
        folder: Where the file is; the user's folder of settings if not given.

    Raises:
        ConfigurationError: If the variable or the file holds no key.
    """
    variables = os.environ if environment is None else environment
    if (text := variables.get(ENVIRONMENT)) is not None:
        return RedactionKey.public() if text.strip() == PUBLIC else _parsed(text, f"The variable {ENVIRONMENT}")
    path = (folder or user_config_path("ledgerkit", appauthor=False)) / _FILE
    try:
        return _parsed(path.read_text(encoding="ascii"), str(path))
    except FileNotFoundError:
        return _made(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The redaction key {path} cannot be read: {error}") from error


def _parsed(text: str, where: str) -> RedactionKey:
    try:
        return RedactionKey.of(bytes.fromhex(text.strip()))
    except ValueError:
        message = f"{where} holds no redaction key: 32 or more hexadecimal digits are expected, or the word {PUBLIC}."
        raise ConfigurationError(message) from None


def _made(path: Path) -> RedactionKey:
    """Makes a key, whoever else does so at the same time: a file that is there is whole, and is never replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, f"{secrets.token_hex(32)}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return _parsed(path.read_text(encoding="ascii"), str(path))
    except OSError as error:
        message = f"The redaction key cannot be kept at {path}: {error}. Set {ENVIRONMENT} to a key, or to {PUBLIC}."
        raise ConfigurationError(message) from error
