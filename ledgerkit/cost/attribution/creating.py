"""What parts cost that a model wrote: the output of the call that wrote them.

Reasoning pays for the thoughts that are recorded, the rest of the output for everything else. Each amount is cut to
whole pico-dollars per token; what is left over goes, one each, to the first tokens. Output that no part holds is on a
named line; where the parts were counted as more tokens than the call has, they are scaled down.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.cost.attribution.slopes import nanos
from ledgerkit.protocol.vocabulary import MessageKind

_PER_NANO: Final = 1_000
_KEYS: Final = ["call", "is_thought"]


def created(calls: pl.DataFrame, written: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Shares the output of calls among what they wrote.

    Args:
        calls: Priced calls with a number each: ``call``, ``output_tokens``, ``reasoning_tokens``, ``cost_output``,
            ``cost_reasoning``.
        written: Parts in order: ``call``, ``part``, ``kind``, ``tokens``.

    Returns:
        ``part``, ``call``, ``creation_pico``, by part; and by call ``call``, ``hidden_pico`` (what no part is charged
        with), ``hidden_tokens`` and ``is_output_scaled``.
    """
    amounts = _amounts(calls)
    has_reasoning = calls.select("call", has_reasoning=pl.col("reasoning_tokens").fill_null(0) > 0)
    parts = (
        written.join(has_reasoning, on="call", maintain_order="left")
        .with_columns(is_thought=(pl.col("kind") == MessageKind.AGENT_THOUGHT_SUMMARY.value) & pl.col("has_reasoning"))
        .with_columns(before=pl.col("tokens").cum_sum().over(_KEYS) - pl.col("tokens"))
    )
    sizes = parts.group_by(_KEYS).agg(mine=pl.col("tokens").sum())
    shares = (
        amounts.join(sizes, on=_KEYS, how="left", maintain_order="left")
        .with_columns(pl.col("mine").fill_null(0))
        .with_columns(shared=pl.max_horizontal("mine", "tokens", 1))
        .with_columns(per_token=pl.col("pico") // pl.col("shared"), extra=pl.col("pico") % pl.col("shared"))
        .with_columns(charged=pl.col("mine") * pl.col("per_token") + pl.min_horizontal("mine", "extra"))
    )
    costs = parts.join(shares.select(*_KEYS, "per_token", "extra"), on=_KEYS, maintain_order="left").select(
        "part",
        "call",
        creation_pico=pl.col("tokens") * pl.col("per_token")
        + (pl.min_horizontal("tokens", pl.col("extra") - pl.col("before"))).clip(0),
    )
    hidden = shares.group_by("call", maintain_order=True).agg(
        hidden_pico=(pl.col("pico") - pl.col("charged")).sum(),
        hidden_tokens=(pl.col("tokens") - pl.col("mine")).clip(0).sum(),
        is_output_scaled=((pl.col("mine") > pl.col("tokens")) & (pl.col("pico") > 0)).any(),
    )
    return costs, hidden


def _amounts(calls: pl.DataFrame) -> pl.DataFrame:
    """Two rows per call: its output without reasoning, and its reasoning."""
    reasoning = pl.col("reasoning_tokens").fill_null(0)
    rows = [
        calls.select(
            "call",
            pl.lit(value).alias("is_thought"),
            tokens.cast(pl.Int64).alias("tokens"),
            (nanos(cost) * _PER_NANO).alias("pico"),
        )
        for value, tokens, cost in (
            (False, pl.col("output_tokens").fill_null(0) - reasoning, "cost_output"),
            (True, reasoning, "cost_reasoning"),
        )
    ]
    return pl.concat(rows).sort(_KEYS)
