"""Commands that care for a ledger: verify and prove it, erase from it, compact and vacuum it, look at its tables."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_ledger, rows_wanted
from ledgerkit.cli.output import Cell, console, footer, one_line, print_json, print_table, text
from ledgerkit.formatting import format_bytes, format_count, format_time, plural

FOUND_EXIT = 1


@click.command("verify")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A checkpoint that was kept elsewhere (may be repeated).",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A checkpoint that you trust: hash only what came after it again.",
)
@click.option("--sample", type=click.IntRange(min=1), help="Hash only so many messages again.")
@click.option("--seed", default=0, show_default=True, help="Seed of the sample.")
@json_option
@reads_ledger
def verify_command(
    ledger: lk.Ledger,
    checkpoints: tuple[Path, ...],
    since: Path | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Check that nothing in the ledger was changed, removed, reordered or inserted. Exit code 1 if something was."""
    report = ledger.verify(
        checkpoints=[path.read_text("utf-8") for path in checkpoints],
        since=None if since is None else since.read_text("utf-8"),
        sample=sample,
        seed=seed,
    )
    counts = {
        name: getattr(report, name)
        for name in ("messages", "rehashed", "runs", "artifacts", "erased", "journaled", "checkpoints")
    }
    if as_json:
        print_json({"ok": report.ok, **counts, "limits": list(report.limits), "findings": report.frame()})
    else:
        _print_findings(report.frame())
        out = console()
        verdict = text("Nothing found.", "green") if report.ok else text(plural(len(report.findings), "finding"), "red")
        out.print(verdict, text("  ".join(f"{name} {format_count(count)}" for name, count in counts.items()), "dim"))
        for limit in report.limits:
            footer(limit, "dim")
    if not report.ok:
        sys.exit(FOUND_EXIT)


def _print_findings(findings: pl.DataFrame) -> None:
    if findings.height:
        named = findings.with_columns(
            place=pl.coalesce(
                pl.col("message_id"), pl.format("{} #{}", pl.col("run_id"), pl.col("sequence_no")), "run_id", "file"
            )
        )
        columns: dict[str, tuple[str, Cell]] = {
            "rule": ("rule", str),
            "place": ("where", _short),
            "detail": ("what", str),
        }
        print_table(named.iter_rows(named=True), columns)


@click.command("checkpoint")
@json_option
@reads_ledger
def checkpoint_command(ledger: lk.Ledger, as_json: bool) -> None:
    """Print the head of the ledger's trees. Keep it where whoever may write the ledger may not write."""
    made = ledger.checkpoint()
    if as_json:
        print_json({"tree_size": made.size, "root": made.root.hex(), "text": str(made)})
    else:
        click.echo(str(made), nl=False)


@click.command("prove")
@click.argument("message_id")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Prove it under this checkpoint instead of the newest.",
)
@reads_ledger
def prove_command(ledger: lk.Ledger, message_id: str, checkpoint: Path | None) -> None:
    """Print a proof (JSON) that a message is in the ledger; `InclusionProof.from_json(text).holds()` checks it."""
    proof = ledger.prove(message_id, None if checkpoint is None else checkpoint.read_text("utf-8"))
    click.echo(proof.to_json())


@click.command("erase")
@click.argument("message_ids", nargs=-1)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=RUN,
    help="Erase all messages and facts of a run (may be repeated).",
)
@click.option("--reason", required=True, help="Why; it is recorded, and stays.")
@click.option("--actor", default="user", show_default=True, help="Who decided; recorded too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@reads_ledger
def erase_command(
    ledger: lk.Ledger,
    message_ids: tuple[str, ...],
    runs: tuple[str, ...],
    reason: str,
    actor: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Erase the content of messages for good. Their hashes, and that they were erased, stay."""
    if not message_ids and not runs:
        raise click.UsageError("Name messages, or a run with --run.")
    whole = [ledger.run(run).run_id for run in runs]
    if not yes:
        click.confirm(
            f"Erase the content of {plural(len(message_ids), 'message')} and {plural(len(whole), 'run')} for good?",
            abort=True,
            err=True,
        )
    done = ledger.erase(message_ids, runs=whole, reason=reason, actor=actor)
    if as_json:
        print_json(asdict(done))
        return
    console().print(
        text(
            f"Erased {plural(done.messages, 'message')}, {plural(done.artifacts, 'artifact')} and the facts of "
            f"{plural(done.runs, 'row')} of runs; removed {plural(done.files, 'file')}. Recorded as {done.record_id}."
        )
    )


@click.command("compact")
@click.option("--everything", is_flag=True, help="Rewrite large files too.")
@json_option
@reads_ledger
def compact_command(ledger: lk.Ledger, everything: bool, as_json: bool) -> None:
    """Put small files together, sorted and checked; others may read and write meanwhile."""
    done = ledger.compact(everything=everything)
    if as_json:
        print_json(done)
    elif done.is_empty():
        console().print("Nothing to put together.")
    else:
        columns = {name: (name.replace("_", " "), _cell) for name in done.columns}
        print_table(done.iter_rows(named=True), columns, right=["files_before", "files_after", "rows"])


@click.command("vacuum")
@click.option("--hours", default=168, show_default=True, help="Keep what versions of the last hours use.")
@click.option("--dry-run", is_flag=True, help="Only list the files.")
@json_option
@reads_ledger
def vacuum_command(ledger: lk.Ledger, hours: int, dry_run: bool, as_json: bool) -> None:
    """Remove files that no recent version uses. Earlier states (--as-of) reach back no further then."""
    gone = ledger.vacuum(hours=hours, dry_run=dry_run)
    if as_json:
        print_json(gone)
    else:
        verb = "would be removed" if dry_run else "removed"
        console().print(text(f"{plural(gone.height, 'file')} {verb}, {format_bytes(int(gone['bytes'].sum()))}."))


@click.command("info")
@click.option("--commits", "table", is_flag=False, flag_value="history", help="List the commits of a table instead.")
@click.option("-n", "--limit", default=20, show_default=True, help="Commits to show; 0 shows all.")
@json_option
@reads_ledger
def info_command(ledger: lk.Ledger, table: str | None, limit: int, as_json: bool) -> None:
    """Show the stored tables: versions, files, rows, bytes; or the commits of one of them."""
    limit = rows_wanted(limit, as_json=as_json)
    frame = ledger.info() if table is None else ledger.commits(table, limit or None)
    if as_json:
        print_json(frame)
        return
    columns = {name: (name.replace("_", " "), _bytes if name == "bytes" else _cell) for name in frame.columns}
    right = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    print_table(frame.iter_rows(named=True), columns, right=right)


def _short(value: object) -> str:
    return one_line(value, 60)


def _bytes(value: int) -> str:
    return format_bytes(value)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_time(value)
    return format_count(value) if isinstance(value, int) else str(value)
