"""A small language for the shape of a JSON body: what must be there, what may be, and nothing else.

Not a general validator: it knows the few forms that the interfaces use, and says what is wrong in one sentence where a
union of types would say a hundred.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from ledgerkit.protocol.capabilities import ArgumentsForm
from ledgerkit.providers.gate.violations import RuleName, Violation
from ledgerkit.providers.told import joined_path

_NO_SHAPES: Mapping[str, Shape] = {}


class Shape(Protocol):
    """Something that a value can fit."""

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        ...


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of one type; ``kinds`` are Python types, and bool is no int."""

    name: str
    kinds: tuple[type, ...]

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if not isinstance(value, self.kinds) or (isinstance(value, bool) and bool not in self.kinds):
            yield Violation(RuleName.WRONG_TYPE, path, f"{_kind(value)} where {self.name} must stand.")


TEXT = Leaf("text", (str,))
NUMBER = Leaf("a number", (int, float))
INTEGER = Leaf("an integer", (int,))
FLAG = Leaf("true or false", (bool,))
OBJECT = Leaf("an object", (dict,))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few texts."""

    values: tuple[str, ...]

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if value not in self.values:
            allowed = ", ".join(self.values)
            yield Violation(RuleName.UNKNOWN_VALUE, path, f"{_shown(value)} is not known here. Known: {allowed}.")


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape."""

    item: Shape
    least: int = 1

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if not isinstance(value, list):
            yield Violation(RuleName.WRONG_TYPE, path, f"{_kind(value)} where a list must stand.")
            return
        if len(value) < self.least:
            yield Violation(RuleName.EMPTY_LIST, path, "An empty list is refused here.")
        for index, item in enumerate(value):
            yield from self.item.check(item, joined_path(path, index))


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known keys."""

    required: Mapping[str, Shape] = field(default_factory=lambda: _NO_SHAPES)
    optional: Mapping[str, Shape] = field(default_factory=lambda: _NO_SHAPES)

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if not isinstance(value, dict):
            yield Violation(RuleName.WRONG_TYPE, path, f"{_kind(value)} where an object must stand.")
            return
        for key in self.required:
            if key not in value:
                yield Violation(RuleName.REQUIRED_KEY, joined_path(path, key), f"{key} is required.")
        for key, item in value.items():
            shape = self.required.get(key) or self.optional.get(key)
            if shape is None:
                yield Violation(RuleName.UNKNOWN_KEY, joined_path(path, key), f"{_shown(key)} is not known here.")
            else:
                yield from shape.check(item, joined_path(path, key))


def of_type(name: str, required: Mapping[str, Shape], optional: Mapping[str, Shape] = _NO_SHAPES) -> Record:
    """An object whose key ``type`` says what it is."""
    return Record({"type": OneOf((name,)), **required}, optional)


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object whose shape one of its keys names."""

    key: str
    shapes: Mapping[str, Record]

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if not isinstance(value, dict):
            yield Violation(RuleName.WRONG_TYPE, path, f"{_kind(value)} where an object must stand.")
        elif self.key not in value:
            yield Violation(RuleName.REQUIRED_KEY, joined_path(path, self.key), f"{self.key} is required.")
        else:
            tag = value[self.key]
            if isinstance(tag, str) and tag in self.shapes:
                yield from self.shapes[tag].check(value, path)
            else:
                yield from OneOf(tuple(self.shapes)).check(tag, joined_path(path, self.key))


@dataclass(frozen=True, slots=True)
class TextOr:
    """A text, perhaps one of a few, or something else."""

    other: Shape
    known: tuple[str, ...] = ()

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if not isinstance(value, str):
            yield from self.other.check(value, path)
        elif self.known:
            yield from OneOf(self.known).check(value, path)


@dataclass(frozen=True, slots=True)
class Single:
    """An object that holds exactly one of some keys, and perhaps others."""

    choices: Mapping[str, Shape]
    beside: Mapping[str, Shape]

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        yield from Record(optional={**self.choices, **self.beside}).check(value, path)
        if isinstance(value, dict) and sum(key in value for key in self.choices) != 1:
            names = ", ".join(self.choices)
            yield Violation(RuleName.ONE_FIELD, path, f"Exactly one of {names} must stand here.")


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call: an object, or JSON text of one."""

    form: ArgumentsForm

    def check(self, value: JsonValue, path: str) -> Iterator[Violation]:
        """What does not fit."""
        if self.form is ArgumentsForm.OBJECT:
            fits = isinstance(value, dict)
        else:
            fits = isinstance(value, str) and _is_object_text(value)
        if not fits:
            wanted = "an object" if self.form is ArgumentsForm.OBJECT else "JSON text of an object"
            yield Violation(RuleName.ARGUMENTS_FORM, path, f"Arguments travel as {wanted} here.")


def _is_object_text(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _kind(value: JsonValue) -> str:
    names: dict[type, str] = {dict: "An object", list: "A list", str: "Text", bool: "A truth value", type(None): "Null"}
    return names.get(type(value), "A number")


def _shown(value: JsonValue) -> str:
    return ascii(value[:40]) if isinstance(value, str) else _kind(value)
