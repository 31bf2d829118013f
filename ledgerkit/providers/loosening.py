"""The way back from a strict schema: what travelled as JSON text has its own form again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.providers.schemas import ITEMS, WRAPPED, Path, adapt


def loosen(value: JsonValue, schema: Mapping[str, JsonValue], decode: Callable[[str], JsonValue]) -> JsonValue:
    """An answer in the form that its schema had before it was made strict.

    Args:
        value: The answer.
        schema: The schema as it was before.
        decode: Reads JSON text.

    Raises:
        ProtocolError: If JSON text stands where it cannot be read.

    Example:
        >>> import json
        >>> asked = {"type": "object", "properties": {"arguments": {"type": "object"}}}
        >>> loosen({"arguments": '{"path": "a.py"}'}, asked, json.loads)
        {'arguments': {'path': 'a.py'}}
    """
    _, doing = adapt(schema)
    for path, is_only_json in sorted(doing.texts.items()):
        value = _decoded(value, path, decode, is_only_json=is_only_json)
    is_wrapped = doing.is_wrapped and isinstance(value, dict) and value.keys() == {WRAPPED}
    return value[WRAPPED] if is_wrapped and isinstance(value, dict) else value


def _decoded(value: JsonValue, path: Path, decode: Callable[[str], JsonValue], *, is_only_json: bool) -> JsonValue:
    if path:
        if path[0] == ITEMS and isinstance(value, list):
            return [_decoded(item, path[1:], decode, is_only_json=is_only_json) for item in value]
        if isinstance(value, dict) and path[0] in value:
            return value | {path[0]: _decoded(value[path[0]], path[1:], decode, is_only_json=is_only_json)}
        return value
    if not isinstance(value, str):
        return value
    try:
        return decode(value)
    except ValueError as error:
        if is_only_json:
            raise ProtocolError(f"Not JSON text: {error}. Write the value as JSON.") from error
        return value
