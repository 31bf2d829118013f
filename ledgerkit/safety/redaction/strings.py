"""The strings of a JSON value, taken out and put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ledgerkit.importers.shapes import is_list, is_object


def strings_of(value: object, *, kept: frozenset[str] = frozenset()) -> Iterator[str]:
    """All strings of a JSON value, keys too, in a fixed order.

    Args:
        value: The value.
        kept: Keys of objects whose values are left out.

    Example:
        >>> list(strings_of({"a": ["x", 1], "id": "y"}, kept=frozenset({"id"})))
        ['a', 'x', 'id']
    """
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for key, inner in value.items():
            yield key
            if key not in kept:
                yield from strings_of(inner, kept=kept)
    elif is_list(value):
        for inner in value:
            yield from strings_of(inner, kept=kept)


def with_strings(value: Any, strings: Iterator[str], *, kept: frozenset[str] = frozenset()) -> Any:  # noqa: ANN401 - a JSON value
    """A JSON value with other strings in the places of those that :func:`strings_of` has told.

    Example:
        >>> with_strings({"a": ["x", 1]}, iter(["b", "y"]))
        {'b': ['y', 1]}
    """
    if isinstance(value, str):
        return next(strings)
    if is_object(value):
        return {
            next(strings): inner if key in kept else with_strings(inner, strings, kept=kept)
            for key, inner in value.items()
        }
    if is_list(value):
        return [with_strings(inner, strings, kept=kept) for inner in value]
    return value
