"""A comparison for a terminal.

One rule: names from logs reach a terminal with their control characters shown, never obeyed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ledgerkit.comparison import Compared
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.excerpts import one_line
from ledgerkit.safety.inert import inert_terminal

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_STYLES: Final = {"bad": "bold red", "good": "green", "warn": "yellow"}
_FLIPS: Final = 12


def comparison_terminal(compared: Compared) -> Group:
    """Gates, metrics and flips, as something that rich can print."""
    from rich.console import Group

    sides = {row["side"]: row["name"] for row in compared.frame("sets").to_dicts()}
    return Group(
        _text(words.headline(compared), f"bold {_style(words.standing(compared))}"),
        *(_text(f"{side}: {one_line(name, 120)}", "dim") for side, name in sides.items()),
        *(_text(line, "dim") for line in words.counts(compared)),
        _text(""),
        _metrics(compared),
        *(_text(line, "yellow") for line in words.unknowns(compared)),
        *_flips(compared),
        *(_text(f"* {line}", "dim") for line in compared.caveats),
    )


def _metrics(compared: Compared) -> Table:
    heads = ("metric", "baseline", "candidate", "effect", "interval", "tasks", "p", "MDE", "verdict")
    table = _table(heads, right=("baseline", "candidate", "effect", "interval", "p", "MDE"))
    statuses = dict(compared.frame("gates").select("metric", "status").iter_rows())
    for row in compared.frame("metrics").to_dicts():
        name = words.title_of(row["metric"])
        gate = statuses.get(row["metric"])
        verdict = _text(row["verdict"], _style(row["verdict"]))
        if gate:
            verdict.append_text(_text(f" (gate {gate})", _style(gate)))
        table.add_row(
            _text(name, "bold" if gate else ""),
            _text(words.side_value(row["metric"], row["baseline"])),
            _text(words.side_value(row["metric"], row["candidate"])),
            _text(words.effect_value(row["kind"], row["effect"])),
            _text(words.interval(row)),
            _text(f"{row['tasks']}: {words.moved(row)}"),
            _text(words.p_text(row["p_adjusted"])),
            _text(words.mde_text(row)),
            verdict,
        )
    return table


def _flips(compared: Compared) -> list[Text | Table]:
    flips = compared.frame("flips")
    if flips.is_empty():
        return []
    table = _table(("task", "success", "baseline", "candidate"), right=())
    for row in flips.head(_FLIPS).to_dicts():
        before, after = (words.side_value("success", row[side]) for side in ("baseline", "candidate"))
        table.add_row(
            _text(one_line(row["pair"], 60)),
            _text(f"{before} → {after}", _style(row["direction"])),
            _text(row["baseline_replay"] or ""),
            _text(row["candidate_replay"] or ""),
        )
    more = [_text(f"{flips.height - _FLIPS} more in frame('flips')", "dim")] if flips.height > _FLIPS else []
    return [_text(""), _text("Tasks whose success changed", "bold"), table, *more, _text("")]


def _table(heads: tuple[str, ...], right: tuple[str, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", no_wrap=head != "task", overflow="fold")
    return table


def _text(value: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(inert_terminal(value), style=style)


def _style(verdict: str) -> str:
    return _STYLES.get(words.TONES.get(verdict, "plain"), "")
