"""Verdicts on all metrics at once: families of tests, outcomes that are not known, gates."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Final

import polars as pl

from ledgerkit.comparison import outcomes
from ledgerkit.comparison.gates import Gates
from ledgerkit.comparison.metrics import METRICS
from ledgerkit.comparison.pairing import BASELINE, CANDIDATE, Pairs, matched_tasks, pairs_of
from ledgerkit.comparison.schema import GATE_ROWS, METRIC_ROWS
from ledgerkit.comparison.slicing import natural
from ledgerkit.comparison.verdicts import Effect, Settings, benjamini_hochberg, holm, is_non_inferior, judge, measure

_WORST: Final = {BASELINE: 1.0, CANDIDATE: 0.0}
_BEST: Final = {BASELINE: 0.0, CANDIDATE: 1.0}


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with what it rests on.

    Attributes:
        p_adjusted: The corrected p-value; null without tasks.
        adjustment: How it was corrected.
        verdict: The verdict.
        reason: Why.
        non_inferior: Whether the candidate is shown to be no worse; null where nothing can be said.
    """

    p_adjusted: float | None
    adjustment: str
    verdict: str
    reason: str
    non_inferior: bool | None


def metric_rows(trials: pl.DataFrame, pairs: dict[str, Pairs], gates: Gates, settings: Settings) -> pl.DataFrame:
    """Measures and judges every metric.

    Args:
        trials: Trials of both sides.
        pairs: Each metric by task.
        gates: Which metrics are gated, and with which margins.
        settings: How effects are measured.

    Returns:
        Columns ``METRIC_ROWS``.
    """
    gated = len(gates.margins)
    effects = {
        name: measure(METRICS[name], one, settings, tests=gated if name in gates.margins else 1)
        for name, one in pairs.items()
    }
    judged = judge_all(effects, gates)
    bounds = _bounds(trials, effects, gates, settings)
    if bounds is not None:
        judged["success"] = _whatever_is_unknown(judged["success"], [other["success"] for _, other in bounds])
    worst, best = (None, None) if bounds is None else (effect.difference for effect, _ in bounds)
    rows = [
        _metric_row(
            name, pairs[name], effect, judged[name], gates, (worst, best) if name == "success" else (None, None)
        )
        for name, effect in effects.items()
    ]
    return pl.DataFrame(rows, schema=METRIC_ROWS, orient="row")


def judge_all(effects: dict[str, Effect], gates: Gates) -> dict[str, Judged]:
    """Verdicts of all metrics: the gates share the level by Holm's method, the others by Benjamini and Hochberg's."""
    made: dict[str, Judged] = {}
    for adjustment, correct, is_gated in (("Holm", holm, True), ("Benjamini–Hochberg", benjamini_hochberg, False)):
        named = {name: effect for name, effect in effects.items() if (name in gates.margins) is is_gated}
        p_values = {name: effect.p_value for name, effect in named.items() if effect.p_value is not None}
        corrected = dict(zip(p_values, correct(list(p_values.values())), strict=True))
        for name, effect in named.items():
            metric = METRICS[name]
            margin = gates.margins.get(name, metric.margin)
            verdict, why = judge(metric, effect, p_adjusted=corrected.get(name), margin=margin, alpha=gates.alpha)
            made[name] = Judged(corrected.get(name), adjustment, verdict, why, is_non_inferior(metric, effect, margin))
    return made


def _bounds(
    trials: pl.DataFrame, effects: dict[str, Effect], gates: Gates, settings: Settings
) -> list[tuple[Effect, dict[str, Judged]]] | None:
    """Success and all verdicts if every unknown outcome were the worst for the candidate, and if it were the best."""
    tasks = matched_tasks(trials)
    unknown = (pl.col("state") == outcomes.UNKNOWN) & pl.col("pair").is_in(tasks)
    if trials.filter(unknown).is_empty():
        return None
    found: list[tuple[Effect, dict[str, Judged]]] = []
    for case in (_WORST, _BEST):
        filled = trials.with_columns(
            success=pl.when(unknown).then(pl.col("side").replace_strict(case)).otherwise("success")
        )
        tests = len(gates.margins) if "success" in gates.margins else 1
        effect = measure(METRICS["success"], pairs_of(filled, METRICS["success"], tasks), settings, tests=tests)
        found.append((effect, judge_all({**effects, "success": effect}, gates)))
    return found


def _whatever_is_unknown(found: Judged, bounds: list[Judged]) -> Judged:
    """A verdict that holds whatever the unknown outcomes are; else none."""
    verdicts = [found.verdict, *(one.verdict for one in bounds)]
    non_inferior = bounds[0].non_inferior and found.non_inferior
    if len(set(verdicts)) == 1:
        return Judged(found.p_adjusted, found.adjustment, found.verdict, found.reason, non_inferior)
    why = "depends on outcomes that are not known: " + ", ".join(dict.fromkeys(verdicts)) + " are all possible"
    return Judged(found.p_adjusted, found.adjustment, "inconclusive", why, non_inferior)


def _metric_row(
    name: str, pairs: Pairs, effect: Effect, judged: Judged, gates: Gates, bounds: tuple[float | None, float | None]
) -> tuple[object, ...]:
    metric = METRICS[name]
    values = (effect.baseline, effect.candidate, effect.difference, effect.low, effect.high)
    worse, better = (effect.up, effect.down) if metric.better == "lower" else (effect.down, effect.up)
    mde = effect.mde if metric.kind == "share" or effect.mde is None else exp(effect.mde)
    return (
        name,
        metric.kind,
        metric.better,
        "gate" if name in gates.margins else "exploratory",
        effect.tasks,
        pairs.missing,
        int(pairs.table["baseline_trials"].sum()),
        int(pairs.table["candidate_trials"].sum()),
        *(natural(metric.kind, value) for value in values),
        worse,
        better,
        *bounds,
        effect.test,
        effect.p_value,
        judged.p_adjusted,
        judged.adjustment,
        gates.margins.get(name, metric.margin),
        judged.non_inferior,
        mde,
        effect.mde_alpha,
        effect.mde_method,
        judged.verdict,
        judged.reason,
    )


def gate_rows(metrics: pl.DataFrame, gates: Gates) -> pl.DataFrame:
    """Whether each gate holds: shown to be better or no worse, shown to be worse, or neither."""
    status = (
        pl.when(pl.col("verdict") == "regressed")
        .then(pl.lit("failed"))
        .when((pl.col("verdict") == "improved") | pl.col("non_inferior").fill_null(value=False))
        .then(pl.lit("passed"))
        .otherwise(pl.lit("inconclusive"))
    )
    rows = metrics.filter(pl.col("family") == "gate").with_columns(status=status)
    order = {name: number for number, name in enumerate(gates.margins)}
    rank = pl.col("metric").replace_strict(order, return_dtype=pl.Int64)
    return rows.sort(rank).select(pl.col(name).cast(dtype) for name, dtype in GATE_ROWS.items())
