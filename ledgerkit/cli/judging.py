"""``ledgerkit judge``, ``judgements``, ``annotate`` and ``calibrate``: what judges and people say of runs."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_ledger, reads_past, rows_wanted
from ledgerkit.cli.output import Cell, console, footer, head, note, one_line, print_json, print_table, text
from ledgerkit.formatting import format_money, plural, short_id

if TYPE_CHECKING:
    from ledgerkit.judges import Judge

_KINDS: Final = ("run", "claim", "summary", "diff")
_INTERFACES: Final = ("openai_chat", "openai_responses", "anthropic", "local")
_RUBRICS: Final = {"run": "task-done", "claim": "claim-holds", "summary": "summary-holds", "diff": "diff-fits"}
_ALL: Final = 0


@click.command("judge")
@click.argument("run_ids", nargs=-1, metavar="[RUN]...", type=RUN)
@click.option("--kind", type=click.Choice(_KINDS), default="run", show_default=True, help="What is judged.")
@click.option("--budget", type=float, metavar="USD", help="Rule judge: budget for runs whose contract has none.")
@click.option("--model", help="Ask this model instead of the rules.")
@click.option("--url", help="Address of its interface, such as http://127.0.0.1:8080/v1.")
@click.option("--interface", type=click.Choice(_INTERFACES), default="openai_chat", show_default=True,
              help="Which form the requests to that address have.")  # fmt: skip
@click.option("--key-env", metavar="NAME", help="Environment variable that holds the key.")
@click.option(
    "--votes", type=click.IntRange(min=1), default=3, show_default=True, help="How often the model is asked about each."
)
@click.option("--cost-cap", type=Decimal, metavar="USD", help="Make no call that could cost more than this in all.")
@click.option("--prices", type=click.Path(path_type=Path, exists=True), help="A price file that goes before the list.")
@json_option
@reads_ledger
def judge_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    run_ids: tuple[str, ...],
    kind: str,
    budget: float | None,
    model: str | None,
    url: str | None,
    interface: str,
    key_env: str | None,
    votes: int,
    cost_cap: Decimal | None,
    prices: Path | None,
    as_json: bool,
) -> None:
    """Judge runs, or claims, summaries and diffs in them, and keep what is said in the ledger.

    Without --model it is the rules that judge. A run that was judged before, by the same judge and rubric, and has not
    gone on since, is not judged again.
    """
    if model is None:
        from ledgerkit.judges import RuleJudge

        judge: Judge = RuleJudge() if budget is None else RuleJudge.with_budget(budget)
    elif url is None:
        raise click.UsageError("A model has an address: give --url.")
    else:
        judge = _model_judge(model, url, interface, key_env, (kind, votes, cost_cap, prices))
    runs = [ledger.run(one).run_id for one in run_ids] or None
    found = ledger.judge(judge, runs=runs, kind=kind)
    if as_json:
        print_json(found)
        return
    counts = ", ".join(f"{count} {label}" for label, count in found["label"].value_counts(sort=True).iter_rows())
    new = int(found["is_new"].sum())
    console().print(text(f"{plural(found.height, 'judgement')} ({new} new): {counts or 'none'}", "bold"))
    _print(found, _ALL)


def _model_judge(model: str, url: str, interface: str, key_env: str | None, asked: tuple[Any, ...]) -> Judge:
    from ledgerkit.cost import PriceBook
    from ledgerkit.judges import MODEL_RUBRICS, ModelJudge
    from ledgerkit.protocol.capabilities import ProviderInterface
    from ledgerkit.providers.http import HttpModel

    kind, votes, cap, prices = asked
    key = None
    if key_env is not None:
        if not os.environ.get(key_env):
            raise click.UsageError(f"The environment variable {key_env} holds no key.")
        key = lambda: os.environ[key_env]  # noqa: E731
    return ModelJudge(
        HttpModel(url, model, ProviderInterface(interface), key),
        MODEL_RUBRICS[_RUBRICS[kind]],
        votes=votes,
        cost_cap_usd=cap,
        prices=None if prices is None else PriceBook.from_file(prices),
    )


@click.command("judgements")
@click.argument("run_ids", nargs=-1, metavar="[RUN]...", type=RUN)
@click.option("--judge", help="Only those of this judge.")
@click.option("--kind", type=click.Choice(_KINDS), help="Only those of this kind of subject.")
@click.option("--all", "everything", is_flag=True, help="Also judgements that are no longer current.")
@click.option("--verdicts", is_flag=True, help="What rules and model judges come to together, one row a subject.")
@click.option("-n", "--limit", default=50, show_default=True, help="Rows to show; 0 shows all.")
@json_option
@reads_past
def judgements_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    run_ids: tuple[str, ...],
    judge: str | None,
    kind: str | None,
    everything: bool,
    verdicts: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List what judges said. A judge that nobody held against people's labels is marked."""
    runs = [ledger.run(one).run_id for one in run_ids] or None
    if verdicts:
        found = ledger.verdicts(runs=runs)
        _show(found if kind is None else found.filter(pl.col("kind") == kind), _VERDICTS, limit, as_json=as_json)
        return
    found = ledger.judgements(runs=runs, judge=judge, kind=kind)
    found = found if everything else found.filter("is_current")
    if as_json:
        print_json(head(found, rows_wanted(limit, as_json=True)))
        return
    _print(found, limit)
    uncalibrated = found.join(ledger.calibrations(), on=_CALIBRATED, how="anti")
    for name, rubric, judged in (
        uncalibrated.select("judge_id", "rubric_id", "kind").unique().sort(pl.all()).iter_rows()
    ):
        line = f"{name} is not calibrated on {judged} by {rubric}: ledgerkit annotate, then ledgerkit calibrate"
        note(line, "yellow")


