"""What an untyped JSON value is: checks that type checkers understand."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeIs

from ledgerkit.importers.drafts import JsonObject


def is_object(value: object) -> TypeIs[JsonObject]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeIs[list[Any]]:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def objects_of(value: object) -> list[JsonObject]:
    """The objects of a list; none if it is no list."""
    return [item for item in value if is_object(item)] if is_list(value) else []


def nonempty_text(value: object) -> str | None:
    """The value if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None
