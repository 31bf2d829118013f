"""``ledgerkit memory --compactions``: what summaries lost, hid or invented, as cards."""

from __future__ import annotations

from typing import Final

import polars as pl

import ledgerkit as lk
from ledgerkit.cli.context import rows_wanted
from ledgerkit.cli.output import console, footer, head, one_line, print_json, text
from ledgerkit.formatting import format_count, plural, short_id

_GRAVEST_FIRST: Final = ("hidden", "invented", "lost", "unverified", "unknown", "kept")
_COLOUR: Final = {"hidden": "red", "invented": "red", "lost": "yellow", "unverified": "", "unknown": "yellow"}
_NOTE: Final = (
    "lost and hidden: no literal sign of it in the summary; other words may say the same. invented: nothing before "
    "says it."
)
_EVIDENCE: Final = 2


def show_compactions(ledger: lk.Ledger, run_id: str | None, limit: int, *, as_json: bool) -> None:
    """Prints the compaction check of one run, or of all."""
    found = ledger.check_compactions(None if run_id is None else [ledger.run(run_id).run_id])
    if as_json:
        print_json(head(found, rows_wanted(limit, as_json=True)))
        return
    out = console()
    summaries = found.select("run_id", "sequence_no").n_unique()
    out.print(text(f"{plural(summaries, 'recorded compaction')}{_counted(found)}", "bold"))
    whole: list[str] = []
    for (run, _), items in found.group_by("run_id", "sequence_no", maintain_order=True):
        step, place = items["step"][0], items["sequence_no"][0]
        said = f"run {short_id(run)}, before step {step} (message {place}){_counted(items)}"
        if (items["verdict"] == "kept").all():
            whole.append(said)
            continue
        out.print()
        out.print(text(said, "bold"))
        _print_cards(items.filter(pl.col("verdict") != "kept"), limit)
    if whole:
        out.print(text("\nAll that is looked for was kept:", "bold"))
        for said in whole:
            out.print(text(f"  {said}"))
    footer(_NOTE, "dim")


def _counted(items: pl.DataFrame) -> str:
    counts = dict(items.group_by("verdict").len().iter_rows())
    said = ", ".join(f"{format_count(counts[one])} {one}" for one in _GRAVEST_FIRST if one in counts)
    return f": {said}" if said else ""


def _print_cards(items: pl.DataFrame, limit: int) -> None:
    out = console()
    for item in head(items, limit).iter_rows(named=True):
        rule = f" ({item['rule']})" if item["rule"] else ""
        out.print(text(f"  {item['verdict']} {item['kind']}{rule}", _COLOUR.get(item["verdict"], "")))
        if item["subject"]:
            out.print(text(f"    {one_line(item['subject'], 160)}"))
        out.print(text(f"    {one_line(item['why'], 160)}", "dim"))
        for reference in item["evidence"][:_EVIDENCE]:
            out.print(text(f"    see {one_line(reference, 160)}", "dim"))
    if limit and items.height > limit:
        footer(f"  {format_count(items.height - limit)} more; -n 0 shows all", "dim")
