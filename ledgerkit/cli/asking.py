"""Commands that ask the whole ledger: ``runs``, ``search`` and ``sql``."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any, Final, cast

import click
import polars as pl
from rich.text import Text

import ledgerkit as lk
from ledgerkit.cli.context import audit_option, json_option, reads_past, rows_wanted
from ledgerkit.cli.output import (
    console,
    footer,
    head,
    json_text,
    note,
    one_line,
    print_json,
    print_table,
    text,
)
from ledgerkit.formatting import (
    format_compact,
    format_count,
    format_minute,
    format_money,
    format_time,
    plural,
    short_id,
)
from ledgerkit.protocol.moments import read_moment
from ledgerkit.safety.inert import inert_terminal

_ORDERS: Final = {
    "started": "started_at",
    "cost": "cost",
    "steps": "steps",
    "tools": "tool_calls",
    "in": "input_tokens",
    "out": "output_tokens",
}


@click.command("runs")
@click.option("-n", "--limit", default=30, show_default=True, help="Runs to show; 0 shows all.")
@click.option("--model", help="Only runs in which this model answered (part of its name is enough).")
@click.option("--repository", help="Only runs in this repository (part of its name is enough).")
@click.option("--since", help="Only runs that began at this moment or later, such as 2026-03-01 (UTC).")
@click.option("--until", help="Only runs that began before this moment.")
@click.option(
    "--sort",
    type=click.Choice(list(_ORDERS)),
    default="started",
    show_default=True,
    help="The largest first; runs without a value last.",
)
@click.option("--reviews", is_flag=True, help="Also the runs that ledgerkit itself keeps judgements and notes in.")
@json_option
@reads_past
def runs_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    limit: int,
    model: str | None,
    repository: str | None,
    since: str | None,
    until: str | None,
    sort: str,
    reviews: bool,
    as_json: bool,
) -> None:
    """List runs, the latest first, with their models, steps, tools, tokens and cost."""
    runs = ledger.runs()
    runs = _within(runs, since, until)
    if sort != "started":
        runs = runs.sort(_ORDERS[sort], descending=True, nulls_last=True, maintain_order=True)
    if model:
        runs = runs.filter(pl.col("models").list.join("\n").str.contains(model, literal=True))
    if repository:
        runs = runs.filter(pl.col("repository").str.contains(repository, literal=True))
    if as_json:
        listed = runs if reviews else _split_reviews(runs)[0]
        print_json(head(listed, rows_wanted(limit, as_json=True)))
    else:
        print_runs(runs, limit=limit, reviews=reviews, sort=sort)


def _within(runs: pl.DataFrame, since: str | None, until: str | None) -> pl.DataFrame:
    if since is not None:
        runs = runs.filter(pl.col("started_at") >= read_moment(since, "since"))
    return runs if until is None else runs.filter(pl.col("started_at") < read_moment(until, "until"))


def print_runs(runs: pl.DataFrame, *, limit: int, reviews: bool = False, sort: str = "started") -> None:
    """Prints runs as a table, and what they cost in all; reviews, which ledgerkit made, only if asked for."""
    left_out = runs.clear()
    if not reviews:
        runs, left_out = _split_reviews(runs)
    shown = head(runs, limit)
    right = ["steps", "tool_calls", "input_tokens", "output_tokens", "cost"]
    named = shown.with_columns(what=pl.coalesce("title", "task"))
    print_table(named.iter_rows(named=True), _RUN_COLUMNS, right=right, flexible="what")
    _footer(runs, shown, sort)
    if left_out.height:
        spent = _cost(left_out)
        cost = f" that cost {format_money(spent)}" if spent else ""
        footer(f"{plural(left_out.height, 'review')}{cost} left out (--reviews)", "dim")


def _split_reviews(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs of agents, and those that ledgerkit made to keep judgements and notes in."""
    is_review = pl.col("relation").eq_missing("review")
    return runs.filter(~is_review), runs.filter(is_review)


def _cost(runs: pl.DataFrame) -> Decimal:
    return sum(runs["cost"].drop_nulls().to_list(), Decimal(0))


_DATED = re.compile(r"-20\d{6}$")


def _relation(relation: str | None) -> str:
    return relation or "main"


def _models(models: list[str]) -> str:
    """Names without what they have in common: the maker, and the date of the snapshot."""
    return one_line(", ".join(_DATED.sub("", model).removeprefix("claude-") for model in models), 20)


def _last_name(path: str | None) -> str:
    return one_line(PurePath(path).name if path else "", 22)


def _known(value: str | None) -> str:
    return value or ""


