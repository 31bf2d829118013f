"""Runs drawn at random: parallel calls, late, interleaved and orphan results, pinned parts, parts nobody may see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import polars as pl

from ledgerkit.strategies import RunFrames, run_frames

_BASE = datetime(2026, 1, 1, tzinfo=UTC)


def drawn_frames(seed: int, runs: int, most_steps: int = 14, *, result_first: bool = False) -> RunFrames:
    """Frames of some random runs; with ``result_first`` the very first part of all is a result without its call."""
    random = Random(seed)
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for number in range(runs):
        begins = result_first and number == 0
        _run(random, f"r{number:05}", random.randint(1, most_steps), parts, calls, result_first=begins)
    frame = pl.DataFrame(parts, infer_schema_length=None)
    return run_frames(frame, pl.DataFrame(calls, infer_schema_length=None), excerpt_tokens)


def excerpt_tokens(rows: pl.DataFrame, keep: int) -> pl.Series:
    """A stand-in for counting: so many tokens for so many characters."""
    return rows.select(pl.min_horizontal("characters", 2 * keep) // 4 + 3).to_series()


def _run(
    random: Random,
    run_id: str,
    steps: int,
    parts: list[dict[str, Any]],
    calls: list[dict[str, Any]],
    *,
    result_first: bool,
) -> None:
    rows: list[dict[str, Any]] = []

    def say(kind: str, visible_from: int, **more: Any) -> None:
        # Multiples of 100 make ties with budgets and triggers; the others make sure that no sum is one by habit.
        tokens = random.choice([0, 100, 100, 200, 300, 400, random.randint(0, 500)])
        row = {
            "session_id": "s", "run_id": run_id, "part_index": 0, "kind": kind, "part_type": "text",
            "part_trust_level": "TOOL_TRUSTED", "part_visibility": "MODEL_VISIBLE", "tool_call_id": None,
            "tool_name": None, "step": max(visible_from - 1, 0), "visible_from": visible_from, "token_count": tokens,
            "lines": random.randint(1, 40), "characters": tokens * 4, "has_content": True,
        }  # fmt: skip
        rows.append({**row, **more})

    if result_first:
        say("TOOL_CALL_RESULT", 0, tool_call_id=f"{run_id}before", part_type="tool_result", token_count=400)
    for kind in random.sample(["SYSTEM_INSTRUCTION", "DEVELOPER_INSTRUCTION", "USER_TASK"], random.randint(0, 3)):
        say(kind, 0)
    _steps(random, say, run_id, steps)
    moment = _BASE
    for step in range(steps):
        moment += timedelta(seconds=random.choice([5, 60, 299, 301, 4000]))
        calls.append({"session_id": "s", "run_id": run_id, "step": step,
                      "created_at": None if random.random() < 0.1 else moment, "model": "m"})  # fmt: skip
    for place, row in enumerate(rows):
        parts.append({**row, "sequence_no": place, "message_id": f"{run_id}m{place}"})


def _steps(random: Random, say: Any, run_id: str, steps: int) -> None:
    late: list[tuple[int, str]] = []
    number = 0
    for step in range(steps):
        at = step + 1
        _texts(random, say, at)
        asked = [f"{run_id}c{number + n}" for n in range(random.choice([0, 1, 1, 1, 2, 3]))]
        number += len(asked)
        for call in asked:
            say("TOOL_CALL_REQUEST", at, tool_call_id=call, part_type="tool_call")
        random.shuffle(asked)
        due = [(at, call) for call in asked for _ in range(random.choice([0, 1, 1, 1, 1, 2]))]
        due = [(when + random.randint(1, 4) if random.random() < 0.12 else when, call) for when, call in due]
        if random.random() < 0.05:
            due.append((at, f"{run_id}orphan{number}"))
        late += due
        for one in [one for one in late if one[0] <= at]:
            late.remove(one)
            _result(random, say, at, one[1])


def _texts(random: Random, say: Any, at: int) -> None:
    if random.random() < 0.5:
        say("ASSISTANT_RESPONSE", at, part_trust_level="MODEL_GENERATED")
    if random.random() < 0.15:
        say(random.choice(["RUN_SUMMARY", "ERROR_EVENT", "USER_TASK", "ORG_POLICY", "NEW_KIND"]), at)
    if random.random() < 0.1:
        say("ASSISTANT_RESPONSE", at, part_visibility=random.choice(["AUDIT_ONLY", "REDACTED", "HUMAN_VISIBLE"]))


def _result(random: Random, say: Any, at: int, call: str) -> None:
    kind = random.choice(["TOOL_CALL_RESULT", "TOOL_CALL_RESULT", "FILE_OBSERVATION", "VERIFIER_RESULT"])
    say(kind, at, tool_call_id=call, part_type="tool_result", part_trust_level="REPOSITORY_UNTRUSTED")
