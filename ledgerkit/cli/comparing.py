"""``ledgerkit compare``: two sets of runs, task by task, with gates and an exit code for CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import ledgerkit as lk
from ledgerkit.cli.context import json_option, reads_past
from ledgerkit.cli.failing import COMPARISON_ERROR_EXIT, ComparisonFailure
from ledgerkit.cli.output import console, note, print_json
from ledgerkit.errors import ComparisonError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONDITIONS: Final = (
    "label",
    "model",
    "agent",
    "agent_version",
    "repository",
    "branch",
    "task",
    "since",
    "until",
    "runs",
)


class _Misuse(click.UsageError):
    exit_code = COMPARISON_ERROR_EXIT


class _Command(click.Command):
    """Exits with 3 for what went wrong, so that 2 only ever means inconclusive."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401 - handed on as it is
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            raise _Misuse(error.format_message(), error.ctx) from error

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise ComparisonFailure(error.format_message()) from error


@click.command("compare", cls=_Command)
@click.argument("baseline")
@click.argument("candidate")
@click.option("--pair-by", help="Column that says which task a run is about. Default: task_id, or what the gates say.")
@click.option(
    "--gate",
    "gates",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A TOML file that declares gates; without one the usual four, and inconclusive ones pass.",
)
@click.option("--slice", "slices", multiple=True, help="Look at each value of this column. May be repeated.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the bootstrap and the permutation test.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write an HTML page.")
@click.option("--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Also write Markdown.")
@click.option("--manifests", type=click.Path(path_type=Path, file_okay=False), help="Also pin both sets, in a folder.")
@click.option("--allow", multiple=True, metavar="NAME", help="Let a finding of the scan for secrets pass, or all.")
@json_option
@reads_past
def compare_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    baseline: str,
    candidate: str,
    pair_by: str | None,
    gates: Path | None,
    slices: tuple[str, ...],
    seed: int | None,
    html: Path | None,
    markdown: Path | None,
    manifests: Path | None,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare two sets of runs, task by task: success, cost, tokens, steps, time, claims, exposures, checks.

    BASELINE and CANDIDATE are conditions, such as label=before or model=claude-opus-4-5,since=2026-03-01, or files with
    manifests. Exits with 0 if all gates pass, 1 if one regressed, 2 if one is inconclusive and the gates file says
    that this does not pass, and 3 if the comparison could not be made.
    """
    before, after = parse_set(ledger, baseline), parse_set(ledger, candidate)
    found = lk.compare(before, after, pair_by, gates=gates, slices=slices or None, seed=seed)
    if html is not None:
        html.write_text(found.report(allow=allow), "utf-8")
    if markdown is not None:
        markdown.write_text(found.markdown(allow=allow), "utf-8")
    if manifests is not None:
        manifests.mkdir(parents=True, exist_ok=True)
        for name, manifest in found.manifests().items():
            (manifests / f"{name}.json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    if as_json:
        print_json(found.as_data())
    else:
        console().print(found)
        written = [str(path) for path in (html, markdown, manifests) if path is not None]
        if written:
            note(f"Wrote {', '.join(written)}")
    if found.exit_code:
        click.get_current_context().exit(found.exit_code)


def parse_set(ledger: lk.Ledger, given: str) -> lk.RunSet:
    """A run set from what stands on the command line.

    Conditions are separated by commas, alternatives of one by ``|``: ``model=a|b,since=2026-03-01``. A condition that
    has a comma in its value goes on until the next known name.

    Raises:
        ComparisonError: If it is neither a file nor conditions.
    """
    if Path(given).is_file():
        return ledger.run_set(Path(given))
    conditions: dict[str, str] = {}
    last = ""
    for piece in given.split(","):
        name, equals, value = piece.partition("=")
        if equals and name.strip() in _CONDITIONS:
            last = name.strip()
            if last in conditions:
                raise ComparisonError(f"{given!r}: {last} stands twice. Separate alternatives by |: {last}=a|b.")
            conditions[last] = value
        elif last:
            conditions[last] += f",{piece}"
        else:
            raise ComparisonError(
                f"{given!r} is neither a file nor a set of runs. Write conditions such as label=before or "
                f"model=NAME,since=2026-03-01; there are {', '.join(_CONDITIONS)}."
            )
    alternatives: dict[str, Any] = {name: _values(value) for name, value in conditions.items()}
    return ledger.where(**alternatives)


def _values(value: str) -> str | Sequence[str]:
    return value.split("|") if "|" in value else value
