"""What a ledger, a run and a step look like in a cell.

One rule: a card shows figures that one call of the library gives, and says which call shows more.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit.formatting import (
    format_compact,
    format_count,
    format_duration,
    format_money,
    format_time,
    plural,
)
from ledgerkit.ledger import Ledger
from ledgerkit.notebook.html import Child, Safe, cell, joined, tag
from ledgerkit.notebook.tables import show
from ledgerkit.notebook.values import chip, tone_of, toned
from ledgerkit.replay import Step
from ledgerkit.reports import labels
from ledgerkit.run import Run

_RUNS: Final = 8
_RUN_COLUMNS: Final = (
    "run_id",
    "task_id",
    "title",
    "agent",
    "steps",
    "input_tokens",
    "cost",
    "last_check",
    "outcome",
    "started_at",
)
_PARTS: Final = 12
_EXCERPT: Final = 700
_TITLE: Final = 72
_TRUST_TONES: Final = {
    "MODEL_GENERATED": "model",
    "REPOSITORY_UNTRUSTED": "untrusted",
    "NETWORK_UNTRUSTED": "untrusted",
    "UNKNOWN": "untrusted",
}


def ledger_card(ledger: Ledger) -> Safe:
    """A ledger: what it holds, what it cost, its latest runs."""
    runs = ledger.runs()
    known = runs["cost"].drop_nulls()
    unpriced = int(runs["unpriced_calls"].fill_null(0).sum())
    failed = runs.filter(last_check="failed").height
    facts = [
        ("runs", format_count(runs.height), plural(runs["session_id"].n_unique(), "session"), ""),
        ("model calls", format_count(_total(runs, "steps")), plural(_total(runs, "tool_calls"), "tool call"), ""),
        ("input tokens", format_compact(_total(runs, "input_tokens")), f"{_share(runs)} from caches", ""),
        ("output tokens", format_compact(_total(runs, "output_tokens")), "", ""),
        ("cost", format_money(Decimal(str(known.sum())) if known.len() else None), *_unpriced(unpriced)),
        ("last check failed", format_count(failed), "of runs", "bad" if failed else ""),
    ]
    times = runs["started_at"].drop_nulls().sort().to_list()
    span = f"{format_time(times[0])[:10]} to {format_time(times[-1])[:10]}" if times else "no times recorded"
    here = Path.cwd()
    where = ledger.path.relative_to(here) if ledger.path.is_relative_to(here) else ledger.path
    columns = [name for name in _RUN_COLUMNS if runs[name].drop_nulls().len() or name == "run_id"]
    return cell(
        tag("p", ledger.path.name, class_="lk-name"),
        tag("p", tag("code", str(where)), f" · {span}", class_="lk-sub"),
        tiles(facts),
        show(runs, columns, title="latest runs", limit=_RUNS).to_html() if runs.height else _nothing(),
        tag(
            "p",
            "More: ",
            *_calls("ledger.runs()", "ledger.describe()", "ledger.cost()", "ledger.check_claims()"),
            class_="lk-small",
        ),
        label=f"ledger {ledger.path.name}",
    )


def run_card(run: Run) -> Safe:
    """A run: its task, figures, checks, and what it used."""
    facts = run.facts
    checks = run.verifier_results()
    tools = run.tool_calls().group_by("tool_name").agg(
        calls=pl.len(), failed=pl.col("status").is_in(["FAILED", "TIMED_OUT"]).sum(), seconds=pl.col("duration_s").sum()
    ).sort("calls", "tool_name", descending=[True, False])  # fmt: skip
    title = run_title(facts)
    began = format_time(facts["started_at"])
    calls = _calls("run.replay()", "run.project(step)", "run.parts()", "run.calls()")
    where = " · ".join(str(facts[name]) for name in ("agent", "repository", "branch") if facts[name])
    return cell(
        tag("p", title, class_="lk-name"),
        tag("p", tag("code", run.run_id), f" · {where}" if where else "", f" · {began}", class_="lk-sub"),
        tiles(_run_facts(facts, checks)),
        _fold("task", tag("pre", _cut(facts["task"]))) if facts["task"] else None,
        tag("p", "tools ", *_tools(tools), class_="lk-sub") if tools.height else None,
        show(checks, _there(checks, "step", "scope", "verdict", "tool", "passed", "failed", "source"), title="checks",
             limit=_PARTS, replays=False).to_html() if checks.height else None,
        tag("p", "More: ", *calls, class_="lk-small"),
        label=f"run {title}",
    )  # fmt: skip


def run_title(facts: Mapping[str, Any]) -> str:
    """What a run is called: its title, or its task's beginning, or its id."""
    task = " ".join(str(facts.get("task") or "").split())
    named = task if len(task) <= _TITLE else task[: _TITLE - 1] + "…"
    return str(facts.get("title") or facts.get("task_id") or named or facts.get("run_id") or "run")


