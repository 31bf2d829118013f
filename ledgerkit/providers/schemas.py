"""JSON schemas in the subset that every interface enforces (science §8).

An object at the root, no further properties, every property required and nullable where it was optional, enums, no
limits of numbers or lengths, no references, at most five levels. What leaves the subset is named in the notes and is
for the reader of the answer to check. A value of no fixed form travels as JSON text, and a root that is no object
travels in a field: :func:`~ledgerkit.providers.loosening.loosen` takes both back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from pydantic import JsonValue

from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import joined_path, json_text

MAX_SCHEMA_DEPTH: Final = 5
"""Deepest nesting of objects and lists."""
JSON_TEXT_HINT: Final = "JSON, written as text."
"""Description of a value that travels as JSON text."""
WRAPPED: Final = "answer"
"""Field that holds an answer whose schema is no object."""

_SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "null"})
_KEPT: Final = frozenset({"type", "description", "enum", "properties", "required", "additionalProperties", "items"})
_SILENT: Final = frozenset({"title", "$schema", "$id", "$comment", "$defs", "definitions"})
_CHOICES: Final = ("anyOf", "oneOf")
ITEMS: Final = "*"

Schema = dict[str, JsonValue]
Path = tuple[str, ...]


@dataclass(slots=True)
class Adapting:
    """One schema on its way into the subset."""

    defs: Mapping[str, JsonValue]
    notes: list[Note] = field(default_factory=list[Note])
    texts: dict[Path, bool] = field(default_factory=dict[Path, bool])
    """Paths that travel as JSON text, and whether nothing but JSON may stand there."""
    is_wrapped: bool = False
    """Whether the root is no object, and travels in a field."""

    def note(self, where: str, original: str) -> None:
        """Notes one change."""
        self.notes.append(Note(NoteKind.SCHEMA_ADAPTED, where, original))


def strict_schema(schema: Mapping[str, JsonValue], where: str = "schema") -> tuple[Schema, tuple[Note, ...]]:
    """A schema in the common subset, and what had to change.

    Args:
        schema: JSON Schema of an answer.
        where: Path of the schema, for the notes.

    Example:
        >>> schema, notes = strict_schema({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
        >>> schema["properties"], schema["required"], [note.original for note in notes]
        ({'n': {'type': ['integer', 'null']}}, ['n'], ['minimum: 1', 'optional'])
    """
    adapted, doing = adapt(schema, where)
    return adapted, tuple(doing.notes)


def adapt(schema: Mapping[str, JsonValue], where: str = "schema") -> tuple[Schema, Adapting]:
    """Like :func:`strict_schema`, with everything that is known about the way."""
    doing = Adapting({**_fields(schema.get("definitions")), **_fields(schema.get("$defs"))})
    root, refs = dict(schema), ()
    if "$ref" in schema:  # how pydantic writes a model that holds itself
        target, ref = _target(root, (), doing)
        root, refs = (target, (ref,)) if isinstance(target, dict) else (root, ())
    if _is_record(root) and "null" not in _types(root):
        return _record(root, where, (), refs, doing), doing
    doing.note(where, json_text(dict(schema)))
    doing.is_wrapped = True
    wrapped: Schema = {"type": "object", "properties": {WRAPPED: dict(schema)}, "required": [WRAPPED]}
    return _record(wrapped, where, (), (), doing), doing


def _fields(value: JsonValue) -> Schema:
    return value if isinstance(value, dict) else {}


def _types(schema: Mapping[str, JsonValue]) -> list[str]:
    types = schema.get("type")
    named = types if isinstance(types, list) else [types]
    return list(dict.fromkeys(str(one) for one in named if one is not None))


def _is_record(schema: Mapping[str, JsonValue]) -> bool:
    """Whether a schema is an object with properties of its own, or null, and nothing else."""
    kinds = [one for one in _types(schema) if one != "null"]
    combined = any(key in schema for key in (*_CHOICES, "allOf", "$ref", "enum", "const"))
    return kinds == ["object"] and bool(_fields(schema.get("properties"))) and not combined


def _strict(schema: JsonValue, where: str, path: Path, refs: tuple[str, ...], doing: Adapting) -> Schema:
    """One schema inside another."""
    if not isinstance(schema, dict):
        return _text(schema, where, path, doing)
    if "$ref" in schema or "allOf" in schema:
        target, ref = _target(schema, refs, doing)
        if target is None:
            return _text(schema, where, path, doing)
        return _strict(target, where, path, (*refs, ref), doing)
    if any(key in schema for key in _CHOICES):
        return _choice(schema, where, path, refs, doing)
    return _typed(schema, where, path, refs, doing)


def _typed(schema: Schema, where: str, path: Path, refs: tuple[str, ...], doing: Adapting) -> Schema:
    """A schema that says its type or its values."""
    types = _types(schema)
    kinds = [one for one in types if one != "null"]
    is_shallow = len(path) < MAX_SCHEMA_DEPTH
    if "enum" in schema or "const" in schema:
        return _enum(schema, where, path, doing)
    if _is_record(schema) and is_shallow:
        made = _record(schema, where, path, refs, doing)
    elif kinds == ["array"] and isinstance(schema.get("items"), dict) and is_shallow:
        made = _list(schema, where, path, refs, doing)
    elif types and all(one in _SCALARS for one in types):
        return _kept(schema, where, doing)
    else:
        return _text(schema, where, path, doing)
    return _nullable(made) if "null" in types else made


def _target(schema: Schema, refs: tuple[str, ...], doing: Adapting) -> tuple[JsonValue, str]:
    """What a reference or a single ``allOf`` stands for; ``None`` for a recursion or anything that is not found."""
    every = schema.get("allOf")
    if "$ref" not in schema and isinstance(every, list) and len(every) == 1:
        return every[0], ""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or ref in refs or every is not None:
        return None, ""
    return doing.defs.get(ref.rpartition("/")[2]), ref


def _choice(schema: Schema, where: str, path: Path, refs: tuple[str, ...], doing: Adapting) -> Schema:
    key = next(key for key in _CHOICES if key in schema)
    branches = schema[key]
    trial = Adapting(doing.defs)
    made = [
        _strict(branch, f"{where}.{key}[{index}]", path, refs, trial)
        for index, branch in enumerate(branches if isinstance(branches, list) else [])
    ]
    # Where a branch would be text, or lead to one, a reader could not tell which branch an answer took.
    if not made or trial.texts:
        return _text(schema, where, path, doing)
    doing.notes += trial.notes
    _leave(schema, where, doing, but={key, "description"})
    if key != "anyOf":
        doing.note(where, key)
    flat: list[JsonValue] = []
    for branch in made:
        inner = branch.get("anyOf")
        flat += inner if isinstance(inner, list) else [branch]
    return _described({"anyOf": flat}, schema)


def _enum(schema: Schema, where: str, path: Path, doing: Adapting) -> Schema:
    values = schema.get("enum", [schema.get("const")])
    if not isinstance(values, list) or not values or not all(isinstance(one, str | int | None) for one in values):
        return _text(schema, where, path, doing)
    if "const" in schema:
        doing.note(where, f"const: {json_text(schema['const'])}")
    _leave(schema, where, doing, but={"enum", "const", "type", "description"})
    values = list({json_text(one): one for one in values}.values())
    names: dict[type, str] = {str: "string", bool: "boolean", int: "integer", type(None): "null"}
    types = list(dict.fromkeys(names[type(one)] for one in values))
    made: Schema = {"type": types[0] if len(types) == 1 else list[JsonValue](types), "enum": values}
    return _described(made, schema)


def _record(schema: Mapping[str, JsonValue], where: str, path: Path, refs: tuple[str, ...], doing: Adapting) -> Schema:
    required = schema.get("required")
    needed = set(cast("list[str]", required)) if isinstance(required, list) else set[str]()
    properties: Schema = {}
    for name, inner in _fields(schema.get("properties")).items():
        place = joined_path(f"{where}.properties", name)
        made = _strict(inner, place, (*path, name), refs, doing)
        if name not in needed:
            doing.note(place, "optional")
            made = _nullable(made)
        properties[name] = made
    if schema.get("additionalProperties") not in (None, False):
        doing.note(where, f"additionalProperties: {json_text(schema['additionalProperties'])}")
    _leave(schema, where, doing, but=_KEPT - {"enum", "items"})
    made = _described({"type": "object", "properties": properties}, schema)
    made["required"] = list[JsonValue](properties)
    made["additionalProperties"] = False
    return made


def _list(schema: Schema, where: str, path: Path, refs: tuple[str, ...], doing: Adapting) -> Schema:
    _leave(schema, where, doing, but={"type", "items", "description"})
    made = _described({"type": "array"}, schema)
    made["items"] = _strict(schema["items"], f"{where}.items", (*path, ITEMS), refs, doing)
    return made


def _kept(schema: Schema, where: str, doing: Adapting) -> Schema:
    _leave(schema, where, doing, but={"type", "description"})
    types = _types(schema)
    return _described({"type": types[0] if len(types) == 1 else list[JsonValue](types)}, schema)


def _text(schema: JsonValue, where: str, path: Path, doing: Adapting) -> Schema:
    """A value that no schema of the subset describes, as JSON text."""
    fields = _fields(schema)
    doing.note(where, json_text(schema))
    types = _types(fields)
    doing.texts[path] = bool(types) and all(one in ("object", "array", "null") for one in types)
    said = fields.get("description")
    description = f"{said} {JSON_TEXT_HINT}" if isinstance(said, str) else JSON_TEXT_HINT
    nullable: JsonValue = ["string", "null"]
    return {"type": nullable if "null" in types else "string", "description": description}


def _leave(schema: Mapping[str, JsonValue], where: str, doing: Adapting, *, but: Collection[str]) -> None:
    for key, value in schema.items():
        if key not in but and key not in _SILENT:
            doing.note(where, f"{key}: {json_text(value)}")


def _described(made: Schema, schema: Mapping[str, JsonValue]) -> Schema:
    description = schema.get("description")
    if isinstance(description, str):
        made["description"] = description
    return made


def _nullable(schema: Schema) -> Schema:
    null: Schema = {"type": "null"}
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return schema if null in branches else {**schema, "anyOf": [*branches, null]}
    types = _types(schema)
    if "null" in types:
        return schema
    if types and types[0] in ("object", "array"):
        return {"anyOf": [schema, null]}
    wider: Schema = {**schema, "type": [*types, "null"]}
    values = schema.get("enum")
    return {**wider, "enum": [*values, None]} if isinstance(values, list) else wider
