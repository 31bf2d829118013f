"""Writes docs/reference/cli.md from the commands themselves; ``--check`` only says whether it is current."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from ledgerkit.cli import main

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
_WIDTH: Final = 100
_HEAD: Final = """# Reference of the command line

What `--help` says, command by command. Made by `scripts/build_cli_page.py`; do not edit.
"""


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command and group, the program itself first: how it is called, and the context that shows its help."""
    names = main.context_settings.get("help_option_names")
    outer = click.Context(
        main, info_name="ledgerkit", terminal_width=_WIDTH, max_content_width=_WIDTH, help_option_names=names
    )
    yield from _below(main, outer)


def page() -> str:
    """The page as text."""
    found = list(commands())
    lines = [_HEAD, "| command | |", "|---|---|"]
    for name, command, _ in found[1:]:
        if not command.hidden:
            first = (command.help or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            lines.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {first} |")
    lines.append("")
    for name, command, context in found:
        if not command.hidden:
            lines += [f"## {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _below(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if child := command.get_command(context, name):
                yield from _below(child, click.Context(child, context, name, **child.context_settings))


if __name__ == "__main__":
    if "--check" in sys.argv:
        current = PAGE.is_file() and PAGE.read_text("utf-8") == page()
        sys.exit(0 if current else "docs/reference/cli.md is not current. Run `make docs`.")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
