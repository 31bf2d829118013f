"""A comparison in words and figures, the same in every form of its report.

One rule: a figure that is not known is shown as unknown, and a verdict never without what it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from ledgerkit.comparison import METRICS, Compared
from ledgerkit.formatting import UNKNOWN, format_compact, format_duration, format_money, plural
from ledgerkit.reports.blocks import Tone

TONES: Final[dict[str, Tone]] = {
    "regressed": "bad",
    "failed": "bad",
    "worse": "bad",
    "improved": "good",
    "passed": "good",
    "better": "good",
    "equivalent": "good",
    "inconclusive": "warn",
}
"""Colours of verdicts, of statuses and of directions."""


def title_of(metric: str) -> str:
    """What a report calls a metric."""
    return METRICS[metric].title


def side_value(metric: str, value: float | None) -> str:
    """The value of one side.

    Example:
        >>> side_value("success", 0.4312), side_value("cost", 0.0213), side_value("steps", 10.84)
        ('43.1 %', '$0.0213', '10.8')
    """
    if value is None:
        return UNKNOWN
    unit = METRICS[metric].unit
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit == "$":
        return format_money(Decimal(repr(value)))
    if unit == "s":
        return format_duration(value)
    return f"{value:.1f}".removesuffix(".0") if value < 1_000 else format_compact(round(value))


def effect_value(kind: str, value: float | None, *, signed: bool = True) -> str:
    """A difference in percentage points, or a ratio.

    Example:
        >>> effect_value("share", -0.02), effect_value("ratio", 0.9714), effect_value("share", None)
        ('−2.0 pp', '× 0.971', '–')
    """
    if value is None:
        return UNKNOWN
    if kind == "ratio":
        return f"× {value:.3f}" if value < 100 else f"× {value:,.0f}"
    shown = f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
    return f"{shown.replace('-', '−')} pp"


def interval(row: Mapping[str, Any]) -> str:
    """The interval of an effect.

    Example:
        >>> interval({"kind": "share", "low": -0.111, "high": 0.073})
        '−11.1 to +7.3 pp'
    """
    if row["low"] is None or row["high"] is None:
        return UNKNOWN
    low, high = (effect_value(row["kind"], row[end]) for end in ("low", "high"))
    return f"{low.removesuffix(' pp')} to {high.removeprefix('× ')}"


def p_text(value: float | None) -> str:
    """A p-value.

    Example:
        >>> p_text(0.81583), p_text(0.000012), p_text(None)
        ('0.816', '< 0.0001', '–')
    """
    if value is None:
        return UNKNOWN
    return "< 0.0001" if value < 0.0001 else f"{value:.3f}" if value >= 0.001 else f"{value:.4f}"


def mde_text(row: Mapping[str, Any]) -> str:
    """The minimum detectable effect: a difference in points, or by how many per cent an amount must rise."""
    if row["mde"] is None:
        return UNKNOWN
    return f"± {100 * row['mde']:.1f} pp" if row["kind"] == "share" else f"× {row['mde']:.2f}"


def margin_text(kind: str, margin: float) -> str:
    """A margin.

    Example:
        >>> margin_text("share", 0.05), margin_text("ratio", 1.1)
        ('5 pp', '× 1.1')
    """
    return f"{100 * margin:g} pp" if kind == "share" else f"× {margin:g}"


def moved(row: Mapping[str, Any]) -> str:
    """How many tasks got worse and better: b and c of McNemar's test for one trial a side."""
    return f"{row['worse']} worse, {row['better_tasks']} better"


def headline(compared: Compared) -> str:
    """The whole result in a sentence."""
    gates = compared.frame("gates")
    named = {
        status: [title_of(m).lower() for m in gates.filter(gates["status"] == status)["metric"]]
        for status in ("failed", "inconclusive", "passed")
    }
    if named["failed"]:
        return f"Regressed: {', '.join(named['failed'])}."
    if named["inconclusive"]:
        said = "does not pass" if compared.status == "inconclusive" else "passes"
        return f"No gate failed. Not shown to be no worse, which {said} here: {', '.join(named['inconclusive'])}."
    return f"Shown to be no worse: {', '.join(named['passed'])}."


def standing(compared: Compared) -> str:
    """The verdict whose colour the headline has: what was let pass without being shown is not green."""
    found = set(compared.frame("gates")["status"])
    return "inconclusive" if compared.status == "passed" and "inconclusive" in found else compared.status


def counts(compared: Compared) -> list[str]:
    """What was compared, and what could not be, in sentences."""
    sides = {row["side"]: row for row in compared.frame("missing").to_dicts()}
    matched = compared.frame("trials")["pair"].drop_nulls().n_unique() - _lost_tasks(compared)
    lines = [f"{plural(matched, 'task')} on both sides, paired by {compared.gates.pair_by}."]
    for side, row in sides.items():
        parts = [f"{row[name]} {name.replace('_', ' ')}" for name in _STATES if row[name]]
        lines.append(f"{side.capitalize()}: {plural(row['trials'], 'trial')}: {', '.join(parts)}.")
    lost = compared.frame("unmatched")
    for reason, count in lost.group_by("reason").len().sort("reason").iter_rows():
        lines.append(f"Unmatched, {reason}: {plural(count, 'task or group', 'tasks or groups')}.")
    shared = compared.frame("sets")["shared"].max()
    if shared:
        lines.append(f"{plural(int(str(shared)), 'run')} stand on both sides.")
    return lines


def unknowns(compared: Compared) -> list[str]:
    """Sentences about what is not known, and how far it reaches."""
    said: list[str] = []
    row = compared.frame("metrics", metric="success").row(0, named=True)
    if row["worst_case"] is not None:
        worst, best = (effect_value("share", row[name]) for name in ("worst_case", "best_case"))
        said.append(f"Unknown outcomes could put the difference of success anywhere from {worst} to {best}.")
    rows = compared.frame("metrics").to_dicts()
    if absent := [title_of(row["metric"]).lower() for row in rows if not row["tasks"]]:
        said.append(f"Not recorded on both sides of any task: {', '.join(absent)}.")
    for row in rows:
        if row["tasks"] and row["missing_tasks"]:
            missing = plural(row["missing_tasks"], "matched task")
            said.append(f"{title_of(row['metric'])}: {missing} without a value on both sides.")
    return said


def _lost_tasks(compared: Compared) -> int:
    return compared.frame("unmatched")["pair"].drop_nulls().n_unique()


_STATES: Final = ("passed", "failed", "timed_out", "infrastructure", "unknown")


def metric_cells(row: Mapping[str, Any]) -> list[str]:
    """What every table of metrics shows of one: title, both sides, effect, interval, tasks, corrected p-value."""
    return [
        title_of(row["metric"]),
        side_value(row["metric"], row["baseline"]),
        side_value(row["metric"], row["candidate"]),
        effect_value(row["kind"], row["effect"]),
        interval(row),
        f"{row['tasks']} ({moved(row)})",
        p_text(row["p_adjusted"]),
    ]
