"""The summary of an evaluation in words and figures, the same in every form of it.

One rule: a heading is explained wherever it is shown, and what is unknown is shown as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from ledgerkit.formatting import UNKNOWN, format_count, format_money
from ledgerkit.strategies import AsRecorded
from ledgerkit.tables.money import ONE_PICO

RECORDED: Final = AsRecorded().label
"""The strategy against which savings are told: what was recorded."""

_SHARES: Final = {
    "retention": "evidence_retention",
    "lift": "lift",
    "edits": "edit_support",
    "failures": "failure_visibility",
    "policy": "policy_retention",
    "valid": "validity",
    "stale": "staleness",
}

HEADINGS: Final = ("strategy", "runs", "input tokens", "cost", "saved", "cost in tokens", *_SHARES)
"""What a table of strategies shows."""

LEGEND: Final = {
    "input tokens, cost": "of what logs hold, with the prompt cache followed. A system prompt, schemas of tools and "
    "whatever else stands in no log are in none of the sums, so that they are below what was billed",
    "saved": f"share of what {RECORDED} costs; {UNKNOWN} where that is not among the strategies or not known",
    "cost in tokens": "the same in tokens of fresh input",
    "retention": "share of what the next recorded calls named that the context held; lift: more than by dropping as "
    "much at random",
    "edits": "share of the edited lines that the context held",
    "failures, policy, valid": "share of steps that show each open failure, hold each instruction, tear nothing "
    "apart: 1, or it is no candidate",
    "stale": "share of the tokens of files whose file was changed since",
}
"""What the headings mean."""


def with_savings(summary: pl.DataFrame) -> pl.DataFrame:
    """The summary with ``saved_share``, what each strategy saves of the cost of what was recorded.

    It is null where either cost is unknown, or leaves out another number of steps without a price.
    """
    recorded = summary.filter(pl.col("strategy") == RECORDED)
    if recorded.is_empty() or not recorded["cost_pico"][0]:
        share = pl.lit(None, pl.Float64)
    else:
        same = pl.col("unpriced_steps") == recorded["unpriced_steps"][0]
        share = pl.when(same).then(1 - pl.col("cost_pico") / recorded["cost_pico"][0])
    return summary.with_columns(saved_share=share)


def cells(row: Mapping[str, object]) -> list[str]:
    """A text for each heading."""
    cost, saved = row["cost_pico"], row["saved_share"]
    return [
        str(row["strategy"]),
        f"{row['runs']:,}",
        f"{row['input_tokens']:,}",
        format_money(cost * ONE_PICO if isinstance(cost, int) else None),
        f"{100 * saved:.1f} %".replace("-", "−") if isinstance(saved, float) else UNKNOWN,
        format_count(round(float(str(row["cost_equivalent_tokens"])))),
        *(UNKNOWN if row[name] is None else f"{row[name]:.3f}" for name in _SHARES.values()),
    ]
