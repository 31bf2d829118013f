"""What of a run its audience may see.

One rule: the labels of the parts decide for every frame.  A row of another frame passes only if the very part that it
was read from is visible; what stays behind is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from ledgerkit.protocol.vocabulary import Audience, PartType
from ledgerkit.reports.inputs import RunReportInput
from ledgerkit.safety.gate import visible_to

_CALL_KEYS: Final = {"message_id": "message_id", "tool_call_id": "tool_call_id"}
_DIFF_KEYS: Final = {"message_id": "message_id", "path": "path", "diff": "text"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as its audience may see it.

    Attributes:
        run: Its one row of ``runs``.
        parts: Visible parts, in order.
        tool_calls: Calls whose request is visible.
        calls: All priced model calls: they hold numbers, no content.
        children: Child runs.
        file_changes: Visible changes.
        verifier_results: Visible verdicts.
        withheld: Parts that are not visible, counted by visibility.
        withheld_parts: These parts without their content: ``step``, ``kind``, ``part_visibility``.
        hidden_calls: Tool calls that are not visible; ``hidden_changes`` and ``hidden_verdicts`` likewise.
        audience: Who looks.
    """

    run: pl.DataFrame
    parts: pl.DataFrame
    tool_calls: pl.DataFrame
    calls: pl.DataFrame
    children: pl.DataFrame
    file_changes: pl.DataFrame
    verifier_results: pl.DataFrame
    withheld: pl.DataFrame
    withheld_parts: pl.DataFrame
    hidden_calls: int
    hidden_changes: int
    hidden_verdicts: int
    audience: Audience


def seen_by(audience: Audience, report: RunReportInput) -> Seen:
    """The part of a run that an audience may see.

    Raises:
        UnknownNameError: If the parts have no labels.
    """
    ordered = report.parts.sort("sequence_no", "part_index")
    parts, withheld = visible_to(ordered, audience)
    hidden = ordered.join(parts, on="part_id", how="anti", maintain_order="left")
    tool_calls = _visible(report.tool_calls, parts, PartType.TOOL_CALL, _CALL_KEYS)
    changes = _visible(report.file_changes, parts, PartType.DIFF, _DIFF_KEYS)
    verdicts, _ = visible_to(report.verifier_results, audience)
    return Seen(
        run=report.run,
        parts=parts,
        tool_calls=tool_calls.sort("sequence_no", "tool_call_id"),
        calls=report.calls.sort("step", "call_id", nulls_last=True),
        children=report.children.sort("started_at", "run_id", nulls_last=True),
        file_changes=changes.sort("sequence_no", "path"),
        verifier_results=verdicts.sort("sequence_no", "check_no", "part_id"),
        withheld=withheld,
        withheld_parts=hidden.select("step", "kind", "part_visibility"),
        hidden_calls=report.tool_calls.height - tool_calls.height,
        hidden_changes=report.file_changes.height - changes.height,
        hidden_verdicts=report.verifier_results.height - verdicts.height,
        audience=audience,
    )


def _visible(frame: pl.DataFrame, parts: pl.DataFrame, part_type: PartType, keys: Mapping[str, str]) -> pl.DataFrame:
    typed = parts.filter(pl.col("part_type") == part_type.value)
    return frame.join(
        typed.select(pl.col(column).alias(name) for name, column in keys.items()).unique(),
        on=list(keys),
        how="semi",
        nulls_equal=True,
        maintain_order="left",
    )
