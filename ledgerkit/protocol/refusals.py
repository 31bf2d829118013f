"""How a value that the protocol does not allow is refused: one sentence per problem, and what would have been right.

Constructors raise pydantic's ``ValidationError``. At the edges, :func:`parse` reads untyped input and raises
:class:`~ledgerkit.errors.ProtocolError`, which names the field's path, the value, and the nearest allowed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.model import REPLACE_HINT, SHOWN_CHARACTERS

M = TypeVar("M", bound=BaseModel)

_SHOWN_PROBLEMS: Final = 3
_TAG_FIELDS: Final = ("type", "memory_kind")
_SHOWN_BITS: Final = 128
_QUOTED: Final = re.compile(r"'([^']*)'")


def parse(model: type[M], value: object) -> M:
    """A model from JSON text or bytes, or from the objects that JSON decodes to.

    Args:
        model: The protocol model to read.
        value: JSON text or bytes, a mapping, or an instance of the model.

    Raises:
        ProtocolError: If the protocol does not allow the value.

    Example:
        >>> from ledgerkit.protocol.names import TextPart
        >>> parse(TextPart, {"text": "hi", "trust_level": "USER", "visibility": "MODEL_VISIBLE"})
        Traceback (most recent call last):
        ledgerkit.errors.ProtocolError: Not a TextPart. Unknown trust_level 'USER'. Did you mean 'USER_TRUSTED'?
    """
    return cast(M, parse_as(model, value, what=model.__name__))


def parse_as(shape: object, value: object, *, what: str) -> object:
    """Like :func:`parse`, for a union of models.

    Raises:
        ProtocolError: If the protocol does not allow the value.
    """
    adapter = _adapter(shape)
    try:
        if isinstance(value, str | bytes):
            return adapter.validate_json(value)
        return adapter.validate_python(value)
    except ValidationError as error:
        raise refusal(error, shape, what=what) from error


@cache
def _adapter(shape: object) -> TypeAdapter[object]:
    return TypeAdapter(cast(Any, shape))


def refusal(error: ValidationError, shape: object, *, what: str) -> ProtocolError:
    """The error that says in words what pydantic found.

    Args:
        error: What pydantic raised.
        shape: The model or union that was read, to know the names of its fields.
        what: What the value should have been.
    """
    found = error.errors(include_url=False)
    # A derived field and the length of a broken list are consequences of another problem.
    roots = [one for one in found if not _is_consequence(one, found)]
    # A misspelt field explains a missing one, so it comes first.
    roots.sort(key=lambda one: one["type"] != "extra_forbidden")
    sentences = [_sentence(one, shape) for one in roots[:_SHOWN_PROBLEMS]]
    if len(roots) > _SHOWN_PROBLEMS:
        sentences.append(f"And {len(roots) - _SHOWN_PROBLEMS} more.")
    article = "an" if what[:1] in "AEIOU" else "a"
    return ProtocolError(f"Not {article} {what}. " + " ".join(sentences))


def _is_consequence(problem: ErrorDetails, found: list[ErrorDetails]) -> bool:
    if problem["type"] == "default_factory_not_called":
        return True
    loc = problem["loc"]
    inner = any(other["loc"][: len(loc)] == loc and other["loc"] != loc for other in found)
    return problem["type"] == "too_short" and inner


def _sentence(problem: ErrorDetails, shape: object) -> str:
    context = cast("dict[str, object]", problem.get("ctx", {}))
    if problem["type"] in ("enum", "literal_error", "union_tag_invalid", "union_tag_not_found", "extra_forbidden"):
        return _unknown(problem, context, shape)
    path, _ = _follow(problem["loc"], shape)
    if problem["type"] == "missing":
        return f"{path} is missing."
    if problem["type"] == "value_error":
        return (f"{path}: " if path else "") + _ended(str(context["error"]))
    message = problem["msg"].removeprefix("Input ")
    hint = f" {REPLACE_HINT}" if problem["type"] == "json_invalid" and "hex escape" in message else ""
    return f"{path or 'value'} is {_clipped(problem['input'])}: {_ended(message)}{hint}"


def _unknown(problem: ErrorDetails, context: dict[str, object], shape: object) -> str:
    """Says which value or field is not known, and which one was perhaps meant."""
    loc = problem["loc"]
    if problem["type"] == "extra_forbidden":
        path, models = _follow(loc[:-1], shape)
        allowed = sorted({name for model in models for name in model.model_fields})
        return str(ProtocolError.unknown_value(f"field of {path}" if path else "field", _short(loc[-1]), allowed))
    path, models = _follow(loc, shape)
    if problem["type"] in ("enum", "literal_error"):
        allowed = _QUOTED.findall(str(context["expected"]))
        return str(ProtocolError.unknown_value(path or "value", _short(problem["input"]), allowed))
    path = _join(path, str(context["discriminator"]).strip("'"))
    if problem["type"] == "union_tag_not_found":
        return f"{path} is missing. Known: {', '.join(_tags(models))}."
    return str(ProtocolError.unknown_value(path, _short(context["tag"]), _tags(models)))


def _follow(loc: tuple[int | str, ...], shape: object) -> tuple[str, list[type[BaseModel]]]:
    """The path as a reader writes it (without union tags), and the models that may stand there."""
    models, path = _models_in(shape), ""
    for item in loc:
        if isinstance(item, int):
            path += f"[{item}]"
            continue
        if len(models) > 1:  # a union: pydantic names the member before the field
            models = [model for model in models if item in (model.__name__, *_tags([model]))]
            continue
        path = _join(path, item)
        holders = [model for model in models if item in model.model_fields]
        models = [inner for model in holders for inner in _models_in(model.model_fields[item].annotation)]
    return path, models


def _tags(models: Iterable[type[BaseModel]]) -> list[str]:
    fields = (model.model_fields.get(name) for model in models for name in _TAG_FIELDS)
    return [str(field.default) for field in fields if field is not None]


def _models_in(shape: object) -> list[type[BaseModel]]:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return [shape]
    return [model for inner in get_args(shape) for model in _models_in(inner)]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _short(value: object) -> object:
    """A value as an error shows it: long text cut, anything that is not a scalar only by its type."""
    if isinstance(value, str | bytes):
        return value if len(value) <= SHOWN_CHARACTERS else value[:SHOWN_CHARACTERS]
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    return value if isinstance(value, int | float | None) else type(value).__name__


def _clipped(value: object) -> str:
    is_scalar = isinstance(value, str | bytes | int | float | None)
    return ascii(_short(value)) if is_scalar else f"of type {type(value).__name__}"


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else text + "."
