"""Writes docs/benchmarks.md, and its chart, from docs/benchmarks.csv: the figures that were measured, with their dates.

python scripts/build_benchmarks_page.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import polars as pl

ROOT: Final = Path(__file__).resolve().parent.parent
FIGURES: Final = ROOT / "docs" / "benchmarks.csv"
PAGE: Final = ROOT / "docs" / "benchmarks.md"
CHART: Final = ROOT / "docs" / "images" / "benchmarks.png"
_HEAD: Final = """# Benchmarks

`make bench` runs all of `benchmarks/` (half an hour on two cores); each prints what it measures against a floor, a peer
or a goal in the same run, since machines differ. `make peers` installs the peers first. The figures below were measured
on the dates shown on a machine of two cores (Linux, Python 3.11), idle but for them where nothing else is said; those
that miss their goal say so. They stand in `benchmarks.csv`; this page and its chart are made from it (`make docs`).

![How far each figure is from its goal](images/benchmarks.png)

A bar to the right of the line is better than its goal, by the factor on the axis.

"""
_TAIL: Final = """
`benchmarks/make_tree.py` makes trees of logs of any size, shaped like real ones (record types, sizes of texts and
results, sessions with subagents), with texts that differ; `benchmarks/ledgers.py` makes ledgers of 10⁵ to 10⁷ messages
and the same rows as plain Parquet. Peers are timed beside ours when they are installed.
"""


def figures() -> pl.DataFrame:
    """The figures, with how many times better than its goal each is."""
    given = pl.read_csv(FIGURES)
    factor = pl.when(pl.col("better") == "higher").then(pl.col("measured") / pl.col("goal")).otherwise(
        pl.col("goal") / pl.col("measured")
    )  # fmt: skip
    return given.with_columns(factor=factor)


def page(rows: pl.DataFrame) -> str:
    """The page as Markdown."""
    lines = ["| what | measured | goal | | beside it | benchmark, date |", "|---|--:|--:|---|---|---|"]
    for row in rows.iter_rows(named=True):
        met = "" if row["factor"] is None else "met" if row["factor"] >= 1 else "**missed**"
        goal = "" if row["goal"] is None else f"{'≥' if row['better'] == 'higher' else '≤'} {_figure(row['goal'])}"
        unit = row["unit"].replace("x ", "× ", 1) if row["unit"].startswith("x ") else row["unit"].replace(" x ", " × ")
        unit = "×" if unit == "x" else unit
        lines.append(
            f"| {row['what']} | {_figure(row['measured'])} {unit} | {goal} | {met} | {row['beside'] or ''} "
            f"| `{row['benchmark']}` {row['date']} |"
        )
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def draw(rows: pl.DataFrame) -> None:
    """The chart: a bar for each figure that has a goal, by the factor that it is better."""
    import altair as alt

    shown = rows.filter(pl.col("factor").is_not_null()).with_columns(
        factor=pl.col("factor").clip(0.1, 10),
        met=pl.when(pl.col("factor") >= 1).then(pl.lit("met")).otherwise(pl.lit("missed")),
    )
    scale = alt.Scale(type="log", domain=[0.2, 10])
    bars = alt.Chart(shown.select("what", "factor", "met").with_columns(one=pl.lit(1.0))).mark_bar(height=11).encode(
        x=alt.X("factor:Q", scale=scale, title="times better than the goal (10 and more cut)"),
        x2=alt.X2("one:Q"),
        y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
        color=alt.Color("met:N", scale=alt.Scale(domain=["met", "missed"], range=["#1f8578", "#c04765"]), title=None),
    )  # fmt: skip
    rule = alt.Chart(pl.DataFrame({"factor": [1.0]})).mark_rule(color="#444").encode(x="factor:Q")
    (bars + rule).properties(width=460, title="Figures against their goals").save(CHART, scale_factor=1.6)


def main() -> int:
    """Writes the page, or with ``--check`` says whether it is current."""
    rows = figures()
    text = page(rows)
    if "--check" in sys.argv:
        if not PAGE.is_file() or PAGE.read_text("utf-8") != text:
            sys.stderr.write(f"{PAGE.name} is not what benchmarks.csv says: make docs\n")
            return 1
        return 0
    PAGE.write_text(text, "utf-8")
    draw(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
