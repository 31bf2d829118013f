"""Evidence for what is said to be fixed, and for failures that are said to have been there before."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.claims import ANY_CHECK
from ledgerkit.memory.rulings import CONTRADICTED, STALE, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences
from ledgerkit.memory.spoken.absent import may_run
from ledgerkit.memory.spoken.joins import Evidence, before, count_before, count_between, marks


def rule_on_fixes(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``fixed``: something was changed, and what failed before passes after it."""
    rows = claims.filter(pl.col("claim_class") == "fixed")
    changes = evidence.changes.filter(pl.col("is_ok").fill_null(value=True))
    rows = count_before(rows, changes, "sequence_no", "changes")
    opaque = evidence.calls.filter(pl.col("is_opaque") | (pl.col("action") == "delegate"))
    rows = marks(rows, before(rows, opaque.select("session_id", "run_id", "seen_at")), "may_have_changed")
    unchanged = (pl.col("changes") == 0) & ~(pl.col("may_have_changed") | pl.col("has_past"))
    r6 = rulings(rows, "R6", cases((unchanged, UNSUPPORTED)), pl.lit("Nothing was changed before this was said."))
    judged = marks(_with_checks(rows.filter(~unchanged), evidence), _reproduced(rows, evidence), "runs_now")
    failed_before = pl.col("failed_before").fill_null(value=False)
    no_fewer = (
        pl.col("failed").is_null() | pl.col("most_failed").is_null() | (pl.col("failed") >= pl.col("most_failed"))
    )
    last = pl.col("verdict")
    outcome = cases(
        (pl.col("runs_now") & (last.is_null() | (last == "passed")), SUPPORTED),
        (last.is_null(), UNVERIFIED),
        ((last == "failed") & (pl.col("changes_since") > 0), None),
        ((last == "failed") & no_fewer & ~pl.col("may_have_run"), CONTRADICTED),
        ((last == "passed") & failed_before & (pl.col("changes_since") == 0), SUPPORTED),
        otherwise=UNVERIFIED,
    )
    check = pl.format("'{}' (message {})", pl.col("command").str.slice(0, 80), pl.col("seen_at"))
    r10 = rulings(
        judged,
        "R10",
        outcome,
        sentences(
            (
                pl.col("runs_now") & (outcome == SUPPORTED),
                "A command that failed before ran without an error after the change.",
            ),
            (last.is_null(), "No check shows that it was broken and works now."),
            (outcome == CONTRADICTED, pl.format("{} still fails after the change.", check)),
            (outcome == SUPPORTED, pl.format("{} failed before, and passes after the change.", check)),
            otherwise=pl.format("{} does not show that it was broken and works now.", check),
        ),
    )
    stale = (last == "failed") & (pl.col("changes_since") > 0)
    r12 = rulings(
        judged, "R12", cases((stale, STALE)), pl.format("{} failed, and was not run again after the change.", check)
    )
    return pl.concat([r6, r10, r12])


