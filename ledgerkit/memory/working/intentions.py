"""What a run is to reach, its plan, and what it waits for."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import polars as pl
from typing_extensions import TypeIs

from ledgerkit.memory.working.record import RunRecord, call_ref, message_ref
from ledgerkit.protocol.memory import Blocker, Goal, PlanItem, PlanStatus
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel

MOST_CHARACTERS: Final = 500
"""A goal, a plan item or another sentence is cut behind so many characters."""

_TASK_LINE: Final = re.compile(r"^[ \t]*[-*] \[([ xX~-])\] +(\S.*)$", re.MULTILINE)
_MARKS: Final = {" ": PlanStatus.PENDING, "x": PlanStatus.DONE, "X": PlanStatus.DONE, "~": PlanStatus.IN_PROGRESS}
_STATUS: Final = {
    "pending": PlanStatus.PENDING,
    "todo": PlanStatus.PENDING,
    "not_started": PlanStatus.PENDING,
    "in_progress": PlanStatus.IN_PROGRESS,
    "in-progress": PlanStatus.IN_PROGRESS,
    "completed": PlanStatus.DONE,
    "done": PlanStatus.DONE,
    "cancelled": PlanStatus.DROPPED,
    "canceled": PlanStatus.DROPPED,
    "skipped": PlanStatus.DROPPED,
}


def goal(record: RunRecord) -> Goal | None:
    """The first task that somebody gave; ``None`` if none is recorded."""
    tasks = record.parts.filter(
        pl.col("kind") == MessageKind.USER_TASK.value,
        pl.col("text").str.strip_chars() != "",
        pl.col("text").is_not_null(),
    ).sort("sequence_no", "part_index")
    if not tasks.height:
        return None
    row = tasks.row(0, named=True)
    return Goal(
        goal=sentence(row["text"]),
        evidence_refs=(message_ref(row["message_id"]),),
        trust_level=TrustLevel(row["part_trust_level"]),
    )


def plan(record: RunRecord) -> tuple[PlanItem, ...]:
    """The plan that stood last: of a plan tool, or a list of tasks in an answer, whichever came later."""
    tools = record.calls.filter(pl.col("action") == "plan", pl.col("arguments").is_not_null())
    told = record.parts.filter(
        pl.col("kind") == MessageKind.ASSISTANT_RESPONSE.value,
        pl.col("text").str.contains(r"(?m)^\s*[-*] \[[ xX~-]\] "),
    ).sort("sequence_no", "part_index")
    by_tool = next((one for one in map(_of_tool, reversed(tools.to_dicts())) if one), ())
    said_at = told["sequence_no"][-1] if told.height else -1
    if by_tool and (not told.height or tools["asked_at"][-1] >= said_at):
        return by_tool
    return _of_text(told.row(-1, named=True)) if told.height else by_tool


def blockers(record: RunRecord) -> tuple[Blocker, ...]:
    """Approvals that were asked for and not decided."""
    asked = record.parts.filter(pl.col("kind") == MessageKind.APPROVAL_REQUEST.value).sort("sequence_no", "part_index")
    decided = record.parts.filter(pl.col("kind") == MessageKind.APPROVAL_DECISION.value)
    calls = set(decided["tool_call_id"].drop_nulls())
    answered = set(record.tool_calls.filter(pl.col("result_message_id").is_not_null())["tool_call_id"])
    last = decided["sequence_no"].max() if decided.height else None
    found = dict[str, Blocker]()
    for row in asked.iter_rows(named=True):
        call = row["tool_call_id"]
        # A request that names a call waits for a decision on it; one that names none for any decision behind it.
        is_open = call not in calls | answered if call else last is None or last < row["sequence_no"]
        if is_open and row["message_id"] not in found:
            what = row["text"] or (f"approval of a call of {row['tool_name']}" if row["tool_name"] else "an approval")
            found[row["message_id"]] = Blocker(
                blocker=sentence(what),
                evidence_refs=(message_ref(row["message_id"]),),
                trust_level=TrustLevel(row["part_trust_level"]),
            )
    return tuple(found.values())


def sentence(text: str) -> str:
    """A text on one line, cut behind ``MOST_CHARACTERS``."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_CHARACTERS else flat[: MOST_CHARACTERS - 1].rstrip() + "…"


def _of_tool(call: dict[str, Any]) -> tuple[PlanItem, ...]:
    try:
        arguments = json.loads(call["arguments"])
    except ValueError:
        return ()
    listed = list[object]()
    for name in ("todos", "plan", "items", "tasks"):
        if _is_object(arguments) and _is_list(found := arguments.get(name)):
            listed = found
            break
    items = [_item(one, call["tool_call_id"]) for one in listed]
    return tuple(item for item in items if item is not None)


def _is_object(value: object) -> TypeIs[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeIs[list[object]]:
    return isinstance(value, list)


def _item(one: object, call: str) -> PlanItem | None:
    fields: dict[str, object] = one if _is_object(one) else {"content": one}
    names = ("content", "step", "title", "description", "text", "task", "name")
    texts = [text for name in names if isinstance(text := fields.get(name), str) and text.strip()]
    if not texts:
        return None
    return PlanItem(
        item=sentence(texts[0]),
        status=_STATUS.get(str(fields.get("status", "")).lower()),
        evidence_refs=(call_ref(call),),
        trust_level=TrustLevel.MODEL_GENERATED,
    )


def _of_text(row: dict[str, Any]) -> tuple[PlanItem, ...]:
    return tuple(
        PlanItem(
            item=sentence(text),
            status=_MARKS.get(mark, PlanStatus.DROPPED),
            evidence_refs=(message_ref(row["message_id"]),),
            trust_level=TrustLevel(row["part_trust_level"]),
        )
        for mark, text in _TASK_LINE.findall(row["text"])
    )