def _task(task: str | None) -> str:
    return one_line(task, 120)


_RUN_COLUMNS: dict[str, tuple[str, Any]] = {
    "run_id": ("run", short_id),
    "started_at": ("started (UTC)", format_minute),
    "relation": ("kind", _relation),
    "models": ("model", _models),
    "repository": ("repository", _last_name),
    "steps": ("steps", format_count),
    "tool_calls": ("tools", format_count),
    "input_tokens": ("in", format_compact),
    "output_tokens": ("out", format_compact),
    "cost": ("cost", format_money),
    "outcome": ("outcome", _known),
    "last_check": ("last check", _known),
    "what": ("task", _task),
}


def _footer(runs: pl.DataFrame, shown: pl.DataFrame, sort: str) -> None:
    total = format_money(_cost(runs) if runs["cost"].drop_nulls().len() else None)
    unpriced = int(runs["unpriced_calls"].fill_null(0).sum())
    line = f"{plural(runs.height, 'run')}, {total}"
    if unpriced:
        line += f" and {plural(unpriced, 'call')} without a known cost"
    if shown.height < runs.height:
        which = f"the latest {shown.height}" if sort == "started" else f"the {shown.height} of the largest “{sort}”"
        line += f"; {which} shown (-n 0 shows all)"
    footer(line)


@click.command("search")
@click.argument("needle")
@click.option("--kind", help="Only messages of this kind, for instance TOOL_CALL_RESULT.")
@click.option("-n", "--limit", default=50, show_default=True, help="Places to show; 0 shows all.")
@audit_option
@json_option
@reads_past
def search_command(
    ledger: lk.Ledger,
    needle: str,
    kind: str | None,
    limit: int,
    audience: lk.Audience,
    as_json: bool,
) -> None:
    """Find a text in all messages, whatever its case."""
    wanted = None if kind is None else kind.upper()
    if wanted is not None and wanted not in lk.MessageKind.__members__:
        raise lk.ProtocolError.unknown_value("kind", kind, lk.MessageKind.__members__)
    limit = rows_wanted(limit, as_json=as_json)
    found = ledger.search(needle, kind=wanted, limit=limit or None, audience=audience)
    if as_json:
        print_json(found)
        return
    out = console()
    before = None
    for row in found.iter_rows(named=True):
        if row["message_id"] != before:
            out.print(_place(row))
        before = row["message_id"]
        out.print(text("  " + one_line(row["excerpt"], 200)))
    messages = plural(found["message_id"].n_unique(), "message")
    more = " (there may be more: -n)" if found.height == limit else ""
    footer(f"{plural(found.height, 'place')} in {messages}{more}")


def _place(row: Mapping[str, Any]) -> Text:
    place = text(f"{short_id(row['run_id'])} #{row['sequence_no']} ", "bold")
    place.append_text(text(f"{row['kind']} {row['tool_name'] or ''} {format_time(row['created_at'])}", "dim"))
    return place


@click.command("sql")
@click.argument("query", required=False)
@click.option("--tables", is_flag=True, help="List the tables, or with a table's name as QUERY its columns.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--parquet", type=click.Path(path_type=Path, dir_okay=False), help="Write a Parquet file instead.")
@json_option
@reads_past
def sql_command(
    ledger: lk.Ledger, query: str | None, tables: bool, as_csv: bool, parquet: Path | None, as_json: bool
) -> None:
    """Run one SQL query (DuckDB) over the ledger. Read only. QUERY may be - for standard input."""
    if tables or query is None:
        frame = ledger.describe(query)  # without a name: all of them
    else:
        frame = ledger.sql(sys.stdin.read() if query == "-" else query)
    if parquet is not None:
        frame.write_parquet(parquet)
        note(f"{plural(frame.height, 'row')} written to {parquet}")
    elif as_json:
        print_json(frame)
    elif as_csv:
        printed = _flat(frame).write_csv()
        # CSV has no escapes: on a terminal it is shown, into a file or pipe it goes as it is. (Without `color`, click
        # would take out of a pipe whatever looks like a colour.)
        click.echo(inert_terminal(printed) if sys.stdout.isatty() else printed, nl=False, color=True)
    else:
        numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
        print_table(frame.iter_rows(named=True), {name: (name, _cell) for name in frame.columns}, right=numeric)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with lists and structs as JSON texts: a cell of CSV holds one value."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.with_columns(
        pl.Series(name, [None if one is None else json_text(one) for one in frame[name].to_list()], pl.String)
        for name in nested
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, cast(list[object], value)))
    return one_line(value, 300)
