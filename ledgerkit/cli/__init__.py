"""The command line: parses arguments, calls the library once, prints. ``ledgerkit --help`` lists the commands."""

from __future__ import annotations

import click

from ledgerkit import __version__
from ledgerkit.cli.asking import runs_command, search_command, sql_command
from ledgerkit.cli.auditing import audit_command
from ledgerkit.cli.caring import (
    checkpoint_command,
    compact_command,
    erase_command,
    info_command,
    prove_command,
    vacuum_command,
    verify_command,
)
from ledgerkit.cli.claiming import claims_command
from ledgerkit.cli.costing import cost_command
from ledgerkit.cli.demo import demo_command
from ledgerkit.cli.drilling import drill_command
from ledgerkit.cli.evaluating import evaluate_command
from ledgerkit.cli.exporting import export_command
from ledgerkit.cli.importing import import_command
from ledgerkit.cli.projecting import context_command
from ledgerkit.cli.remembering import memory_command
from ledgerkit.cli.replaying import replay_command
from ledgerkit.cli.reporting import report_command
from ledgerkit.cli.showing import show_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ledgerkit")
def main() -> None:
    """Explore the run histories of AI coding agents.

    Start with:  ledgerkit import ~/.claude/projects   then   ledgerkit runs
    """


for _command in (
    import_command,
    runs_command,
    show_command,
    search_command,
    replay_command,
    context_command,
    cost_command,
    sql_command,
    report_command,
    export_command,
    audit_command,
    claims_command,
    evaluate_command,
    memory_command,
    verify_command,
    checkpoint_command,
    prove_command,
    erase_command,
    compact_command,
    vacuum_command,
    info_command,
    drill_command,
    demo_command,
):
    main.add_command(_command)
