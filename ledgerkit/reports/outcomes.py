"""How a run went: what was asked and answered, what failed, what was checked, what changed, what it started.

One rule: what cannot be shown is counted beside what can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ledgerkit.charts.shapes import FAILED
from ledgerkit.formatting import (
    format_compact,
    format_count,
    format_duration,
    format_money,
    format_time,
)
from ledgerkit.protocol.vocabulary import MessageKind, PartType, Verdict
from ledgerkit.reports.blocks import Cell, Column, Excerpt, Table, chip, code, left, right
from ledgerkit.reports.diffs import Diff, diff_lines
from ledgerkit.reports.excerpts import excerpt, gist, indented, one_line
from ledgerkit.reports.gating import Seen
from ledgerkit.reports.labels import status_chip, trust_chip, verdict_chip

_LINE: Final = 160
_TOLD: Final = 50


@dataclass(frozen=True, slots=True)
class Told:
    """A text with its labels and where in the run it stands."""

    chips: Sequence[Cell]
    step: int | None
    when: str
    text: Excerpt


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The changes of one file."""

    path: str
    summary: str
    added: str
    removed: str
    changes: Sequence[FileChange]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One change, with its diff."""

    anchor: str
    step: int | None
    title: str
    diff: Diff


def asked(seen: Seen, length: int) -> tuple[list[Told], int]:
    """What the run was asked, first to last, and how many of these texts are not shown."""
    tasks = _texts(seen, MessageKind.USER_TASK)
    return [_told(part, length) for part in tasks.head(_TOLD).iter_rows(named=True)], max(tasks.height - _TOLD, 0)


def last_answer(seen: Seen, length: int) -> Told | None:
    """The last text that the model addressed to the user."""
    answers = _texts(seen, MessageKind.ASSISTANT_RESPONSE)
    return _told(answers.row(-1, named=True), length) if answers.height else None


def error_texts(seen: Seen, length: int) -> tuple[list[Told], int]:
    """Error messages, and how many are not shown."""
    errors = seen.parts.filter(pl.col("kind") == MessageKind.ERROR_EVENT.value)
    return [_told(part, length) for part in errors.head(_TOLD).iter_rows(named=True)], max(errors.height - _TOLD, 0)


def failed_calls(seen: Seen, rows: int) -> Table:
    """Tool calls that failed or timed out, with the head of what they answered."""
    failed = seen.tool_calls.filter(pl.col("status").is_in(FAILED))
    answers = _answers(seen)
    shown = [
        [
            _step_cell(call["step"]),
            code(one_line(call["tool_name"], 60)),
            _why(call),
            gist(call["arguments"], _LINE),
            one_line(answers.get(call["tool_call_id"]), _LINE),
        ]
        for call in failed.head(rows).iter_rows(named=True)
    ]
    columns = [
        Column("Step", "right"),
        *left("Tool", "Why"),
        Column("Call", wide=True),
        Column("It answered", wide=True),
    ]
    return Table(columns, shown, max(failed.height - rows, 0), empty="No tool call failed.")


def verdict_counts(seen: Seen) -> Table:
    """Verdicts by check: those that a source recorded, and those that were read from what calls printed."""
    also = pl.when(pl.col("superseded_by").is_not_null()).then(pl.lit(", also recorded")).otherwise(pl.lit(""))
    groups = (
        seen.verifier_results.with_columns(source=pl.concat_str("source", also))
        .group_by("scope", "actor", "source", "verdict", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("created_at").max().alias("last"))
    )
    rows = [
        [
            verdict_chip(row["verdict"]),
            one_line(row["scope"], _LINE) or "not recorded",
            one_line(row["actor"], _LINE),
            row["source"],
            format_count(row["count"]),
            format_time(row["last"]),
        ]
        for row in groups.iter_rows(named=True)
    ]
    columns = [*left("Verdict"), Column("Check", wide=True), *left("Said by", "Source"), *right("Count"), *left("Last")]
    return Table(columns, rows, empty="No verdict is recorded or can be read, for this audience.")


def verdict_texts(seen: Seen, length: int) -> list[Told]:
    """What verifiers said where they came to a verdict, failures first."""
    is_decided = pl.col("verdict") != Verdict.INCONCLUSIVE.value
    decided = seen.verifier_results.filter(is_decided, pl.col("superseded_by").is_null()).sort(
        pl.col("verdict") != Verdict.FAILED.value, maintain_order=True
    )
    return [
        Told(
            chips=_verdict_chips(row),
            step=row["step"],
            when=format_time(row["created_at"], unknown="no time recorded"),
            text=excerpt(row["text"], length) if row["text"] else indented(row["data"], length),
        )
        for row in decided.head(_TOLD).iter_rows(named=True)
    ]


def _verdict_chips(row: dict[str, Any]) -> list[Cell]:
    """A verdict, its check, its numbers, and whether somebody read it out of an output."""
    counts = [f"{row[name]:,d} {name}" for name in ("failed", "errors", "passed", "skipped") if row[name]]
    chips = [verdict_chip(row["verdict"]), chip(one_line(row["scope"], _LINE) or "check not recorded")]
    chips += [chip(", ".join(counts))] if counts else []
    return [*chips, chip("read from the output")] if row["source"] == "parsed" else chips


def file_changes(seen: Seen, *, rows: int, length: int) -> list[FileChanges]:
    """Changed files in the order of their first change."""
    steps = dict(seen.parts.select("message_id", "step").iter_rows())
    numbered = seen.file_changes.with_row_index("number")
    paths = numbered["path"].unique(maintain_order=True).head(rows)
    groups = numbered.filter(pl.col("path").is_in(paths.implode(), nulls_equal=True)).partition_by(
        "path", maintain_order=True
    )
    return [_changes_of(group, steps, length) for group in groups]


def diff_anchors(seen: Seen, *, rows: int) -> dict[str, str]:
    """Where ``file_changes`` shows each diff part, by part id."""
    numbered = seen.file_changes.with_row_index("number")
    paths = numbered["path"].unique(maintain_order=True).head(rows)
    diffs = seen.parts.filter(pl.col("part_type") == PartType.DIFF.value).select(
        "message_id", "path", "text", "part_id"
    )
    found = numbered.filter(pl.col("path").is_in(paths.implode(), nulls_equal=True)).join(
        diffs, left_on=["message_id", "path", "diff"], right_on=["message_id", "path", "text"], nulls_equal=True
    )
    return {part: f"change-{number}" for part, number in found.select("part_id", "number").iter_rows()}


def child_table(children: pl.DataFrame, rows: int) -> Table:
    """Runs that a run started."""
    costs = children["cost"] if "cost" in children.columns else [None] * children.height
    shown = [
        [
            chip(child["relation"] or "run"),
            Cell(
                one_line(child["title"] or child["task"], _LINE) or "no task recorded",
                below=f"{one_line(', '.join(child['models'][:2]), 80) or 'model not recorded'} · {child['run_id']}",
            ),
            format_count(child["steps"]),
            format_count(child["tool_calls"]),
            format_count(child["failed_tool_calls"]),
            format_duration(child["duration_s"]),
            format_compact(child["output_tokens"]),
            format_money(amount),
        ]
        for child, amount in zip(children.head(rows).iter_rows(named=True), costs, strict=False)
    ]
    columns = [
        *left("Kind"),
        Column("Task", wide=True),
        *right("Steps", "Calls", "Failed", "Duration", "Output", "Cost"),
    ]
    return Table(columns, shown, max(children.height - rows, 0), empty="It started no other run.")


def _texts(seen: Seen, kind: MessageKind) -> pl.DataFrame:
    return seen.parts.filter((pl.col("kind") == kind.value) & (pl.col("text").fill_null("").str.len_chars() > 0))


def _told(part: dict[str, Any], length: int) -> Told:
    category = chip(part["error_category"].replace("_", " "), "bad") if part["error_category"] else None
    return Told(
        chips=[trust_chip(part["part_trust_level"]), *([category] if category else [])],
        step=part["step"],
        when=format_time(part["created_at"], unknown="no time recorded"),
        text=excerpt(part["text"], length) if part["text"] else indented(part["data"], length),
    )


def _answers(seen: Seen) -> dict[str, str]:
    """The first visible result of each failed call."""
    failed = seen.tool_calls.filter(pl.col("status").is_in(FAILED))["tool_call_id"]
    results = seen.parts.filter(
        (pl.col("part_type") == PartType.TOOL_RESULT.value) & pl.col("tool_call_id").is_in(failed.implode())
    )
    return dict(results.reverse().select("tool_call_id", "text").iter_rows())


def _why(call: dict[str, Any]) -> Cell:
    category = call["error_category"]
    return chip(category.replace("_", " "), "bad") if category else status_chip(call["status"])


def _step_cell(step: int | None) -> Cell:
    return Cell("–") if step is None else Cell(f"{step:,d}", href=f"step-{step}")


def _changes_of(group: pl.DataFrame, steps: Mapping[str, int | None], length: int) -> FileChanges:
    changes = [
        FileChange(
            anchor=f"change-{row['number']}",
            step=steps.get(row["message_id"]),
            title=f"{one_line(row['tool_name'], 60)} · {format_time(row['created_at'], unknown='no time recorded')}",
            diff=diff_lines(row["diff"], length),
        )
        for row in group.iter_rows(named=True)
    ]
    return FileChanges(
        path=one_line(group["path"].cast(pl.String).to_list()[0], 400) or "path not recorded",
        summary=f"{len(changes)} changes" if len(changes) > 1 else "1 change",
        added=format_count(_lines(group["lines_added"])),
        removed=format_count(_lines(group["lines_removed"])),
        changes=changes,
    )


def _lines(counts: pl.Series) -> int | None:
    return None if counts.null_count() == counts.len() else int(counts.sum())
