"""Memory in a cell: every item with its evidence and how far it is borne out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ledgerkit.notebook.html import Child, Safe, cell, joined, tag
from ledgerkit.notebook.values import chip, tone_of
from ledgerkit.protocol.memory import RepositoryMemory, Summary, WorkingMemory
from ledgerkit.reports import labels
from ledgerkit.safety.inert import inert_terminal

_SAID: Final = ("goal", "step", "path", "fact", "decision", "problem", "blocker", "check")
"""Which field of an item says it."""
_EVIDENCE: Final = 3


@dataclass(frozen=True, repr=False)
class MemoryCard:
    """A memory, shown. Make one with :func:`memory_card`."""

    memory: WorkingMemory | Summary | RepositoryMemory

    def __repr__(self) -> str:
        lines = [f"{name}: {_words(item)}" for name, items in self._items() for item in items]
        return inert_terminal("\n".join(lines) or "Nothing is known.")

    def _items(self) -> list[tuple[str, list[dict[str, Any]]]]:
        fields = self.memory.model_dump(mode="json")
        found: list[tuple[str, list[dict[str, Any]]]] = []
        for name, value in fields.items():
            given = cast(list[Any], value if isinstance(value, list) else [value])
            items = [cast(dict[str, Any], one) for one in given if isinstance(one, dict)]
            if items:
                found.append((name, items))
        return found

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, Any]:
        del include, exclude
        blocks = [
            joined([tag("p", name.replace("_", " "), class_="lk-head"), tag("ul", *map(_line, items))])
            for name, items in self._items()
        ]
        empty = None if blocks else tag("p", "Nothing is known.")
        return {"text/plain": repr(self), "text/html": cell(*blocks, empty, label="memory")}


def memory_card(memory: WorkingMemory | Summary | RepositoryMemory) -> MemoryCard:
    """Shows a memory item by item.

    Args:
        memory: What ``ledger.memory``, ``ledger.summarise`` or ``ledger.repository_memory`` gave.
    """
    return MemoryCard(memory)


def _line(item: Mapping[str, Any]) -> Safe:
    children: list[Child] = []
    outcome = item.get("outcome")
    if outcome is not None:
        children += [tag("span", str(outcome), class_=f"lk-chip {tone_of(str(outcome))}"), " "]
    children.append(_words(item))
    if item.get("trust_level"):
        children += [" ", chip(labels.trust_chip(str(item["trust_level"])))]
    for reference in list(item.get("evidence_refs") or ())[:_EVIDENCE]:
        children += [" ", tag("code", str(reference), class_="lk-copy")]
    return tag("li", *children)


def _words(item: Mapping[str, Any]) -> str:
    said = next((str(item[name]) for name in _SAID if item.get(name)), None)
    if said is None:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in item.items() if value is not None)
    if "is_resolved" in item:
        state = "passed since" if item["is_resolved"] else "not passed since"
        return f"{said}: failed at messages {item['first_failed_at']} to {item['last_failed_at']}, {state}"
    more = [str(item[name]) for name in ("change", "status", "reason") if item.get(name)]
    return f"{said} ({', '.join(more)})" if more else said
