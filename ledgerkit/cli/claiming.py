"""``ledgerkit claims``: what models said happened, and what the record says of it."""

from __future__ import annotations

from typing import Final

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past, rows_wanted
from ledgerkit.cli.output import Cell, console, footer, head, one_line, print_json, print_table, text
from ledgerkit.extract.claims import ClaimClass
from ledgerkit.formatting import format_count, plural, short_id
from ledgerkit.protocol.vocabulary import ClaimOutcome

_GRAVEST_FIRST: Final = ("contradicted", "unsupported", "stale", "unverified", "supported")
_COLOUR: Final = {
    "contradicted": "red",
    "unsupported": "yellow",
    "stale": "yellow",
    "unverified": "",
    "supported": "green",
}
_LIMITS: Final = "supported: the record agrees, not that the code is right. unverified: the record cannot tell."


@click.command("claims")
@click.argument("run_id", required=False, type=RUN)
@click.option(
    "--verdict",
    type=click.Choice([one.value for one in ClaimOutcome]),
    multiple=True,
    help="Only claims with this verdict. May be repeated.",
)
@click.option(
    "--about", type=click.Choice([one.value for one in ClaimClass]), multiple=True, help="Only claims of this class."
)
@click.option("--cards", is_flag=True, help="One card a claim: what was said, the verdict, why, and where.")
@click.option("-n", "--limit", default=30, show_default=True, help="Claims to show; 0 shows all.")
@json_option
@reads_past
def claims_command(
    ledger: lk.Ledger,
    run_id: str | None,
    verdict: tuple[str, ...],
    about: tuple[str, ...],
    cards: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Check what models said against what they did: "all tests pass", "fixed", "created x.py", "done".

    Claims that the record contradicts come first.
    """
    claims = ledger.check_claims(runs=[] if run_id is None else [ledger.run(run_id).run_id])
    counts = dict(claims.group_by("verdict").len().iter_rows())
    if verdict:
        claims = claims.filter(pl.col("verdict").is_in(verdict))
    if about:
        claims = claims.filter(pl.col("claim_class").is_in(about))
    if as_json:
        print_json(head(claims, rows_wanted(limit, as_json=True)))
        return
    rank = {one: place for place, one in enumerate(_GRAVEST_FIRST)}
    ordered = claims.sort(pl.col("verdict").replace_strict(rank, return_dtype=pl.Int64), maintain_order=True)
    shown = head(ordered, limit)
    said = ", ".join(f"{format_count(counts[one])} {one}" for one in _GRAVEST_FIRST if one in counts)
    console().print(text(f"{plural(sum(counts.values()), 'claim')}{': ' + said if said else ''}", "bold"))
    if cards:
        _print_cards(shown)
    elif shown.height:
        print_table(shown.iter_rows(named=True), _COLUMNS, right=("sequence_no",), flexible="why")
    if shown.height < ordered.height:
        footer(f"{format_count(ordered.height - shown.height)} more; -n 0 shows all", "dim")
    footer(_LIMITS, "dim")


def _print_cards(claims: pl.DataFrame) -> None:
    out = console()
    for claim in claims.iter_rows(named=True):
        out.print()
        out.print(text(f"{claim['verdict']} ({claim['rule']})", f"bold {_COLOUR[claim['verdict']]}".strip()))
        out.print(text(f"  said   {one_line(claim['text'], 200)}"))
        out.print(text(f"  why    {one_line(claim['why'], 400)}"))
        out.print(
            text(f"  where  run {short_id(claim['run_id'])}, message {claim['sequence_no']}: {claim['place']}", "dim")
        )
        for reference in claim["evidence"][:_EVIDENCE]:
            out.print(text(f"  see    {one_line(reference, 200)}", "dim"))


_EVIDENCE: Final = 5


def _cut(value: object) -> str:
    return one_line(value, 44)


_COLUMNS: Final[dict[str, tuple[str, Cell]]] = {
    "verdict": ("verdict", str),
    "rule": ("rule", str),
    "run_id": ("run", short_id),
    "sequence_no": ("message", str),
    "text": ("said", _cut),
    "why": ("why", one_line),
}
