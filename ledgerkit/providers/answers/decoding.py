"""JSON as models and providers write it: read strictly, and never guessed at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.model import checked_json, replace_lone_surrogates
from ledgerkit.providers.told import json_text

_FENCE: Final = "```"
_MAX_COUNT: Final = 2**63 - 1

Fields = dict[str, JsonValue]


def decode(text: str) -> JsonValue:
    """The value of a JSON text.

    Raises:
        ValueError: If it is no JSON, names a key twice, or holds what no JSON value can be. ``ProtocolError`` is one.

    Example:
        >>> decode('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ledgerkit.errors.ProtocolError: The key 'a' stands twice in one object. Write it once.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        return replace_lone_surrogates(cast(JsonValue, checked_json(replace_lone_surrogates(value))))
    except RecursionError as error:  # of the parser, or from Python 3.12 on, whose parser goes deeper, of what follows
        raise ProtocolError("JSON nested too deeply. Write it flatter.") from error


def _once(pairs: list[tuple[str, JsonValue]]) -> Fields:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ProtocolError(f"The key {twice[:40]!a} stands twice in one object. Write it once.")
    return fields


def _no_number(name: str) -> JsonValue:
    raise ProtocolError(f"JSON has no number {name}. Use null.")


def unfenced(text: str) -> str:
    r"""A text without the code fence around all of it, if there is one.

    Example:
        >>> unfenced('```json\n{}\n```'), unfenced('see ```{}```')
        ('{}', 'see ```{}```')
    """
    stripped = text.strip()
    head, separator, rest = stripped.partition("\n")
    is_fenced = head.startswith(_FENCE) and stripped.endswith(_FENCE) and separator
    inner = rest.removesuffix(_FENCE).strip()
    return inner if is_fenced and _FENCE not in head[len(_FENCE) :] and _FENCE not in inner else stripped


def arguments_of(value: JsonValue) -> tuple[Fields, str | None, str | None]:
    """Arguments of a call; where they cannot be read: empty, the reason, and what was written."""
    if isinstance(value, dict):
        return value, None, None
    if value is None or value == "":
        return {}, None, None  # a call without arguments
    written = value if isinstance(value, str) else json_text(value)
    if not isinstance(value, str):
        return {}, "Arguments are no JSON object.", written
    try:
        decoded = decode(value)
    except ValueError as error:
        return {}, f"Arguments are no JSON: {error}", written
    return (decoded, None, None) if isinstance(decoded, dict) else ({}, "Arguments are no JSON object.", written)


def made_id(number: int, call: JsonValue) -> str:
    """An id for a call that has none, from what it says and its place in the answer."""
    return "call_" + hashlib.sha256(f"{number}\0{json_text(call)}".encode()).hexdigest()[:24]


def fields(value: JsonValue) -> Fields:
    """An object, or an empty one where none stands."""
    return value if isinstance(value, dict) else {}


def items(value: JsonValue) -> list[Fields]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: JsonValue) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def count(values: Mapping[str, JsonValue], key: str) -> int | None:
    """A count of tokens; ``None`` where none stands."""
    value = values.get(key)
    return value if type(value) is int and 0 <= value <= _MAX_COUNT else None


def total(*counts: int | None) -> int | None:
    """A sum of what is known; ``None`` where nothing is."""
    known = [one for one in counts if one is not None]
    return sum(known) if known else None
