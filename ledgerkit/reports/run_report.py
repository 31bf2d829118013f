"""The report of one run: one HTML document that needs nothing else.

One rule: the same input gives the same bytes.  The time of writing is an argument.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from ledgerkit import charts
from ledgerkit.formatting import format_time, plural
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports import costs, outcomes, overview, pictures, steps, unknowns
from ledgerkit.reports.blocks import Section
from ledgerkit.reports.excerpts import common_length
from ledgerkit.reports.gating import Seen, seen_by
from ledgerkit.reports.inputs import ReportLimits, RunReportInput
from ledgerkit.reports.rendering import render


def run_report(
    report: RunReportInput,
    *,
    generated_at: datetime,
    audience: Audience = Audience.PEOPLE,
    limits: ReportLimits | None = None,
) -> str:
    """A whole HTML document about one run.

    It holds no script and loads nothing, so it can be opened from a folder, mailed and printed.

    Args:
        report: The run.
        generated_at: The time that the report states as its own.
        audience: Who will read it. What they may not see is withheld and counted.
        limits: How much of the run to show.

    Returns:
        The document. Write it as UTF-8.

    Raises:
        UnknownNameError: If the parts have no labels, or the calls are not priced.
    """
    bounds = limits or ReportLimits()
    seen = seen_by(audience, report)
    length = _length(seen, bounds)
    head: dict[str, object] = {
        "title": overview.run_title(seen),
        "kind": "Run report",
        "facts": overview.run_facts(seen),
        "figures": overview.run_figures(seen),
        "notes": overview.run_notes(seen),
        "pictures": _pictures(seen),
        "can_draw": charts.can_draw(),
        "audience": audience.value,
        "generated_at": format_time(generated_at),
        "limits_note": unknowns.limits_note(bounds, length),
    }
    return render("run.html.j2", {**head, **_story(seen, bounds, length), **_account(report, seen, bounds)})


def _length(seen: Seen, limits: ReportLimits) -> int:
    """The common length of texts: every part's, and each diff's once."""
    lengths = seen.parts.select(
        pl.max_horizontal(pl.col("text").str.len_chars(), pl.col("data").str.len_chars()).fill_null(0)
    ).to_series()
    return common_length(lengths.to_list(), limits.text, limits.total)


def _pictures(seen: Seen) -> list[object]:
    figures = [
        pictures.context_picture(seen.calls),
        pictures.cost_so_far_picture(seen.calls),
        pictures.tools_picture(seen.tool_calls),
        pictures.timeline_picture(seen.parts),
    ]
    return [figure for figure in figures if figure.table.rows]


def _story(seen: Seen, limits: ReportLimits, length: int) -> dict[str, object]:
    anchors = outcomes.diff_anchors(seen, rows=limits.rows)
    told, untold = outcomes.asked(seen, length)
    errors, more_errors = outcomes.error_texts(seen, length)
    changes = outcomes.file_changes(seen, rows=limits.rows, length=length)
    blocks = steps.step_blocks(seen, limits, length=length, diff_anchors=anchors)
    return {
        "asked": told,
        "asked_more": untold,
        "answer": outcomes.last_answer(seen, length),
        "errors": errors,
        "errors_more": more_errors,
        "failed_calls": outcomes.failed_calls(seen, limits.rows),
        "verdicts": outcomes.verdict_counts(seen),
        "verdict_texts": outcomes.verdict_texts(seen, length),
        "hidden_verdicts": seen.hidden_verdicts,
        "changes": changes,
        "changes_more": seen.file_changes["path"].n_unique() - len(changes),
        "hidden_changes": seen.hidden_changes,
        "children": outcomes.child_table(seen.children, limits.rows),
        "steps": blocks,
        "sections": _sections(seen, told, changes),
    }


def _account(report: RunReportInput, seen: Seen, limits: ReportLimits) -> dict[str, object]:
    return {
        "costs": costs.cost_table(seen.calls, "model", "Model", rows=limits.rows),
        "leaves": costs.leaf_table(seen.calls),
        "unpriced": costs.unpriced_table(seen.calls),
        "price_note": costs.price_note(seen.calls),
        "unknown": unknowns.unknown_table(report, seen),
        "not_shown": unknowns.not_shown_table(report, seen),
        "record_notes": unknowns.record_notes(report),
    }


def _sections(seen: Seen, told: list[outcomes.Told], changes: list[outcomes.FileChanges]) -> list[Section]:
    failed = outcomes.failed_calls(seen, 0).left_out
    run = seen.run.row(0, named=True)
    return [
        Section("asked", "Task and answer", plural(len(told), "message")),
        Section("problems", "Problems", plural(failed + run["errors"], "problem")),
        Section("checks", "Checks", plural(seen.verifier_results.height, "verdict")),
        Section("files", "File changes", plural(len(changes), "file")),
        Section("runs", "Runs it started", plural(seen.children.height, "run")),
        Section("cost", "Cost"),
        Section("steps", "Step by step", plural(run["steps"], "step")),
        Section("unknown", "Not known, not shown"),
    ]
