"""The command ``cost``: totals by any label, attributed costs, and the tables that explain them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

import click
import polars as pl

import ledgerkit as lk
from ledgerkit import cost
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past, rows_wanted
from ledgerkit.cli.output import console, footer, head, one_line, print_json, print_table
from ledgerkit.costs import full_names, is_attributed
from ledgerkit.formatting import format_compact, format_count, format_money, format_share, plural, short_id

_ALL: Final = 0


class _During(TypedDict, total=False):
    runs: list[str] | None
    since: str | None
    until: str | None
    priced_as: str | None


class _Asked(TypedDict):
    names: tuple[str, ...]
    since: str | None
    until: str | None
    priced_as: str | None
    table: str | None


@click.command("cost")
@click.option(
    "--by",
    default="model",
    show_default=True,
    help="Labels, with commas. Of calls: model, provider, day, week, month; of runs: run, session, task, repository, "
    "branch, agent; of what stood in the context: tool, file, kind, section, trust, artifact, step, subagent, format.",
)
@click.option(
    "--run",
    "names",
    multiple=True,
    type=RUN,
    help="Only calls of this run (its id or a part of it; a subagent has a run of its own). May be repeated.",
)
@click.option("--since", metavar="DAY", help="Only calls from this day or time on (UTC), for instance 2026-01-31.")
@click.option("--until", metavar="DAY", help="Only calls before this day or time.")
@click.option("--leaves", is_flag=True, help="Split into fresh input, cache reads and writes, output.")
@click.option("--prices", type=click.Path(path_type=Path, exists=True), help="A price file that goes before the list.")
@click.option("--priced-as", metavar="MODEL", help="What if this model had answered, token for token.")
@click.option("-n", "--top", "--limit", "limit", default=40, show_default=True, help="Rows to show; 0 shows all.")
@click.option("--explain", "table", flag_value="explain", help="Every usage record: does it count, and if not, why.")
@click.option("--waste", "table", flag_value="waste", help="Repeated reads, unused outputs, retries, cache misses, …")
@click.option("--reconcile", "table", flag_value="reconcile", help="Costs that logs report beside computed ones.")
@json_option
@reads_past
def cost_command(
    ledger: lk.Ledger,
    by: str,
    leaves: bool,
    prices: Path | None,
    limit: int,
    as_json: bool,
    **asked: Unpack[_Asked],
) -> None:
    """What it cost, at the prices of each call's day. A call is counted once, whatever files repeat it.

    With a label of what stood in the context, each call's cost is shared among the parts of its context and named
    lines, and the amounts add up exactly.
    """
    if prices:
        ledger.prices = lk.PriceBook.from_file(prices)
    runs = [ledger.run(name).run_id for name in asked["names"]] or None
    if asked["table"] is not None:
        if ignored := [name for name in ("since", "until", "priced_as") if asked[name] is not None]:
            option = ignored[0].replace("_", "-")
            raise click.UsageError(f"--{option} goes with totals and attributed costs, not with --{asked['table']}.")
        _print_other(ledger, asked["table"], by, runs, limit=limit, as_json=as_json)
        return
    keys = full_names([key.strip() for key in by.split(",") if key.strip()])
    during = _During(runs=runs, since=asked["since"], until=asked["until"], priced_as=asked["priced_as"])
    if as_json:
        print_json(head(ledger.cost(keys, leaves=leaves, **during), rows_wanted(limit, as_json=True)))
    elif is_attributed(keys):
        _print_attributed(ledger.cost(keys, **during), keys, limit=limit)
    else:
        print_costs(ledger, keys, leaves=leaves, limit=limit, **during)


def print_costs(
    ledger: lk.Ledger, keys: list[str], *, leaves: bool = False, limit: int = _ALL, **during: Unpack[_During]
) -> None:
    """Prints costs by some columns, and their total."""
    calls = ledger.calls(**during)
    costs = cost.group_costs(calls, keys, leaves=leaves)
    columns = _key_columns(keys)
    columns |= {
        "calls": ("calls", format_count),
        "input_tokens": ("input", format_compact),
        "cache_read_tokens": ("cached", format_compact),
        "output_tokens": ("output", format_compact),
        **{name: (name.removeprefix("cost_"), format_money) for name in costs.columns if name.startswith("cost_")},
        "cost": ("cost", format_money),
        "unpriced_calls": ("unpriced", _nonzero),
    }
    print_table(head(costs, limit).iter_rows(named=True), columns, right=[c for c in columns if c not in keys])
    line = f"Total {format_money(_total(costs['cost']))} for {plural(int(costs['calls'].sum()), 'call')}"
    if unpriced := int(costs["unpriced_calls"].sum()):
        line += f"; {plural(unpriced, 'call')} without a known cost left out"
    footer(line + _shown(costs, limit))
    if unpriced:
        footer(f"Without a known cost: {_why_unpriced(calls)}.")
    forks = _forks(ledger, during)
    if forks.height:
        most = format_money(_total(forks["most_cost"]))
        footer(
            f"{plural(forks.height, 'fork')} without their origin here: of {most} counted for them, any part was spent "
            "by the origins (ledger.open_forks())."
        )


def _why_unpriced(calls: pl.DataFrame) -> str:
    """Why calls have no cost, with how many each."""
    reasons = cost.unpriced(calls).group_by("price_status").agg(pl.col("calls").sum())
    ordered = reasons.sort("calls", "price_status", descending=[True, False])
    return ", ".join(f"{format_count(calls)} ({cost.WHY_UNPRICED[status]})" for status, calls in ordered.iter_rows())


def _forks(ledger: lk.Ledger, during: _During) -> pl.DataFrame:
    """Forks among the runs that were asked for whose origin is not there."""
    forks, runs = ledger.open_forks(), during.get("runs")
    return forks if runs is None else forks.filter(pl.col("run_id").is_in(runs))


def _print_attributed(costs: pl.DataFrame, keys: list[str], *, limit: int) -> None:
    total = _total(costs["cost"])
    columns = _key_columns(keys)
    columns |= {
        "line": ("not a part", _known),
        "parts": ("parts", _nonzero),
        "tokens": ("tokens", _compact_nonzero),
        "carried_calls": ("calls", _nonzero),
        "carrying_cost": ("carrying", _money_nonzero),
        "creation_cost": ("creation", _money_nonzero),
        "cost": ("cost", format_money),
        "share": ("share", str),
    }
    shown = head(costs, limit).with_columns(
        share=pl.Series([format_share(cost, total) for cost in head(costs, limit)["cost"]], dtype=pl.String)
    )
    text = [*keys, "line"]
    print_table(shown.iter_rows(named=True), columns, right=[c for c in columns if c not in text])
    lines = costs.filter(pl.col("line").is_not_null()).group_by("line").agg(pl.col("cost").sum())
    said = [f"{line} {format_share(cost, total)}" for line, cost in lines.sort("cost", descending=True).iter_rows()]
    line = f"Total {format_money(total)}"
    if said:
        line += f"; of no part: {', '.join(said)}"
    if scaled := _total(costs["scaled_cost"]):
        line += f"; {format_money(scaled)} where parts were scaled down"
    footer(line + _shown(costs, limit))


def _print_other(ledger: lk.Ledger, table: str, by: str, runs: list[str] | None, *, limit: int, as_json: bool) -> None:
    if table == "explain":
        rows = ledger.explain_usage(runs=runs)
    elif table == "waste":
        rows = ledger.waste(runs=runs)
    else:
        rows = ledger.reconcile_costs([key.strip() for key in by.split(",") if key.strip()], runs=runs)
    if as_json:
        print_json(head(rows, rows_wanted(limit, as_json=True)))
    elif table == "explain":
        _print_explained(rows, limit=limit)
    elif table == "waste":
        _print_waste(rows, limit=limit)
    else:
        columns = {name: (name.replace("_", " "), _cell_of(dtype)) for name, dtype in rows.schema.items()}
        right = [name for name, dtype in rows.schema.items() if dtype.is_numeric()]
        print_table(head(rows, limit).iter_rows(named=True), columns, right=right)


def _print_explained(rows: pl.DataFrame, *, limit: int) -> None:
    reasons = rows.group_by("reason").agg(records=pl.len(), input_tokens=pl.col("input_tokens").sum(),
                                          output_tokens=pl.col("output_tokens").sum())  # fmt: skip
    columns: dict[str, tuple[str, Any]] = {
        "reason": ("usage records", _reason),
        "records": ("records", format_count),
        "input_tokens": ("input", format_compact),
        "output_tokens": ("output", format_compact),
    }
    print_table(reasons.sort("records", descending=True).iter_rows(named=True), columns, right=list(columns)[1:])
    console().print()
    told = rows.filter(~pl.col("billed"))
    each: dict[str, tuple[str, Any]] = {
        "run_id": ("run", short_id),
        "source_line": ("line", format_count),
        "model": ("model", _key),
        "input_tokens": ("input", format_compact),
        "output_tokens": ("output", format_compact),
        "why": ("why it does not count", _known),
    }
    print_table(
        head(told, limit).iter_rows(named=True), each, right=["source_line", "input_tokens", "output_tokens"],
        flexible="why",
    )  # fmt: skip
    line = f"{plural(rows.height, 'usage record')}, {format_count(rows.height - told.height)} counted"
    footer(line + _shown(told, limit))


def _print_waste(rows: pl.DataFrame, *, limit: int) -> None:
    columns: dict[str, tuple[str, Any]] = {
        "kind": ("kind", str),
        "run_id": ("run", short_id),
        "step": ("step", _known),
        "tool_name": ("tool", _known),
        "tokens": ("tokens", format_compact),
        "carried_calls": ("calls", _nonzero),
        "cost": ("cost", format_money),
        "detail": ("what", _known),
    }
    kinds = rows["kind"].unique(maintain_order=True).to_list()
    share = -(-limit // max(len(kinds), 1))
    shown = rows if limit == _ALL else rows.group_by("kind", maintain_order=True).head(share)
    print_table(
        shown.iter_rows(named=True), columns, right=["step", "tokens", "carried_calls", "cost"], flexible="detail"
    )
    sums = rows.group_by("kind", maintain_order=True).agg(pl.len().alias("rows"), pl.col("cost").sum())
    said = [f"{kind} {format_money(cost)} ({plural(count, 'row')})" for kind, count, cost in sums.iter_rows()]
    footer("; ".join(said) + ". Kinds overlap." if said else "Nothing of the kind.")


def _total(amounts: pl.Series) -> Decimal:
    known: list[Decimal] = amounts.drop_nulls().to_list()
    return sum(known, Decimal(0))


def _shown(rows: pl.DataFrame, limit: int) -> str:
    return "" if limit == _ALL or rows.height <= limit else f"; {limit} of {rows.height} rows shown (-n 0 shows all)"


def _cell_of(dtype: pl.DataType) -> Any:  # noqa: ANN401 - shows values of one type
    if isinstance(dtype, pl.Decimal):
        return format_money
    return format_count if dtype.is_integer() else _key


def _key_columns(keys: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """How what costs are grouped by is shown: of a run's id the end, as elsewhere."""
    return {key: ("run", _run) if key == "run_id" else (key, _key) for key in keys}


def _run(run_id: str | None) -> str:
    return "—" if run_id is None else short_id(run_id)


def _key(value: object) -> str:
    return "—" if value is None else one_line(value, 50)


def _known(value: object) -> str:
    return "" if value is None else one_line(value, 120)


def _reason(reason: str | None) -> str:
    return reason or "counted"


def _nonzero(number: int | None) -> str:
    return format_count(number) if number else ""


def _compact_nonzero(number: int) -> str:
    return format_compact(number) if number else ""


def _money_nonzero(amount: Decimal) -> str:
    return format_money(amount) if amount else ""
