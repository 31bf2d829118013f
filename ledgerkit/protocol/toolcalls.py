"""Tool calls are correlated by id and compared by the hash of their canonical arguments, never by their text.

Canonical JSON here: keys sorted by code point, ``,`` and ``:`` without white space, characters as they are, UTF-8,
numbers as Python writes them. Equal arguments have equal hashes, whatever the order of their keys.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Final, cast

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.model import Identifier, Model, Time
from ledgerkit.protocol.vocabulary import ToolStatus

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """The one JSON text of a value.

    Raises:
        ProtocolError: If the value has no JSON form: NaN, a lone surrogate, an object of another kind.

    Example:
        >>> canonical_json({"b": 1, "a": ["é", None]})
        '{"a":["é",null],"b":1}'
    """
    try:
        text = _CANONICAL.encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        hint = "Arguments are JSON; replace lone surrogates with replace_lone_surrogates()."
        raise ProtocolError(f"No canonical JSON: {error}. {hint}") from error
    return text


def arguments_hash(arguments: object) -> str:
    """SHA-256 of a call's canonical arguments, as ``sha256:`` and 64 hex digits.

    Tools take an object. Where a source holds something else (a patch as plain text), it counts as an object with
    that ``value``.

    Raises:
        ProtocolError: If the arguments have no JSON form.

    Example:
        >>> arguments_hash({"query": "pom.xml", "limit": 5}) == arguments_hash({"limit": 5, "query": "pom.xml"})
        True
    """
    whole = cast("dict[str, object]", arguments) if isinstance(arguments, dict) else {"value": arguments}
    text = canonical_json(whole)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class ToolCall(Model):
    """A tool call with how it ended: what correlates a request with its results (specification §16)."""

    tool_call_id: Identifier
    """Correlates the call with its results."""
    parent_message_id: Identifier
    """Message that asked for the call."""
    result_message_id: Identifier | None = None
    """Message of its first result; none yet, or none recorded."""
    tool_name: Identifier
    """The tool."""
    arguments_hash: Identifier | None = None
    """Hash of the canonical arguments."""
    status: ToolStatus = ToolStatus.REQUESTED
    """How the call stands."""
    started_at: Time | None = None
    """When it began."""
    finished_at: Time | None = None
    """When it ended."""

    @property
    def is_open(self) -> bool:
        """Whether no result is known."""
        return self.status is ToolStatus.REQUESTED

    @property
    def duration(self) -> timedelta | None:
        """How long it took, where both ends are recorded; negative where the source's clock ran backwards."""
        return _between(self.started_at, self.finished_at)


def _between(first: datetime | None, last: datetime | None) -> timedelta | None:
    return None if first is None or last is None else last - first
