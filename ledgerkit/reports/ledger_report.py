"""The report of a ledger, or of a choice of its runs: one HTML document that needs nothing else.

One rule: the same input gives the same bytes.  It shows counts, amounts and names; what was said is
in the reports of the runs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import polars as pl

from ledgerkit import charts, cost
from ledgerkit.formatting import format_compact, format_count, format_share, format_time, plural
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports import costs, imports_account, ledger_tables, pictures
from ledgerkit.reports.blocks import Cell, Fact, Figure, Note, Section, code
from ledgerkit.reports.excerpts import one_line
from ledgerkit.reports.inputs import LedgerReportInput, ReportLimits
from ledgerkit.reports.overview import money_fact, tool_fact
from ledgerkit.reports.rendering import render

_RUN_FACTS: Final = ("run_id", "repository", "agent")
_NAMED: Final = 8


def ledger_report(
    report: LedgerReportInput,
    *,
    generated_at: datetime,
    audience: Audience = Audience.PEOPLE,
    limits: ReportLimits | None = None,
) -> str:
    """A whole HTML document about many runs: cost, tools, content by label, and the account of imports.

    Args:
        report: The runs.
        generated_at: The time that the report states as its own.
        audience: Who will read it. Of what they may not see only counts are shown.
        limits: How many rows its tables have.

    Returns:
        The document. Write it as UTF-8.

    Raises:
        UnknownNameError: If the calls are not priced.
    """
    bounds = limits or ReportLimits()
    facts = report.runs.select(_RUN_FACTS).unique("run_id")
    priced = report.calls.drop(name for name in _RUN_FACTS[1:] if name in report.calls.columns)
    priced = priced.join(facts, on="run_id", how="left", maintain_order="left")
    values: dict[str, object] = {
        "title": one_line(report.name, 140),
        "kind": "Ledger report",
        "facts": _facts(report),
        "figures": _figures(report, priced),
        "notes": _notes(report, priced, audience),
        "pictures": _pictures(report, priced),
        "can_draw": charts.can_draw(),
        "audience": audience.value,
        "generated_at": format_time(generated_at),
        "limits_note": f"Tables have at most {plural(bounds.rows, 'row')} and say how many are left out.",
        "sections": _sections(report),
    }
    return render("ledger.html.j2", {**values, **_tables(report, priced, audience, bounds.rows)})


def _tables(report: LedgerReportInput, priced: pl.DataFrame, audience: Audience, rows: int) -> dict[str, object]:
    files = report.import_files
    return {
        "runs": ledger_tables.run_table(report.runs, priced, rows),
        "by_model": costs.cost_table(priced, "model", "Model", rows=rows),
        "by_repository": costs.cost_table(priced, "repository", "Repository", rows=rows),
        "by_agent": costs.cost_table(priced, "agent", "Agent", rows=rows),
        "leaves": costs.leaf_table(priced),
        "unpriced": costs.unpriced_table(priced),
        "price_note": costs.price_note(priced),
        "kinds": ledger_tables.kind_table(report.labels),
        "trust": ledger_tables.trust_table(report.labels),
        "visibilities": ledger_tables.visibility_table(report.labels, audience),
        "formats": imports_account.format_table(files),
        "fates": imports_account.fate_table(files, rows),
        "quarantine": imports_account.quarantine_table(files, rows),
        "files": imports_account.file_table(files, rows),
        "unknown": ledger_tables.unknown_table(report, priced),
    }


def _facts(report: LedgerReportInput) -> list[tuple[str, list[Cell]]]:
    runs = report.runs
    began, ended = runs["started_at"].min(), runs["finished_at"].max()
    span = runs.select(pl.col("started_at").min(), pl.col("finished_at").max()).row(0)
    times = f"{format_time(span[0])} to {format_time(span[1])}" if began and ended else "not recorded"
    return [
        ("Runs from", [Cell(times)]),
        ("Agents", _names(runs["agent"])),
        ("Formats", _names(runs["source_format"])),
        ("Models", _names(runs["models"].explode())),
    ]


def _names(values: pl.Series) -> list[Cell]:
    names = sorted({one_line(str(value), 60) for value in values.drop_nulls()})
    more = [Cell(f"and {len(names) - _NAMED} more")] if len(names) > _NAMED else []
    return [*(code(name) for name in names[:_NAMED]), *more] or [Cell("not recorded", tone="faint")]


def _figures(report: LedgerReportInput, priced: pl.DataFrame) -> list[Fact]:
    runs = report.runs
    total = cost.totals(priced).row(0, named=True)
    tools = [int(runs[name].sum()) for name in ("tool_calls", "failed_tool_calls", "pending_tool_calls")]
    share = format_share(total["cache_read_tokens"], total["input_tokens"], unknown="")
    subagents = runs.filter(pl.col("relation").is_not_null()).height
    return [
        money_fact(total),
        Fact("Runs", format_count(runs.height), f"in {plural(runs['session_id'].n_unique(), 'session')}"),
        Fact("Steps", format_count(int(runs["steps"].sum())), "model calls"),
        tool_fact(*tools),
        Fact("Input tokens", format_compact(total["input_tokens"]), f"{share} read from a cache" if share else ""),
        Fact("Output tokens", format_compact(total["output_tokens"])),
        Fact(
            "Messages", format_compact(int(runs["messages"].sum())), f"{plural(subagents, 'run')} came from another run"
        ),
        imports_account.import_fact(report.import_files),
    ]


def _notes(report: LedgerReportInput, priced: pl.DataFrame, audience: Audience) -> list[Note]:
    total = cost.totals(priced).row(0, named=True)
    hidden = ledger_tables.withheld(report.labels, audience)
    notes: list[Note] = []
    if total["unpriced_calls"]:
        count = plural(total["unpriced_calls"], "model call")
        notes.append(Note(f"The cost leaves out {count} without a known price; see “Cost”.", "warn"))
    if hidden:
        notes.append(Note(f"{plural(hidden, 'part')} of these runs are not for the audience “{audience.value}”."))
    return notes


def _pictures(report: LedgerReportInput, priced: pl.DataFrame) -> list[Figure]:
    figures = [
        pictures.cost_by_day_picture(cost.group_costs(priced, ["day", "model"])),
        pictures.cost_by_picture(cost.group_costs(priced, ["model"]), "model", "Model"),
        pictures.cost_by_picture(cost.group_costs(priced, ["repository"]), "repository", "Repository"),
        pictures.tools_picture(report.tool_calls),
    ]
    return [figure for figure in figures if figure.table.rows]


def _sections(report: LedgerReportInput) -> list[Section]:
    return [
        Section("runs", "Runs", plural(report.runs.height, "run")),
        Section("cost", "Cost"),
        Section("content", "Content", plural(int(report.labels["parts"].sum()), "part")),
        Section("imports", "Imports", plural(report.import_files.height, "file")),
        Section("unknown", "Not known"),
    ]
