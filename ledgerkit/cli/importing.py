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
from ledgerkit.cli.output import (
    Cell,
    console,
    footer,
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
from ledgerkit.ingest.places import places_looked_at, usual_places

_SHOWN_DAMAGE = 20
_SHOWN_NAMES = 4
_SHOWN_IDS = 8


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
        with lk.open(ledger_path) as ledger:  # made where it is not there: only now that there is what to import
            _import(ledger, found, labels, as_json=as_json, in_lines=follow, **how)
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
    ledger: lk.Ledger, found: Sequence[Path], labels: Sequence[Path], *, as_json: bool, in_lines: bool,
    **how: Unpack[_How],
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
        return
    if account:
        print_account(account, ledger)
    for path, one in zip(labels, labelled, strict=True):
        missing = f"; no run for {', '.join(one.unmatched[:_SHOWN_NAMES])}" if one.unmatched else ""
        what = f"{plural(one.labelled, 'row')} of {one.rows} found their runs, {plural(one.messages, 'new message')}"
        console().print(text(f"{path.name}: {what}{missing}"))


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


def account_json(account: lk.ImportAccount) -> dict[str, object]:
    """The account as JSON."""
    plain = account.model_dump(exclude={"details", "damage", "exposed", "formats"})
    return {
        **plain,
        "closes": account.closes,
        "details": account.details.to_dicts(),
        "damage": account.damage.to_dicts(),
        "formats": account.formats.to_dicts(),
        "exposed": account.exposed.to_dicts(),
    }


def print_account(account: lk.ImportAccount, ledger: lk.Ledger) -> None:
    """Prints what became of everything that was read."""
    out = console()
    files = f"{plural(account.files, 'file')} read, {format_count(account.unchanged)} unchanged"
    if account.unsupported:
        names = ", ".join(Path(path).name for path in account.unsupported[:_SHOWN_NAMES])
        more = ", …" if len(account.unsupported) > _SHOWN_NAMES else ""
        files += f", {format_count(len(account.unsupported))} of no known format ({names}{more})"
    out.print(text(files))
    if account.records:
        _print_fates(account)
    for row in account.damage.head(_SHOWN_DAMAGE).iter_rows(named=True):
        out.print(text(f"  {row['path']}:{row['line']}: {row['reason']}", "yellow"))
    if account.damage.height > _SHOWN_DAMAGE:
        out.print(f"  … and {account.damage.height - _SHOWN_DAMAGE} more (--json lists all)")
    _print_secrets(account, ledger)
    footer(f"Ledger: {ledger.path}")


def _print_fates(account: lk.ImportAccount) -> None:
    """Prints what became of the records, in all and by format."""
    rows = [
        {"fate": fate, "records": getattr(account, fate), "what": what}
        for fate, what in (
            ("accepted", _accepted(account)),
            ("duplicate", "in the ledger already, or twice in these files" if account.duplicate else ""),
            ("skipped", _reasons(account)),
            ("quarantined", "damaged or unreadable; see below" if account.quarantined else ""),
        )
    ]
    rows.append({"fate": "in all", "records": account.records, "what": "" if account.closes else "DOES NOT ADD UP"})
    print_table(rows, {"fate": ("", str), "records": ("records", format_count), "what": ("", str)}, right=["records"])
    console().print()
    print_table(account.formats.iter_rows(named=True), _FORMATS, right=list(_FORMATS)[1:])


def _accepted(account: lk.ImportAccount) -> str:
    said = f"{plural(account.new_messages, 'new message')} in {plural(account.runs, 'run')}"
    return f"{said}; a record can hold several" if account.new_messages > account.accepted else said


_FORMATS: Final[dict[str, tuple[str, Cell]]] = {
    "format": ("format", str),
    **{name: (name, format_count) for name in ("files", "records", "accepted", "duplicate", "skipped", "quarantined")},
}


def _print_secrets(account: lk.ImportAccount, ledger: lk.Ledger) -> None:
    """What was found, what became of it, and what stands in the ledger since before anybody knew."""
    out = console()
    kinds = ", ".join(f"{kind} {format_count(count)}" for kind, count in account.secrets.items())
    match account.redaction:
        case "on" if kinds:
            out.print(text(f"Secrets replaced before anything was written: {kinds}"))
        case "audit" if kinds:
            out.print(text(f"Secrets found, and NOT replaced: {kinds}", "yellow"))
        case "off":
            out.print(text("Nobody looked for secrets (--redact off); what was imported is never projected.", "yellow"))
        case _:
            pass
    if account.exposed.height:
        ids = " ".join(account.exposed["message_id"].head(_SHOWN_IDS))
        more = f" … ({account.exposed.height} in all; --json lists them)" if account.exposed.height > _SHOWN_IDS else ""
        what = plural(account.exposed.height, "message")
        out.print(text(f"{what} imported earlier hold what is now known to be a secret. To remove them:", "yellow"))
        out.print(text(f'  ledgerkit erase {ids}{more} --reason "secret" --ledger {ledger.path}'))


def _reasons(account: lk.ImportAccount) -> str:
    reasons = account.details.filter(account.details["fate"] == "skipped").sort("count", descending=True)["reason"]
    return "; ".join(reasons.unique(maintain_order=True).head(3))
