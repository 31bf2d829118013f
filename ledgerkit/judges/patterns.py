"""The anti-patterns of specification §22 as findings over recorded runs, with what each cost.

Frames in, frames out. What a part cost is what attribution says of it; where nothing is priced, the cost is null and
the tokens stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import polars as pl

from ledgerkit.cost.attribution import Attribution
from ledgerkit.memory.evidence.calls import references
from ledgerkit.protocol.vocabulary import TrustLevel
from ledgerkit.tables.money import DOLLARS, dollars

RUN: Final = ["session_id", "run_id"]
_CITED: Final = 10


class Pattern(StrEnum):
    """What specification §22 warns of."""

    WHOLE_HISTORY = "whole_history_resent"
    """Every call was sent all that came before."""
    RAW_OUTPUT = "raw_tool_output"
    """A tool's long output stood in the prompt as it came."""
    REPOSITORY_INSTRUCTS = "repository_text_instructs"
    """Text of the repository or the network stood where instructions stand."""
    MODEL_MEMORY = "memory_without_evidence"
    """A model wrote the memory that later calls went by, with no evidence for it."""
    UNCORRELATED = "uncorrelated_calls"
    """Calls and results that cannot be told apart or brought together."""


FINDINGS: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "pattern": pl.String(),
        "severity": pl.String(),
        "count": pl.Int64(),
        "tokens": pl.Int64(),
        "cost": DOLLARS,
        "why": pl.String(),
        "evidence": pl.List(pl.String()),
    }
)
"""One row a run and pattern: how many parts, messages or calls it is about, ``tokens`` that went to models because of
it, what that ``cost`` in US dollars (null where it is not known), and up to ten references, the gravest first."""
_SENT: Final = pl.Schema(
    {
        "session_id": pl.String(),
        "run_id": pl.String(),
        "message_id": pl.String(),
        "part_index": pl.Int32(),
        "sequence_no": pl.Int64(),
        "kind": pl.String(),
        "part_type": pl.String(),
        "trust_level": pl.String(),
        "tool_name": pl.String(),
        "is_result": pl.Boolean(),
        "tokens": pl.Int64(),
        "sent_tokens": pl.Int64(),
        "carried_calls": pl.Int64(),
        "cost_pico": pl.Int64(),
        "creation_pico": pl.Int64(),
        "is_priced": pl.Boolean(),
        "steps": pl.Int64(),
        "is_last": pl.Boolean(),
        "is_eligible": pl.Boolean(),
    }
)
"""One row a part: how often it was sent in full, and what that cost."""
_INSTRUCTING: Final = ("SYSTEM_INSTRUCTION", "DEVELOPER_INSTRUCTION", "ORG_POLICY")
_UNTRUSTED: Final = [level.value for level in TrustLevel if level.is_untrusted]


def sent_parts(found: Attribution) -> pl.DataFrame:
    """Every part of some runs with how often it stood in a context in full, and what that cost (``_SENT``)."""
    runs = found.frames.runs.select("run", *RUN, pl.col("steps").cast(pl.Int64))
    priced = found.calls.select(RUN).unique().with_columns(is_priced=pl.lit(value=True))
    full = found.projection.placements.filter(pl.col("rendition").cast(pl.String) == "full")
    stood = full.group_by("part").agg(
        stood=(pl.col("to_step") - pl.col("from_step")).sum().cast(pl.Int64), until=pl.col("to_step").max()
    )
    costs = found.parts().select("part", "carrying_pico", "carried_calls", "creation_pico")
    return (
        found.frames.parts.join(runs, on="run", how="left", maintain_order="left")
        .join(stood, on="part", how="left", maintain_order="left")
        .join(costs, on="part", how="left", maintain_order="left")
        .join(priced, on=RUN, how="left", maintain_order="left")
        .with_columns(
            sent_tokens=pl.col("tokens") * pl.col("stood").fill_null(0),
            cost_pico="carrying_pico",
            is_priced=pl.col("is_priced").fill_null(value=False),
            is_last=(pl.col("until") >= pl.col("steps")).fill_null(value=False),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in _SENT.items())
    )


def no_sent_parts() -> pl.DataFrame:
    """No row, with the columns of :func:`sent_parts`."""
    return _SENT.to_frame()


