"""OpenTelemetry traces in OTLP JSON, with GenAI or OpenInference attributes.

A file is a JSON document or JSON Lines of ``{"resourceSpans": […]}``. A trace is a run; one whose spans name a
conversation is of that session. Content stands in spans only where the program that wrote them was told to capture it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledgerkit.importers.drafts import ParsedFile, Quarantined, RecordDraft
from ledgerkit.importers.otel.reading import NAME, TraceReading
from ledgerkit.importers.otel.spans import MODEL, Span, spans_of
from ledgerkit.importers.pieces import digest, unknown_message
from ledgerkit.importers.reader import Damage, Line, read_values
from ledgerkit.importers.shapes import is_list, is_object

__all__ = ["NAME", "read", "sniff"]


def sniff(values: list[Any]) -> bool:
    """Whether the first value holds spans."""
    return is_object(values[0]) and is_list(values[0].get("resourceSpans"))


def read(
    path: Path,
    *,
    offset: int = 0,
    line: int = 1,
    keep_reasoning: bool = False,
    measure: Callable[[bytes | str], str],
) -> ParsedFile:
    """Reads a file of spans. It is always read whole: a span stands before those that it began after."""
    del offset, line, measure
    parsed = ParsedFile([], [], path.stat().st_size, 0, NAME)
    traces: dict[str, list[Span]] = defaultdict(list)
    last = 0
    for item in read_values(path):
        parsed.line_count += item.number != last
        last = item.number
        if isinstance(item, Damage):
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, item.reason))
            parsed.torn_tail = parsed.torn_tail or item.torn
        elif not is_object(item.value):
            reason = "not a JSON object"
            parsed.quarantined.append(Quarantined(item.number, item.offset, item.size, reason, "no object"))
        else:
            _sort(item, traces, parsed)
    for spans in traces.values():
        parsed.records += _trace(spans, keep_reasoning=keep_reasoning)
    return parsed


def _sort(item: Line, traces: dict[str, list[Span]], parsed: ParsedFile) -> None:
    """Puts the spans of a value to their traces; anything else is kept as it stands."""
    if not is_list(item.value.get("resourceSpans")):
        parsed.records.append(_unknown(item.value, item))
        return
    found = list(spans_of(item))
    if not found:
        draft = _unknown(item.value, item)
        draft.record_type, draft.messages, draft.skipped = "no spans", [], "holds no spans"
        parsed.records.append(draft)
    for span in found:
        if isinstance(span, Span):
            traces[span.trace_id].append(span)
        else:
            parsed.records.append(_unknown(span, item))


def _unknown(value: object, item: Line) -> RecordDraft:
    draft = RecordDraft(item.number, item.offset, "unknown", digest(value), run_key=None)
    draft.messages = [unknown_message(value, NAME)]
    return draft


def _trace(spans: list[Span], *, keep_reasoning: bool) -> list[RecordDraft]:
    """The records of a trace, in the order in which its spans began."""
    by_id = {span.span_id: span for span in spans}
    for span in spans:
        if span.kind == MODEL:
            _mark_above(span, by_id)
    named = next((span.session for span in spans if span.session != span.trace_id), spans[0].trace_id)
    has_calls = any(span.kind == MODEL for span in spans)
    reading = TraceReading(named, has_calls=has_calls, keep_reasoning=keep_reasoning)
    ordered = sorted(spans, key=lambda span: span.start or 0)
    return [record for span in ordered for record in reading.records(span)]


def _mark_above(span: Span, by_id: dict[str, Span]) -> None:
    """Says to the spans above a model call that their usage, if any, is counted below."""
    seen = {span.span_id}
    while (above := by_id.get(span.parent_id or "")) is not None and above.span_id not in seen:
        seen.add(above.span_id)
        above.covers_call = True
        span = above
