"""The report of a comparison: one HTML document that needs nothing else.

One rule: every figure on it stands in a table of the comparison, and the page says in which.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from ledgerkit import charts
from ledgerkit.comparison import Compared
from ledgerkit.formatting import format_count, format_time, plural
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports import comparison_tables as tables
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.blocks import Cell, Fact, Figure, Note, Section, code
from ledgerkit.reports.comparison_flips import Flips
from ledgerkit.reports.excerpts import one_line
from ledgerkit.reports.pictures import Picture
from ledgerkit.reports.rendering import render

ROWS: Final = 200
"""Rows of one table."""


def comparison_report(
    compared: Compared, *, generated_at: datetime, manifests: Mapping[str, Any] | None = None, rows: int = ROWS
) -> str:
    """A whole HTML document about a comparison.

    Args:
        compared: The comparison.
        generated_at: The time that the report states as its own.
        manifests: What it takes to make it again.
        rows: Rows of one table.

    Returns:
        The document. Write it as UTF-8.
    """
    flips = Flips.of(compared, rows)
    slices = tables.slice_table(compared, rows)
    values: dict[str, object] = {
        "title": words.headline(compared),
        "kind": "Comparison of runs",
        "facts": _facts(compared),
        "figures": _figures(compared),
        "notes": [Note(line) for line in words.counts(compared)] + [Note(t, "warn") for t in words.unknowns(compared)],
        "pictures": _pictures(compared),
        "can_draw": charts.can_draw(),
        "audience": Audience.PEOPLE.value,
        "generated_at": format_time(generated_at),
        "limits_note": f"Tables have at most {plural(rows, 'row')} and say how many are left out.",
        "sections": _sections(compared, slices is not None),
        "gates": tables.gate_table(compared),
        "metrics": tables.metric_table(compared),
        "amounts": tables.amount_table(compared),
        "flips": flips,
        "pass_k": tables.pass_k_table(compared),
        "flaky": tables.flaky_table(compared, rows),
        "slices": slices,
        "missing": tables.missing_table(compared),
        "unmatched": tables.unmatched_table(compared, rows),
        "how": tables.how_table(compared),
        "manifests": tables.manifest_table(manifests),
        "caveats": compared.caveats,
    }
    return render("comparison.html.j2", values)


def _facts(compared: Compared) -> list[tuple[str, list[Cell]]]:
    sets = {row["side"]: row for row in compared.frame("sets").to_dicts()}
    return [
        (side.capitalize(), [code(one_line(row["name"], 140), hint=f"{row['runs']} runs")])
        for side, row in sets.items()
    ]


def _figures(compared: Compared) -> list[Fact]:
    gates = compared.frame("gates")["status"].value_counts()
    counted: dict[str, int] = dict(gates.iter_rows())
    said = ", ".join(f"{counted[name]} {name}" for name in ("failed", "inconclusive", "passed") if name in counted)
    tone = words.TONES.get(words.standing(compared), "plain")
    facts = [Fact("Gates", compared.status.capitalize(), said, tone)]
    for name in ("success", "cost", "steps"):
        row = compared.frame("metrics", metric=name).row(0, named=True)
        before, after = (words.side_value(name, row[side]) for side in ("baseline", "candidate"))
        note = f"{words.effect_value(row['kind'], row['effect'])}, {row['verdict']}"
        facts.append(Fact(words.title_of(name), f"{before} → {after}", note, words.TONES[row["verdict"]]))
    return facts


def _pictures(compared: Compared) -> list[Figure]:
    drawn: list[Figure] = []
    for kind, title in (("share", "Differences of shares"), ("ratio", "Ratios of amounts")):
        metrics = compared.frame("metrics").filter(pl.col("kind") == kind, pl.col("effect").is_not_null())
        named = metrics.with_columns(title=pl.col("metric").map_elements(words.title_of, return_dtype=pl.String))
        caption = "Dot: effect. Bar: its interval. Shaded: the margin within which the sides count as alike."
        figure = Figure(title, caption, tables.effect_table(named))
        drawn.append(Picture(figure, lambda named=named: charts.effects(named)).drawn())
    pass_k = compared.frame("pass_k")
    if pass_k["k"].n_unique() > 1:
        caption = "Solid: at least one of k trials passes. Dashed: all k do."
        figure = Figure("Chances over several trials", caption, tables.pass_k_table(compared))
        drawn.append(Picture(figure, lambda: charts.chances_over_k(pass_k)).drawn())
    return [figure for figure in drawn if figure.table.rows]


def _sections(compared: Compared, has_slices: bool) -> list[Section]:  # noqa: FBT001 - one flag
    flips = compared.frame("flips").height
    sections = [
        Section("metrics", "Metrics", plural(compared.frame("metrics").height, "metric")),
        Section("flips", "Changed tasks", format_count(flips)),
        Section("repeats", "Several trials"),
        Section("slices", "Slices"),
        Section("missing", "Not compared"),
        Section("how", "How it was done"),
    ]
    return [section for section in sections if section.anchor != "slices" or has_slices]