def _with_checks(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Adds the last check of the kind that the fix is about, and whether the same kind failed before it."""
    pairs = before(rows, evidence.checks.drop("tool_call_id")).filter(pl.col("subject") == pl.col("kind"))
    last = pairs.sort("claim_id", "seen_at", "check_id").unique("claim_id", keep="last", maintain_order=True)
    columns = ["claim_id", "kind", "verdict", "failed", "command", "seen_at", "reference"]
    failing = (
        pairs.join(last.select("claim_id", last_at="seen_at"), on="claim_id")
        .filter(pl.col("seen_at") < pl.col("last_at"), pl.col("verdict") == "failed")
        .group_by("claim_id")
        .agg(most_failed=pl.col("failed").max())
        .with_columns(failed_before=pl.lit(value=True))
    )
    joined = (
        rows.join(last.select(columns), on="claim_id", how="left", maintain_order="left")
        .join(failing, on="claim_id", how="left", maintain_order="left")
        .with_columns(evidence=pl.concat_list("reference").list.drop_nulls())
    )
    counted = count_between(joined, evidence.code_changes, "seen_at", "sequence_no", "changes_since")
    maybe = may_run(evidence.calls).rename({"seen_at": "maybe_at", "kind": "subject"})
    again = joined.join(maybe, on=["session_id", "run_id", "subject"]).filter(
        pl.col("maybe_at") > pl.col("seen_at"), pl.col("maybe_at") < pl.col("sequence_no")
    )
    return marks(counted, again, "may_have_run")


_FAILS: Final = (
    r"(?m)^\s*(?:Traceback \(most recent|\w*(?:Error|Exception)\b|Error: |FAIL\b|panic: )|\berror(?:\[\w+\])?: "
)


def _reproduced(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Claims before which a command that had failed ran again, after the last change, without an error."""
    shell = evidence.calls.filter(pl.col("action") == "shell", "has_result").select(
        "session_id", "run_id", "seen_at", line=pl.col("command").str.strip_chars(),
        fails=~pl.col("is_ok").fill_null(value=True) | pl.col("text").str.contains(_FAILS),
    )  # fmt: skip
    again = before(rows, shell).filter(pl.col("line").len().over("claim_id", "line") > 1)
    ordered = again.sort("claim_id", "line", "seen_at")
    last = ordered.group_by("claim_id", "line", maintain_order=True).agg(
        pl.col("session_id", "run_id", "sequence_no").first(),
        pl.col("seen_at", "fails").last(),
        failed_before=pl.col("fails").any(),
    )
    works = last.filter(~pl.col("fails"), "failed_before")
    return (
        count_between(works, evidence.code_changes, "seen_at", "sequence_no", "later")
        .filter(pl.col("later") == 0)
        .select("claim_id")
    )


def rule_on_baselines(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """R13 for failures that are said to be older than the run's changes: the same check failed before the first one.

    A check that ran while git had put the changes away (``git stash``) counts as one before them.
    """
    rows = claims.filter(pl.col("claim_class") == "baseline")
    first = (
        evidence.code_changes.filter(pl.col("change") != "tree")
        .group_by("session_id", "run_id")
        .agg(first_change=pl.col("seen_at").min())
    )
    away = evidence.calls.filter(
        pl.col("git").list.contains("stash"), ~pl.col("command").str.contains(r"stash\s+(?:pop|apply|list|show|drop)")
    )
    checks = count_before(evidence.checks, away, "seen_at", "stashed", inclusive=True)
    back = evidence.calls.filter(pl.col("command").str.contains(r"stash\s+(?:pop|apply)").fill_null(value=False))
    checks = count_before(checks, back, "seen_at", "restored")
    pairs = (
        before(rows, checks.drop("tool_call_id"))
        .filter((pl.col("subject") == pl.col("kind")) | (pl.col("subject") == ANY_CHECK))
        .join(first, on=["session_id", "run_id"], how="left", maintain_order="left")
        .with_columns(
            is_base=pl.col("first_change").is_null()
            | (pl.col("seen_at") < pl.col("first_change"))
            | (pl.col("stashed") > pl.col("restored"))
        )
    )
    base = (
        pairs.filter("is_base")
        .sort("claim_id", "seen_at", "check_id")
        .group_by("claim_id", maintain_order=True)
        .agg(
            failed=(pl.col("verdict") == "failed").any(),
            passed=(pl.col("verdict") == "passed").any(),
            evidence=pl.col("reference").unique(maintain_order=True),
            keys=pl.concat_str("tool", "check_scope", separator=" ").filter(pl.col("verdict") == "passed"),
        )
    )
    later = (
        pairs.filter(~pl.col("is_base"), pl.col("verdict") == "failed")
        .group_by("claim_id")
        .agg(later_keys=pl.concat_str("tool", "check_scope", separator=" ").unique())
    )
    judged = (
        rows.join(base, on="claim_id", how="left", maintain_order="left")
        .join(later, on="claim_id", how="left", maintain_order="left")
        .with_columns(
            pl.col("failed", "passed").fill_null(value=False), pl.col("keys", "later_keys", "evidence").fill_null([])
        )
    )
    maybe = before(rows, may_run(evidence.calls)).filter(pl.col("kind") == pl.col("subject"))
    judged = marks(judged, maybe, "may_have_run")
    same = pl.col("keys").list.set_intersection("later_keys").list.len() > 0
    outcome = cases(
        (pl.col("failed"), SUPPORTED),
        (pl.col("passed") & same, CONTRADICTED),
        (pl.col("may_have_run") | pl.col("has_past"), UNVERIFIED),
        otherwise=UNSUPPORTED,
    )
    why = sentences(
        (pl.col("failed"), "A check of this kind failed before anything was changed."),
        (outcome == CONTRADICTED, "The same check passed before anything was changed."),
        (outcome == UNVERIFIED, "Whether it failed before cannot be read from this run."),
        otherwise="No check of this kind failed before the first change: there is no baseline.",
    )
    return rulings(judged, "R13", outcome, why)
