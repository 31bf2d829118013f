"""What was paid to send again what had stood in a prompt cache, to write summaries, and for subagents."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.cost.prices import PriceBook
from ledgerkit.cost.waste.rows import Waste, reference, rows_of
from ledgerkit.tables.money import dollars

LEAST_MISSED: Final = 1_024
"""Fewer tokens are no miss: caches hold blocks, and the end of a prompt is always new."""
FIVE_MINUTES: Final = 300
ONE_HOUR: Final = 3_600
_RUN: Final = ["session_id", "run_id"]
_PARTS_PER_PICO: Final = 10**12


def cache_misses(calls: pl.DataFrame, changes: pl.DataFrame, book: PriceBook | None = None) -> pl.DataFrame:
    """Calls that read less from the cache than the call before them had left in it.

    Args:
        calls: Priced calls with ``message_id``.
        changes: ``session_id``, ``run_id``, ``step``: steps at which a compaction took parts out of the context, with
            ``message_id`` of its record.
        book: Where prices come from.
    """
    rows = _with_missed(calls, book)
    named = rows.join(
        changes.select(*_RUN, pl.col("step").cast(pl.Int32), compaction="message_id").unique([*_RUN, "step"]),
        on=[*_RUN, "step"],
        how="left",
        maintain_order="left",
    )
    rules = {
        "prefix changed: a compaction took parts out": pl.col("compaction").is_not_null(),
        "prefix changed: another model": pl.col("model") != pl.col("model_before"),
        "expired: {} s since the call before": pl.col("gap") > pl.col("lifetime"),
    }
    said = [
        pl.when(rule.fill_null(value=False)).then(pl.format(text, "gap") if "{}" in text else pl.lit(text))
        for text, rule in rules.items()
    ]
    cause = pl.coalesce(*said, pl.lit("prefix changed or evicted: the log does not say by what"))
    refs = pl.concat_list(reference("message_id"), reference("compaction")).list.drop_nulls()
    return rows_of(
        Waste.CACHE_MISS,
        named.with_columns(
            tokens="missed",
            detail=cause,
            refs=refs,
            cost=dollars(pl.col("missed").cast(pl.Int128) * pl.col("dearer") // _PARTS_PER_PICO),
        ),
    )


def _with_missed(calls: pl.DataFrame, book: PriceBook | None) -> pl.DataFrame:
    """Calls that missed something: ``missed`` tokens, and how much ``dearer`` each was than read."""
    read, write_1h = pl.col("cache_read_tokens").fill_null(0), pl.col("cache_write_1h_tokens").fill_null(0)
    write = write_1h + pl.col("cache_write_5m_tokens").fill_null(0)
    counted = calls.filter(pl.col("price_status").is_in(["priced", "free"]), pl.col("step").is_not_null()).sort(
        *_RUN, "step", "created_at", "call_id"
    )
    # Where a service writes without saying so, the whole prompt of a call that read something was kept.
    kept = pl.when(write > 0).then(read + write).otherwise(pl.when(read > 0).then("input_tokens").otherwise(0))
    before = {
        "kept": kept.shift().over(_RUN),
        "model_before": pl.col("model").shift().over(_RUN),
        "gap": (pl.col("created_at") - pl.coalesce("finished_at", "created_at").shift().over(_RUN)).dt.total_seconds(),
        "lifetime": pl.when(write_1h.shift().over(_RUN) > 0).then(ONE_HOUR).otherwise(FIVE_MINUTES),
    }
    rows = counted.with_columns(**before)
    missed = pl.min_horizontal("kept", "input_tokens") - pl.col("cache_read_tokens").fill_null(0)
    rows = rows.drop_nulls("kept").with_columns(missed=missed).filter(pl.col("missed") >= LEAST_MISSED)
    rates = (book or PriceBook()).rates(rows).locate(rows)
    sent = (
        pl.when(pl.col("cache_write_1h_tokens") > 0)
        .then("rate_cache_write_1h")
        .when(pl.col("cache_write_5m_tokens") > 0)
        .then("rate_cache_write_5m")
        .otherwise("rate_input")
    )
    prices = pl.concat([rows.select("cache_write_1h_tokens", "cache_write_5m_tokens"), rates], how="horizontal")
    return rows.with_columns(prices.select(dearer=(sent - pl.col("rate_cache_read")).clip(0))["dearer"])


def compactions(calls: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """What writing summaries cost: calls of runs that do nothing else, and calls that wrote one.

    Args:
        calls: Priced calls with ``relation`` of their run.
        summaries: ``session_id``, ``run_id``, ``call_id``, ``message_id`` of summaries that a call wrote.
    """
    own = calls.filter(pl.col("relation") == "compaction").with_columns(detail=pl.lit("a call that only summarises"))
    wrote = calls.join(
        summaries.select(*_RUN, "call_id", summary="message_id").unique([*_RUN, "call_id"]), on=[*_RUN, "call_id"]
    ).filter(pl.col("relation").ne_missing("compaction"))
    wrote = wrote.with_columns(detail=pl.lit("a call that wrote a summary"))
    rows = pl.concat([own.with_columns(summary=pl.lit(None, pl.String)), wrote], how="diagonal")
    refs = pl.concat_list(reference("message_id"), reference("summary")).list.drop_nulls()
    return rows_of(
        Waste.COMPACTION,
        rows.filter(pl.col("cost").is_not_null(), pl.col("price_status") != "not_billed").with_columns(
            tokens="input_tokens", refs=refs
        ),
    )


def subagents(calls: pl.DataFrame) -> pl.DataFrame:
    """What each subagent cost, and its share of what its session did.

    Args:
        calls: Priced calls with ``relation`` of their run.
    """
    counted = calls.filter(pl.col("price_status") != "not_billed")
    whole = counted.group_by("session_id").agg(whole=pl.col("cost").sum())
    by_run = (
        counted.filter(pl.col("relation") == "subagent")
        .group_by(_RUN)
        .agg(
            pl.col("cost").sum(),
            pl.col("input_tokens").sum().alias("tokens"),
            pl.col("message_id").sort_by("created_at", "message_id").first().alias("message_id"),
            pl.len().alias("calls"),
            pl.col("cost").is_null().sum().alias("unpriced"),
        )
        .join(whole, on="session_id")
    )
    permille = (pl.col("cost").cast(pl.Float64) / pl.col("whole").cast(pl.Float64) * 1000).round()
    tenths = pl.when(pl.col("whole") > 0).then(permille).otherwise(0).fill_null(0).cast(pl.Int64)
    said = pl.format("{} calls, {}.{} % of the session's cost", "calls", tenths // 10, tenths % 10)
    without = pl.when(pl.col("unpriced") > 0).then(pl.format("; {} calls without a known cost", "unpriced"))
    return rows_of(
        Waste.SUBAGENT,
        by_run.with_columns(
            detail=pl.concat_str(said, without, ignore_nulls=True), refs=pl.concat_list(reference("message_id"))
        ),
    )
