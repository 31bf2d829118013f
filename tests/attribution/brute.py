"""Attribution call by call and token by token, in plain Python: slow, obvious, sharing nothing with the package's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from ledgerkit.strategies import RunFrames
from tests.strategies import naive

PER_DOLLAR = 10**12
Key = tuple[str, str, str]


@dataclass
class Shares:
    """Pico-dollars by part (carrying and creation) and by line, each for every call."""

    carried: dict[Key, Counter[int]] = field(default_factory=dict[Key, Counter[int]])
    created: dict[Key, Counter[int]] = field(default_factory=dict[Key, Counter[int]])
    lines: dict[Key, Counter[str]] = field(default_factory=dict[Key, Counter[str]])

    def whole(self, key: Key) -> int:
        return sum(sum(table[key].values()) for table in (self.carried, self.created, self.lines))

    def of_parts(self, name: str) -> Counter[int]:
        total: Counter[int] = Counter()
        for counter in getattr(self, name).values():
            total.update(counter)
        return +total


def shares(frames: RunFrames, calls: pl.DataFrame, written: pl.DataFrame) -> Shares:
    """What ``attribute_calls`` says, worked out token by token."""
    found = Shares()
    numbers: dict[tuple[str, ...], int] = {(r["session_id"], r["run_id"]): r["run"] for r in frames.runs.to_dicts()}
    ends = {r["part"]: r["ends_at"] for r in frames.parts.to_dicts()}
    contexts: dict[int, list[naive.Context]] = {
        run: naive.as_recorded(ends)(naive.full(frames, run)) for run in numbers.values()
    }
    unseen: dict[int, int] = {}
    rows = [r for r in calls.to_dicts() if r["cost"] is not None and r["price_status"] != "not_billed"]
    for row in sorted(rows, key=lambda r: (r["step"] is None, r["step"] or 0, r["call_id"])):
        key = (row["session_id"], row["run_id"], row["call_id"])
        run = numbers.get(key[:2])
        context: naive.Context | None = None
        if run is not None and row["step"] is not None:
            steps, step = contexts[run], int(row["step"])
            context = steps[step] if step < len(steps) else None
        found.lines[key] = Counter({"fee": _pico(row["cost_request"])})
        found.carried[key], lines = _input(row, context, unseen, run)
        found.lines[key].update(lines)
        found.created[key], hidden = _output(row, _written(frames, written, key))
        found.lines[key]["hidden_output"] += hidden
    return found


def _input(
    row: dict[str, Any], context: naive.Context | None, unseen: dict[int, int], run: int | None
) -> tuple[Counter[int], Counter[str]]:
    read, hour, five = (row[f"{name}_tokens"] or 0 for name in ("cache_read", "cache_write_1h", "cache_write_5m"))
    size = row["input_tokens"] or 0
    stretches = [
        (read, _pico(row["cost_cache_read"])),
        (hour, _pico(row["cost_cache_write_1h"])),
        (five, _pico(row["cost_cache_write_5m"])),
        (size - read - hour - five, _pico(row["cost_input"])),
    ]
    known = naive.size(context or [])
    if run is not None and known:
        unseen.setdefault(run, max(size - known, 0))
    if not known or not size or run is None:
        return Counter(), Counter({"no_context": sum(pico for _, pico in stretches)})
    begins = min(unseen[run], max(size - known, 0))
    prices, lines = _priced_tokens(stretches, known, begins, size - begins)
    parts: Counter[int] = Counter()
    for entry in context or []:
        parts[entry.part] += sum(prices[: entry.tokens])
        prices = prices[entry.tokens :]
    assert not prices
    rest = "opaque" if row.get("is_opaque") else "uncounted"
    return parts, Counter({"unseen": lines[0], rest: lines[1]})


def _priced_tokens(
    stretches: list[tuple[int, int]], known: int, begins: int, room: int
) -> tuple[list[int], tuple[int, int]]:
    """A price for each token of the parts, and what the tokens before them and between them cost."""
    prices: list[int] = []
    unseen = between = 0
    done = 0
    for tokens, pico in stretches:
        first, last = max(done - begins, 0), max(done + tokens - begins, 0)
        mine = last * known // room - first * known // room
        ahead = tokens - (last - first)
        left = max(last - first - mine, 0)
        whole = max(ahead + left + mine, 0)
        each = [pico // whole + (n < pico % whole) for n in range(whole)]
        unseen += sum(each[:ahead])
        between += sum(each[ahead : ahead + left])
        prices += each[ahead + left :]
        done += tokens
    return prices, (unseen, between)


def _output(row: dict[str, Any], parts: list[tuple[int, str, int]]) -> tuple[Counter[int], int]:
    reasoning = row["reasoning_tokens"] or 0
    hidden = 0
    created: Counter[int] = Counter()
    for is_thought, tokens, pico in (
        (False, (row["output_tokens"] or 0) - reasoning, _pico(row["cost_output"])),
        (True, reasoning, _pico(row["cost_reasoning"])),
    ):
        mine = [p for p in parts if (p[1] == "AGENT_THOUGHT_SUMMARY" and reasoning > 0) == is_thought]
        whole = max(sum(size for _, _, size in mine), tokens)
        each = [pico // whole + (n < pico % whole) for n in range(whole)] if whole else []
        for part, _, size in mine:
            created[part] += sum(each[:size])
            each = each[size:]
        hidden += sum(each) if whole else pico
    return created, hidden


def _written(frames: RunFrames, written: pl.DataFrame, key: Key) -> list[tuple[int, str, int]]:
    said = {
        (r["message_id"], r["part_index"])
        for r in written.to_dicts()
        if (r["session_id"], r["run_id"], r["call_id"]) == key
    }
    run = {(r["session_id"], r["run_id"]): r["run"] for r in frames.runs.to_dicts()}.get(key[:2])
    return [
        (r["part"], r["kind"], r["tokens"])
        for r in frames.parts.to_dicts()
        if r["run"] == run and (r["message_id"], r["part_index"]) in said
    ]


def _pico(amount: Decimal | None) -> int:
    return int((amount or Decimal(0)) * PER_DOLLAR)
