"""The command line: parses arguments, calls the library once, prints. ``ledgerkit --help`` lists the commands.

A command's module is loaded when the command is asked for, so that none waits for what only another one needs.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from ledgerkit import __version__
from ledgerkit.cli.ending import ended_well
from ledgerkit.cli.failing import ComparisonFailure, LedgerkitFailure
from ledgerkit.cli.nearest import nearest
from ledgerkit.cli.quiet import QUIET

if TYPE_CHECKING:
    from ledgerkit.cli.settings import Settings

_COMMANDS: Final = {
    "import": ("importing", "Import agent logs: files, folders, or those of installed agents."),
    "runs": ("asking", "List runs with their models, steps, tools, tokens and cost."),
    "show": ("showing", "Show a run, a message, or an artifact."),
    "search": ("asking", "Find a text in all messages, whatever its case."),
    "replay": ("replaying", "Step through a run: what the model saw, did, and got back."),
    "context": ("projecting", "Show what a model is given at a step, and what is left out."),
    "cost": ("costing", "What it cost, at the prices of each call's day."),
    "sql": ("asking", "Run one SQL query (DuckDB) over the ledger."),
    "report": ("reporting", "Write an HTML report: of one run, or of the whole ledger."),
    "export": ("exporting", "Write runs as files of another format."),
    "audit": ("auditing", "Look for injected text, what it led to, and secrets."),
    "claims": ("claiming", "Check what models said against what they did."),
    "judge": ("judging", "Judge runs, claims, summaries or diffs, and keep the judgements."),
    "judgements": ("judging", "List what judges said."),
    "annotate": ("judging", "Say something of a run, or of a message, claim, call or artifact."),
    "calibrate": ("judging", "Hold a judge against people's labels, and keep the result."),
    "evaluate": ("evaluating", "Score strategies on recorded runs: tokens, cost, what is lost."),
    "compare": ("comparing", "Compare two sets of runs, task by task, with gates for CI."),
    "fleet": ("fleets", "Show many runs over time: trends, failures, what costs most."),
    "memory": ("remembering", "Show what a run knew at a step, with its evidence."),
    "verify": ("caring", "Check that nothing in the ledger was changed or removed."),
    "checkpoint": ("caring", "Print the head of the ledger's trees."),
    "prove": ("caring", "Print a proof (JSON) that a message is in the ledger."),
    "erase": ("caring", "Erase the content of messages for good."),
    "compact": ("caring", "Put small files together, sorted and checked."),
    "vacuum": ("caring", "Remove files that no recent version uses."),
    "info": ("caring", "Show the stored tables: versions, files, rows, bytes."),
    "drill": ("drilling", "Carry out failure drills: what was expected, what happened."),
    "demo": ("demo", "Import the example runs, show them, and write a report."),
    "lab": ("lab", "Open JupyterLab on the notebooks, with the demo ledger ready."),
    "completion": ("completing", "Print the shell's completion script."),
}
"""Commands in the order of the list: the modules here that hold ``NAME_command``, and the list's line on each.

The lines stand here so that the list loads no command.
"""


class _Commands(click.Group):
    """Loads a command's module at its first use; ends as docs/configuration.md says."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"{__name__}.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        if all(parameter.name != _QUIET_NAME for parameter in command.params):
            command.params.append(_quiet_option())
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands with their lines, none of them loaded; options as click has them."""
        options = super().shell_complete(ctx, incomplete) if incomplete.startswith("-") else []
        fitting = [name for name in _COMMANDS if name.startswith(incomplete)]
        return [*(CompletionItem(name, help=_COMMANDS[name][1]) for name in fitting), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No command {name!r}.{nearest(name, _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        with ended_well(ctx):
            return super().invoke(ctx)


_QUIET_NAME: Final = "quiet"


def _be_quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value:
        context.meta[QUIET] = True


def _quiet_option() -> click.Option:
    """``--quiet``, which every command has."""
    return click.Option(
        ["-q", "--quiet", _QUIET_NAME],
        is_flag=True,
        expose_value=False,
        callback=_be_quiet,
        help="Only results and errors: no progress, no notes.",
    )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--config",
    "config",
    envvar="LEDGERKIT_CONFIG",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings (or set LEDGERKIT_CONFIG). Default: the next ledgerkit.toml here or above.",
)
@click.version_option(__version__, prog_name="ledgerkit")
@click.pass_context
def main(context: click.Context, config: Path | None) -> None:
    """Explore the run histories of AI coding agents.

    Start with:  ledgerkit import ~/.claude/projects   then   ledgerkit runs
    """
    settings = _read_settings(context, config)
    context.default_map = settings.defaults()
    if settings.quiet:
        context.meta[QUIET] = True


def _read_settings(context: click.Context, config: Path | None) -> Settings:
    from ledgerkit.cli.settings import read_settings

    try:
        return read_settings(config)
    except LedgerkitFailure as error:
        if context.invoked_subcommand == "compare":
            raise ComparisonFailure(error.message) from error
        raise


main.params.insert(1, _quiet_option())
