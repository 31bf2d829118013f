"""Names of files: a session's or run's id where that is safe as a name, else one that is derived from it."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.protocol.identifiers import hash_uuid

_SAFE: Final = re.compile(r"[0-9a-z][0-9a-z_-]{0,119}", re.ASCII)
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def file_name(identifier: str) -> str:
    """A name that is one plain file on every system, whatever an id holds; two ids never share one.

    Example:
        >>> file_name("019bd5ba-7c33-7bd1-83f1-95bb46a32000")
        '019bd5ba-7c33-7bd1-83f1-95bb46a32000'
        >>> "/" in file_name("../../etc/passwd")
        False
    """
    is_safe = _SAFE.fullmatch(identifier) and not _RESERVED.fullmatch(identifier)
    return identifier if is_safe else hash_uuid("file name", identifier)
