"""``ledgerkit audit``: injection markers, actions that untrusted text suggested, secrets that stand in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import polars as pl

import ledgerkit as lk
from ledgerkit.cli.completing import RUN
from ledgerkit.cli.context import json_option, reads_past, rows_wanted
from ledgerkit.cli.output import Cell, console, footer, head, note, one_line, print_json, print_table, text
from ledgerkit.formatting import format_count, format_money, plural, short_id
from ledgerkit.safety.inert import inert_json
from ledgerkit.safety.injection import LIMITS

_SEVERITIES: Final = ("low", "medium", "high", "critical")
_USUAL: Final = ("markers", "taint", "labels", "secrets")
_KINDS: Final = (*_USUAL, "patterns")
_FORMS: Final = {".html": "to_html", ".md": "to_markdown", ".json": "to_json", ".txt": "__str__"}
_ALL: Final = 0


@click.command("audit")
@click.argument("run_id", required=False, type=RUN)
@click.option(
    "--what",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Only markers of injection, actions that untrusted text suggested, labels that say more than their sources', "
    "secrets, or anti-patterns with what each cost (asked for by name only). May be repeated.",
)
@click.option(
    "--severity", type=click.Choice(_SEVERITIES), default="medium", show_default=True, help="The least grave to show."
)
@click.option("-n", "--limit", default=20, show_default=True, help="Findings of each kind to show; 0 shows all.")
@click.option(
    "--report",
    "report",
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="Answer the ten questions of an audit about RUN, here or in a file: .html, .md, .json or .txt.",
)
@click.option(
    "--allow", multiple=True, metavar="NAME", help="Let a finding of the last scan for secrets pass. May be repeated."
)
@json_option
@reads_past
def audit_command(  # noqa: PLR0913, PLR0917 - one argument per option
    ledger: lk.Ledger,
    run_id: str | None,
    what: tuple[str, ...],
    severity: str,
    limit: int,
    report: str | None,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Look for text that wants to steer an agent, for actions that it led to, and for secrets in the ledger.

    An audit finds markers and flows. It never says that a run is clean.
    """
    if report is not None:
        _write_report(ledger, run_id, report, allow, as_json=as_json)
        return
    runs = [] if run_id is None else [ledger.run(run_id).run_id]
    wanted = what or _USUAL
    shown = _SEVERITIES[_SEVERITIES.index(severity) :]
    found: dict[str, pl.DataFrame] = {}
    if "markers" in wanted:
        markers = ledger.injection_markers(runs=runs)
        found["markers"] = markers.filter(pl.col("severity").is_in(shown))
    if "taint" in wanted:
        found["taint"] = ledger.tainted_actions(runs=runs).filter(pl.col("severity").is_in(shown))
    if "labels" in wanted:
        found["labels"] = ledger.amplified_labels(runs=runs)
    if "secrets" in wanted:
        secrets = ledger.standing_secrets()
        found["secrets"] = secrets.filter(pl.col("run_id").is_in(runs)) if runs else secrets
    if "patterns" in wanted:
        found["patterns"] = ledger.anti_patterns(runs=runs or None)
    if as_json:
        most = rows_wanted(limit, as_json=True)
        print_json({**{name: head(frame, most) for name, frame in found.items()}, "limits": LIMITS})
        return
    for name, frame in found.items():
        _SECTIONS[name](ledger, frame, limit)
    if found.keys() & {"markers", "taint"}:
        footer(LIMITS, "dim")


def _write_report(ledger: lk.Ledger, run_id: str | None, target: str, allow: tuple[str, ...], *, as_json: bool) -> None:
    if run_id is None:
        raise click.UsageError("A report is about one run: ledgerkit audit RUN --report")
    form = _FORMS.get(Path(target).suffix.lower())
    if target != "-" and form is None:
        raise click.UsageError(f"{target}: a report is written as one of {', '.join(_FORMS)}.")
    made = ledger.run(run_id).audit_report(allow=allow)
    if form is not None and target != "-":
        Path(target).write_text(getattr(made, form)(), "utf-8")
        note(f"Wrote {target}")
    elif as_json:
        click.echo(inert_json(made.to_json()), nl=False)
    else:
        console().print(text(str(made)))


def _print_patterns(ledger: lk.Ledger, patterns: pl.DataFrame, limit: int) -> None:
    del ledger
    runs = plural(patterns["run_id"].n_unique(), "run") if patterns.height else "no run"
    _heading("Anti-patterns", f"{format_count(patterns.height)} in {runs}; costs overlap")
    columns: dict[str, tuple[str, Cell]] = {
        "severity": ("severity", str),
        "pattern": ("pattern", _words),
        "run_id": ("run", short_id),
        "tokens": ("tokens", format_count),
        "cost": ("cost", format_money),
        "why": ("why", _excerpt),
    }
    _print(patterns, columns, limit)