def whole_history(sent: pl.DataFrame, *, least_steps: int, least_tokens: int) -> pl.DataFrame:
    """Runs whose last call was sent all that came before, word for word.

    The cost is that of sending parts again: what a part cost over all calls but the first that held it, where each of
    its calls counts alike.
    """
    could = sent.filter("is_eligible")
    again = (pl.col("carried_calls") - 1).clip(0)
    by_run = could.group_by(RUN, maintain_order=True).agg(
        steps=pl.col("steps").first(),
        all_tokens=pl.col("tokens").sum(),
        kept=pl.col("tokens").filter("is_last").sum(),
        count=pl.col("is_last").sum().cast(pl.Int64),
        tokens=(pl.col("sent_tokens") - pl.col("tokens")).clip(0).sum(),
        pico=(pl.col("cost_pico") * again // pl.col("carried_calls").clip(1)).sum(),
        is_priced=pl.col("is_priced").first(),
        evidence=pl.format("message:{}", "message_id")
        .sort_by("cost_pico", "sent_tokens", descending=True)
        .head(_CITED),
    )
    rows = by_run.filter(
        pl.col("steps") >= least_steps,
        pl.col("all_tokens") >= least_tokens,
        pl.col("kept") >= pl.col("all_tokens") * 99 // 100,
    )
    why = pl.format(
        "Its last of {} calls was sent all {} tokens of its history; nothing ever left.", "steps", "all_tokens"
    )
    severity = pl.when(pl.col("all_tokens") >= 5 * least_tokens).then(pl.lit("high")).otherwise(pl.lit("medium"))
    return _findings(rows, Pattern.WHOLE_HISTORY, severity, why)


def raw_outputs(sent: pl.DataFrame, *, least_tokens: int) -> pl.DataFrame:
    """Long answers of tools that stood in a context in full."""
    long = sent.filter("is_result", pl.col("tokens") >= least_tokens, pl.col("sent_tokens") > 0)
    rows = _by_run(long).with_columns(largest="largest")
    why = pl.format("{} outputs of {} tokens or more were sent as they came; the longest has {}.", "count",
                    pl.lit(least_tokens), "largest")  # fmt: skip
    severity = pl.when(pl.col("largest") >= 5 * least_tokens).then(pl.lit("high")).otherwise(pl.lit("medium"))
    return _findings(rows, Pattern.RAW_OUTPUT, severity, why)


def repository_instructs(sent: pl.DataFrame) -> pl.DataFrame:
    """Untrusted text in messages that instruct."""
    rows = _by_run(sent.filter(pl.col("kind").is_in(_INSTRUCTING), pl.col("trust_level").is_in(_UNTRUSTED)))
    why = pl.format("{} parts of {} text stood in messages that instruct.", "count", pl.col("trusts").list.join(", "))
    known = pl.col("trusts").list.set_difference(["UNKNOWN"]).list.len() > 0
    severity = pl.when(known).then(pl.lit("high")).otherwise(pl.lit("medium"))
    return _findings(rows, Pattern.REPOSITORY_INSTRUCTS, severity, why)


def model_memory(
    sent: pl.DataFrame, bare: pl.DataFrame, compactions: pl.DataFrame, edited: pl.DataFrame
) -> pl.DataFrame:
    """Summaries of a model in the place of history, and files of instructions that the model changed itself.

    Args:
        sent: As :func:`sent_parts` gives them.
        bare: ``message_id``, ``part_index`` of summaries that a model wrote and that cite no evidence.
        compactions: As ``Ledger.check_compactions`` gives them: what such summaries hid or made up.
        edited: ``session_id``, ``run_id``, ``message_id``: changes of instruction files by the run itself.
    """
    written = sent.join(bare, on=["message_id", "part_index"], how="semi", maintain_order="left")
    made_up = compactions.filter(pl.col("verdict").is_in(["invented", "hidden"])).group_by(RUN).agg(bad=pl.len())
    changed = edited.group_by(RUN, maintain_order=True).agg(
        edits=pl.len().cast(pl.Int64), places=pl.format("message:{}", "message_id").head(_CITED)
    )
    both = _by_run(written, with_creation=True).join(
        changed, on=RUN, how="full", coalesce=True, maintain_order="left_right"
    )
    rows = both.join(made_up, on=RUN, how="left", maintain_order="left").with_columns(
        pl.col("bad", "edits", "count").fill_null(0),
        evidence=pl.concat_list(pl.col("evidence").fill_null([]), pl.col("places").fill_null([])).list.head(_CITED),
    )
    why = pl.format(
        "Summaries that a model wrote without evidence: {}; items in them that are invented or hide a failure: {}; "
        "changes of instruction files by the run itself: {}.", "count", "bad", "edits",
    )  # fmt: skip
    severity = pl.when(pl.col("bad") > 0).then(pl.lit("high")).otherwise(pl.lit("medium"))
    return _findings(rows.with_columns(count=pl.col("count") + pl.col("edits")), Pattern.MODEL_MEMORY, severity, why)


def uncorrelated(calls: pl.DataFrame, loose: pl.DataFrame, sent: pl.DataFrame) -> pl.DataFrame:
    """Calls without a result, results without a call, and ids that stand for several calls.

    Args:
        calls: ``session_id``, ``run_id``, ``tool_call_id``, ``message_id``, ``result_count`` of every call.
        loose: ``session_id``, ``run_id``, ``message_id`` of results that no call of their run asked for.
        sent: As :func:`sent_parts` gives them.
    """
    named = calls.join(references(calls["tool_call_id"]), on="tool_call_id", how="left", maintain_order="left")
    open_calls = named.filter(pl.col("result_count") == 0).select(
        *RUN, "reference", sort=pl.lit("call without a result")
    )
    twice = named.filter(pl.len().over([*RUN, "tool_call_id"]) > 1).select(
        *RUN, "reference", sort=pl.lit("id used twice")
    )
    alone = loose.select(*RUN, reference=pl.format("message:{}", "message_id"), sort=pl.lit("result without a call"))
    rows = pl.concat([alone, twice, open_calls]).unique(maintain_order=True)
    counts = (
        rows.group_by([*RUN, "sort"], maintain_order=True).len().with_columns(said=pl.format("{} × {}", "len", "sort"))
    )
    said = counts.group_by(RUN, maintain_order=True).agg(why=pl.col("said").str.join(", "))
    costs = (
        sent.join(loose, on=[*RUN, "message_id"], how="semi")
        .group_by(RUN)
        .agg(tokens=pl.col("sent_tokens").sum(), pico=pl.col("cost_pico").sum(), is_priced=pl.col("is_priced").first())
    )
    grouped = rows.group_by(RUN, maintain_order=True).agg(
        count=pl.len().cast(pl.Int64), evidence=pl.col("reference").head(_CITED),
        grave=(pl.col("sort") != "call without a result").any(),
    )  # fmt: skip
    joined = grouped.join(said, on=RUN, how="left", maintain_order="left").join(
        costs, on=RUN, how="left", maintain_order="left"
    )
    severity = pl.when("grave").then(pl.lit("medium")).otherwise(pl.lit("low"))
    return _findings(joined, Pattern.UNCORRELATED, severity, pl.format("{}.", "why"))


def in_order(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All findings, the gravest first, then the dearest."""
    ranks = {"high": 0, "medium": 1, "low": 2}
    rank = pl.col("severity").replace_strict(ranks, return_dtype=pl.Int64)
    return pl.concat([FINDINGS.to_frame(), *tables]).sort(
        rank, "cost", *RUN, "pattern", descending=[False, True, False, False, False], nulls_last=True
    )


def _by_run(parts: pl.DataFrame, *, with_creation: bool = False) -> pl.DataFrame:
    cost = pl.col("cost_pico") + (pl.col("creation_pico") if with_creation else 0)
    return parts.group_by(RUN, maintain_order=True).agg(
        count=pl.len().cast(pl.Int64),
        tokens=pl.col("sent_tokens").sum(),
        pico=cost.sum(),
        is_priced=pl.col("is_priced").first(),
        largest=pl.col("tokens").max(),
        trusts=pl.col("trust_level").unique().sort(),
        evidence=pl.format("message:{}", "message_id").sort_by(cost, "sent_tokens", descending=True).head(_CITED),
    )


def _findings(rows: pl.DataFrame, pattern: Pattern, severity: pl.Expr, why: pl.Expr) -> pl.DataFrame:
    cost = pl.when(pl.col("is_priced").fill_null(value=False)).then(dollars(pl.col("pico")))
    return (
        rows.with_columns(pattern=pl.lit(pattern.value), severity=severity, why=why, cost=cost)
        .with_columns(evidence=pl.col("evidence").list.unique(maintain_order=True))
        .select(pl.col(name).cast(dtype) for name, dtype in FINDINGS.items())
    )
