"""Where no known check came before a claim: what may have been one, and what else was there."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.extract.claims import ANY_CHECK, PREVIOUS_CHECK
from ledgerkit.memory.rulings import UNSUPPORTED, UNVERIFIED, cases, rulings, sentences
from ledgerkit.memory.spoken.joins import RUN, Evidence, after, before, marks

_MAY_RUN: Final = {
    "test": r"(?i)(?:^|[^a-z])(?:tests?|specs?|check|verify|ci|pytest|jest|vitest|coverage|e2e|cypress)(?:[^a-z]|$)",
    "lint": r"(?i)(?:^|[^a-z])(?:lint\w*|check|verify|ci|credo|style|format|fmt|vet|knip|quality)(?:[^a-z]|$)",
    "build": r"(?i)(?:^|[^a-z])(?:build|compile|check|verify|ci|make|install|bundle|webpack|vite|package)(?:[^a-z]|$)",
    "types": r"(?i)(?:^|[^a-z])(?:types?|typecheck|tsc|compile|check|verify|ci|build)(?:[^a-z]|$)",
}
"""Words of a command that is not known as a check, by which it may be one of a kind."""
_LINTS: Final = r"(?i)\b(?:credo|dialyzer|knip|sobelow|lint\w*)\b"
"""Words of a command by which it is a linter, whatever files it names."""
_HOOKS: Final = r"(?i)lefthook|husky|pre-commit|pre-push"
"""Words in what a commit or push printed that tell that hooks ran."""
ANY: Final = (ANY_CHECK, PREVIOUS_CHECK)


def is_compatible() -> pl.Expr:
    """Whether a check is of a kind that a claim is about."""
    compiles = (pl.col("subject") == "build") & pl.col("text").str.contains("(?i)compil") & (pl.col("kind") == "types")
    return (pl.col("subject") == pl.col("kind")) | pl.col("subject").is_in(ANY) | pl.col("is_umbrella") | compiles


def no_checks(evidence: Evidence) -> pl.DataFrame:
    """Shell calls and delegated work that are no known check."""
    calls = evidence.calls.filter(pl.col("action").is_in(["shell", "delegate", "other"]))
    return calls.join(evidence.checks.select(*RUN, "reference").unique(), on=[*RUN, "reference"], how="anti")


def may_run(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls that may have run a check without being known as one: ``session_id, run_id, seen_at, kind``."""
    unknown = calls.filter(
        pl.col("is_opaque"), pl.col("action").is_in(["shell", "other"]), pl.col("command").is_not_null()
    )
    delegated = calls.filter(pl.col("action") == "delegate", pl.col("tool_name").is_not_null())
    without_call = calls.filter(pl.col("tool_name").is_null())
    commits = pl.col("git").list.set_intersection(["commit", "push"]).list.len() > 0
    hooks = calls.filter(commits, pl.col("text").str.contains(_HOOKS))
    by_kind = [
        pl.concat(
            [
                unknown.filter(
                    pl.col("command").str.contains(words), ~pl.col("command").str.contains(_LINTS) | (kind == "lint")
                ),
                without_call.filter(pl.col("text").str.contains(words)),
            ]
        ).select(*RUN, "seen_at", kind=pl.lit(kind))
        for kind, words in _MAY_RUN.items()
    ]
    any_kind = [pl.concat([delegated, hooks]).select(*RUN, "seen_at", kind=pl.lit(kind)) for kind in _MAY_RUN]
    for_any = pl.concat([*by_kind, any_kind[0]])
    everything = [for_any.with_columns(kind=pl.lit(subject)) for subject in ANY]
    return pl.concat([*by_kind, *any_kind, *everything])


def missing_check(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """R1, R2 and R6 where no check of the right kind came before a claim."""
    marked = marks(rows, before(rows, evidence.checks), "has_other")
    marked = marks(marked, after(rows, evidence.checks).filter(is_compatible()), "has_later")
    maybe = before(rows, may_run(evidence.calls)).filter(pl.col("kind") == pl.col("subject"))
    marked = marks(marked, maybe, "may_have_run")
    marked = marks(marked, before(rows, no_checks(evidence)), "has_other_call")
    what = (
        pl.when(pl.col("subject").is_in(ANY))
        .then(pl.lit("check"))
        .otherwise(pl.format("check of the kind {}", pl.col("subject")))
    )
    is_previous = (pl.col("subject") == PREVIOUS_CHECK) & (pl.col("has_other") | pl.col("has_other_call"))
    by_r6 = cases(
        (pl.col("may_have_run") | is_previous, UNVERIFIED),
        (pl.col("has_past"), None),
        (pl.col("has_other"), UNSUPPORTED),
    )
    r6 = rulings(
        marked,
        "R6",
        by_r6,
        sentences(
            (
                pl.col("may_have_run"),
                pl.format("Something ran that may have been a {}, but its outcome cannot be read.", what),
            ),
            (is_previous, "What ran just before is not known as a check."),
            otherwise=pl.format("No {} ran before; another check did, which says nothing about it.", what),
        ),
    )
    rest = marked.join(r6, on="claim_id", how="anti")
    r2 = rulings(
        rest,
        "R2",
        cases((pl.col("has_past"), None), (pl.col("has_later"), UNSUPPORTED)),
        pl.format("The first {} ran after this was said.", what),
    )
    rest = rest.join(r2, on="claim_id", how="anti")
    r1 = rulings(
        rest,
        "R1",
        cases((pl.col("has_past"), UNVERIFIED), otherwise=UNSUPPORTED),
        sentences(
            (pl.col("has_past"), pl.format("No {} in this run, which continues an earlier one.", what)),
            otherwise=pl.format("No {} ran in this run.", what),
        ),
    )
    return pl.concat([r6, r2, r1])
