"""Evidence for what is said about checks: which check of the run a claim is about, and what the rules say of it."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.claims import PREVIOUS_CHECK
from ledgerkit.memory.rules.checks import (
    r8_counts_agree,
    r10_verdict_consistent,
    r11_scope,
    r12_not_stale,
    r13_not_superseded,
)
from ledgerkit.memory.spoken.absent import ANY, is_compatible, may_run, missing_check, no_checks
from ledgerkit.memory.spoken.joins import RUN, Evidence, before, count_between, marks, with_changes_since

_PART_NAMES: Final = r"(?i)\b(?:unit|integration|e2e|regression|smoke|snapshot)\b"


def rule_on_verdicts(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``verdict``."""
    rows = claims.filter(pl.col("claim_class") == "verdict")
    chosen = _chosen(rows, evidence)
    found = [
        r8_counts_agree(chosen),
        r10_verdict_consistent(chosen),
        r11_scope(chosen),
        r12_not_stale(chosen),
        r13_not_superseded(chosen),
        missing_check(rows.join(chosen, on="claim_id", how="anti"), evidence),
    ]
    # The number that a check says supports the claim; R10 has nothing to add where R8 speaks.
    return pl.concat(found)


def _chosen(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """For each claim the check that it is about, with what the rules need to know of it."""
    checks = evidence.checks.drop("tool_call_id")
    pairs = before(rows, checks).filter(is_compatible())
    latest = pairs.sort("claim_id", "seen_at", "check_id").with_columns(
        is_latest=pl.col("check_id") == pl.col("check_id").last().over("claim_id", "kind", "tool", "check_scope")
    )
    named = _named(latest)
    counted = count_between(named, evidence.code_changes, "seen_at", "sequence_no", "later_changes")
    between = count_between(counted, no_checks(evidence), "seen_at", "sequence_no", "other_calls")
    number_stands = pl.col("number").is_not_null() & pl.col("said").list.contains(pl.col("number"))
    fresh = pl.col("later_changes") == 0
    is_any = pl.col("subject").is_in(ANY)
    worst = pl.col("verdict").replace_strict({"failed": 2, "inconclusive": 1}, default=0, return_dtype=pl.Int64)
    ranked = (
        between.with_columns(number_stands=number_stands)
        .filter((pl.col("subject") != PREVIOUS_CHECK) | (pl.col("other_calls") == 0))
        .filter(~is_any | pl.col("is_latest"))
        .with_columns(
            rank_any=pl.when(is_any & fresh).then(worst + 1).otherwise(0),
            rank_whole=((pl.col("claim_scope") == "all") & fresh & (pl.col("reach") != "part")).cast(pl.Int64),
        )
        .sort(
            "claim_id", "name_matches", "number_stands", "rank_any", "rank_whole", "seen_at", "check_id",
            descending=[False, True, True, True, True, True, True],
        )
        .unique("claim_id", keep="first", maintain_order=True)
    )  # fmt: skip
    weak = ~is_any & (pl.col("subject") != pl.col("kind")) & pl.col("is_umbrella")
    settled = ranked.with_columns(
        verdict=pl.when(weak).then(pl.lit("inconclusive")).otherwise("verdict"),
        reason=pl.when(weak).then(pl.lit("it may stand for more than one check")).otherwise("reason"),
        evidence=pl.concat_list("reference"),
    )
    return _with_doubts(_with_earlier(_with_derived(with_changes_since(settled, evidence), pairs), checks), evidence)


def _named(pairs: pl.DataFrame) -> pl.DataFrame:
    """Adds whether a check's command names what the claim names: a file, a command line, a part of the tests."""
    files = pl.col("paths").list.eval(pl.element().str.extract(r"([^/]+)$", 1))
    words = pl.col("text").str.extract_all(_PART_NAMES).list.eval(pl.element().str.to_lowercase())
    names = (
        pairs.select("claim_id", name=pl.concat_list(files, "commands", words))
        .unique("claim_id", maintain_order=True)
        .explode("name", empty_as_null=True)
        .filter(pl.col("name").is_not_null())
    )
    matching = (
        pairs.select("claim_id", "check_id", "command")
        .join(names, on="claim_id", how="inner")
        .filter(pl.col("command").str.to_lowercase().str.contains(pl.col("name").str.to_lowercase(), literal=True))
        .select("claim_id", "check_id")
        .unique()
        .with_columns(name_matches=pl.lit(value=True))
    )
    has_name = names.select("claim_id").unique().with_columns(has_name=pl.lit(value=True))
    return (
        pairs.join(matching, on=["claim_id", "check_id"], how="left", maintain_order="left")
        .join(has_name, on="claim_id", how="left", maintain_order="left")
        .with_columns(pl.col("name_matches", "has_name").fill_null(value=False))
    )


def _with_derived(chosen: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Adds the numbers that are sums or differences of what the checks before a claim say."""
    open_ones = chosen.filter(pl.col("number").is_not_null(), ~pl.col("number_stands")).select("claim_id")
    relevant = pairs.join(open_ones, on="claim_id", how="semi")
    said = relevant.select("claim_id", one="said").explode("one", empty_as_null=True).drop_nulls().unique()
    twice = said.join(said.rename({"one": "other"}), on="claim_id")
    total = (
        relevant.unique(["claim_id", "tool", "check_scope"], keep="last", maintain_order=True)
        .group_by("claim_id")
        .agg(total=pl.col("passed").sum())
    )
    derived = (
        pl.concat(
            [
                twice.select("claim_id", derived=pl.col("one") + pl.col("other")),
                twice.select("claim_id", derived=pl.col("one") - pl.col("other")),
                total.select("claim_id", derived="total"),
                said.select("claim_id", derived="one"),
            ]
        )
        .group_by("claim_id")
        .agg(pl.col("derived").unique().sort())
    )
    return chosen.join(derived, on="claim_id", how="left", maintain_order="left").with_columns(
        pl.col("derived").fill_null([])
    )


def _with_earlier(chosen: pl.DataFrame, checks: pl.DataFrame) -> pl.DataFrame:
    """Adds ``earlier_verdict``: of an earlier run of the same check that says the opposite of the chosen one."""
    key = [*RUN, "kind", "tool", "check_scope"]
    earlier = (
        chosen.select("claim_id", *key, "seen_at", "verdict")
        .join(checks.select(*key, earlier_at="seen_at", earlier_verdict="verdict"), on=key, how="inner")
        .filter(
            pl.col("earlier_at") < pl.col("seen_at"),
            pl.col("earlier_verdict") != "inconclusive",
            pl.col("earlier_verdict") != pl.col("verdict"),
        )
        .unique("claim_id", keep="first", maintain_order=True)
        .select("claim_id", "earlier_verdict")
    )
    return chosen.join(earlier, on="claim_id", how="left", maintain_order="left")


def _with_doubts(chosen: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Adds what may have run the check again: after it, after the last change; and whether it is another one."""
    maybe = may_run(evidence.calls).rename({"seen_at": "maybe_at", "kind": "subject"})
    later = chosen.join(maybe, on=[*RUN, "subject"], how="inner").filter(
        pl.col("maybe_at") > pl.col("seen_at"), pl.col("maybe_at") < pl.col("sequence_no")
    )
    marked = marks(chosen, later, "may_have_run_again")
    marked = marks(marked, later.filter(pl.col("maybe_at") > pl.col("changed_at")), "may_have_run_since")
    other = pl.col("has_name") & ~pl.col("name_matches")
    doubtful = pl.col("may_have_run_again") | other
    return marked.with_columns(is_doubtful=doubtful, is_exact=pl.col("is_exact") & ~doubtful & ~pl.col("has_past"))
