"""How values are printed as JSON: one rule for a type, wherever it stands.

A column may be null unless it is named as certain: a frame's types do not say what is known of every row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import polars as pl
from pydantic import TypeAdapter

from ledgerkit.protocol.vocabulary import ClaimOutcome

Shape = dict[str, Any]


@dataclass(frozen=True)
class Output:
    """A schema: the command whose output it describes, what that is, and its shape."""

    command: str
    what: str
    shape: Shape


DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
MONEY: Final[Shape] = {"type": ["string", "null"], "pattern": "^-?[0-9]+(\\.[0-9]+)?$"}
TIME: Final[Shape] = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$"}
DAY: Final[Shape] = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
TEXT: Final[Shape] = {"type": "string"}
TEXTS: Final[Shape] = {"type": "array", "items": TEXT}
COUNT: Final[Shape] = {"type": "integer", "minimum": 0}
YES_OR_NO: Final[Shape] = {"type": "boolean"}

IDENTITY: Final = ("session_id", "run_id")
PLACE: Final = (*IDENTITY, "message_id", "sequence_no")
"""Columns that are never null where they identify a row."""

_NAMES: Final = {
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"), "integer"),
    "Float64": "number",
    "Boolean": "boolean",
    "String": "string",
    "Categorical": "string",
}
_CLOSED: Final[Mapping[str, list[str]]] = {"fate": ["accepted", "duplicate", "skipped", "quarantined"]}
_TEXTS: Final[Mapping[type, Shape]] = {pl.Decimal: MONEY, pl.Datetime: TIME, pl.Date: DAY}
_OUTCOMES: Final = [one.value for one in ClaimOutcome]


def document(what: str, shape: Shape) -> Shape:
    """A schema that stands for itself. What parts of it refer to is put where such references look."""
    named: Shape = {}
    whole = _without_names(shape, named)
    return {"$schema": DRAFT, "description": what, **whole, **({"$defs": named} if named else {})}


def _without_names(shape: Any, named: Shape) -> Any:  # noqa: ANN401 - any piece of a schema
    if isinstance(shape, list):
        return [_without_names(one, named) for one in cast(list[Any], shape)]
    if not isinstance(shape, dict):
        return shape
    pieces = cast(Shape, shape)
    named |= {name: _without_names(one, named) for name, one in pieces.get("$defs", {}).items()}
    left_out = {"$defs", *(["title"] if isinstance(pieces.get("title"), str) else [])}  # pydantic names every field
    return {name: _without_names(one, named) for name, one in pieces.items() if name not in left_out}


def closed(properties: Shape, optional: Collection[str] = ()) -> Shape:
    """An object that has these fields and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def several(items: Shape) -> Shape:
    """Any number of things of one shape."""
    return {"type": "array", "items": items}


def nullable(shape: Shape) -> Shape:
    """The shape, or nothing."""
    return {"anyOf": [shape, {"type": "null"}]}


def row(columns: Mapping[str, pl.DataType], certain: Collection[str] = ()) -> Shape:
    """A row of a frame."""
    return closed({name: _certain(value(name, kind)) if name in certain else value(name, kind)
                   for name, kind in columns.items()})  # fmt: skip


def rows(frame: pl.DataFrame, certain: Collection[str] = ()) -> Shape:
    """The rows of a frame."""
    return several(row(frame.schema, certain))


def claims(frame: pl.DataFrame) -> Shape:
    """Rows that each have a verdict on a claim."""
    made = rows(frame, (*PLACE, "verdict", "rule"))
    made["items"]["properties"]["verdict"] = {"enum": _OUTCOMES}
    return made


def value(name: str, kind: pl.DataType) -> Shape:
    """A value of a column."""
    return {"enum": _CLOSED[name]} if name in _CLOSED else _of_kind(kind)


def _of_kind(kind: pl.DataType) -> Shape:
    if type(kind) in _TEXTS:
        return _TEXTS[type(kind)]
    match kind:
        case pl.Enum():
            return {"enum": [*kind.categories, None]}
        case pl.List():
            return {"type": ["array", "null"], "items": _of_kind(_made(kind.inner))}
        case pl.Struct():
            return nullable(closed({field.name: _of_kind(_made(field.dtype)) for field in kind.fields}))
        case _:
            return {"type": [_NAMES[kind.base_type().__name__], "null"]}


def typed(kind: type) -> Shape:
    """What pydantic prints of a model or a dataclass; what it refers to stands under ``$defs``."""
    return TypeAdapter[Any](kind).json_schema(mode="serialization")


def _certain(shape: Shape) -> Shape:
    if "enum" in shape:
        return {"enum": [one for one in shape["enum"] if one is not None]}
    return {**shape, "type": shape["type"][0]}


def _made(kind: Any) -> pl.DataType:  # noqa: ANN401 - polars gives a type or one made of it
    return pl.Schema({"": kind})[""]
