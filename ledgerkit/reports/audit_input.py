"""What the audit report is made of, as its audience may see it: frames that somebody else has read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import polars as pl

from ledgerkit.judges.material import Material
from ledgerkit.memory.evidence.calls import references
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.safety.gate import visible_to
from ledgerkit.safety.inert import inert_terminal

_QUOTED: Final = 200


@dataclass(frozen=True)
class AuditInput:
    """One run, as frames.

    Attributes:
        material: Its rows, as judges take them.
        uses: What its calls took from what stood before them: ``step``, ``type``, ``value``, ``message_id`` (of the
            source), by step.
        redactions: Its rows of the view ``redactions``.
        children: Rows of ``runs`` whose parent it is.
        judgements: Current judgements of it (``Ledger.judgements``).
        calibrations: How judges did against people's labels (``Ledger.calibrations``).
        annotations: What people say of it now (``Ledger.annotations``).
        patterns: Its anti-patterns (``Ledger.anti_patterns``).
        withheld: Parts that the audience may not see: ``visibility``, ``withheld``.
    """

    material: Material
    uses: pl.DataFrame
    redactions: pl.DataFrame
    children: pl.DataFrame
    judgements: pl.DataFrame
    calibrations: pl.DataFrame
    annotations: pl.DataFrame
    patterns: pl.DataFrame
    withheld: pl.DataFrame

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Its tool calls in order, with ``reference``, and ``command`` and ``action`` in one form."""
        rows = self.material.tool_calls.drop("path", "tool_name", "arguments", "arguments_hash", "status")
        more = self.material.calls.drop("tool_name", "session_id", "run_id", "text").unique(
            "tool_call_id", keep="first", maintain_order=True
        )
        names = self.material.tool_calls.select("tool_call_id", "tool_name").unique("tool_call_id", keep="first")
        joined = rows.join(more, on="tool_call_id", how="left", maintain_order="left").join(
            names, on="tool_call_id", how="left", maintain_order="left"
        )
        return joined.sort("sequence_no", "tool_call_id")

    @cached_property
    def kinds(self) -> dict[str, tuple[str, str | None]]:
        """Kind and tool of each message."""
        rows = self.material.parts.select("message_id", "kind", "tool_name").unique("message_id", keep="first")
        return {message: (kind, tool) for message, kind, tool in rows.iter_rows()}

    @cached_property
    def words(self) -> dict[int, tuple[str, str]]:
        """What the model said at each step, and where."""
        said = self.material.parts.filter(
            pl.col("kind").is_in(["AGENT_THOUGHT_SUMMARY", "ASSISTANT_RESPONSE"]),
            pl.col("text").is_not_null(), pl.col("step").is_not_null(),
        ).sort("sequence_no", "part_index")  # fmt: skip
        return {step: (message, text) for step, message, text in said.select("step", "message_id", "text").iter_rows()}


def seen_by(given: AuditInput, audience: Audience) -> AuditInput:
    """The same without what an audience may not see; what is read from a part goes with it."""
    whole = given.material
    parts, withheld = visible_to(whole.parts, audience)
    there = parts["message_id"].unique().implode()

    def of_parts(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        return frame.filter(pl.col(name).is_null() | pl.col(name).is_in(there) for name in columns)

    calls = of_parts(whole.tool_calls, "message_id")
    is_seen = pl.col("result_message_id").is_in(there)
    calls = calls.with_columns(result_text=pl.when(is_seen).then("result_text"))
    verdicts, _ = visible_to(whole.verifier_results, audience)
    material = whole.with_frames(
        parts=lambda: parts,
        tool_calls=lambda: calls,
        verifier_results=lambda: verdicts,
        file_changes=lambda: of_parts(whole.file_changes, "message_id"),
        claims=lambda: of_parts(whole.claims, "message_id"),
        tainted=lambda: of_parts(whole.tainted, "message_id", "source_message_id"),
        markers=lambda: of_parts(whole.markers, "message_id"),
        compactions=lambda: of_parts(whole.compactions, "message_id"),
    )
    redactions = of_parts(given.redactions, "message_id")
    return replace(
        given, material=material, uses=of_parts(given.uses, "message_id"), redactions=redactions, withheld=withheld
    )


def quote(text: str | None, length: int = _QUOTED) -> str:
    r"""The head of a text on one line, inert.

    Example:
        >>> quote("a\n b"), quote("x" * 300, 5)
        ('a b', 'xxxxx…')
    """
    flat = " ".join(inert_terminal(text or "").split())
    return flat if len(flat) <= length else flat[:length] + "…"


def message(message_id: str) -> str:
    """A reference to a message."""
    return f"message:{message_id}"


def call_reference(tool_call_id: str) -> str:
    """A reference to a call."""
    return str(references(pl.Series([tool_call_id]))["reference"][0])
