"""Projections rebuilt at every step in plain Python: slow, obvious, and sharing nothing with the intervals.

A context is a list of entries in order; a strategy turns the contexts of all steps into others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ledgerkit.protocol.budget import TokenBudget
from ledgerkit.strategies import CacheRules, RunFrames


@dataclass(frozen=True)
class Entry:
    """A part in a context."""

    position: int
    part: int
    rendition: str
    tokens: int
    unit: int
    section: str
    is_result: bool
    is_pinned: bool
    reference: int


Context = list[Entry]
Naive = Callable[[list[Context]], list[Context]]


def full(frames: RunFrames, run: int) -> list[Context]:
    """Every eligible part that was visible by each step."""
    rows = [row for row in frames.parts.to_dicts() if row["run"] == run and row["is_eligible"]]
    steps = frames.runs.filter(run=run)["steps"].item()
    return [sorted((_entry(r) for r in rows if r["visible_from"] <= t), key=_place) for t in range(steps)]


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(
        row["position"], row["part"], "full", row["tokens"], row["unit"], row["section"], row["is_result"],
        row["is_pinned"], row["reference_tokens"],
    )  # fmt: skip


def _place(entry: Entry) -> int:
    return entry.position


def size(context: Iterable[Entry]) -> int:
    return sum(entry.tokens for entry in context)


def referred(entry: Entry) -> Entry:
    """A reference in place of an entry, where that is shorter."""
    if entry.rendition == "reference" or entry.reference >= entry.tokens:
        return entry
    return replace(entry, rendition="reference", tokens=entry.reference)


def arrived_results(contexts: list[Context], step: int) -> list[int]:
    """Units whose result stood in a context by a step, in the order in which they came."""
    seen: list[int] = []
    for context in contexts[: step + 1]:
        seen += [e.unit for e in context if e.is_result and e.unit not in seen and not seen.count(e.unit)]
    return list(dict.fromkeys(seen))


def as_recorded(ends: dict[int, int]) -> Naive:
    return lambda contexts: [
        [e for e in context if ends.get(e.part) is None or t < ends[e.part]] for t, context in enumerate(contexts)
    ]


def last_observations(n: int, polling: int) -> Naive:
    def apply(contexts: list[Context]) -> list[Context]:
        made: list[Context] = []
        for t, context in enumerate(contexts):
            observations = [None, *arrived_results(contexts, t)]  # the task is the first one
            removed_until = max(0, len(observations) // polling * polling - n)
            elided = set(observations[1:removed_until])
            made.append([referred(e) if e.is_result and e.unit in elided else e for e in context])
        return made

    return apply


def clear_at(trigger: int, target: int, keep: int, at_least: int) -> Naive:
    def apply(contexts: list[Context]) -> list[Context]:
        cleared: set[int] = set()
        made: list[Context] = []
        for t, given in enumerate(contexts):

            def show(gone: set[int], given: Context = given) -> Context:
                return [referred(e) if e.is_result and e.unit in gone else e for e in given]

            now = show(cleared)
            if size(now) > trigger:
                there = {e.unit for e in given if e.is_result}
                present = [unit for unit in arrived_results(contexts, t) if unit in there]
                chosen = set(cleared)
                for unit in present[: max(0, len(present) - keep)]:
                    if size(show(chosen)) <= target:
                        break
                    chosen.add(unit)
                if size(now) - size(show(chosen)) >= max(1, at_least):
                    cleared = chosen
            made.append(show(cleared))
        return made

    return apply


def evict(budget: int, key: Callable[[Entry], int]) -> Naive:
    def apply(contexts: list[Context]) -> list[Context]:
        floor = -(1 << 62)
        made: list[Context] = []
        for context in contexts:
            kept = [e for e in context if e.is_pinned or key(e) > floor]
            while size(kept) > budget and any(not e.is_pinned for e in kept):
                floor = min(key(e) for e in kept if not e.is_pinned)
                kept = [e for e in kept if e.is_pinned or key(e) > floor]
            made.append(kept)
        return made

    return apply


def section_budgets(budget: TokenBudget) -> Naive:
    share_of = {section.value: share.name for share in budget.shares for section in share.sections}
    order = [section.value for section in type(budget.shares[0].sections[0])]

    def apply(contexts: list[Context]) -> list[Context]:
        floors = {share.name: -(1 << 62) for share in budget.shares}
        made: list[Context] = []
        for given in contexts:
            context = [e for e in given if e.section in share_of]
            by_share = {
                share.name: [e for e in context if share_of[e.section] == share.name] for share in budget.shares
            }
            grants = budget.grant({name: size(entries) for name, entries in by_share.items()})
            kept: Context = []
            for name, entries in by_share.items():
                mine = [e for e in entries if e.is_pinned or e.unit > floors[name]]
                while size(mine) > grants[name] and any(not e.is_pinned for e in mine):
                    floors[name] = min(e.unit for e in mine if not e.is_pinned)
                    mine = [e for e in mine if e.is_pinned or e.unit > floors[name]]
                kept += mine
            placed = [replace(e, position=(order.index(e.section) << 24) + e.position) for e in kept]
            made.append(sorted(placed, key=_place))
        return made

    return apply


def summarise_at(trigger: int, keep_last: int, summary: int) -> Naive:
    def apply(contexts: list[Context]) -> list[Context]:
        gone: set[tuple[int, int]] = set()
        place, made_so_far = -1, 0
        made: list[Context] = []
        complete: dict[int, int] = {}
        entered: dict[tuple[int, str], int] = {}
        for t, context in enumerate(contexts):
            for e in context:
                entered.setdefault((e.part, e.rendition), t)
                complete[unit_of(e)] = max(complete.get(unit_of(e), 0), entered[e.part, e.rendition])
        for t, given in enumerate(contexts):
            context = [e for e in given if unit_of(e) not in {u for u, _ in gone} or e.is_pinned]
            free = [e for e in context if not e.is_pinned]
            if size(context) + (summary if made_so_far else 0) > trigger and free:
                newest = max(entered[e.part, e.rendition] for c in contexts[: t + 1] for e in c if not e.is_pinned)
                cut, left = 0, size(free)
                for step in sorted({complete[unit_of(e)] for e in free if complete[unit_of(e)] < newest}):
                    if left <= keep_last:
                        break
                    cut = step + 1
                    left -= size(e for e in free if complete[unit_of(e)] == step)
                taken = [e for e in free if complete[unit_of(e)] < cut]
                if taken and size(taken) + (summary if made_so_far else 0) > summary:
                    place = max([place, *(e.position for e in taken)])
                    made_so_far += 1
                    gone |= {(unit_of(e), t) for e in taken}
                    context = [e for e in context if e.is_pinned or complete[unit_of(e)] >= cut]
            if made_so_far:
                entry = Entry(place, -made_so_far, "summary", summary, -1, "working_memory", False, False, summary)
                context = sorted([*context, entry], key=_place)
            made.append(context)
        return made

    return apply


def unit_of(entry: Entry) -> int:
    return entry.unit if entry.part >= 0 else entry.part


def excerpts(limit: int, keep: int, tokens: dict[int, int], characters: dict[int, int]) -> Naive:
    del keep

    def one(e: Entry) -> Entry:
        if not e.is_result or e.rendition != "full" or characters[e.part] <= limit or tokens[e.part] >= e.tokens:
            return e
        return replace(e, rendition="excerpt", tokens=tokens[e.part])

    return lambda contexts: [[one(e) for e in context] for context in contexts]


@dataclass(frozen=True)
class Figures:
    """What a run's contexts amount to."""

    tokens: list[int]
    shared: list[int]
    read: list[int]
    written: list[int]
    cost: list[int]
    by_part: dict[int, int]
    rounding: int


