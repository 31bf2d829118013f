"""Rules of what stands beside the conversation: schemas of answers, marks of cached prefixes, ranges of options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.providers.gate.reading import Reading
from ledgerkit.providers.gate.violations import RuleName, Violation
from ledgerkit.providers.payloads import ProviderPayload
from ledgerkit.providers.schemas import MAX_SCHEMA_DEPTH
from ledgerkit.providers.told import joined_path

_KEYWORDS: Final = frozenset(
    {"type", "description", "enum", "properties", "required", "additionalProperties", "items", "anyOf"}
)
_RANGES: Final = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "topP": (0, 1),
    "seed": (0, 2**31 - 1),
    "max_tokens": (1, 2**31 - 1),
    "max_completion_tokens": (1, 2**31 - 1),
    "max_output_tokens": (1, 2**31 - 1),
    "maxOutputTokens": (1, 2**31 - 1),
}
_MOST_MESSAGES: Final = 100_000
_STOPS: Final = {"stop": 4, "stopSequences": 5, "stop_sequences": 64}

Json = Any


def check_answer_schema(reading: Reading) -> Iterator[Violation]:
    """A schema that is enforced keeps to the common subset."""
    found = _enforced(reading)
    if found is not None:
        path, schema = found
        if schema.get("type") != "object":
            yield Violation(RuleName.SCHEMA_SUBSET, path, "The root must be an object.")
        yield from _outside(schema, path, 1)


def _enforced(reading: Reading) -> tuple[str, Json] | None:
    body = reading.body
    match reading.interface:
        case ProviderInterface.OPENAI_RESPONSES:
            form, path = body.get("text", {}).get("format", {}), "text.format.schema"
        case ProviderInterface.ANTHROPIC:
            form, path = body.get("output_config", {}).get("format", {}), "output_config.format.schema"
        case ProviderInterface.GEMINI:
            form, path = body.get("generationConfig", {}), "generationConfig.responseJsonSchema"
        case _:
            form, path = body.get("response_format", {}).get("json_schema", {}), "response_format.json_schema.schema"
    schema = form.get("schema", form.get("responseJsonSchema"))
    return None if schema is None or form.get("strict") is False else (path, schema)


def _outside(schema: Json, path: str, depth: int) -> Iterator[Violation]:
    """What of a schema is outside the subset."""
    if not isinstance(schema, Mapping):
        yield Violation(RuleName.SCHEMA_SUBSET, path, "A schema must be an object.")
        return
    fields = cast("Mapping[str, Json]", schema)
    if foreign := sorted(fields.keys() - _KEYWORDS):
        yield Violation(RuleName.SCHEMA_SUBSET, path, f"Not in the common subset: {', '.join(map(ascii, foreign))}.")
    if (fault := _fault(fields, depth)) is not None:
        yield Violation(RuleName.SCHEMA_SUBSET, path, fault)
    for name, inner in fields.get("properties", {}).items():
        yield from _outside(inner, joined_path(f"{path}.properties", name), depth + 1)
    for number, inner in enumerate(fields.get("anyOf", ())):
        yield from _outside(inner, f"{path}.anyOf[{number}]", depth)
    if "items" in fields:
        yield from _outside(fields["items"], f"{path}.items", depth + 1)


def _fault(schema: Mapping[str, Json], depth: int) -> str | None:
    """What one level of a schema lacks."""
    kind = schema.get("type")
    if kind in ("object", "array") and depth > MAX_SCHEMA_DEPTH:
        return f"Deeper than {MAX_SCHEMA_DEPTH} levels."
    if kind == "object":
        is_closed = schema.get("additionalProperties") is False
        is_whole = sorted(schema.get("required", ())) == sorted(schema.get("properties", {}))
        return None if is_closed and is_whole else "All properties are required and no further ones are allowed."
    if kind == "array":
        return None if "items" in schema else "A list says what it holds."
    return None if kind is not None or "anyOf" in schema else "A schema says its type."


def check_marks(reading: Reading) -> Iterator[Violation]:
    """Not more marks than the interface takes."""
    if reading.interface is not ProviderInterface.ANTHROPIC:
        return
    body = reading.body
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [block for message in body["messages"] for block in message["content"]]
    count = sum("cache_control" in block for block in blocks)
    most = max((rule.max_breakpoints or 0 for rule in reading.payload.capabilities.cache_rules), default=0)
    if count > most:
        yield Violation(RuleName.CACHE_MARKS, "", f"{count} cache marks where {most} are taken.")


def check_options(reading: Reading) -> Iterator[Violation]:
    """Options within what interfaces take."""
    prefix = "generationConfig." if reading.interface is ProviderInterface.GEMINI else ""
    options: dict[str, Json] = reading.body.get("generationConfig", reading.body)
    for name, (least, most) in _RANGES.items():
        if name in options and not least <= options[name] <= most:
            yield Violation(RuleName.OPTION_RANGE, prefix + name, f"From {least} to {most}.")
    for name, most in _STOPS.items():
        stops: list[str] = options.get(name, [])
        if len(stops) > most or any(not stop.strip() for stop in stops):
            yield Violation(RuleName.OPTION_RANGE, prefix + name, f"At most {most} stop sequences, none blank.")


def check_count(payload: ProviderPayload) -> Iterator[Violation]:
    """Not more messages than the interface takes; asked before anything looks at each of them."""
    messages = payload.body.get("messages")
    count = len(messages) if isinstance(messages, list) else 0
    if payload.interface is ProviderInterface.ANTHROPIC and count > _MOST_MESSAGES:
        yield Violation(RuleName.TOO_MANY_MESSAGES, "messages", f"At most {_MOST_MESSAGES} messages.")
