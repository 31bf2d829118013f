"""Spans of OTLP JSON, with their attributes as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.pieces import is_too_deep
from ledgerkit.importers.reader import Line
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text, objects_of

MODEL: Final = "model"
TOOL: Final = "tool"
EVALUATION: Final = "evaluation"
OTHER: Final = "other"
_OPERATIONS: Final = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion"), MODEL), "execute_tool": TOOL,
}  # fmt: skip
_OPENINFERENCE: Final = {"LLM": MODEL, "TOOL": TOOL, "EVALUATOR": EVALUATION}
_ERROR_CODES: Final = (2, "STATUS_CODE_ERROR")


@dataclass(slots=True)
class Span:
    """A span.

    Attributes:
        start, end: Microseconds since 1970.
        covers_call: Whether a span of a model call stands below it: then what it says of usage is counted there.
    """

    item: Line
    value: JsonObject
    resource: JsonObject
    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    attributes: JsonObject
    events: list[tuple[str, JsonObject]]
    start: int | None
    end: int | None
    covers_call: bool = False

    @property
    def kind(self) -> str:
        """A model call, a tool's run, an evaluation, or anything else."""
        operation = str(self.attributes.get("gen_ai.operation.name", "")).lower()
        if operation in _OPERATIONS:
            return _OPERATIONS[operation]
        return _OPENINFERENCE.get(str(self.attributes.get("openinference.span.kind", "")).upper(), OTHER)

    @property
    def session(self) -> str:
        """The conversation that it is of; the trace where it names none."""
        named = (self.attributes.get(key) for key in ("gen_ai.conversation.id", "session.id"))
        return next((name for name in named if isinstance(name, str) and name), self.trace_id)

    @property
    def error(self) -> tuple[str, str | None] | None:
        """What went wrong: its type and words."""
        status = self.value.get("status")
        failed = is_object(status) and status.get("code") in _ERROR_CODES
        kind = nonempty_text(self.attributes.get("error.type"))
        nothing: JsonObject = {}
        thrown = next((said for name, said in self.events if name == "exception"), nothing)
        if not failed and kind is None and not thrown:
            return None
        words = nonempty_text(thrown.get("exception.message")) or (
            nonempty_text(status.get("message")) if is_object(status) else None
        )
        return kind or nonempty_text(thrown.get("exception.type")) or "error", words


def spans_of(item: Line) -> Iterator[Span | object]:
    """The spans of a value; what stands in the place of a span and is none comes as it is."""
    for group in objects_of(item.value.get("resourceSpans")):
        described = group.get("resource")
        resource = attributes_of(described.get("attributes")) if is_object(described) else {}
        scopes = group.get("scopeSpans", group.get("instrumentationLibrarySpans"))
        for scope in objects_of(scopes):
            listed: list[Any] = scope["spans"] if is_list(scope.get("spans")) else []
            for value in listed:
                span = _span(value, resource, item) if is_object(value) else None
                yield value if span is None else span


def _span(value: JsonObject, resource: JsonObject, item: Line) -> Span | None:
    trace_id, span_id = nonempty_text(value.get("traceId")), nonempty_text(value.get("spanId"))
    if trace_id is None or span_id is None:
        return None
    events = [
        (str(event.get("name")), attributes_of(event.get("attributes"))) for event in objects_of(value.get("events"))
    ]
    return Span(
        item, value, resource, trace_id, span_id, nonempty_text(value.get("parentSpanId")), str(value.get("name")),
        attributes_of(value.get("attributes")), events, _time(value.get("startTimeUnixNano")),
        _time(value.get("endTimeUnixNano")),
    )  # fmt: skip


def attributes_of(listed: object) -> JsonObject:
    """Attributes as an object of plain values."""
    return {str(each.get("key")): _plain(each.get("value")) for each in objects_of(listed)}


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    if not is_object(value):
        return value
    if "intValue" in value:
        return integer(value["intValue"])
    if is_object(value.get("arrayValue")):
        listed = value["arrayValue"].get("values")
        return [_plain(each) for each in listed] if is_list(listed) else []
    if is_object(value.get("kvlistValue")):
        return attributes_of(value["kvlistValue"].get("values"))
    return next((value[k] for k in ("stringValue", "boolValue", "doubleValue", "bytesValue") if k in value), None)


def integer(value: object) -> Any:  # noqa: ANN401 - the value itself where it is no number
    """OTLP writes integers as texts."""
    if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isdecimal():
        return int(value)
    return value


def _time(value: object) -> int | None:
    nanos = integer(value)
    return nanos // 1000 if isinstance(nanos, int) and not isinstance(nanos, bool) and 0 < nanos < 2**63 else None


def structured(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """An attribute that holds JSON as a text, as what it says."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        said = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value
    return value if is_too_deep(said) else said
