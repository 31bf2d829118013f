"""A comparison for a terminal.

One rule: names from logs reach a terminal with their control characters shown, never obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ledgerkit.comparison import Compared
from ledgerkit.formatting import UNKNOWN, format_count, short_id
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.excerpts import one_line

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from ledgerkit.terminal.tables import FittedTable

_STYLES: Final = {"bad": "bold red", "good": "green", "warn": "yellow"}
_FLIPS: Final = 12
_LEAVING: Final = ("MDE", "p", "worse, better", "tasks", "interval")
"""Where there is no room: what the sides differ in and whether that passes stays longest."""


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


def _metrics(compared: Compared) -> FittedTable:
    statuses = dict(compared.frame("gates").select("metric", "status").iter_rows())
    rows = [_metric(row, statuses.get(row["metric"])) for row in compared.frame("metrics").to_dicts()]
    numbers = ("baseline", "candidate", "effect", "interval", "tasks", "worse, better", "p", "MDE")
    return _table(("metric", *numbers[:4], "verdict", "gate", *numbers[4:]), numbers, rows, _LEAVING)


def _metric(row: Mapping[str, Any], gate: str | None) -> list[Text]:
    return [
        _text(words.title_of(row["metric"]), "bold" if gate else ""),
        _text(words.side_value(row["metric"], row["baseline"])),
        _text(words.side_value(row["metric"], row["candidate"])),
        _text(words.effect_value(row["kind"], row["effect"])),
        _text(words.interval(row)),
        _text(row["verdict"], _style(row["verdict"])),
        _text(gate or "", _style(gate or "")),
        _text(format_count(row["tasks"])),
        _text(f"{format_count(row['worse'])}, {format_count(row['better_tasks'])}"),
        _text(words.p_text(row["p_adjusted"])),
        _text(words.mde_text(row)),
    ]


def _flips(compared: Compared) -> list[Text | FittedTable]:
    flips = compared.frame("flips")
    if flips.is_empty():
        return []
    rows: list[list[Text]] = []
    for row in flips.head(_FLIPS).to_dicts():
        before, after = (words.side_value("success", row[side]) for side in ("baseline", "candidate"))
        replays = [(row[f"{side}_replay"] or UNKNOWN).rpartition(" ")[2] for side in ("baseline", "candidate")]
        rows.append(
            [
                _text(one_line(row["pair"], 60)),
                _text(f"{before} → {after}", _style(row["direction"])),
                *(_text(short_id(replay)) for replay in replays),
            ]
        )
    heads = ("task", "success", "baseline run", "candidate run")
    said = ["Open one with: ledgerkit replay RUN"]
    if flips.height > _FLIPS:
        said.append(f"{flips.height - _FLIPS} more in frame('flips')")
    table = _table(heads, heads[1:], rows)
    return [_text(""), _text("Tasks whose success changed", "bold"), table, _text("; ".join(said), "dim"), _text("")]


def _table(
    heads: tuple[str, ...], whole: tuple[str, ...], rows: list[list[Text]], leaving: tuple[str, ...] = ()
) -> FittedTable:
    from ledgerkit.terminal.tables import Column, FittedTable

    return FittedTable(
        [Column(head, right=head in whole, fixed=head != "task") for head in heads],
        rows,
        leaving=[heads.index(head) for head in leaving],
    )


def _text(value: str, style: str = "") -> Text:
    from ledgerkit.terminal.tables import inert_text

    return inert_text(value, style)


def _style(verdict: str) -> str:
    return _STYLES.get(words.TONES.get(verdict, "plain"), "")
