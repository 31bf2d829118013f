"""The protocol as JSON Schema 2020-12, made from the models, so that it cannot drift from them.

The same models give the same bytes: definitions are sorted by name, fields stand in declared order.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType, ModuleType
from typing import Any, Final, cast

from pydantic import BaseModel, JsonValue, TypeAdapter
from pydantic.json_schema import models_json_schema

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol import (
    authority,
    budget,
    capabilities,
    contracts,
    instructions,
    memory,
    messages,
    parts,
    references,
    requests,
    responses,
    roles,
    toolcalls,
    usage,
)

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of the schemas."""

_Schema = dict[str, JsonValue]

_MODULES: Final = (
    authority,
    instructions,
    budget,
    capabilities,
    contracts,
    memory,
    messages,
    responses,
    parts,
    references,
    requests,
    roles,
    toolcalls,
    usage,
)


def _models_of(module: ModuleType) -> dict[str, type[BaseModel]]:
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    models = [value for value in own if isinstance(value, type) and issubclass(value, BaseModel)]
    return {model.__name__: model for model in models if not model.__name__.endswith("Base")}


MODELS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType(
    dict(sorted((name, model) for module in _MODULES for name, model in _models_of(module).items()))
)
"""Every public model by name."""

UNIONS: Final[Mapping[str, object]] = MappingProxyType(
    {"LlmContentBlock": requests.LlmContentBlock, "MemoryContent": memory.MemoryContent, "Part": parts.Part}
)
"""Unions that have a name of their own."""


def json_schema(model_name: str | None = None) -> _Schema:
    """The JSON Schema of one model, or of all.

    Args:
        model_name: A model or union such as ``AgentMessage`` or ``Part``; ``None`` for one document with all of them
            under ``$defs``.

    Returns:
        A schema of its own, to change at will.

    Raises:
        ProtocolError: If there is no such model.

    Example:
        >>> json_schema("MessageRange")["required"]
        ['first', 'last']
    """
    if model_name is None:
        _, whole = models_json_schema([(model, "validation") for model in MODELS.values()])
        definitions = cast("dict[str, _Schema]", whole["$defs"])
        definitions |= {name: _without_definitions(_adapter(name).json_schema()) for name in UNIONS}
        described = {name: _described(name, schema) for name, schema in sorted(definitions.items())}
        return {"$schema": DIALECT, "title": "ledgerkit protocol", "$defs": cast(JsonValue, described)}
    if model_name not in MODELS and model_name not in UNIONS:
        raise ProtocolError.unknown_value("model", model_name, sorted([*MODELS, *UNIONS]))
    schema: _Schema = {"$schema": DIALECT, **_described(model_name, _adapter(model_name).json_schema())}
    if isinstance(inner := schema.get("$defs"), dict):
        schema["$defs"] = {name: _described(name, cast(_Schema, one)) for name, one in sorted(inner.items())}
    return schema


@cache
def _adapter(name: str) -> TypeAdapter[object]:
    return TypeAdapter(cast(Any, MODELS[name] if name in MODELS else UNIONS[name]))


def _without_definitions(schema: _Schema) -> _Schema:
    return {key: value for key, value in schema.items() if key != "$defs"}


def _described(name: str, schema: _Schema) -> _Schema:
    """The schema with the docstrings beneath the model's fields as their descriptions."""
    properties = schema.get("properties")
    if name not in MODELS or not isinstance(properties, dict):
        return schema
    model = MODELS[name]
    docs = {key: text for base in reversed(model.__mro__) for key, text in _field_docs(base).items()}
    names = {field.alias or key: key for key, field in model.model_fields.items()}
    described: _Schema = {
        alias: {**cast(_Schema, one), "description": docs[names[alias]]} if names[alias] in docs else one
        for alias, one in properties.items()
    }
    return {**schema, "properties": described}


@cache
def _field_docs(cls: type) -> Mapping[str, str]:
    if not cls.__module__.startswith(f"{__package__}."):
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls.__name__)
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
