"""``ledgerkit drill``: the failure drills of the specification, carried out on fresh ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ledgerkit.cli.context import json_option
from ledgerkit.cli.failing import LedgerkitFailure, explained_errors
from ledgerkit.cli.output import console, print_json, text

if TYPE_CHECKING:
    from ledgerkit.agent.drills import DrillReport

FAILED_EXIT: Final = 1


@click.command("drill")
@click.argument("numbers", metavar="[1|2|3|4]...", nargs=-1, type=click.IntRange(1, 4))
@click.option("--keep", type=click.Path(path_type=Path), help="Folder to keep the drills' ledgers and workspaces in.")
@click.option("--broken", is_flag=True, help="Take each drill's safeguard away, to see that it fails then.")
@json_option
def drill_command(numbers: tuple[int, ...], keep: Path | None, broken: bool, as_json: bool) -> None:
    """Carry out failure drills: what was expected, what happened.

    1: a build log is too long. 2: a file holds a prompt injection. 3: the agent makes up a fact. 4: a tool's result is
    lost. All of them if none is named. Exit code 1 if anything happened that was not expected.
    """
    from ledgerkit.agent.drills import DRILLS, run_drill

    reports: list[DrillReport] = []
    with explained_errors():
        for number in numbers or tuple(DRILLS):
            try:
                reports.append(run_drill(number, keep and keep / f"drill-{number}", broken=broken))
            except FileExistsError as error:
                raise LedgerkitFailure(str(error)) from error
            if not as_json:
                _show(reports[-1])
    if as_json:
        print_json([_as_json(report) for report in reports])
    if not all(report.passed for report in reports):
        raise click.exceptions.Exit(FAILED_EXIT)


def _show(report: DrillReport) -> None:
    out = console()
    safeguard = f" (broken: {report.drill.broken_by})" if report.is_broken else ""
    out.print(text(f"Drill {report.drill.number}: {report.drill.title}{safeguard}", "bold"))
    for number, point in enumerate(report.points, 1):
        out.print(text(f"  {number}. {'passed' if point.passed else 'FAILED'}  {point.expected}",
                       "green" if point.passed else "bold red"))  # fmt: skip
        out.print(text(f"             {point.happened}"))
        out.print(text(f"             {point.shown_by}", "dim"))
    passed = sum(point.passed for point in report.points)
    out.print(text(f"  {passed} of {len(report.points)} as expected\n"))


def _as_json(report: DrillReport) -> dict[str, object]:
    points = [
        {"expected": p.expected, "happened": p.happened, "passed": p.passed, "shown_by": p.shown_by}
        for p in report.points
    ]
    return {
        "drill": report.drill.number,
        "title": report.drill.title,
        "broken_by": report.drill.broken_by if report.is_broken else None,
        "passed": report.passed,
        "points": points,
    }