def _print_markers(ledger: lk.Ledger, markers: pl.DataFrame, limit: int) -> None:
    del ledger
    shown = markers.filter(pl.col("exposure") == "shown")
    runs = plural(markers["run_id"].n_unique(), "run") if markers.height else "no run"
    _heading(
        "Injection markers",
        f"{format_count(markers.height)} in {runs}; the model could see {format_count(shown.height)}",
    )
    columns: dict[str, tuple[str, Cell]] = {
        "severity": ("severity", str),
        "run_id": ("run", short_id),
        "sequence_no": ("message", _number),
        "part_trust_level": ("trust", _words),
        "exposure": ("model", _words),
        "rules": ("rules", _some),
        "excerpt": ("excerpt", _excerpt),
    }
    _print(_by_message(_gravest(markers)), columns, limit)


def _by_message(markers: pl.DataFrame) -> pl.DataFrame:
    """One row a message: its gravest marker, and the rules that found any."""
    keys = ["run_id", "sequence_no"]
    others = ["severity", "part_trust_level", "exposure", "excerpt"]
    grouped = markers.group_by(keys, maintain_order=True).agg(
        pl.col(others).first(), pl.col("rule").unique(maintain_order=True).alias("rules")
    )
    return _gravest(grouped)


def _print_taint(ledger: lk.Ledger, actions: pl.DataFrame, limit: int) -> None:
    del ledger
    calls = actions.select(pl.struct("run_id", "tool_call_id").n_unique()).item()
    _heading(
        "Untrusted-influenced actions",
        f"{format_count(actions.height)} in {plural(calls, 'call')}: only untrusted text had named what they name",
    )
    columns: dict[str, tuple[str, Cell]] = {
        "severity": ("severity", str),
        "sink": ("sink", str),
        "run_id": ("run", short_id),
        "sequence_no": ("message", _number),
        "tool_name": ("tool", str),
        "value": ("names", _excerpt),
        "source_sequence_no": ("source", _number),
        "source_excerpt": ("source says", _excerpt),
    }
    _print(_gravest(actions), columns, limit)


def _print_labels(ledger: lk.Ledger, labels: pl.DataFrame, limit: int) -> None:
    del ledger
    _heading("Labels that say more than their sources", format_count(labels.height))
    columns: dict[str, tuple[str, Cell]] = {
        "rule": ("rule", str),
        "run_id": ("run", short_id),
        "sequence_no": ("message", _number),
        "label": ("labelled", _words),
        "source_label": ("source", _words),
        "reference": ("evidence", _excerpt),
    }
    _print(labels, columns, limit)


def _print_secrets(ledger: lk.Ledger, secrets: pl.DataFrame, limit: int) -> None:
    _heading("Secrets that stand in the ledger", format_count(secrets.height))
    columns: dict[str, tuple[str, Cell]] = {
        "secret_type": ("type", str),
        "fingerprint": ("fingerprint", str),
        "run_id": ("run", short_id),
        "sequence_no": ("message", _number),
        "field": ("field", str),
        "rule": ("rule", str),
    }
    _print(secrets, columns, limit)
    if secrets.height:
        ids = secrets["message_id"].unique(maintain_order=True)
        more = " …" if len(ids) > limit > _ALL else ""
        named = " ".join(ids if limit == _ALL else ids.head(limit))
        footer(f'To remove them: ledgerkit erase {named}{more} --reason "secret" --ledger {ledger.path}')


_SECTIONS: Final = {
    "markers": _print_markers,
    "taint": _print_taint,
    "labels": _print_labels,
    "secrets": _print_secrets,
    "patterns": _print_patterns,
}


def _gravest(findings: pl.DataFrame) -> pl.DataFrame:
    rank = pl.col("severity").replace_strict(
        {name: -number for number, name in enumerate(_SEVERITIES)}, return_dtype=pl.Int64
    )
    return findings.sort(rank, maintain_order=True)


def _heading(title: str, what: str) -> None:
    console().print(text(title, "bold"), text(what, "dim"))


def _print(findings: pl.DataFrame, columns: dict[str, tuple[str, Cell]], limit: int) -> None:
    shown = head(findings, limit)
    if shown.height:
        print_table(shown.iter_rows(named=True), columns, flexible=list(columns)[-1])
    if shown.height < findings.height:
        footer(f"… and {format_count(findings.height - shown.height)} more (-n 0 shows all)", "dim")
    console().print()


def _number(value: Any) -> str:  # noqa: ANN401 - a cell
    return "" if value is None else f"#{value}"


def _words(value: Any) -> str:  # noqa: ANN401 - a cell
    return "" if value is None else str(value).lower().replace("_", " ")


def _some(value: Any) -> str:  # noqa: ANN401 - a cell
    more = f" +{len(value) - 2}" if len(value) > 2 else ""
    return ", ".join(value[:2]) + more


def _excerpt(value: Any) -> str:  # noqa: ANN401 - a cell
    return one_line(value, 90)
