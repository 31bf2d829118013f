"""How true a rebuilt context is: of each step whether what stood in it is known, and how its tokens compare.

One rule: nothing is called exact that the ledger cannot show. A request that was recorded with its digest, and is
rebuilt to the same digest, is exact; a context of which every part is known is exact on the client's side, because
what a server adds or edits is unseen; anything else is opaque, with the reason.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.strategies import Measures


class Fidelity(StrEnum):
    """How true the rebuilt context of a step is."""

    EXACT = "exact"
    """The ledger holds the digest of the request, and the rebuilt one has it."""
    CLIENT_EXACT = "client_exact"
    """Every part is known; what the provider adds or edits is not."""
    OPAQUE = "opaque"
    """Some of it is not in the ledger, or not readable."""


class Unseen(StrEnum):
    """Why a context is opaque. Where several apply, the first of them is given."""

    DIFFERENT = "differs_from_recorded"
    """The request was recorded with its digest, and the rebuilt one has another."""
    SEALED = "sealed_compaction"
    """A compaction whose summary nobody can read stands in it."""
    NO_INSTRUCTIONS = "no_system_prompt"
    """No system instruction is recorded before it."""
    REASONING = "hidden_reasoning"
    """Reasoning that the provider keeps to itself came before it."""
    UNCOUNTED = "uncounted_parts"
    """A part of it has no known size: an image, a document."""


FACTS: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "instructed_from": pl.Int32(),
        "sealed_from": pl.Int32(),
        "reasoning_from": pl.Int32(),
    }
)
"""Columns of the facts about runs: the first step that a system instruction, a sealed compaction or hidden reasoning
came before; null where none did."""

STEPS: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "step": pl.Int32(),
        "rebuilt_tokens": pl.Int64(),
        "reported_tokens": pl.Int64(),
        "difference": pl.Int64(),
        "scale": pl.Float64(),
        "offset": pl.Float64(),
        "residual": pl.Float64(),
        "fidelity": pl.String(),
        "reason": pl.String(),
    }
)
"""Columns of the answer."""
_MIN_STEPS: Final = 3


def verify(measures: Measures, calls: pl.DataFrame, facts: pl.DataFrame, digests: pl.DataFrame) -> pl.DataFrame:
    """Compares rebuilt contexts with what was recorded of the calls.

    Args:
        measures: Measures of ``AsRecorded`` on the runs.
        calls: Rows of ``model_calls``: ``session_id``, ``run_id``, ``step``, ``input_tokens``; the first of a step
            counts.
        facts: What is known of the runs, columns of ``FACTS``.
        digests: ``run_id``, ``step``, ``recorded``, ``rebuilt``: digests of requests, where some were recorded.

    Returns:
        One row per step, in order: ``session_id``, ``run_id``, ``step``, ``rebuilt_tokens``, ``reported_tokens`` (null
        if the log has none), ``difference`` (rebuilt − reported), ``scale`` and ``offset`` (an estimate for the run:
        reported ≈ offset + scale × rebuilt, null with fewer than three steps), ``residual`` (what the estimate leaves),
        ``fidelity`` and ``reason``.
    """
    keys = ["session_id", "run_id", "step"]
    reported = (
        calls.sort(keys).unique(keys, keep="first", maintain_order=True).select(*keys, reported_tokens="input_tokens")
    )
    uncounted = _uncounted(measures)
    steps = (
        measures.steps()
        .select(*keys, rebuilt_tokens="tokens")
        .join(reported, on=keys, how="left", maintain_order="left")
        .join(facts.select(*FACTS).cast(FACTS), on=["session_id", "run_id"], how="left", maintain_order="left")
        .join(uncounted, on=["session_id", "run_id"], how="left", maintain_order="left")
        .join(digests, on=["run_id", "step"], how="left", maintain_order="left")
        .with_columns(difference=pl.col("rebuilt_tokens") - pl.col("reported_tokens"))
    )
    fitted = steps.join(_fits(steps), on=["session_id", "run_id"], how="left", maintain_order="left")
    reason = _reason()
    is_exact = (pl.col("recorded") == pl.col("rebuilt")).fill_null(value=False)
    return fitted.with_columns(
        residual=(pl.col("offset") + pl.col("scale") * pl.col("rebuilt_tokens") - pl.col("reported_tokens")).round(1),
        reason=pl.when(is_exact).then(None).otherwise(reason),
        fidelity=pl.when(is_exact)
        .then(pl.lit(Fidelity.EXACT.value))
        .when(reason.is_null())
        .then(pl.lit(Fidelity.CLIENT_EXACT.value))
        .otherwise(pl.lit(Fidelity.OPAQUE.value)),
    ).select(*STEPS).cast(STEPS)  # fmt: skip


def _reason() -> pl.Expr:
    step = pl.col("step")
    rules = {
        Unseen.DIFFERENT: pl.col("recorded") != pl.col("rebuilt"),
        Unseen.SEALED: pl.col("sealed_from") <= step,
        Unseen.NO_INSTRUCTIONS: (pl.col("instructed_from") > step).fill_null(value=True),
        Unseen.REASONING: pl.col("reasoning_from") <= step,
        Unseen.UNCOUNTED: pl.col("uncounted_from") <= step,
    }
    return pl.coalesce(*(pl.when(rule.fill_null(value=False)).then(pl.lit(name.value)) for name, rule in rules.items()))


def _uncounted(measures: Measures) -> pl.DataFrame:
    """The first step whose context holds a part without a known size, by run."""
    frames = measures.frames
    parts = frames.parts.filter("is_eligible", ~pl.col("is_counted")).group_by("run")
    first = parts.agg(uncounted_from=pl.col("visible_from").min())
    return first.join(frames.runs, on="run").select("session_id", "run_id", "uncounted_from")


def _fits(steps: pl.DataFrame) -> pl.DataFrame:
    """Scale and offset of each run: the median of what a step adds over what it was rebuilt to add, then of the rest.

    Differences of steps are free of what every request holds unseen; medians are not moved by a few odd steps.
    """
    keys = ["session_id", "run_id"]
    known = steps.filter(pl.col("reported_tokens").is_not_null(), pl.col("reported_tokens") > 0)
    grown = known.with_columns(
        more=pl.col("reported_tokens") - pl.col("reported_tokens").shift().over(keys),
        rebuilt_more=pl.col("rebuilt_tokens") - pl.col("rebuilt_tokens").shift().over(keys),
    ).filter(pl.col("more") > 0, pl.col("rebuilt_more") > 0)
    scales = grown.group_by(keys).agg(
        scale=pl.when(pl.len() >= _MIN_STEPS - 1).then((pl.col("more") / pl.col("rebuilt_more")).median())
    )
    offsets = (
        known.join(scales, on=keys)
        .with_columns(rest=pl.col("reported_tokens") - pl.col("scale") * pl.col("rebuilt_tokens"))
        .group_by(keys)
        .agg(offset=pl.col("rest").median())
    )
    return scales.join(offsets, on=keys, how="left").with_columns(pl.col("scale", "offset").round(4))


def by_format(steps: pl.DataFrame, formats: pl.DataFrame) -> pl.DataFrame:
    """How well contexts are rebuilt, by log format.

    Args:
        steps: Answer of :func:`verify`.
        formats: ``run_id``, ``source_format``.

    Returns:
        One row per format: ``source_format``, ``runs``, ``steps``, ``exact``, ``client_exact``, ``opaque``,
        ``reported`` (steps whose input tokens the log has), and the 5th, 50th and 95th percentile of the difference
        over the reported tokens (``p05``, ``p50``, ``p95``) and of the residual over them (``r05``, ``r50``, ``r95``).
    """
    rows = steps.join(formats.select("run_id", "source_format"), on="run_id", how="left", maintain_order="left")
    share = pl.col("difference") / pl.col("reported_tokens").replace(0, None)
    rest = pl.col("residual") / pl.col("reported_tokens").replace(0, None)
    levels = {"05": 0.05, "50": 0.5, "95": 0.95}
    return (
        rows.group_by("source_format")
        .agg(
            pl.col("run_id").n_unique().cast(pl.Int64).alias("runs"),
            pl.len().cast(pl.Int64).alias("steps"),
            *((pl.col("fidelity") == one.value).sum().cast(pl.Int64).alias(one.value) for one in Fidelity),
            pl.col("reported_tokens").count().cast(pl.Int64).alias("reported"),
            *(share.quantile(level, "nearest").round(4).alias(f"p{name}") for name, level in levels.items()),
            *(rest.quantile(level, "nearest").round(4).alias(f"r{name}") for name, level in levels.items()),
        )
        .sort("source_format")
    )
