"""The head of a run report: who, where, when, and the key figures.

One rule: a key figure says in the same place what it does not cover.
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.formatting import (
    format_compact,
    format_count,
    format_duration,
    format_money,
    format_share,
    format_time,
    plural,
)
from ledgerkit.protocol.vocabulary import Audience, MessageKind
from ledgerkit.reports.blocks import Cell, Fact, Note, code
from ledgerkit.reports.excerpts import one_line
from ledgerkit.reports.gating import Seen
from ledgerkit.reports.labels import verdict_chip

_TITLE: Final = 140
_LINE: Final = 300
_MODELS: Final = 6
NO_CALLS: Final = "no model call recorded"


def run_title(seen: Seen) -> str:
    """What to call a run: its title, else the head of its first visible task, else its id."""
    run = seen.run.row(0, named=True)
    tasks = seen.parts.filter((pl.col("kind") == MessageKind.USER_TASK.value) & pl.col("text").is_not_null())
    first = tasks["text"].first() if tasks.height else None
    return one_line(run["title"], _TITLE) or one_line(str(first or ""), _TITLE) or f"Run {run['run_id']}"


def run_facts(seen: Seen) -> list[tuple[str, list[Cell]]]:
    """Where a run took place and what it is called, as names with values; what is not recorded is left out."""
    run = seen.run.row(0, named=True)
    models = [code(one_line(model, 80)) for model in run["models"][:_MODELS]]
    if len(run["models"]) > _MODELS:
        models.append(Cell(f"and {len(run['models']) - _MODELS} more"))
    agent = " ".join(str(part) for part in (run["agent"], run["agent_version"]) if part)
    facts: list[tuple[str, list[Cell]]] = [
        ("Repository", _named(run["repository"])),
        ("Branch", _named(run["branch"])),
        ("Directory", _named(run["working_directory"]) if run["working_directory"] != run["repository"] else []),
        ("Agent", _named(agent)),
        ("Models", models),
        ("Task", _named(run["task_id"])),
        ("Began", [Cell(format_time(run["started_at"], unknown="not recorded"))]),
        ("Ended", [Cell(format_time(run["finished_at"], unknown="not recorded"))]),
        ("Outcome", _outcome(seen)),
        ("Session", _named(run["session_id"])),
        ("Run", _named(run["run_id"])),
        ("Came from", _origin(run)),
        ("Read from", _named(run["source_file"])),
    ]
    return [(name, cells) for name, cells in facts if cells]


def run_figures(seen: Seen) -> list[Fact]:
    """The key figures of a run."""
    run = seen.run.row(0, named=True)
    total = cost.totals(seen.calls).row(0, named=True)
    calls = total["calls"] + total["not_billed_calls"]
    return [
        money_fact(total),
        Fact("Duration", format_duration(run["duration_s"]), "first to last message, waiting included"),
        Fact("Steps", format_count(run["steps"]), _steps_note(run, total)),
        tool_fact(run["tool_calls"], run["failed_tool_calls"], run["pending_tool_calls"]),
        Fact("Input tokens", format_compact(total["input_tokens"] if calls else None), _cache_note(total)),
        Fact("Output tokens", format_compact(total["output_tokens"] if calls else None), _reasoning_note(total)),
        _files_fact(seen),
        Fact("Messages", format_count(run["messages"]), _withheld_note(seen)),
    ]


def money_fact(total: dict[str, Any]) -> Fact:
    """Cost as a key figure, from a row of ``cost.totals``."""
    if not total["calls"]:
        return Fact(
            "Cost", format_money(None), NO_CALLS if not total["not_billed_calls"] else "no call that counts here"
        )
    unpriced = total["unpriced_calls"]
    note = f"without {unpriced:,d} of {plural(total['calls'], 'call')}" if unpriced else "every call has a price"
    if total["reported_cost"] is not None:
        note += f"; the source reported {format_money(total['reported_cost'])}"
    return Fact("Cost", format_money(total["cost"], unknown="unknown"), note, "warn" if unpriced else "plain")


def tool_fact(calls: int, failed: int, pending: int) -> Fact:
    """Tool calls as a key figure."""
    note = f"{failed:,d} failed" if failed else "none failed"
    return Fact("Tool calls", format_count(calls), f"{note}, {pending:,d} without a result" if pending else note)


def run_notes(seen: Seen) -> list[Note]:
    """What a reader should know before the numbers."""
    run = seen.run.row(0, named=True)
    total = cost.totals(seen.calls).row(0, named=True)
    notes: list[Note] = []
    if total["unpriced_calls"]:
        count = plural(total["unpriced_calls"], "model call")
        notes.append(Note(f"The cost leaves out {count} without a known price; see “Not known”.", "warn"))
    if seen.withheld.height:
        hidden = plural(int(seen.withheld["withheld"].sum()), "part")
        audit = " An audit report shows those labelled AUDIT_ONLY." if seen.audience is not Audience.AUDIT else ""
        notes.append(Note(f"{hidden} of this run are not for the audience “{seen.audience.value}”.{audit}"))
    if run["unknown_records"]:
        count = plural(run["unknown_records"], "record")
        notes.append(Note(f"{count} of types that this version does not know are in the log.", "warn"))
    if run["compactions"]:
        notes.append(Note(f"The context was compacted {plural(run['compactions'], 'time')} during the run."))
    return notes


def _named(value: str | None) -> list[Cell]:
    return [code(one_line(value, _LINE))] if value else []


def _outcome(seen: Seen) -> list[Cell]:
    outcome = seen.run["outcome"].item()
    if outcome is None:
        return [Cell("not recorded", tone="faint")]
    recorded = seen.verifier_results.filter(pl.col("source") == "recorded")
    about_run = recorded.filter((pl.col("scope") == "run") & (pl.col("verdict") == outcome))
    return [verdict_chip(outcome)] if about_run.height else [Cell("not for this audience", tone="faint")]


def _origin(run: dict[str, Any]) -> list[Cell]:
    if not run["parent_run_id"]:
        return []
    cells = [Cell(f"{run['relation'] or 'continues'} of run"), code(run["parent_run_id"])]
    return [*cells, Cell("at message"), code(run["forked_at"])] if run["forked_at"] else cells


def _steps_note(run: dict[str, Any], total: dict[str, Any]) -> str:
    copies = total["not_billed_calls"]
    return f"model calls; {copies:,d} not billed here" if copies and run["steps"] else "model calls"


def _cache_note(total: dict[str, Any]) -> str:
    share = format_share(total["cache_read_tokens"], total["input_tokens"], unknown="")
    return f"{share} read from a cache" if share else "over all steps"


def _reasoning_note(total: dict[str, Any]) -> str:
    if not total["reasoning_tokens"]:
        return "reasoning is inside it, not told apart"
    return f"{format_compact(total['reasoning_tokens'])} of them reasoning"


def _files_fact(seen: Seen) -> Fact:
    changes = seen.file_changes
    if not changes.height:
        return Fact("Files changed", "0", f"{seen.hidden_changes} changes withheld" if seen.hidden_changes else "")
    added, removed = changes["lines_added"].sum(), changes["lines_removed"].sum()
    return Fact("Files changed", format_count(changes["path"].n_unique()), f"+{added:,d} -{removed:,d} lines")


def _withheld_note(seen: Seen) -> str:
    hidden = int(seen.withheld["withheld"].sum())
    shown = plural(seen.parts.height, "part")
    return f"{shown} shown, {hidden:,d} withheld" if hidden else f"{shown}, all shown to this audience"
