"""What an import prints: what became of every file and record, and of the secrets in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

import ledgerkit as lk
from ledgerkit.cli.output import Cell, console, footer, print_table, text
from ledgerkit.formatting import format_count, plural

_SHOWN_DAMAGE: Final = 20
_SHOWN_NAMES: Final = 4
_SHOWN_REASONS: Final = 8
_SHOWN_IDS: Final = 8


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


def print_account(account: lk.ImportAccount, ledger: lk.Ledger, *, was_there: bool = False) -> None:
    """Prints what became of everything that was read, and where it is now."""
    out = console()
    files = f"{plural(account.files, 'file')} read, {format_count(account.unchanged)} unchanged"
    if account.unsupported:
        names = ", ".join(_below_common(account.unsupported)[:_SHOWN_NAMES])
        more = ", …" if len(account.unsupported) > _SHOWN_NAMES else ""
        files += f", {format_count(len(account.unsupported))} of no known format ({names}{more})"
    out.print(text(files))
    if account.records:
        _print_fates(account)
    if account.damage.height:
        out.print(text("\nQuarantined:", "yellow"))
    for row in account.damage.head(_SHOWN_DAMAGE).iter_rows(named=True):
        out.print(text(f"  {row['path']}:{row['line']}: {row['reason']}", "yellow"))
    if account.damage.height > _SHOWN_DAMAGE:
        out.print(f"  … and {account.damage.height - _SHOWN_DAMAGE} more (--json lists all)")
    _print_secrets(account, ledger)
    footer(f"Ledger: {ledger.path}" + (" (it was there before)" if was_there else ""))


def _below_common(paths: Sequence[str]) -> list[str]:
    """Paths without the folder that all of them share."""
    whole = [Path(path).absolute() for path in paths]  # relative and absolute ones may have been given together
    common = os.path.commonpath([path.parent for path in whole])
    return [path.relative_to(common).as_posix() for path in whole]


def _print_fates(account: lk.ImportAccount) -> None:
    """Prints what became of the records, in all and by format."""
    rows = [
        {"fate": fate, "records": getattr(account, fate), "what": what}
        for fate, what in (
            ("accepted", _accepted(account)),
            ("duplicate", "in the ledger already, or twice in these files" if account.duplicate else ""),
            ("skipped", "stands elsewhere, or is of no run; see below" if account.skipped else ""),
            ("quarantined", "damaged or unreadable; see below" if account.quarantined else ""),
        )
    ]
    rows.append({"fate": "in all", "records": account.records, "what": "" if account.closes else "DOES NOT ADD UP"})
    print_table(rows, {"fate": ("", str), "records": ("records", format_count), "what": ("", str)}, right=["records"])
    console().print()
    print_table(account.formats.iter_rows(named=True), _FORMATS, right=list(_FORMATS)[1:])
    if account.skipped:
        console().print()
        _print_skipped(account)


def _print_skipped(account: lk.ImportAccount) -> None:
    """Prints why records were skipped, with how many each; less frequent reasons together."""
    details = account.details.filter(pl.col("fate") == "skipped").group_by("reason").agg(pl.col("count").sum())
    reasons = details.sort("count", "reason", descending=[True, False])
    rows = reasons.head(_SHOWN_REASONS).rows(named=True)
    rest = reasons.slice(_SHOWN_REASONS)
    if rest.height:
        rows.append(
            {"reason": f"{plural(rest.height, 'other reason')} (--json lists all)", "count": rest["count"].sum()}
        )
    columns: dict[str, tuple[str, Cell]] = {"count": ("skipped", format_count), "reason": ("because", str)}
    print_table(rows, columns, right=["count"], flexible="reason")


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
