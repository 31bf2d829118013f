"""``ledgerkit import``: logs into the ledger, and the account of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

import ledgerkit as lk
from ledgerkit.cli.context import json_option, ledger_option
from ledgerkit.cli.failing import explained_errors
from ledgerkit.cli.import_account import account_json, print_account
from ledgerkit.cli.output import (
    Cell,
    console,
    note,
    one_line,
    print_json,
    print_json_line,
    print_table,
    text,
)
from ledgerkit.cli.quiet import is_quiet
from ledgerkit.formatting import format_count, format_money, plural
from ledgerkit.ingest.importing import Progress as ProgressCallback
from ledgerkit.ingest.labels import LabelAccount
from ledgerkit.ingest.places import places_looked_at, usual_places
from ledgerkit.store.layout import is_ledger

_SHOWN_NAMES: Final = 4


class _How(TypedDict):
    """What is handed on to ``import_logs`` as it is."""

    keep_reasoning: bool
    redact: str
    count_tokens: bool
    jobs: int | None


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Without paths: import the logs of installed agents without asking.")
@click.option(
    "--labels",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A table (CSV, JSON, Parquet) of outcomes and labels by run_id, session_id or task_id. May be repeated.",
)
@click.option("--keep-reasoning", is_flag=True, help="Keep hidden reasoning, as restricted artifacts.")
@click.option(
    "--redact",
    type=click.Choice(["on", "audit", "off"]),
    default="on",
    show_default=True,
    help="Secrets: replace them before anything is written, only count them, or do not look.",
)
@click.option(
    "--token-counts/--no-token-counts",
    "count_tokens",
    default=True,
    help="Count the tokens of every part. Without: faster, and their numbers stay unknown.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Worker processes for a large import. Default: one for each usable core, two at most.",
)
@click.option("--follow", is_flag=True, help="Go on: import what running agents add, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds between two looks."
)
@json_option
@ledger_option
def import_command(
    ledger_path: Path,
    paths: tuple[Path, ...],
    yes: bool,
    labels: tuple[Path, ...],
    follow: bool,
    interval: float,
    as_json: bool,
    **how: Unpack[_How],
) -> None:
    """Import agent logs: files, or folders with all files below them; without any, those of installed agents.

    Formats are recognised by content. Importing again adds nothing; a file that has grown continues.
    """
    with explained_errors():
        found = _given(paths)
        if not paths and not labels:
            found = _usual_places(ledger_path, asks=not (yes or as_json))
        was_there = is_ledger(ledger_path)
        with lk.open(ledger_path) as ledger:  # made where it is not there: only now that there is what to import
            _import(ledger, found, labels, was_there=was_there, as_json=as_json, in_lines=follow, **how)
            if follow:
                _follow(ledger, found, interval, as_json=as_json, **how)


def _follow(ledger: lk.Ledger, found: Sequence[Path], interval: float, *, as_json: bool, **how: Unpack[_How]) -> None:
    """Prints a line for each round that brought something, until somebody stops it."""
    out = console()
    note(f"Following {plural(len(found), 'path')}. Ctrl-C ends it; nothing is lost.")
    try:
        for account in ledger.follow(*found, interval=interval, **how):
            if not account.new_messages:
                continue
            if as_json:
                print_json_line({**account_json(account), "labels": []})
                continue
            costs = ledger.cost(by="session_id").head(1)
            total = f", dearest session so far {format_money(costs['cost'].item())}" if costs.height else ""
            out.print(text(f"{plural(account.new_messages, 'new message')} in {plural(account.runs, 'run')}{total}"))
    except KeyboardInterrupt:
        note("Stopped.")


def _import(
    ledger: lk.Ledger, found: Sequence[Path], labels: Sequence[Path], *, was_there: bool, as_json: bool,
    in_lines: bool, **how: Unpack[_How],
) -> None:  # fmt: skip
    """Imports logs, then labels, and prints the account."""
    account = None
    if found:
        with progress_bar("Importing", hidden=as_json) as progress:
            account = ledger.import_logs(*found, progress=progress, **how)
    labelled = [ledger.import_labels(path) for path in labels]
    if as_json:
        made = {**(account_json(account) if account else {}), "labels": [asdict(one) for one in labelled]}
        (print_json_line if in_lines else print_json)(made)
    else:
        if account:
            print_account(account, ledger, was_there=was_there)
        for path, one in zip(labels, labelled, strict=True):
            _print_labelled(path, one)
    for path, one in zip(labels, labelled, strict=True):
        if one.rows and not one.labelled:
            raise lk.ImportSourceError(
                f"{path}: none of its rows found a run. Ids are those of `ledgerkit runs`, names of tasks those of "
                "`ledgerkit runs --json`."
            )


def _print_labelled(path: Path, account: LabelAccount) -> None:
    """Prints what became of a table of labels."""
    shown = ", ".join(account.unmatched[:_SHOWN_NAMES])
    more = f" and {len(account.unmatched) - _SHOWN_NAMES} more" if len(account.unmatched) > _SHOWN_NAMES else ""
    missing = f"; none, or more than one, for {shown}{more}" if account.unmatched else ""
    rows, new = f"{format_count(account.labelled)} of {plural(account.rows, 'row')}", account.messages
    console().print(text(f"{path.name}: {rows} found their runs, {plural(new, 'new message')}{missing}"))


def _given(paths: Sequence[Path]) -> Sequence[Path]:
    """The paths that were given, all of them there."""
    for path in paths:
        if not path.expanduser().exists():
            raise lk.ImportSourceError(f"Nothing at {path}. Check the path.")
    if paths and not any(_holds_file(path.expanduser()) for path in paths):
        raise lk.ImportSourceError(f"No files below {', '.join(map(str, paths))}.")
    return paths


def _holds_file(path: Path) -> bool:
    return path.is_file() or any(inner.is_file() for inner in path.rglob("*"))


def _usual_places(ledger_path: Path, *, asks: bool) -> list[Path]:
    """The folders of installed agents' logs, shown and agreed to."""
    places = usual_places()
    if not places:
        looked = ", ".join(map(str, places_looked_at()))
        raise lk.ImportSourceError(f"No logs in the usual places ({looked}). Give files or folders.")
    if asks:
        columns: dict[str, tuple[str, Cell]] = {
            "agent": ("agent", str),
            "path": ("folder", str),
            "files": ("files", format_count),
            "size": ("size", _size),
        }
        print_table(map(asdict, places), columns, right=["files", "size"])
        click.confirm(f"Import these logs into {ledger_path}?", abort=True, default=True, err=True)
    return [place.path for place in places]


def _size(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size / 1000:,.1f} kB"


@contextmanager
def progress_bar(what: str, *, hidden: bool = False) -> Generator[ProgressCallback | None]:
    """A bar on the terminal's error stream; nothing where that is no terminal."""
    out = console(stderr=True)
    if hidden or is_quiet() or not out.is_terminal:
        yield None
        return
    columns = (
        TextColumn(what),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[file]}"),
    )
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task(what, total=None, file="")

        def advance(done: int, total: int, path: str) -> None:
            bar.update(task, completed=done, total=total, file=text(one_line(Path(path).name, 40)).plain)

        yield advance
