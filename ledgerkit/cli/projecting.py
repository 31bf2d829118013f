"""``ledgerkit context``: what a model is given at a step of a run under a strategy, by section, and what is out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past
from ledgerkit.cli.output import console, footer, print_json, text
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.safety.inert import inert_terminal

if TYPE_CHECKING:
    from ledgerkit.projection import Context


@click.command("context")
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option("--step", type=click.IntRange(min=0), help="The step. Default: the one that comes next.")
@click.option(
    "--strategy",
    "name",
    default="AsRecorded",
    show_default=True,
    help="What stands where: a name with its settings, several joined by |, such as 'HeadTail | ClearAt(60000)'.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), help="Tokens of the window: sections of fixed shares, with memory and map."
)
@click.option(
    "--provider",
    type=click.Choice([one.value for one in ProviderInterface]),
    help="Print the request in this interface's form, as JSON.",
)
@click.option("--full", is_flag=True, help="Print the whole request as text, section tags included.")
@click.option("--allow", multiple=True, help="A finding of the last scan for secrets that may pass, or 'all'.")
@json_option
@reads_past
def context_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    run_id: str,
    step: int | None,
    name: str,
    budget: int | None,
    provider: str | None,
    full: bool,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what a model is given at a step of a run, by section, and what is out and why.

    RUN is the run's id, its session's id, or the beginning or end of either.
    """
    context = ledger.project(run_id, step, lk.strategies.parse_strategy(name), budget, allow=allow)
    if provider is not None:
        print_json(context.payload(provider).body)
    elif as_json:
        print_json(
            {
                "request": context.request.model_dump(mode="json"),
                "digest": context.digest,
                "tokens": context.tokens,
                "sections": context.sections,
                "account": context.account,
                "tools": context.tools,
                "questions": context.questions,
            }
        )
    elif full:
        console().print(text(_whole(context)))
    else:
        console().print(text(str(context)), no_wrap=True, overflow="ellipsis")
        footer("Of each section the last pieces; --full prints all of them, whole.", "dim")
        if step is None:
            footer(f"Step {context.step} is the one that would come next; --step chooses another.", "dim")
        footer(_COUNTED, "dim")


_COUNTED: Final = (
    "Tokens of what the ledger holds and of ledgerkit's own tags, in one encoding. A provider counts in its own, and "
    "what stands in no log as well: ledgerkit cost has what was billed."
)


def _whole(context: Context) -> str:
    """All texts of the request in order, by role."""
    from ledgerkit.projection.requesting import rendered

    blocks = [f"--- {piece.role.value}\n{inert_terminal(rendered(piece, context.nonce))}" for piece in context.pieces]
    return "\n".join(blocks)
