"""Usage in the V1 SDK: running totals that become the usage of single calls.

The SDK reports totals for each of its models after every call, just before the event that the call wrote. What a
total grew by is a call's usage; it is that of the next event that the model wrote, unless another total of the model
comes first: then the event is not in the file, and the usage stands on the total itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ledgerkit.importers.drafts import JsonObject, UsageDraft
from ledgerkit.importers.openhands.records import usage_of
from ledgerkit.importers.pieces import count, money
from ledgerkit.importers.shapes import is_object, nonempty_text

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_CONDENSER: Final = "condenser"
_WRITTEN: Final = frozenset({"ActionEvent", "MessageEvent"})


@dataclass(slots=True)
class Growth:
    """What a call added to the totals of a model.

    Attributes:
        response: Id of the reply that it is the usage of; ``None`` where its event is not in the file.
        is_last: Whether the file ends before the event of the call, which may still be written.
    """

    name: str
    model: str | None
    usage: JsonObject
    cost: str | None
    response: str | None = None
    is_last: bool = False

    def draft(self) -> UsageDraft | None:
        """It as usage of a call."""
        return usage_of(self.usage, self.cost)


def totals_of(event: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The totals that an event reports, each with the name of its use."""
    if event.get("kind") != "ConversationStateUpdateEvent":
        return
    value = event.get("value")
    stats = value.get("stats") if event.get("key") == "full_state" and is_object(value) else value
    if event.get("key") not in ("stats", "full_state") or not is_object(stats):
        return
    uses = stats.get("usage_to_metrics")
    for name, metrics in uses.items() if is_object(uses) else ():
        if is_object(metrics):
            yield name, metrics


def growths(events: list[Any]) -> dict[int, list[Growth]]:
    """What each event's totals grew by, by the place of the event."""
    found: dict[int, list[Growth]] = {}
    last: dict[str, tuple[JsonObject, float]] = {}
    open_: dict[str, Growth] = {}
    for place, event in enumerate(events):
        if not is_object(event):
            continue
        for name, metrics in totals_of(event):
            grown = _grown(name, metrics, last)
            if grown is not None:
                found.setdefault(place, []).append(grown)
                open_[name] = grown
        response = nonempty_text(event.get("llm_response_id"))
        if response is None:
            continue
        condensed = event.get("kind") == "Condensation"
        if condensed or str(event.get("kind")) in _WRITTEN:
            for name in [name for name in open_ if (name == _CONDENSER) is condensed]:
                open_.pop(name).response = response
    for grown in open_.values():
        grown.is_last = True
    return found


def _grown(name: str, metrics: JsonObject, last: dict[str, tuple[JsonObject, float]]) -> Growth | None:
    """What totals grew by; ``None`` if by nothing. Totals that fell began anew."""
    total = metrics.get("accumulated_token_usage")
    total = total if is_object(total) else {}
    now: JsonObject = {key: count(total.get(key)) or 0 for key in _COUNTS}
    cost = metrics.get("accumulated_cost")
    paid = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0
    before, paid_before = last.get(name, (dict.fromkeys(_COUNTS, 0), 0.0))
    if any(now[key] < before[key] for key in _COUNTS):
        before, paid_before = dict.fromkeys(_COUNTS, 0), 0.0
    last[name] = (now, paid)
    grown: JsonObject = {key: now[key] - before[key] for key in _COUNTS}
    if not any(grown.values()):
        return None
    model = nonempty_text(total.get("model")) or nonempty_text(metrics.get("model_name"))
    return Growth(name, model, grown, money(max(paid - paid_before, 0.0)))