def step_card(step: Step) -> Safe:
    """A step: what was new to the model, what it wrote, what came back, what was checked."""
    call = step.call
    figures = [
        (
            "input",
            format_compact(call["input_tokens"]),
            f"{format_compact(call['cache_read_tokens'])} from a cache",
            "",
        ),
        ("output", format_compact(call["output_tokens"]), "", ""),
        ("cost", format_money(call.get("cost")), "", ""),
        ("visible by then", format_compact(step.visible_tokens), plural(step.visible.height, "part"), ""),
    ]
    sections = {
        "new to the model": step.entered,
        "the model wrote": step.wrote,
        "came back": step.came_back,
        "beside it, for people": step.beside,
    }
    return cell(
        tag("p", f"Step {step.number}", class_="lk-name"),
        tag("p", f"{call['model'] or 'model not recorded'} · {format_time(call['created_at'])}", class_="lk-sub"),
        tiles(figures),
        *(parts_list(name, rows) for name, rows in sections.items() if rows.height),
        *(tag("p", toned(row["verdict"]), " ", row["scope"] or "check") for row in step.verdicts.iter_rows(named=True)),
        label=f"step {step.number}",
    )


def parts_list(title: str, parts: pl.DataFrame) -> Safe:
    """Some parts, each with where it comes from and the beginning of what it says."""
    shown = [part_block(row) for row in parts.head(_PARTS).iter_rows(named=True)]
    more = parts.height - len(shown)
    rest = tag("p", f"{plural(more, 'more part')}", class_="lk-small") if more else None
    return joined([tag("p", title, " ", tag("small", plural(parts.height, "part")), class_="lk-head"), *shown, rest])


def part_block(row: Mapping[str, Any]) -> Safe:
    """One part of the ``parts`` view: its labels, and the beginning of its text."""
    said = row["text"] if row["text"] is not None else row["data"]
    tone = _TRUST_TONES.get(row["part_trust_level"], "trusted")
    size = f"{format_count(row['token_count'])} tokens" if row["token_count"] is not None else "size unknown"
    words = f" {row['tool_name'] or ''} · message {row['sequence_no']} · {size}"
    head = [
        chip(labels.kind_chip(row["kind"])),
        " ",
        chip(labels.trust_chip(row["part_trust_level"])),
        tag("small", words, class_="lk-small"),
    ]
    status = (
        [" ", chip(labels.status_chip(row["status"]))] if row["status"] in ("FAILED", "TIMED_OUT", "CANCELLED") else []
    )
    return tag("div", *head, *status, tag("pre", _cut(said)) if said else None, class_=tone)


def tiles(facts: list[tuple[str, str, str, str]]) -> Safe:
    """Key figures: a label, a value, what qualifies it, and its tone."""
    return tag("div", *(_tile(*fact) for fact in facts), class_="lk-tiles")


def _tile(label: str, value: str, note: str, tone: str) -> Safe:
    name, figure = tag("span", label, class_="lk-label"), tag("span", value, class_="lk-value")
    return tag("div", name, figure, tag("small", note) if note else None, class_=f"lk-tile {tone}".strip())


def _run_facts(facts: Mapping[str, Any], checks: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    failed = facts["failed_tool_calls"] or 0
    last = checks.filter(pl.col("verdict") != "inconclusive").tail(1)
    verdict = str(last["verdict"][0]) if last.height else None
    outcome = f"outcome {facts['outcome']}" if facts["outcome"] else "no outcome recorded"
    cached = f"{format_compact(facts['cache_read_tokens'])} from caches"
    models = ", ".join(facts["models"] or ()) or "model not recorded"
    return [
        ("steps", format_count(facts["steps"]), models, ""),
        ("tool calls", format_count(facts["tool_calls"]), f"{failed} failed", "warn" if failed else ""),
        ("input tokens", format_compact(facts["input_tokens"]), cached, ""),
        ("cost", format_money(facts["cost"]), *_unpriced(facts["unpriced_calls"] or 0)),
        ("duration", format_duration(facts["duration_s"]), "", ""),
        ("last check", verdict or "none", outcome, tone_of(verdict)),
    ]  # fmt: skip


def _tools(tools: pl.DataFrame) -> list[Child]:
    words: list[Child] = []
    for row in tools.head(_PARTS).iter_rows(named=True):
        failed = f", {row['failed']} failed" if row["failed"] else ""
        words += [tag("span", f"{row['tool_name'] or 'no name'} × {row['calls']}{failed}", class_="lk-chip"), " "]
    return words


def _calls(*calls: str) -> list[Child]:
    return [one for call in calls for one in (tag("code", call, class_="lk-copy"), "  ")]


def _fold(title: str, *children: Child) -> Safe:
    return tag("details", tag("summary", title), *children)


def _nothing() -> Safe:
    return tag("p", "It holds no run yet: ", tag("code", 'ledger.import_logs("~/.claude/projects")', class_="lk-copy"))


def _unpriced(calls: int) -> tuple[str, str]:
    return (f"without {plural(calls, 'call')} of unknown price", "warn") if calls else ("", "")


def _total(runs: pl.DataFrame, name: str) -> int:
    return int(runs[name].fill_null(0).sum())


def _share(runs: pl.DataFrame) -> str:
    whole = _total(runs, "input_tokens")
    return f"{100 * _total(runs, 'cache_read_tokens') / whole:.0f} %" if whole else "none"


def _there(frame: pl.DataFrame, *names: str) -> list[str]:
    return [name for name in names if name in frame.columns]


def _cut(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]} … {len(text) - _EXCERPT:,} more characters"
