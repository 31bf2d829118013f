"""Tables of a ledger report: runs, content by label, what is not known.

One rule: content is counted whoever reads it, and named only by its labels.
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
)
from ledgerkit.protocol.vocabulary import Audience, MessageKind, TrustLevel, Visibility
from ledgerkit.reports.blocks import Cell, Column, Table, chip, code, left, right
from ledgerkit.reports.excerpts import one_line
from ledgerkit.reports.inputs import LedgerReportInput
from ledgerkit.reports.labels import kind_name, trust_chip

_TASK: Final = 140


def run_table(runs: pl.DataFrame, priced: pl.DataFrame, rows: int) -> Table:
    """Runs, the dearest first."""
    costs = cost.group_costs(priced, ["run_id"]).select("run_id", "cost", "unpriced_calls")
    ordered = (
        runs.drop("cost", "unpriced_calls", strict=False)
        .join(costs, on="run_id", how="left")
        .sort("cost", "started_at", "run_id", descending=[True, False, False], nulls_last=True)
    )
    shown = [_run_row(run) for run in ordered.head(rows).iter_rows(named=True)]
    columns = [
        Column("Task", wide=True),
        *right("Duration", "Steps", "Calls", "Failed", "Output", "Cost"),
    ]
    return Table(columns, shown, max(ordered.height - rows, 0), empty="No runs.")


def kind_table(labels: pl.DataFrame) -> Table:
    """Parts and tokens by kind of message."""
    order = {kind.value: place for place, kind in enumerate(MessageKind)}
    return _label_table(labels, "kind", "Kind", order)


def trust_table(labels: pl.DataFrame) -> Table:
    """Parts and tokens by where the content comes from, most trusted first."""
    return _label_table(labels, "part_trust_level", "Origin", {level.value: level.rank for level in TrustLevel})


def visibility_table(labels: pl.DataFrame, audience: Audience) -> Table:
    """Parts by who may see them, and whether this audience may."""
    order = {level.value: level.rank for level in Visibility}
    rows: list[list[Cell | str]] = [
        [
            code(label or "no label"),
            chip("shown", "good") if _may_see(audience, label) else chip("withheld", "warn"),
            format_count(parts),
            format_count(tokens),
        ]
        for label, parts, tokens in _sums(labels, "part_visibility", order).iter_rows()
    ]
    columns = [Column("Visibility", wide=True), *left(f"To {audience.value}"), *right("Parts", "Tokens")]
    return Table(columns, rows, empty="No content.", narrow=True)


def withheld(labels: pl.DataFrame, audience: Audience) -> int:
    """Number of parts that an audience may not see."""
    allowed = [level.value for level in Visibility if audience.may_see(level)]
    hidden = labels.filter(~pl.col("part_visibility").is_in(allowed).fill_null(value=False))
    return int(hidden["parts"].sum())


def unknown_table(report: LedgerReportInput, priced: pl.DataFrame) -> Table:
    """What is not known about these runs, counted."""
    runs = report.runs
    total = cost.totals(priced).row(0, named=True)
    unclear = report.labels.filter(pl.col("part_trust_level") == TrustLevel.UNKNOWN.value)["parts"].sum()
    lines = (
        (total["unpriced_calls"], "model calls without a known cost", "the totals leave them out"),
        (priced["created_at"].null_count(), "model calls without a time", "they are not in the picture of days"),
        (runs["started_at"].null_count(), "runs without a time", "their source gives none"),
        (runs["outcome"].null_count(), "runs without a recorded outcome", "whether they succeeded is not known"),
        (runs["pending_tool_calls"].sum(), "tool calls without a result", "how they ended is not recorded"),
        (runs["repository"].null_count(), "runs without a repository", "the source names none"),
        (unclear, "parts of unknown origin", "treated as untrusted"),
        (runs["unknown_records"].sum(), "records of unknown type", "kept as they are, not interpreted"),
    )
    rows: list[list[Cell | str]] = [[format_count(int(n)), what, meaning] for n, what, meaning in lines if n]
    columns = [Column("Count", "right"), Column("What"), Column("Meaning", wide=True)]
    return Table(columns, rows, empty="Nothing that the logs could hold is missing.")


def _run_row(run: dict[str, Any]) -> list[Cell | str]:
    task = one_line(run["title"] or run["task"], _TASK) or "no task recorded"
    facts = (
        one_line(run["repository"], 120) or "repository not recorded",
        ", ".join(one_line(model, 40) for model in run["models"][:2]) or "model not recorded",
        format_time(run["started_at"], unknown="no time recorded"),
    )
    partial = f"{run['unpriced_calls']} calls without a known cost" if run["unpriced_calls"] else None
    return [
        Cell(f"{run['relation']}: {task}" if run["relation"] else task, hint=run["run_id"], below=" · ".join(facts)),
        format_duration(run["duration_s"]),
        format_count(run["steps"]),
        format_count(run["tool_calls"]),
        format_count(run["failed_tool_calls"]),
        format_compact(run["output_tokens"]),
        Cell(format_money(run["cost"], unknown="unknown" if partial else "–"), hint=partial),
    ]


def _label_table(labels: pl.DataFrame, column: str, title: str, order: dict[str, int]) -> Table:
    sums = _sums(labels, column, order)
    total = sums["tokens"].sum()
    rows: list[list[Cell | str]] = [
        [
            trust_chip(label) if column == "part_trust_level" else kind_name(label),
            format_count(parts),
            format_count(tokens),
            format_share(tokens, total),
        ]
        for label, parts, tokens in sums.iter_rows()
    ]
    return Table(
        [Column(title, wide=True), *right("Parts", "Tokens", "Share of tokens")], rows, empty="No content.", narrow=True
    )


def _sums(labels: pl.DataFrame, column: str, order: dict[str, int]) -> pl.DataFrame:
    rank = pl.col(column).replace_strict(order, default=len(order), return_dtype=pl.Int64)
    return labels.group_by(column).agg(pl.col("parts").sum(), pl.col("tokens").sum()).sort(rank, column)


def _may_see(audience: Audience, label: str | None) -> bool:
    return label in {level.value for level in Visibility} and audience.may_see(Visibility(label))
