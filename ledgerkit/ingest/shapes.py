"""The shape of a session: its records as items, the runs that they stand in, and their places there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ledgerkit.importers.drafts import Link, Node, RunFacts
from ledgerkit.protocol.vocabulary import RunRelation


@dataclass(slots=True)
class Item:
    """A record as far as the shape of its session needs it."""

    key: int
    native_id: str | None
    parent: str | None
    run_key: str | None
    relation: RunRelation | None
    node: Node
    call_id: str | None
    is_model_call: bool
    created_at: int | None
    message_ids: list[str]
    embedded: bool = False
    provisional: bool = False
    step: int | None = None
    visible_from: int | None = None
    asked: list[str] = field(default_factory=list[str])
    answered: list[str] = field(default_factory=list[str])
    links: list[Link] = field(default_factory=list[Link])
    facts: RunFacts | None = None


@dataclass(slots=True)
class Place:
    """Where a message stands."""

    message_id: str
    step: int
    visible_from: int
    parent_message_id: str | None


@dataclass(slots=True)
class RunShape:
    """A run of a session."""

    run_key: str
    relation: RunRelation | None
    parent_run_key: str | None = None
    forked_at: str | None = None
    items: list[Item] = field(default_factory=list[Item])
    places: list[Place] = field(default_factory=list[Place])


_FIRST_WINS = tuple(name for name in RunFacts.__struct_fields__ if name != "title")


def facts_of(run: RunShape) -> RunFacts:
    """What the records of a run say about it; the first that says a thing counts, for titles the last."""
    facts, missing, last = RunFacts(), _FIRST_WINS, None
    for item in run.items:
        if item.facts is None or item.facts is last:  # most records of a run say the same, and share what says it
            continue
        last = item.facts
        for name in missing:
            setattr(facts, name, getattr(last, name))
        missing = tuple(name for name in missing if getattr(facts, name) is None)
        facts.title = last.title or facts.title
    return facts


def changed(run: RunShape, existing: Mapping[str, tuple[int, Place | None]]) -> bool:
    """Whether a run needs a new revision: what is there is not the beginning of what it is now.

    Args:
        run: The run as it is now.
        existing: Sequence number and place of each message that the ledger holds of it; no place for one that was
            appended live, which keeps what its writer said.
    """
    held = sorted(existing.items(), key=lambda each: each[1][0])
    now = run.places[: len(held)]
    if [message_id for message_id, _ in held] != [place.message_id for place in now]:
        return True
    return any(was not in (None, place) for (_, (_, was)), place in zip(held, now, strict=True))
