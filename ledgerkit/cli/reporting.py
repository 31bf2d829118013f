"""``ledgerkit report``: a self-contained HTML page for a run or a whole ledger."""

from __future__ import annotations

from pathlib import Path

import click

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import audit_option, json_option, reads_past
from ledgerkit.cli.output import note, print_json
from ledgerkit.formatting import short_id


@click.command("report")
@click.argument("run_id", required=False, type=RUN)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write; without it report.html or RUN.html."
)
@click.option(
    "--allow",
    multiple=True,
    metavar="NAME",
    help="Let a finding of the last scan for secrets pass: its name (type#fingerprint), or all. May be repeated.",
)
@audit_option
@json_option
@reads_past
def report_command(
    ledger: lk.Ledger,
    run_id: str | None,
    output: Path | None,
    allow: tuple[str, ...],
    audience: lk.Audience,
    as_json: bool,
) -> None:
    """Write an HTML report: of one run, or of the whole ledger.

    The page needs no network and runs no script. It is not written if it holds what looks like a secret.
    """
    if run_id is None:
        path, page = output or Path("report.html"), ledger.report(audience=audience, allow=allow)
    else:
        run = ledger.run(run_id)
        path, page = output or Path(f"{short_id(run.run_id)}.html"), run.report(audience=audience, allow=allow)
    path.write_text(page, "utf-8")
    if as_json:
        print_json({"path": str(path.absolute()), "bytes": len(page.encode())})
    else:
        note(f"Wrote {path} ({len(page.encode()) // 1024:,} KiB)")
