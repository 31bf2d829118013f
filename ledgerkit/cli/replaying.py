"""``ledgerkit replay``: a run step by step in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, cast

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import audit_option, json_option, reads_past
from ledgerkit.cli.output import console, one_line, print_json, print_table, text
from ledgerkit.formatting import format_compact, format_count, format_money, format_time, plural
from ledgerkit.replay import Replay, Step

_KEYS: Final = (
    "n next  p previous  g go to  / find  f next failure  c next claim  m dearest step  v what was visible  q quit"
)
_BODY_LINES: Final = 24
_ARGUMENT_LINES: Final = 12
_LINE: Final = 400
_STYLES: Final = {"wrote": "green", "came_back": "yellow", "entered": "cyan", "beside": "dim"}


@click.command("replay")
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN)
@click.option("--step", "at", type=int, help="Show this step only; negative numbers count from the end.")
@click.option("--visible", is_flag=True, help="List everything that was visible by then, not only what was new.")
@click.option("--verify", is_flag=True, help="How true the rebuilt contexts are: of a run's steps, or by log format.")
@click.option("--against", metavar="RUN", type=RUN, help="Where this other run parts from it.")
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(), help="Write all steps as one page that needs no server."
)
@click.option(
    "--strategy",
    "strategies",
    metavar="STRATEGY",
    multiple=True,
    help="Whose contexts the page of --html shows, as in AsRecorded or 'LastObservations(5)'. May be repeated.",
)
@click.option(
    "--allow", multiple=True, metavar="NAME", help="Let a finding of the last scan for secrets pass. May be repeated."
)
@audit_option
@json_option
@reads_past
def replay_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    run_id: str | None,
    at: int | None,
    visible: bool,
    verify: bool,
    against: str | None,
    page: str | None,
    strategies: tuple[str, ...],
    allow: tuple[str, ...],
    audience: lk.Audience,
    as_json: bool,
) -> None:
    """Step through a run: what the model could see by then, what it did, what came back.

    In a terminal: keys step through. Otherwise all steps are printed, or the one that --step names. --html writes a
    page with the history beside each step's context. RUN may be left out with --verify.
    """
    if verify:
        _verify(ledger, run_id, as_json=as_json)
        return
    if run_id is None:
        raise click.UsageError("Name a run. List them with: ledgerkit runs")
    if against is not None:
        _part(ledger, run_id, against, as_json=as_json)
        return
    run = ledger.run(run_id)
    replay = run.replay(audience, strategies=strategies)
    if page is not None:
        from ledgerkit.notebook import export_replay

        written = export_replay(replay, page, allow=allow)
        if as_json:
            print_json({"path": str(written.absolute()), "bytes": written.stat().st_size})
        else:
            click.echo(str(written))
    elif as_json:
        steps = [replay.step(at)] if at is not None else list(replay)
        print_json([_json(step, visible=visible) for step in steps])
    elif at is not None:
        _print_step(replay.step(at), len(replay), visible=visible)
    elif sys.stdin.isatty() and sys.stdout.isatty() and len(replay):
        _interactive(ledger, run, replay, visible=visible)
    else:
        for step in replay:
            _print_step(step, len(replay), visible=visible)
        _print_rest(replay)


def _verify(ledger: lk.Ledger, run_id: str | None, *, as_json: bool) -> None:
    if run_id is None:
        rows = ledger.replay_fidelity()
    else:
        rows = ledger.verify_replay([ledger.run(run_id).run_id]).drop("session_id", "run_id")
    if as_json:
        print_json(rows)
        return
    numbers = [name for name, dtype in rows.schema.items() if dtype.is_numeric()]
    columns = {name: (name.replace("_", " "), _figure if name in numbers else str) for name in rows.columns}
    print_table(rows.iter_rows(named=True), columns, right=numbers)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _part(ledger: lk.Ledger, run_id: str, against: str, *, as_json: bool) -> None:
    found = ledger.first_divergence(run_id, against)
    if as_json:
        print_json(asdict(found))
        return
    out = console()
    out.print(text(found.sentence, "bold"))
    for name, deed in (("this run", found.a), ("the other", found.b)):
        if deed is not None:
            out.print(text(f"{name}, step {deed['step']}, message {deed['sequence_no']}", "dim"))
            for line in _cut(str(deed["text"] or ""), _BODY_LINES):
                out.print(text(f"    {line}"))


def _json(step: Step, *, visible: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"step": step.number, "call": step.call, "visible_parts": step.visible.height}
    out |= {"visible_tokens": step.visible_tokens, "spent": step.spent, "unpriced": step.unpriced}
    names = ("entered", "wrote", "came_back", "beside", *(("visible",) if visible else ()))
    return out | {name: getattr(step, name) for name in (*names, "verdicts")}


def _print_step(step: Step, total: int, *, visible: bool) -> None:
    out, call = console(), step.call
    out.rule(text(f"step {step.number} of {total}", "bold"), align="left")
    figures = [
        call["model"] or "unknown model",
        format_time(call["created_at"]),
        f"in {format_compact(call['input_tokens'])}",
        f"cached {format_compact(call['cache_read_tokens'])}",
        f"out {format_compact(call['output_tokens'])}",
        format_money(call["cost"]),
        f"so far {format_money(step.spent)}",
        *([f"({plural(step.unpriced, 'call')} unpriced)"] if step.unpriced else ()),
    ]
    out.print(text("  ".join(figures), "dim"))
    out.print(
        text(f"visible by then: {plural(step.visible.height, 'part')}, {plural(step.visible_tokens, 'token')} counted")
    )
    _print_parts("visible" if visible else "entered", step.visible if visible else step.entered)
    for name in ("wrote", "came_back", "beside"):
        _print_parts(name, getattr(step, name))
    _print_verdicts(step.verdicts)


def _print_verdicts(verdicts: pl.DataFrame) -> None:
    for row in verdicts.iter_rows(named=True):
        counts = [
            f"{format_count(row[name])} {name}" for name in ("failed", "errors", "passed", "skipped") if row[name]
        ]
        numbers = f" ({', '.join(counts)})" if counts else ""
        why = f": {one_line(row['reason'], 120)}" if row["reason"] and row["verdict"] == "inconclusive" else ""
        origin = "recorded" if row["source"] == "recorded" else "read from the output"
        said = f"{one_line(row['scope'], 80) or 'check'} {row['verdict']}{numbers}{why}"
        console().print(text("verdict", "bold magenta"), text(f"{said} [{origin}]"))


_HEADINGS: Final = {
    "visible": "visible",
    "entered": "new to the model",
    "wrote": "the model wrote",
    "came_back": "came back",
    "beside": "noted beside it (not seen by the model)",
}


def _print_parts(name: str, parts: pl.DataFrame) -> None:
    if not parts.height:
        return
    out = console()
    out.print(text(_HEADINGS[name], f"bold {_STYLES.get(name, '')}".strip()))
    for row in parts.iter_rows(named=True):
        trust = row["part_trust_level"].lower().replace("_", " ")
        label = f"  {row['kind'].lower()} {row['tool_name'] or ''}".rstrip()
        size = f"{format_count(row['token_count'])} tokens" if row["token_count"] is not None else "size unknown"
        status = f", {row['status'].lower()}" if row["status"] and row["status"] != "REQUESTED" else ""
        out.print(text(f"{label}  [{trust}, {size}{status}]", "dim"))
        for line in _body(row, short=name in ("visible", "entered")):
            out.print(text("    " + line))


def _body(row: dict[str, Any], *, short: bool) -> list[str]:
    if row["part_type"] == "tool_call" and not short:
        return _arguments(row["data"])
    body = row["text"] if row["text"] is not None else row["data"]
    if body is None:
        return []
    return [one_line(body, 160)] if short else _cut(str(body), _BODY_LINES)


def _arguments(data: str | None) -> list[str]:
    """A call's arguments, each on its own lines."""
    arguments: object = json.loads(data) if data else {}
    if not isinstance(arguments, dict):
        return _cut(str(arguments), _BODY_LINES)
    lines: list[str] = []
    for name, value in cast(dict[str, object], arguments).items():
        shown = _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _ARGUMENT_LINES)
        lines += [f"{name}: {shown[0]}"] if len(shown) == 1 else [f"{name}:", *("  " + line for line in shown)]
    return lines


