"""Runs made of rows, for contexts that need no ledger."""

from __future__ import annotations

import json
from typing import Any, Final

import polars as pl

from ledgerkit.projection import Context, ContextProjector, Supplied
from ledgerkit.projection.projector import Material
from ledgerkit.protocol.budget import TokenBudget
from ledgerkit.strategies import FullHistory, Strategy, run_frames
from ledgerkit.tokens import TokenCounter

_COUNT: Final = TokenCounter().count_many
_KINDS: Final = {"ASSISTANT_RESPONSE": "MODEL_GENERATED", "TOOL_CALL_REQUEST": "MODEL_GENERATED"}
_STRINGS: Final = (
    "text",
    "data",
    "tool_call_id",
    "tool_name",
    "status",
    "path",
    "erased",
    "compaction",
    "content_type",
)


def part(kind: str, text: str | None = None, at: int = 0, **fields: Any) -> dict[str, Any]:
    """A part that is first visible at a step."""
    return {
        "kind": kind, "text": text, "visible_from": at, "part_type": "text",
        "part_trust_level": _KINDS.get(kind, "REPOSITORY_UNTRUSTED"), "part_visibility": "MODEL_VISIBLE", **fields,
    }  # fmt: skip


def call(name: str, tool: str, at: int = 0, **arguments: Any) -> dict[str, Any]:
    """A tool call."""
    return part(
        "TOOL_CALL_REQUEST", None, at, part_type="tool_call", tool_call_id=name, tool_name=tool,
        data=json.dumps(arguments, separators=(",", ":")),
    )  # fmt: skip


def result(name: str, text: str, at: int, kind: str = "TOOL_CALL_RESULT", **fields: Any) -> dict[str, Any]:
    """What a call gave."""
    more = {"part_type": "tool_result", "tool_call_id": name, "status": "SUCCEEDED", **fields}
    return part(kind, text, at, **more)


def task(text: str = "Mend the shop.") -> dict[str, Any]:
    """What the user asked."""
    return part("USER_TASK", text, part_trust_level="USER_TRUSTED")


def material(*parts: dict[str, Any], steps: int = 3, **more: Any) -> Material:
    """A run of some parts, each a message of its own."""
    rows = [
        {
            **dict.fromkeys(_STRINGS), "session_id": "s", "run_id": "r", "message_id": f"m{n}", "part_index": 0,
            "sequence_no": n, "step": one["visible_from"], "is_restricted": False, "artifact_refs": None,
            "lines": (one["text"] or "").count("\n") + 1,
            "token_count": _COUNT([one["text"] or one.get("data") or ""])[0], **one,
        }
        for n, one in enumerate(parts)
    ]  # fmt: skip
    frame = pl.DataFrame(
        rows, schema_overrides={**dict.fromkeys(_STRINGS, pl.String), "artifact_refs": pl.List(pl.String)}
    )
    calls = pl.DataFrame(
        {"session_id": ["s"] * steps, "run_id": ["r"] * steps, "step": range(steps), "model": ["m"] * steps}
    )

    def excerpts(chosen: pl.DataFrame, keep: int) -> pl.Series:
        texts = chosen.join(frame.select("message_id", "text"), on="message_id", how="left", maintain_order="left")
        blocks = [(t[:keep], f"[{len(t) - 2 * keep} characters left out]", t[-keep:]) for t in texts["text"]]
        return pl.Series([sum(_COUNT(list(block))) for block in blocks], dtype=pl.Int64)

    return Material("s", "r", run_frames(frame, calls, excerpts), frame, **more)


def context(
    *parts: dict[str, Any],
    step: int = 2,
    strategy: Strategy | None = None,
    budget: int | None = None,
    supplied: Supplied | None = None,
    **more: Any,
) -> Context:
    """The context of one step of a run of some parts."""
    shares = TokenBudget(context_window=budget) if budget is not None else None
    projector = ContextProjector(strategy or FullHistory(), _COUNT, shares, supplied or Supplied())
    return projector.project(material(*parts, **more), step)


def texts(found: Context) -> list[str]:
    """All that the parts of a context say, as recorded."""
    return [message["text"] for message in found.recorded_messages()]
