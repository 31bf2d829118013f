"""``ledgerkit fleet``: many runs over weeks."""

from __future__ import annotations

from pathlib import Path

import click

import ledgerkit as lk
from ledgerkit.cli.comparing import parse_set
from ledgerkit.cli.context import json_option, reads_past
from ledgerkit.cli.output import console, note, print_json


@click.command("fleet")
@click.argument("runs", required=False)
@click.option(
    "--by", type=click.Choice(["day", "week", "month"]), default="week", show_default=True, help="The period."
)
@click.option("--since", help="Only runs that began at this moment or later, such as 2026-03-01 (UTC).")
@click.option("--until", help="Only runs that began before this moment.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Reasons and drivers of each kind."
)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write an HTML page.")
@click.option("--allow", multiple=True, metavar="NAME", help="Let a finding of the scan for secrets pass, or all.")
@json_option
@reads_past
def fleet_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    runs: str | None,
    by: str,
    since: str | None,
    until: str | None,
    top: int,
    html: Path | None,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show many runs over time: trends, why runs did not pass, what costs most, claims by version of the agent.

    RUNS chooses some of them, as for ledgerkit compare: model=NAME,since=2026-03-01 or a file with a manifest.
    """
    chosen = None if runs is None else parse_set(ledger, runs)
    fleet = ledger.fleet(by, runs=chosen, since=since, until=until, top=top)
    if html is not None:
        html.write_text(fleet.report(allow=allow), "utf-8")
    if as_json:
        print_json({name: fleet.frame(name) for name in ("trends", "failures", "cost_drivers", "claims")})
        return
    console().print(fleet)
    if html is not None:
        note(f"Wrote {html}")
