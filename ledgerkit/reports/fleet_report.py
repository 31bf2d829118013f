"""The page and the terminal form of the fleet view.

One rule: every figure stands in a table of the fleet, and the page says in which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit import charts
from ledgerkit.formatting import UNKNOWN, format_count, format_money, format_share, format_time, plural, short_id
from ledgerkit.protocol.vocabulary import Audience
from ledgerkit.reports.blocks import Cell, Column, Fact, Figure, Note, Section, Table, code, left, right
from ledgerkit.reports.excerpts import one_line
from ledgerkit.reports.pictures import Picture
from ledgerkit.reports.rendering import render

if TYPE_CHECKING:
    from rich.console import Group

    from ledgerkit.terminal.tables import FittedTable

Frames = Mapping[str, pl.DataFrame]
_NAME: Final = 100
_TRENDS: Final = (
    ("success", "Success", "passed of known outcomes, %", ".0f"),
    ("runs", "Runs", "runs", ",d"),
    ("cost", "Cost", "US dollars", "$,.2f"),
    ("median_steps", "Steps", "model calls, median run", ",.0f"),
)


def fleet_report(name: str, by: str, frames: Frames, *, generated_at: datetime) -> str:
    """A whole HTML document about many runs over time.

    Args:
        name: What to call the ledger.
        by: The period: ``day``, ``week`` or ``month``.
        frames: Tables of :meth:`ledgerkit.Ledger.fleet`.
        generated_at: The time that the report states as its own.
    """
    values: dict[str, object] = {
        "title": one_line(name, 140),
        "kind": "Fleet report",
        "facts": [],
        "figures": _figures(frames),
        "notes": _notes(frames),
        "pictures": _pictures(by, frames["trends"]),
        "can_draw": charts.can_draw(),
        "audience": Audience.PEOPLE.value,
        "generated_at": format_time(generated_at),
        "limits_note": "Tables of reasons and drivers show the largest of each kind.",
        "sections": [
            Section("trends", "Trends", plural(frames["trends"].height, by)),
            Section("failures", "Failures"),
            Section("drivers", "Cost drivers"),
            Section("claims", "Claims by version"),
        ],
        "trends": trend_table(by, frames["trends"]),
        "failures": failure_table(frames["failures"]),
        "drivers": driver_table(frames["cost_drivers"]),
        "claims": claim_table(frames["claims"]),
    }
    return render("fleet.html.j2", values)


def fleet_terminal(by: str, frames: Frames) -> Group:
    """The tables of the fleet, as something that rich can print."""
    from rich.console import Group
    from rich.text import Text

    shown: list[Any] = []
    for title, table in (
        (f"Trends by {by}", trend_table(by, frames["trends"])),
        ("Why runs did not pass", failure_table(frames["failures"], of_id=short_id)),
        ("Cost drivers", driver_table(frames["cost_drivers"])),
        ("Claims by version of the agent", claim_table(frames["claims"])),
    ):
        shown += [Text(title, "bold"), _printed(table) if table.rows else Text(table.empty, "dim"), Text("")]
    return Group(*shown)


def _printed(table: Table) -> FittedTable:
    """A table of the page for a terminal: columns of one short word each are not made narrower."""
    from ledgerkit.terminal.tables import Column as TerminalColumn
    from ledgerkit.terminal.tables import FittedTable, inert_text

    columns = [TerminalColumn(c.title, right=c.align == "right", fixed=not c.wide) for c in table.columns]
    return FittedTable(columns, [[inert_text(c if isinstance(c, str) else c.text) for c in row] for row in table.rows])


def trend_table(by: str, trends: pl.DataFrame) -> Table:
    """Runs, success, cost and steps by period."""
    rows: list[list[Cell | str]] = [
        [
            str(row["period"] or "no time recorded"),
            format_count(row["runs"]),
            format_count(row["tasks"]),
            _percent(row["success"]),
            UNKNOWN if row["low"] is None else f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
            format_count(row["unknown"]),
            _money(row["cost"]),
            _money(row["median_cost"]),
            UNKNOWN if row["median_steps"] is None else f"{row['median_steps']:.1f}",
            format_count(row["contradicted_runs"]),
            format_count(row["exposed_runs"]),
        ]
        for row in trends.to_dicts()
    ]
    titles = ("Runs", "Tasks", "Success", "Interval", "Unknown", "Cost", "Median cost", "Median steps")
    columns = [*left(by.capitalize()), *right(*titles, "Contradicted", "Exposed")]
    return Table(columns, rows, empty="No runs.")


def failure_table(failures: pl.DataFrame, *, of_id: Callable[[str], str] = str) -> Table:
    """Why runs did not pass; an example is named as ``of_id`` says."""
    rows: list[list[Cell | str]] = [
        [
            row["kind"],
            code(one_line(row["reason"], _NAME)),
            format_count(row["runs"]),
            format_share(row["share"], 1),
            str(row["last_at"].date()) if row["last_at"] else UNKNOWN,
            code(of_id(row["run_id"])),
        ]
        for row in failures.to_dicts()
    ]
    columns = [*left("Kind"), Column("Reason", wide=True), *right("Runs", "Share", "Last"), *left("For example")]
    return Table(columns, rows, empty="No run is recorded as failed.")


def driver_table(drivers: pl.DataFrame) -> Table:
    """What costs most, by several labels."""
    rows: list[list[Cell | str]] = [
        [row["label"], code(one_line(row["name"], _NAME)), _money(row["cost"]), format_share(row["share"], 1)]
        for row in drivers.to_dicts()
    ]
    columns = [*left("By"), Column("Name", wide=True), *right("Cost", "Share")]
    return Table(columns, rows, empty="No cost is known.", narrow=True)


def claim_table(claims: pl.DataFrame) -> Table:
    """What agents said, and what the record says of it."""
    rows: list[list[Cell | str]] = [
        [
            code(one_line(row["agent"], 60) if row["agent"] else "not recorded"),
            code(one_line(row["agent_version"], 60) if row["agent_version"] else "not recorded"),
            *(format_count(row[name]) for name in _CLAIMS),
            _percent(row["share"]),
            UNKNOWN if row["low"] is None else f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %",
        ]
        for row in claims.to_dicts()
    ]
    titles = ("Runs", "Claims", "Unsupported", "Contradicted", "Runs with a contradicted one", "Share", "Interval")
    return Table([*left("Agent"), Column("Version", wide=True), *right(*titles)], rows, empty="No runs.")


_CLAIMS: Final = ("runs", "claims", "unsupported_claims", "contradicted_claims", "contradicted_runs")


def _figures(frames: Frames) -> list[Fact]:
    trends, runs = frames["trends"], frames["runs"]
    known = int(trends.select(pl.sum_horizontal(pl.col("passed", "failed", "timed_out").sum())).item())
    passed = int(trends["passed"].sum())
    contradicted = int(trends["contradicted_runs"].sum())
    unpriced = runs["cost"].null_count()
    return [
        Fact("Runs", format_count(runs.height), plural(runs["task_id"].drop_nulls().n_unique(), "task")),
        Fact("Success", format_share(passed, known), f"{passed:,} of {known:,} with a known outcome"),
        Fact(
            "Cost", _money(trends["cost"].sum()), f"{plural(unpriced, 'run')} without a known cost" if unpriced else ""
        ),
        Fact("Contradicted", format_count(contradicted), "runs with a claim that the record contradicts"),
    ]


def _notes(frames: Frames) -> list[Note]:
    runs = frames["runs"]
    timeless = runs["started_at"].null_count()
    unknown = int((runs["state"] == "unknown").sum())
    said = [
        (timeless, "without a time: in no picture"),
        (unknown, "without a known outcome: success leaves them out"),
    ]
    return [Note(f"{plural(count, 'run')} {what}.", "warn") for count, what in said if count]


def _pictures(by: str, trends: pl.DataFrame) -> list[Figure]:
    timed = trends.drop_nulls("period")
    drawn: list[Figure] = []
    for column, title, measure, number_format in _TRENDS:
        percent = pl.col("success", "low", "high") * 100
        frame = timed.with_columns(percent) if column == "success" else timed.drop("low", "high")
        shown = frame.drop_nulls(column)
        rows = [
            [str(period), f"{value:,.2f}".rstrip("0").rstrip(".")]
            for period, value in shown.select("period", column).iter_rows()
        ]
        caption = "The band is the 95 % interval." if column == "success" else f"By {by} in which runs began."
        figure = Figure(title, caption, Table([*left(by.capitalize()), *right(measure)], rows))
        picture = Picture(
            figure,
            lambda frame=shown, column=column, measure=measure, number_format=number_format: charts.trend(
                frame, column, measure, number_format, period=by
            ),
        )
        drawn.append(picture.drawn())
    return [figure for figure in drawn if figure.table.rows]


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def _money(value: float | Decimal | None) -> str:
    return format_money(None if value is None else Decimal(repr(float(value))))
