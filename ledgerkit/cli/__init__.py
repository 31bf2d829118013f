"""The command line: parses arguments, calls the library once, prints. ``ledgerkit --help`` lists the commands.

A command's module is loaded when the command is asked for, so that none waits for what only another one needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

from ledgerkit import __version__

_COMMANDS: Final = {
    "import": "importing",
    "runs": "asking",
    "show": "showing",
    "search": "asking",
    "replay": "replaying",
    "context": "projecting",
    "cost": "costing",
    "sql": "asking",
    "report": "reporting",
    "export": "exporting",
    "audit": "auditing",
    "claims": "claiming",
    "judge": "judging",
    "judgements": "judging",
    "annotate": "judging",
    "calibrate": "judging",
    "evaluate": "evaluating",
    "compare": "comparing",
    "fleet": "fleets",
    "memory": "remembering",
    "verify": "caring",
    "checkpoint": "caring",
    "prove": "caring",
    "erase": "caring",
    "compact": "caring",
    "vacuum": "caring",
    "info": "caring",
    "drill": "drilling",
    "demo": "demo",
    "lab": "lab",
}
"""Commands, in the order of the list, and the modules here that hold ``NAME_command``."""


class _Commands(click.Group):
    """Loads a command's module at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"{__name__}.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ledgerkit")
def main() -> None:
    """Explore the run histories of AI coding agents.

    Start with:  ledgerkit import ~/.claude/projects   then   ledgerkit runs
    """
