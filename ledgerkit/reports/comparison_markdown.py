"""A comparison as Markdown, for a pull request.

One rule: a name from a log stands in a code span in which nothing can end it, start a link, a mention or a table cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ledgerkit.comparison import Compared
from ledgerkit.reports import comparison_words as words
from ledgerkit.reports.excerpts import one_line
from ledgerkit.safety.inert import inert_terminal

_SIGNS: Final = {"bad": "🔴", "good": "🟢", "warn": "🟡"}
_FLIPS: Final = 20


def comparison_markdown(compared: Compared, *, manifests: Mapping[str, Any] | None = None) -> str:
    """The comparison as Markdown; details are folded.

    Args:
        compared: The comparison.
        manifests: What it takes to make it again.
    """
    sides = {row["side"]: row["name"] for row in compared.frame("sets").to_dicts()}
    lines = [
        f"## {_sign(words.standing(compared))} {words.headline(compared)}",
        "",
        *(f"- {side}: {quoted(name)}" for side, name in sides.items()),
        *(f"- {line}" for line in (*words.counts(compared), *words.unknowns(compared))),
        "",
        *_metrics(compared),
        "",
        *_flips(compared),
        *_details("What these figures cannot say", [f"- {caveat}" for caveat in compared.caveats]),
        *(_details("Manifests", _manifests(manifests)) if manifests else []),
    ]
    return "\n".join(lines).rstrip() + "\n"


def quoted(name: str, length: int = 90) -> str:
    """A name from a log as a code span.

    Example:
        >>> quoted("a|b` [x](y)")
        "`a¦b' [x](y)`"
    """
    line = one_line(inert_terminal(name), length)
    return f"`{line.translate(_INSTEAD) or ' '}`"


_INSTEAD: Final = str.maketrans({"`": "'", "|": "¦"})


def _metrics(compared: Compared) -> list[str]:
    heads = (
        "metric",
        "baseline",
        "candidate",
        "effect",
        "interval",
        "tasks",
        "p (corrected)",
        "MDE",
        "margin",
        "verdict",
    )
    statuses = dict(compared.frame("gates").select("metric", "status").iter_rows())
    rows: list[list[str]] = []
    for row in compared.frame("metrics").to_dicts():
        gate = statuses.get(row["metric"])
        verdict = f"{_sign(row['verdict'])} {row['verdict']}"
        title, *cells = words.metric_cells(row)
        more = words.mde_text(row), words.margin_text(row["kind"], row["margin"])
        rows.append([f"**{title}**" if gate else title, *cells, *more, f"{verdict}; gate {gate}" if gate else verdict])
    note = (
        f"Gates are in bold. Intervals: {100 * (1 - compared.gates.alpha):g} %. MDE: the smallest difference that "
        f"these tasks find with a chance of 80 %. Seed {compared.gates.seed}."
    )
    return [*_table(heads, rows), "", note]


def _flips(compared: Compared) -> list[str]:
    flips = compared.frame("flips")
    if flips.is_empty():
        return []
    rows = [
        [
            quoted(row["pair"], 60),
            f"{_sign(row['direction'])} {words.side_value('success', row['baseline'])} → "
            f"{words.side_value('success', row['candidate'])}",
            *(quoted(row[name], 200) if row[name] else "" for name in ("baseline_replay", "candidate_replay")),
        ]
        for row in flips.head(_FLIPS).to_dicts()
    ]
    more = [f"{flips.height - _FLIPS} more are in the JSON."] if flips.height > _FLIPS else []
    title = f"Tasks whose success changed ({flips.height})"
    return _details(title, [*_table(("task", "success", "baseline", "candidate"), rows), "", *more])


def _manifests(manifests: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for side, manifest in manifests.items():
        if manifest is not None:
            checkpoint = manifest["checkpoint"]
            about = {"ledger": manifest["ledger"], "tree_size": checkpoint["tree_size"], "root": checkpoint["root"]}
            lines.append(f"- {side}: {len(manifest['runs'])} runs with subagents, `{json.dumps(about)}`")
    return lines


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {' | '.join(row)} |" for row in rows)]


def _details(title: str, lines: Sequence[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _sign(verdict: str) -> str:
    return _SIGNS.get(words.TONES.get(verdict, "plain"), "⚪" if verdict else "")
