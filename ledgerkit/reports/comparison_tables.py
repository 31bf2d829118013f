"""Tables of a comparison's report.

One rule: a table shows rows of one frame of the comparison, and its heading names that frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from ledgerkit.comparison import METRICS, Compared
from ledgerkit.formatting import format_count, format_share
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.blocks import Cell, Column, Table, chip, code, left, right
from ledgerkit.reports.excerpts import one_line

NAME: Final = 100
"""Characters of a name."""
Rows = list[list[Cell | str]]


def gate_table(compared: Compared) -> Table:
    """Gates and whether they hold."""
    rows: Rows = [
        [
            words.title_of(row["metric"]),
            words.margin_text(METRICS[row["metric"]].kind, row["margin"]),
            verdict_chip(row["status"]),
            verdict_chip(row["verdict"]),
            row["reason"],
        ]
        for row in compared.frame("gates").to_dicts()
    ]
    return Table([*left("Gate"), *right("Margin"), *left("Status", "Verdict"), Column("Why", wide=True)], rows)


def metric_table(compared: Compared) -> Table:
    """Metrics, with everything that a verdict rests on."""
    rows: Rows = [
        [
            Cell(words.title_of(row["metric"]), hint=METRICS[row["metric"]].rule, below=row["family"]),
            words.side_value(row["metric"], row["baseline"]),
            words.side_value(row["metric"], row["candidate"]),
            Cell(words.effect_value(row["kind"], row["effect"]), below=words.interval(row)),
            Cell(str(row["tasks"]), below=words.moved(row)),
            Cell(
                words.p_text(row["p_adjusted"]),
                hint=f"{row['test']}, {row['adjustment']}",
                below=f"raw {words.p_text(row['p_value'])}",
            ),
            Cell(
                words.mde_text(row),
                hint=f"{row['mde_method']}, level {row['mde_alpha']:.3g}",
                below=f"margin {words.margin_text(row['kind'], row['margin'])}",
            ),
            verdict_chip(row["verdict"], hint=row["reason"]),
        ]
        for row in compared.frame("metrics").to_dicts()
    ]
    columns = [
        Column("Metric", wide=True),
        *right("Baseline", "Candidate", "Effect, interval", "Tasks", "p (corrected)", "Detectable"),
        *left("Verdict"),
    ]
    return Table(columns, rows)


def effect_table(metrics: pl.DataFrame) -> Table:
    """The numbers behind a picture of effects."""
    rows: Rows = [
        [row["title"], words.effect_value(row["kind"], row["effect"]), words.interval(row), row["verdict"]]
        for row in metrics.to_dicts()
    ]
    return Table([Column("Metric", wide=True), *right("Effect", "Interval"), *left("Verdict")], rows)


def amount_table(compared: Compared) -> Table:
    """Sums and quantiles of amounts."""
    names = ("total", "mean", "median", "p95")
    rows: Rows = [
        [
            words.title_of(row["metric"]),
            row["side"],
            format_count(row["trials"]),
            *(words.side_value(row["metric"], row[name]) for name in names),
        ]
        for row in compared.frame("amounts").to_dicts()
    ]
    columns = [
        Column("Amount", wide=True),
        *left("Side"),
        *right("Trials", "Total", "Mean", "Median", "95 of 100 at most"),
    ]
    return Table(columns, rows, empty="No amount is known on both sides.", narrow=True)


def pass_k_table(compared: Compared) -> Table:
    """Chances over several trials."""
    rows: Rows = [
        [
            row["measure"].replace("k", str(row["k"])),
            format_count(row["tasks"]),
            words.side_value("success", row["baseline"]),
            words.side_value("success", row["candidate"]),
            Cell(words.effect_value("share", row["difference"]), below=words.interval({**row, "kind": "share"})),
        ]
        for row in compared.frame("pass_k").to_dicts()
    ]
    columns = [Column("Chance", wide=True), *right("Tasks", "Baseline", "Candidate", "Difference, interval")]
    return Table(columns, rows, empty="No task has a known outcome on both sides.", narrow=True)


def flaky_table(compared: Compared, most: int) -> Table:
    """Tasks of which trials of one side ended both ways."""
    flaky = (
        compared.frame("flakiness").filter("is_flaky").sort("variance", "pair", "side", descending=[True, False, False])
    )
    rows: Rows = [
        [
            code(one_line(row["pair"], NAME)),
            row["side"],
            f"{row['passed']} of {row['trials']}",
            f"{row['variance']:.2f}",
        ]
        for row in flaky.head(most).to_dicts()
    ]
    columns = [Column("Task", wide=True), *left("Side"), *right("Passed", "Variance")]
    return Table(columns, rows, max(0, flaky.height - most), empty="No task ended both ways on one side.", narrow=True)


def slice_table(compared: Compared, most: int) -> Table | None:
    """Metrics within slices, the strongest first; nothing where there is no slice."""
    slices = compared.frame("slices")
    if slices.is_empty():
        return None
    rows: Rows = [
        [
            row["slice"],
            code(one_line(row["value"], NAME)),
            words.title_of(row["metric"]),
            format_count(row["tasks"]),
            Cell(
                words.effect_value(kind := METRICS[row["metric"]].kind, row["effect"]),
                below=words.interval({**row, "kind": kind}),
            ),
            words.p_text(row["p_adjusted"]),
            verdict_chip(row["verdict"]),
        ]
        for row in slices.head(most).to_dicts()
    ]
    columns = [
        *left("Slice"),
        Column("Value", wide=True),
        *left("Metric"),
        *right("Tasks", "Effect, interval", "p"),
        *left("Verdict"),
    ]
    return Table(columns, rows, max(0, slices.height - most))


def missing_table(compared: Compared) -> Table:
    """How trials ended."""
    names = ("passed", "failed", "timed_out", "infrastructure", "unknown")
    rows: Rows = [
        [row["side"], format_count(row["trials"]), *(_share(row[name], row["trials"]) for name in names)]
        for row in compared.frame("missing").to_dicts()
    ]
    titles = ("Trials", "Passed", "Failed", "Timed out", "Infrastructure", "Unknown")
    return Table([Column("Side", wide=True), *right(*titles)], rows, narrow=True)


def unmatched_table(compared: Compared, most: int) -> Table:
    """Tasks without a pair."""
    lost = compared.frame("unmatched")
    rows: Rows = [
        [
            code(one_line(row["pair"], NAME) if row["pair"] else "–"),
            row["side"],
            format_count(row["trials"]),
            row["reason"],
        ]
        for row in lost.head(most).to_dicts()
    ]
    columns = [Column("Task", wide=True), *left("Side"), *right("Trials"), *left("Why")]
    return Table(columns, rows, max(0, lost.height - most), empty="Every task stands on both sides.", narrow=True)


def how_table(compared: Compared) -> Table:
    """Settings and methods."""
    gates = compared.gates
    margins = ", ".join(
        f"{words.title_of(name).lower()} {words.margin_text(METRICS[name].kind, margin)}"
        for name, margin in gates.margins.items()
    )
    facts = (
        ("Paired by", gates.pair_by),
        ("Level", f"{gates.alpha:g}; intervals {100 * (1 - gates.alpha):g} %"),
        ("Gates", f"{margins}; corrected together by Holm’s method"),
        ("Other metrics", "corrected together by Benjamini and Hochberg’s method; slices likewise"),
        ("Inconclusive gates", "let the candidate pass" if gates.inconclusive == "pass" else "do not let it pass"),
        ("Shares", "exact McNemar for one trial a side, else a sign-flip permutation of tasks; adjusted Wald interval"),
        ("Amounts", "sign-flip permutation of tasks; studentised bootstrap over tasks of the log ratio"),
        ("Samples", f"{gates.draws:,}, seed {gates.seed}"),
        ("Missing data", "time-outs are failures; infrastructure errors are left out; unknown outcomes are bounded"),
    )
    return Table([*left("Setting"), Column("Value", wide=True)], [[name, value] for name, value in facts])


def manifest_table(manifests: Mapping[str, Any] | None) -> Table:
    """The checkpoints under which the sets can be opened again."""
    rows: Rows = [
        [
            side,
            format_count(len(manifest["runs"])),
            code(manifest["ledger"]),
            format_count(manifest["checkpoint"]["tree_size"]),
            code(manifest["checkpoint"]["root"]),
        ]
        for side, manifest in (manifests or {}).items()
        if manifest is not None
    ]
    columns = [
        *left("Side"),
        *right("Runs with subagents"),
        *left("Ledger"),
        *right("Messages"),
        Column("Root", wide=True),
    ]
    return Table(columns, rows, empty="The sets were not pinned.")


def _share(count: int, whole: int) -> Cell:
    return Cell(format_count(count), below=format_share(count, whole) if count else "")


def verdict_chip(name: str, *, hint: str | None = None) -> Cell:
    """A verdict, a status or a state as a coloured label."""
    return chip(name.replace("_", " "), words.TONES.get(name, "plain"), hint=hint)
