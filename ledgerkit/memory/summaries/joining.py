"""Summaries of several runs as one: every entry once, in the order of the runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ledgerkit.protocol.memory import EvidencedBase, Summary

_Entry = TypeVar("_Entry", bound=EvidencedBase)


def joined(summaries: Sequence[Summary]) -> Summary:
    """One summary of several runs.

    What several runs say alike stands once, with the evidence of all. A failure that a later run took back stays: runs
    of one session may work side by side.
    """
    return Summary(
        facts=_once(f for s in summaries for f in s.facts),
        decisions=_once(d for s in summaries for d in s.decisions),
        open_problems=_once(p for s in summaries for p in s.open_problems),
        changed_files=_once(c for s in summaries for c in s.changed_files),
        discarded_details=tuple(dict.fromkeys(d for s in summaries for d in s.discarded_details)),
    )


def _once(items: Iterable[_Entry]) -> tuple[_Entry, ...]:
    """Entries that say the same as one, with the evidence of all; the last one's state counts."""
    found = dict[str, _Entry]()
    for item in items:
        key = item.model_dump_json(exclude={"evidence_refs", "trust_level", "outcome", "change"})
        before = found.get(key)
        refs = (*(before.evidence_refs if before is not None else ()), *item.evidence_refs)
        found[key] = item.model_copy(update={"evidence_refs": tuple(dict.fromkeys(refs))})
    return tuple(found.values())
