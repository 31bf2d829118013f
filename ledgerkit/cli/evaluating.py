"""``ledgerkit evaluate``: what strategies would have cost and lost on recorded runs."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past
from ledgerkit.cli.output import Cell, console, footer, note, print_json, print_table, text
from ledgerkit.cli.quiet import is_quiet
from ledgerkit.errors import MissingExtraError
from ledgerkit.formatting import UNKNOWN, format_count
from ledgerkit.tables.money import dollars

if TYPE_CHECKING:
    from ledgerkit.evaluation import Evaluation, StrategyFile

_USUAL = ("FullHistory", "AsRecorded", "LastObservations(10)", "LastObservations(10, polling=10)", "ClearAt(60_000)",
          "TokenWindow(60_000)")  # fmt: skip


@click.command("evaluate")
@click.argument("strategies", nargs=-1, metavar="[STRATEGY]...")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML file with a table [strategies] of names and strategies, and a budget.",
)
@click.option("--metric", "metrics", multiple=True, help="Only this metric. May be repeated.")
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=RUN,
    help="Only this run (its id or a part of it). May be repeated.",
)
@click.option("--budget", type=click.IntRange(min=1), help="Tokens above which a context overflows.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the results as Parquet.")
@click.option("--steps", is_flag=True, help="Also a row for each step and strategy.")
@click.option("--by", default="repository", show_default=True, help="Column that names families of tasks.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes. Default: one for each core.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler that works instead, such as tcp://10.0.0.7:8786.")
@click.option("--local-cluster", type=click.IntRange(min=1), metavar="N", help="A Dask cluster here, of N processes.")
@json_option
@reads_past
def evaluate_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    strategies: tuple[str, ...],
    path: Path | None,
    metrics: tuple[str, ...],
    runs: tuple[str, ...],
    budget: int | None,
    out: Path | None,
    steps: bool,
    by: str,
    jobs: int | None,
    cluster: str | None,
    local_cluster: int | None,
    as_json: bool,
) -> None:
    """Score strategies on recorded runs: tokens, cost, and what the next recorded action would have lost.

    STRATEGY is a name with its settings, several joined by |, such as 'HeadTail | ClearAt(60000)'. Without one, a few
    usual ones are compared. With --out, the same command goes on where it was stopped.
    """
    if cluster is not None and local_cluster is not None:
        raise click.UsageError("Give --cluster or --local-cluster, not both.")
    from ledgerkit.evaluation import read_strategy_file

    file = read_strategy_file(path) if path is not None else None
    with _executor(cluster, local_cluster) as executor, _bar(as_json) as progress:
        result = ledger.evaluate(
            _asked(strategies, file),
            metrics or (file.metrics if file is not None else None),
            [ledger.run(one).run_id for one in runs] if runs else None,
            executor,
            jobs=jobs,
            steps=steps,
            budget=budget if budget is not None or file is None else file.budget,
            control_seeds=file.control_seeds if file is not None else (0,),
            progress=progress,
            out=out,
        )
    if as_json:
        print_json({**result.as_data(), "summary": in_dollars(result.summary()), "runs": in_dollars(result.runs)})
        return
    _print_result(result, by)
    if out is not None:
        note(f"Written to {out}: runs, steps and lost as Parquet, evaluation.json, evaluation.md")


def _print_result(result: Evaluation, by: str) -> None:
    from ledgerkit.evaluation.summary import HEADINGS, LEGEND, cells

    columns: dict[str, tuple[str, Cell]] = {name: (name, str) for name in HEADINGS}
    rows = [dict(zip(HEADINGS, cells(row), strict=True)) for row in result.summary().iter_rows(named=True)]
    print_table(rows, columns, right=HEADINGS[1:], leaving=("stale", "cost in tokens", "edits", "lift", "runs"))
    for name, meaning in LEGEND.items():
        footer(f"{name}: {meaning}.", "dim")
    best = result.recommend(by).frontier
    if best.height:
        console().print(text(f"\nNot beaten in cost and retention at once, by {by}", "bold"))
        numbers = ("cost_equivalent_tokens", "retention", "low", "high", "runs")
        columns = {"family": (by, lambda name: name or "not recorded"), **_FRONTIER}
        bounds = best.with_columns(low="retention_low", high="retention_high")
        print_table(bounds.iter_rows(named=True), columns, right=numbers)
        if best["few_runs"].any():
            footer("Intervals over fewer than 20 runs say little.", "dim")
    footer("")
    for caveat in result.caveats:
        footer(f"* {caveat}", "dim")


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


_FRONTIER: dict[str, tuple[str, Cell]] = {
    "strategy": ("strategy", str),
    "cost_equivalent_tokens": ("cost in tokens a run", lambda tokens: f"{tokens:,.0f}"),
    "retention": ("retention", _share),
    "low": ("from", _share),
    "high": ("to", _share),
    "runs": ("runs", format_count),
}


def _asked(strategies: tuple[str, ...], file: StrategyFile | None) -> list[Any]:
    named = list(file.strategies.values()) if file is not None else []
    return [*strategies, *named] or list(_USUAL)


def in_dollars(rows: pl.DataFrame) -> pl.DataFrame:
    """Costs as other outputs have them; an integer of that size would lose digits in many a JSON reader."""
    return rows.with_columns(dollars(pl.col("cost_pico"))).rename({"cost_pico": "cost"})


@contextmanager
def _executor(cluster: str | None, local_cluster: int | None) -> Generator[Executor | None]:
    if cluster is None and local_cluster is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError.for_extra("cluster", "A cluster") from error
    if cluster is not None:
        with Client(cluster) as client:
            yield cast("Executor", client.get_executor())  # pyright: ignore[reportUnknownMemberType]
        return
    with (
        LocalCluster(n_workers=local_cluster, threads_per_worker=1, processes=True, dashboard_address="") as here,  # pyright: ignore[reportUnknownVariableType]
        Client(here) as client,
    ):
        yield cast("Executor", client.get_executor())  # pyright: ignore[reportUnknownMemberType]


@contextmanager
def _bar(as_json: bool) -> Generator[Any]:
    """A progress bar on the error stream, where that is a terminal."""
    out = console(stderr=True)
    if as_json or is_quiet() or not out.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=out, transient=True) as bar:
        task = bar.add_task("runs", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show