@click.command("annotate")
@click.argument("target", type=RUN)
@click.option("--label", help="A word; judges are calibrated against passed and failed.")
@click.option("--tag", "tags", multiple=True, help="A further word. May be repeated.")
@click.option("--note", help="A sentence or more.")
@click.option("--by", required=True, envvar="LEDGERKIT_ANNOTATOR", help="Who says so (or set LEDGERKIT_ANNOTATOR).")
@json_option
@reads_ledger
def annotate_command(
    ledger: lk.Ledger, target: str, label: str | None, tags: tuple[str, ...], note: str | None, by: str, as_json: bool
) -> None:
    """Say something of a run, or of a message, claim, call or artifact in one: TARGET is a run or a reference."""
    if not (label or tags or note):
        raise click.UsageError("Say something: --label, --tag or --note.")
    message = ledger.annotate(target, label=label, tags=tags, note=note, by=by)
    if as_json:
        print_json({"message_id": None if message is None else message.message_id, "is_new": message is not None})
    elif message is None:
        footer("Said before; nothing was added.")
    else:
        console().print(text(f"Kept as message:{message.message_id}"))


@click.command("calibrate")
@click.argument("judge")
@click.option("--kind", type=click.Choice(_KINDS), default="run", show_default=True, help="What it judged.")
@click.option("--rubric", "rubric_hash", metavar="HASH", help="The rubric's hash, or its beginning.")
@click.option("--by", help="Only labels of this person.")
@json_option
@reads_ledger
def calibrate_command(
    ledger: lk.Ledger, judge: str, kind: str, rubric_hash: str | None, by: str | None, as_json: bool
) -> None:
    """Hold a judge against people's labels, and keep the result: agreement, kappa, sensitivity, specificity."""
    made = ledger.calibrate(judge, kind=kind, rubric_hash=rubric_hash, by=by)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        console().print(text(str(made)))


def _print(found: pl.DataFrame, limit: int) -> None:
    _show(found, _JUDGEMENTS, limit, as_json=False)


def _show(found: pl.DataFrame, columns: dict[str, tuple[str, Cell]], limit: int, *, as_json: bool) -> None:
    if as_json:
        print_json(head(found, rows_wanted(limit, as_json=True)))
        return
    shown = head(found, limit)
    if shown.height:
        print_table(shown.iter_rows(named=True), columns, flexible=list(columns)[-1])
    if shown.height < found.height:
        footer(f"… and {found.height - shown.height} more (-n 0 shows all)", "dim")


def _number(value: Any) -> str:  # noqa: ANN401 - a cell
    return "" if value is None else f"{value:.2f}"


def _word(value: Any) -> str:  # noqa: ANN401 - a cell
    return "" if value is None else one_line(value, 40)


def _long(value: Any) -> str:  # noqa: ANN401 - a cell
    return one_line(value, 160)


def _trusted(value: Any) -> str:  # noqa: ANN401 - a cell
    return "" if value is None else ("yes" if value else "no")


_CALIBRATED: Final = ["judge_id", "judge_version", "rubric_hash", "kind"]
"""What a calibration is bound to."""
_JUDGEMENTS: Final[dict[str, tuple[str, Cell]]] = {
    "run_id": ("run", short_id),
    "kind": ("kind", str),
    "judge_id": ("judge", _word),
    "label": ("label", str),
    "score": ("score", _number),
    "reason": ("reason", _word),
    "cost": ("cost", format_money),
    "rationale": ("rationale", _long),
}
_VERDICTS: Final[dict[str, tuple[str, Cell]]] = {
    "run_id": ("run", short_id),
    "kind": ("kind", str),
    "verdict": ("verdict", str),
    "decided_by": ("by", _word),
    "by_rules": ("rules", _word),
    "by_model": ("model", _word),
    "is_calibrated": ("calibrated", _trusted),
    "reference": ("where", _long),
}