def _cut(body: str, limit: int) -> list[str]:
    lines = body.splitlines() or [""]
    shown = [line if len(line) <= _LINE else line[:_LINE] + "…" for line in lines[:limit]]
    return [*shown, f"… {plural(len(lines) - limit, 'more line')}"] if len(lines) > limit else shown


def _print_rest(replay: Replay) -> None:
    rest = replay.after()
    if rest.height:
        console().print(text("after the last call, seen by none", "bold"))
        _print_parts("beside", rest)


def _interactive(ledger: lk.Ledger, run: lk.Run, replay: Replay, *, visible: bool) -> None:
    at = 0
    moves: dict[str, Callable[[int], int | None]] = {
        "n": lambda i: min(i + 1, len(replay) - 1),
        " ": lambda i: min(i + 1, len(replay) - 1),
        "p": lambda i: max(i - 1, 0),
        "f": replay.next_failure,
        "c": lambda i: _next_claim(ledger, run, i),
        "m": lambda _: replay.dearest(),
        "/": lambda i: replay.find(click.prompt("find", default="", show_default=False), i),
        "g": lambda i: _asked_step(replay, i),
    }
    said = ""
    while True:
        click.clear()
        _print_step(replay.step(at), len(replay), visible=visible)
        if at == len(replay) - 1:
            _print_rest(replay)
        console().print(text(f"{_KEYS}{said}", "reverse"))
        key = click.getchar()
        if key in ("q", "\x1b", "\x03", "\x04"):
            return
        if key == "v":
            visible = not visible
        found = moves.get(key, lambda i: i)(at)
        said = "" if found is not None else "  (nothing further)"
        at = at if found is None else found


def _next_claim(ledger: lk.Ledger, run: lk.Run, at: int) -> int | None:
    """The next step in which the model said something that can be checked."""
    claims = ledger.check_claims(runs=run.run_id)
    return min((step for step in claims["step"].to_list() if step is not None and step > at), default=None)


def _asked_step(replay: Replay, at: int) -> int:
    return min(max(click.prompt("step", default=at, type=int), 0), len(replay) - 1)
