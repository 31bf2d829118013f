"""``ledgerkit export``: runs as files of another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

import click

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import audit_option, json_option, reads_past
from ledgerkit.cli.output import Cell, console, note, print_json, print_table, text
from ledgerkit.formatting import plural

if TYPE_CHECKING:
    from typing import Unpack

_FORMATS: Final = ("atif", "scout", "jsonl")


class _Options(TypedDict):
    """What is handed on as it is."""

    overwrite: bool
    allow: tuple[str, ...]
    audience: lk.Audience


@click.command("export")
@click.argument("runs", nargs=-1, metavar="[RUN]...", type=RUN)
@click.option(
    "--format",
    "format_name",
    required=True,
    type=click.Choice(_FORMATS),
    help="atif: Harbor's trajectories; scout: a database of Inspect Scout; jsonl: ledgerkit's own, without loss.",
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to write to; or a file, if its name ends as those of the format do.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of the same names.")
@click.option(
    "--allow",
    multiple=True,
    metavar="NAME",
    help="Let a finding of the last scan for secrets pass: its name (type#fingerprint), or all. May be repeated.",
)
@audit_option
@json_option
@reads_past
def export_command(
    ledger: lk.Ledger, runs: tuple[str, ...], format_name: str, out: Path, as_json: bool, **options: Unpack[_Options]
) -> None:
    """Write runs as files of another format; all runs if none is named.

    Nothing is written if a file would hold what looks like a secret. What the format cannot say is counted.
    """
    account = ledger.export(out, format=format_name, runs=runs, **options)
    if as_json:
        print_json(_plain(account))
        return
    what = ", ".join((plural(account.runs, "run"), plural(account.messages, "message"), f"{account.bytes:,} bytes"))
    where = account.files[0] if len(account.files) == 1 else f"{len(account.files)} files in {out}"
    note(f"Wrote {where} ({what})" if account.files else "No run to write.")
    if account.losses:
        console().print(text("Left out, or said in another way:", "bold"))
        print_table(account.frame().iter_rows(named=True), _LOSSES, right=["count"], flexible="reason")


def _plain(account: lk.ExportAccount) -> dict[str, object]:
    return {
        "format": account.format,
        "files": [str(file) for file in account.files],
        "bytes": account.bytes,
        "runs": account.runs,
        "messages": account.messages,
        "losses": account.frame(),
    }


_LOSSES: Final[dict[str, tuple[str, Cell]]] = {
    "count": ("count", lambda count: f"{count:,}"),
    "kind": ("kind", str),
    "field": ("field", str),
    "reason": ("why", str),
}
