"""``ledgerkit completion``, and what completes a run's id: it writes nothing, and fails by offering nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem, get_completion_class

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""Ids that no shell reads as anything but a word; a log may hold others."""
_OFFERED: Final = 200
_COMPLETE: Final = "_LEDGERKIT_COMPLETE"
_SHELLS: Final = ("bash", "fish", "zsh")
_HELP: Final = """Print the script that makes a shell complete ledgerkit's commands, options and runs.

Without SHELL, the one that the variable SHELL names.

\b
bash  eval "$(ledgerkit completion bash)"   in ~/.bashrc
zsh   eval "$(ledgerkit completion zsh)"   in ~/.zshrc
fish  ledgerkit completion fish > ~/.config/fish/completions/ledgerkit.fish
"""


class RunType(click.ParamType[str]):
    """A run, named by its id or its session's; a text, with completion from the ledger."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """The text as it is; the ledger says whether there is such a run."""
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Ids that begin with what stands there. Nothing where settings or ledger cannot be read: commands say why."""
        del param
        try:
            return [CompletionItem(one) for one in completed_ids(_ledger_path(ctx), incomplete)]
        except (click.ClickException, OSError, ValueError, *_polars_errors()):
            return []


RUN: Final = RunType()


def _polars_errors() -> tuple[type[Exception], ...]:
    """What damaged files raise; polars is loaded when something was completed, not with every command."""
    import polars as pl

    return (pl.exceptions.PolarsError,)


def completed_ids(ledger: Path, incomplete: str) -> list[str]:
    """Ids of runs and sessions of a ledger that begin with a text and are safe in a shell, sorted.

    A run is also offered by the end of its id that tables show.
    """
    from ledgerkit.store.peeking import peek_ids

    if incomplete and not _SAFE.fullmatch(incomplete):
        return []
    ids = peek_ids(ledger)
    runs = {one[-8:] for one in ids.runs} if len(incomplete) <= 8 else set[str]()
    fitting = sorted(one for one in runs | ids.runs | ids.sessions if one.startswith(incomplete))
    short = [one for one in fitting if one in runs]
    # Without anything typed, both forms of every id would be a wall: the short ones are what tables show.
    return [one for one in (fitting if incomplete else short or fitting) if _SAFE.fullmatch(one)][:_OFFERED]


def _ledger_path(context: click.Context) -> Path:
    """The ledger that the command would read: click does not run the program's own callback while it completes."""
    from ledgerkit.cli.context import DEFAULT_LEDGER
    from ledgerkit.cli.settings import read_settings

    source = context.get_parameter_source("ledger_path")
    if source is click.core.ParameterSource.COMMANDLINE:
        return Path(context.params["ledger_path"])
    outer = context.find_root().params.get("config")
    return Path(read_settings(outer).values.get("ledger", DEFAULT_LEDGER))


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in _SHELLS else "bash"


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(_SHELLS), default=_own_shell)
def completion_command(shell: str) -> None:
    """Prints the script."""
    made = get_completion_class(shell)
    if made is None:
        raise LookupError(f"click completes no {shell}")
    root = click.get_current_context().find_root()
    click.echo(made(root.command, {}, "ledgerkit", _COMPLETE).source())
