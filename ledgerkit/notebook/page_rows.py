"""What the rows look like that the replay widget is sent, and what is made of what it asks.

One rule: every text is inert before it leaves, and every number that comes in is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ledgerkit.notebook.sights import rendition_note
from ledgerkit.reports import labels
from ledgerkit.safety.inert import inert_terminal

PAGE: Final = 200
"""Rows of a page, at most."""
SLICE: Final = 20_000
"""Characters of a text that one answer holds."""
HEAD: Final = 160
"""Characters of the beginning of a text."""
BAD: Final = ("FAILED", "TIMED_OUT", "CANCELLED")
"""How a call ends that did not work."""
WORST: Final = {"failed": 3, "inconclusive": 1, "passed": 2}
"""Verdicts by what one says of a step that has several."""

Answer = dict[str, Any]


TOLD: Final = (
    "sequence_no", "kind", "part_type", "part_trust_level", "tool_name", "step", "status", "token_count", "text",
    "data", "message_id", "part_index",
)  # fmt: skip


def part_row(row: Mapping[str, Any]) -> Answer:
    """A row of a list. Keys are short, because a page holds hundreds of them."""
    if row["message_id"] is None:  # written by the strategy
        note = rendition_note(str(row["rendition"]), None)
        told = {"row": None, "kind": "summary", "trust": "strategy", "tone": "warn", "head": note}
        return {**told, "tokens": row["tokens_now"], "state": row["state"], "section": row["section"]}
    trust = labels.trust_chip(row["part_trust_level"])
    said = row["text"] if row["text"] is not None else row["data"]
    note = rendition_note(str(row["rendition"] or ""), row["sequence_no"])
    shown: Answer = {
        "row": row["row"],
        "no": row["sequence_no"],
        "kind": labels.kind_name(row["kind"]),
        "trust": trust.text,
        "tone": trust.tone,
        "tool": row["tool_name"],
        "step": row["step"],
        "tokens": row["tokens_now"] if row["tokens_now"] is not None else row["token_count"],
        "head": " ".join(str(said or "")[: 2 * HEAD].split())[:HEAD],
        "state": row["state"],
        "note": note or None,
        "why": row["reason"].replace("_", " ") if row["reason"] else None,
        "bad": row["status"] in BAD or None,
    }
    return {key: value for key, value in shown.items() if value is not None}


def part_detail(row: Mapping[str, Any], start: int = 0) -> Answer:
    """One part with its labels and a slice of its text."""
    said = str(row["text"] if row["text"] is not None else row["data"] or "")
    trust = labels.trust_chip(row["part_trust_level"])
    return {
        "row": row["row"],
        "length": len(said),
        "text": said[start : start + SLICE],
        "reference": f"message:{row['message_id']}",
        "part_index": row["part_index"],
        "sequence_no": row["sequence_no"],
        "label": labels.kind_name(row["kind"]),
        "trust": trust.text,
        "tone": trust.tone,
        "hint": trust.hint,
        "visibility": row["part_visibility"],
        "step": row["step"],
        "visible_from": row["visible_from"],
        "tool": row["tool_name"],
        "status": row["status"],
        "tokens": row["token_count"],
    }


def step_row(row: Mapping[str, Any]) -> Answer:
    """A row of the list of steps."""
    return {
        "step": row["step"],
        "tools": list(row["tools"] or ()),
        "failed": row["failed"],
        "errors": row["errors"],
        "verdict": _verdict(row["worst"]),
        "tokens": row["tokens"],
        "entered": row["entered"],
        "left": row["left"] if row["step"] else 0,
        "input": row["input_tokens"],
        "cached": row["cache_read_tokens"],
        "output": row["output_tokens"],
        "cost": row["cost"],
        "spent": round(row["spent"], 9),
        "unpriced": row["unpriced"],
    }


def timeline_column(row: Mapping[str, Any]) -> list[Any]:
    """A column of the timeline: its steps, tokens, recorded input, cost, and how it ended."""
    mark = _verdict(row["worst"]) or (
        "error" if row["errors"] or row["failed"] else "call" if row["calls"] else "answer"
    )
    return [row["from_step"], row["to_step"], row["tokens"], row["input_tokens"], round(row["cost"] or 0, 9), mark]


def _verdict(worst: int) -> str | None:
    return next((name for name, rank in WORST.items() if rank == worst), None)


def page_range(asked: object) -> tuple[int, int]:
    """Which rows a page asks for: the first of them, and how many, within bounds."""
    given = fields_of(asked)
    return max(whole_number(given.get("start")), 0), min(max(whole_number(given.get("count"), PAGE), 0), PAGE)


def fields_of(value: object) -> Mapping[str, Any]:
    """A message's fields; none if it is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def whole_number(value: object, otherwise: int = 0) -> int:
    """A whole number that a page sent, or another in place of anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def as_float(value: object) -> float | None:
    """An amount as JSON knows it."""
    return None if value is None else float(str(value))


def inert_answer(answer: Answer) -> Answer:
    """Every text in an answer without anything that acts on a display."""
    return {key: _inert_value(value) for key, value in answer.items()}


def _inert_value(value: object) -> object:
    if isinstance(value, str):
        return inert_terminal(value)
    if isinstance(value, dict):
        return inert_answer(cast(Answer, value))
    return [_inert_value(one) for one in cast(list[object], value)] if isinstance(value, list) else value
