"""A run step by step.

One rule: every step of the run is accounted for.  Steps and parts that are not shown are counted where they would
stand; the beginning and the end are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeVar

import polars as pl

from ledgerkit.charts.shapes import FAILED
from ledgerkit.cost import PriceStatus
from ledgerkit.formatting import (
    format_compact,
    format_duration,
    format_money,
    format_share,
    format_time,
    plural,
)
from ledgerkit.protocol.vocabulary import MessageKind, PartType
from ledgerkit.reports.excerpts import gist, one_line
from ledgerkit.reports.gating import Seen
from ledgerkit.reports.inputs import ReportLimits
from ledgerkit.reports.parts import PartBlock, part_block

_WHAT: Final = 160

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StepBlock:
    """A step, ready to be shown.

    Attributes:
        number: Its number in the run; None stands for messages outside any step.
        what: What it did, in one line.
        tools: The tools that it called.
        failed: Number of its calls that failed.
        input: Input tokens; ``cached`` the share of them read from a cache; ``output`` tokens; ``cost``.
        facts: Model and times, in a line.
        parts: Its parts.
        left_out: What is not shown of it, in a line.
    """

    number: int | None
    what: str
    tools: str
    failed: int
    input: str
    cached: str
    output: str
    cost: str
    facts: str
    parts: Sequence[PartBlock]
    left_out: str = ""

    @property
    def anchor(self) -> str:
        """Its anchor in the report."""
        return "step-none" if self.number is None else f"step-{self.number}"


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps that are not shown."""

    text: str


def step_blocks(
    seen: Seen, limits: ReportLimits, *, length: int, diff_anchors: Mapping[str, str]
) -> list[StepBlock | Gap]:
    """The steps of a run, in order.

    Args:
        seen: The run.
        limits: How many steps and parts to show.
        length: Characters of one text.
        diff_anchors: Where the report shows a diff, by part id.
    """
    head, middle, tail = ends(_numbers(seen), limits.steps)
    parts = seen.parts.filter(~_in_steps(middle))
    first, _, last = ends(list(range(parts.height)), limits.parts)
    builder = _Builder(seen, parts[[*first, *last]], length, diff_anchors)
    gap = [_gap(seen, middle)] if middle else []
    return [*map(builder.block, head), *gap, *map(builder.block, tail)]


def ends(items: Sequence[T], limit: int) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """Splits what is too long: the first two thirds of what fits, what does not fit, and the last third.

    Example:
        >>> ends([0, 1, 2, 3, 4, 5], 3), ends([0, 1], 3)
        (([0, 1], [2, 3, 4], [5]), ([0, 1], [], []))
    """
    if len(items) <= limit:
        return items, items[:0], items[:0]
    after = limit // 3
    before = limit - after
    return items[:before], items[before : len(items) - after], items[len(items) - after :]


def _numbers(seen: Seen) -> list[int | None]:
    """The steps that anything is recorded of; None first, if messages stand outside any step."""
    recorded = {*seen.parts["step"], *seen.withheld_parts["step"], *seen.calls["step"].drop_nulls()}
    return sorted(recorded, key=lambda number: -1 if number is None else number)


def _gap(seen: Seen, steps: Sequence[int | None]) -> Gap:
    parts = seen.parts.filter(_in_steps(steps)).height
    return Gap(
        f"Steps {steps[0]:,d} to {steps[-1]:,d} are not shown here: {plural(len(steps), 'step')} with "
        f"{plural(parts, 'visible part')}."
    )


def _in_steps(steps: Sequence[int | None]) -> pl.Expr:
    return pl.col("step").is_in([number for number in steps if number is not None]).fill_null(value=False)


class _Builder:
    """Builds the blocks of a run's steps from its frames, each grouped by step once."""

    def __init__(self, seen: Seen, parts: pl.DataFrame, length: int, diff_anchors: Mapping[str, str]) -> None:
        self._length = length
        self._anchors = diff_anchors
        self._parts = _by_step(parts)
        self._calls = _by_step(seen.calls)
        self._tools = _by_step(seen.tool_calls.select("step", "tool_name", "status"))
        self._visible = Counter(seen.parts["step"])
        self._withheld = Counter(seen.withheld_parts["step"])

    def block(self, number: int | None) -> StepBlock:
        """The block of one step."""
        parts = self._parts[number]
        usage = _Usage.of(self._calls[number] if number is not None else [])
        tools = self._tools[number]
        return StepBlock(
            number=number,
            what=_what(parts),
            tools=_tools(tools),
            failed=sum(call["status"] in FAILED for call in tools),
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            cost=usage.cost,
            facts=usage.facts,
            parts=[part_block(part, self._length, diff_anchor=self._anchors.get(part["part_id"])) for part in parts],
            left_out=self._left_out(number, len(parts)),
        )

    def _left_out(self, number: int | None, shown: int) -> str:
        counts = (
            (self._visible[number] - shown, "not shown here, the report is full"),
            (self._withheld[number], "not for this audience"),
        )
        return "; ".join(f"{plural(count, 'part')} {why}" for count, why in counts if count)


@dataclass(frozen=True, slots=True)
class _Usage:
    """Tokens and cost of a step, as text."""

    input: str = ""
    cached: str = ""
    output: str = ""
    cost: str = ""
    facts: str = ""

    @classmethod
    def of(cls, calls: Sequence[dict[str, Any]]) -> _Usage:
        if not calls:
            return cls()
        read = _sum(calls, "input_tokens")
        costs: list[Decimal] = [call["cost"] for call in calls if call["cost"] is not None]
        return cls(
            input=format_compact(read),
            cached=format_share(_sum(calls, "cache_read_tokens"), read),
            output=format_compact(_sum(calls, "output_tokens")),
            cost=format_money(sum(costs, Decimal(0)) if len(costs) == len(calls) else None, unknown="unknown"),
            facts=" · ".join(_call_facts(call) for call in calls),
        )


def _sum(calls: Sequence[dict[str, Any]], column: str) -> int | None:
    values = [call[column] for call in calls if call[column] is not None]
    return sum(values) if values else None


def _call_facts(call: dict[str, Any]) -> str:
    began, ended = call["created_at"], call["finished_at"]
    priced = call["price_status"] in (PriceStatus.PRICED, PriceStatus.FREE)
    took = format_duration((ended - began).total_seconds()) if began and ended else ""
    facts = (
        one_line(call["model"], 80) or "model not recorded",
        format_time(began, unknown="no time recorded"),
        f"{took} from first to last message" if took and began != ended else "",
        "" if priced else call["billed_reason"] or call["price_status"].replace("_", " "),
    )
    return " · ".join(fact for fact in facts if fact)


def _by_step(frame: pl.DataFrame) -> defaultdict[int | None, list[dict[str, Any]]]:
    groups: defaultdict[int | None, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.iter_rows(named=True):
        groups[row["step"]].append(row)
    return groups


def _what(parts: Sequence[dict[str, Any]]) -> str:
    """What the model said at a step, else what it called, else what came in."""
    said = next((p["text"] for p in parts if p["kind"] == MessageKind.ASSISTANT_RESPONSE.value and p["text"]), None)
    if said:
        return one_line(said, _WHAT)
    call = next((p for p in parts if p["part_type"] == PartType.TOOL_CALL.value), None)
    if call is not None:
        return gist(call["data"], _WHAT)
    return one_line(next((p["text"] for p in parts if p["text"]), ""), _WHAT)


def _tools(calls: Sequence[dict[str, Any]]) -> str:
    counts = Counter(one_line(call["tool_name"], 40) or "not recorded" for call in calls)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
