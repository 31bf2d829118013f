"""What a run report does not know or does not show, said in so many words.

One rule: silence is not an answer.  Each line is a count with its meaning; counts may be given of what is not shown.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit import cost
from ledgerkit.formatting import format_bytes, format_count, plural
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel, Visibility
from ledgerkit.reports.blocks import Cell, Column, Table
from ledgerkit.reports.gating import Seen
from ledgerkit.reports.inputs import ReportLimits, RunReportInput
from ledgerkit.reports.labels import visibility_name

_NEVER_RECORDED: Final = {
    MessageKind.SYSTEM_INSTRUCTION: "The system prompt is not recorded: the agent sent it and did not log it.",
    MessageKind.ORG_POLICY: "No organisation policy is recorded.",
    MessageKind.APPROVAL_DECISION: "No approval decision is recorded; whether anybody was asked is not known.",
    MessageKind.VERIFIER_RESULT: "No verifier result is recorded: nothing here says that the work was checked.",
}
_ONLY_PARSED: Final = "No verifier result is recorded; verdicts are read from what shell calls printed."
_ALWAYS: Final = (
    "Tool schemas, the permission profile and the task contract are not part of agent logs; tokens that they took are "
    "inside the input tokens of each step.",
    "Times are those of the source, in UTC; waiting for tools or people is not told apart from work.",
    "Costs are computed from recorded tokens and dated list prices; discounts and subscriptions are not known.",
)


def unknown_table(report: RunReportInput, seen: Seen) -> Table:
    """What is not known about a run, counted."""
    total = cost.totals(report.calls).row(0, named=True)
    messages = report.parts.unique("message_id")
    pending = int(report.run["pending_tool_calls"].item() or 0)
    lines = (
        (total["unpriced_calls"], "model calls without a known cost", "the total leaves them out"),
        (messages["created_at"].null_count(), "messages without a time", "the source gives none"),
        (pending, "tool calls without a result", "how they ended is not recorded"),
        (
            _count(report.parts, "part_trust_level", TrustLevel.UNKNOWN),
            "parts of unknown origin",
            "treated as untrusted",
        ),
        (seen.tool_calls["duration_s"].null_count(), "tool calls without a duration", "start or end is not recorded"),
        (_lineless(seen), "file changes without line counts", "their added and removed lines are not in the sums"),
        (report.run["unknown_records"].item(), "records of unknown type", "kept as they are, not interpreted"),
    )
    rows: list[list[Cell | str]] = [[format_count(count), what, meaning] for count, what, meaning in lines if count]
    return Table(_columns(), rows, empty="Nothing that the log could hold is missing.")


def not_shown_table(report: RunReportInput, seen: Seen) -> Table:
    """What the ledger holds of a run and the report does not show, counted."""
    reasoning = report.parts.filter(
        (pl.col("kind") == MessageKind.AGENT_THOUGHT_SUMMARY.value) & pl.col("text").is_null()
    )
    kept = report.parts.filter(pl.col("artifact_refs").list.len() > 0)
    rows: list[list[Cell | str]] = [
        [format_count(count), f"parts labelled {visibility_name(label)}", f"withheld from “{seen.audience.value}”"]
        for label, count in seen.withheld.iter_rows()
    ]
    if reasoning.height:
        tokens = format_count(int(reasoning["token_count"].sum()))
        rows.append(
            [format_count(reasoning.height), "parts of hidden reasoning", f"measured ({tokens} tokens), not kept"]
        )
    if kept.height:
        size = format_bytes(int(kept["byte_count"].sum()))
        rows.append([format_count(kept.height), "parts whose whole content is an artifact", f"{size}; not shown"])
    return Table(_columns(), rows, empty="Everything in the ledger is shown.")


def limits_note(limits: ReportLimits, length: int) -> str:
    """How much of long texts and long runs the report shows."""
    counts = f"{plural(limits.steps, 'step')}, {plural(limits.parts, 'part')} and {plural(limits.rows, 'table row')}"
    return (
        f"Texts are cut after {plural(length, 'character')} and say how much is left out; at most {counts} are shown."
    )


def record_notes(report: RunReportInput) -> list[str]:
    """What is not recorded in this run, and what never is."""
    present = set(report.parts["kind"].drop_nulls())
    missing = {kind: text for kind, text in _NEVER_RECORDED.items() if kind.value not in present}
    if MessageKind.VERIFIER_RESULT in missing and (report.verifier_results["source"] == "parsed").any():
        missing[MessageKind.VERIFIER_RESULT] = _ONLY_PARSED
    return [*missing.values(), *_ALWAYS]


def _columns() -> list[Column]:
    return [Column("Count", "right"), Column("What"), Column("Meaning", wide=True)]


def _count(parts: pl.DataFrame, column: str, value: TrustLevel | Visibility) -> int:
    return parts.filter(pl.col(column) == value.value).height


def _lineless(seen: Seen) -> int:
    return seen.file_changes["lines_added"].null_count()
