"""Which run an event belongs to: the solver's, that of an agent that a tool started, or that of a scorer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject
from ledgerkit.importers.shapes import is_list, is_object, nonempty_text

_SCORER: Final = frozenset({"scorer", "scorers"})


class Spans:
    """The spans of a sample, or before 2025-05 its steps, which begin and end in the order of the events."""

    def __init__(self, events: Iterable[object]) -> None:
        listed = [event for event in events if is_object(event)]
        self._spans = {str(event.get("id")): event for event in reversed(listed) if event.get("event") == "span_begin"}
        started = (event.get("agent_span_id") for event in listed if event.get("event") == "tool")
        self._started = {span for span in started if isinstance(span, str)}
        self._steps: list[JsonObject] = []

    def step(self, event: JsonObject) -> None:
        """Takes note of a step that begins or ends."""
        if event.get("action") == "begin":
            self._steps.append(event)
        elif self._steps:
            self._steps.pop()

    def path_of(self, event: JsonObject) -> list[JsonObject]:
        """The spans and steps that an event stands in, the outermost first."""
        path: list[JsonObject] = []
        span_id, seen = event.get("span_id"), set[str]()
        while isinstance(span_id, str) and span_id in self._spans and span_id not in seen:
            seen.add(span_id)
            path.insert(0, self._spans[span_id])
            span_id = self._spans[span_id].get("parent_id")
        return self._steps + path

    def run_of(self, event: JsonObject) -> str:
        """The run, "" for the solver's."""
        path = self.path_of(event)
        in_tool, run = False, ""
        for span in path:
            kind, span_id = span.get("type"), str(span.get("id"))
            if isinstance(kind, str) and kind in _SCORER:
                return scorer_key(scorer_of(path) or "scorer")
            if span_id in self._started or (kind == "agent" and in_tool):
                run = agent_key(span_id)
            in_tool = in_tool or kind == "tool"
        return run


def scorer_of(path: Iterable[JsonObject]) -> str | None:
    """The scorer that a path leads to."""
    return next((nonempty_text(span.get("name")) for span in path if span.get("type") == "scorer"), None)


def scorer_key(name: str) -> str:
    """The run of a scorer's model calls."""
    return f"scorer:{name}"


def agent_key(span_id: str) -> str:
    """The run of an agent that a tool started."""
    return f"agent:{span_id}"


def flat(events: object) -> list[tuple[object, bool]]:
    """Events, those that older logs keep within tools and subtasks behind them, and whether each is one of these."""
    found: list[tuple[object, bool]] = []
    waiting: list[tuple[Any, bool]] = [(each, False) for each in events[::-1]] if is_list(events) else []
    while waiting:
        event, is_inner = waiting.pop()
        found.append((event, is_inner))
        if is_object(event) and event.get("event") in ("tool", "subtask"):
            inner: Any = event.get("events")
            waiting += [(each, True) for each in inner[::-1]] if is_list(inner) else []
    return found