def figures(contexts: list[Context], times: list[Any], rules: CacheRules, rates: tuple[int, int, int]) -> Figures:
    """Tokens, shared prefix, cache and cost of each step, and what each part cost in all."""
    fresh_rate, read_rate, write_rate = rates
    made = Figures([], [], [], [], [], {}, 0)
    rounding = 0
    before: Context = []
    for t, context in enumerate(contexts):
        same = 0
        while same < min(len(before), len(context)) and _same(before[same], context[same]):
            same += 1
        tokens, shared = size(context), size(context[:same]) if t else 0
        usable = shared if not rules.only_whole_prompts or same == len(before) else 0
        read = usable // rules.block_tokens * rules.block_tokens
        gap = (times[t] - times[t - 1]).total_seconds() if t and times[t] and times[t - 1] else 0
        cached = rules.is_on and tokens >= rules.minimum_tokens
        in_time = rules.lifetime_s is None or gap <= rules.lifetime_s
        if not (t and cached and in_time and read >= rules.minimum_tokens):
            read = 0
        written = tokens - read if cached else 0
        high = write_rate if cached else fresh_rate
        made.tokens.append(tokens)
        made.shared.append(shared)
        made.read.append(read)
        made.written.append(written)
        made.cost.append((tokens - read) * high + read * read_rate)
        for number, e in enumerate(context):
            is_read = read > 0 and number < same
            made.by_part[e.part] = made.by_part.get(e.part, 0) + e.tokens * (read_rate if is_read else high)
        rounding += (shared - read) * (high - read_rate) if read else 0
        before = context
    return replace(made, rounding=rounding)


def _same(one: Entry, other: Entry) -> bool:
    return (one.part, one.rendition, one.tokens) == (other.part, other.rendition, other.tokens)
