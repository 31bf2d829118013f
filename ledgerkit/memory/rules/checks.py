"""R8 and R10 to R14 where the evidence is what a run did: outcomes, reach, later changes, other runs, searches.

Each rule takes rows of a claim with the evidence that was found for it, and needs only the columns that it names.
"""

from __future__ import annotations

import polars as pl

from ledgerkit.memory.rulings import CONTRADICTED, STALE, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences

_CHECK = pl.format("'{}' (message {})", pl.col("command").str.slice(0, 80), pl.col("seen_at"))


def r8_counts_agree(rows: pl.DataFrame) -> pl.DataFrame:
    """R8 for counts of a check: the number stands in its output, follows from it, or is another one.

    Args:
        rows: ``claim_id``, ``number`` (claimed; null where the claim has none), ``said`` (numbers that the check's
            output says), ``derived`` (numbers that follow from it and other checks of the run), ``verdict``,
            ``polarity``,
            ``is_exact`` (whether the check's count is known), ``is_hidden``, ``command``, ``seen_at``.
    """
    number, said = pl.col("number"), pl.col("said")
    stands = said.list.contains(number)
    passes = (pl.col("verdict") == "passed") | pl.col("is_hidden")
    agrees = pl.when(pl.col("polarity") == "positive").then(passes).otherwise(pl.col("verdict") == "failed")
    outcome = cases(
        (number.is_null(), None),
        (stands & agrees, SUPPORTED),
        (stands, None),
        (pl.col("derived").list.contains(number), UNVERIFIED),
        (pl.col("is_exact") & (pl.col("verdict") == "passed") & (pl.col("polarity") == "positive"), CONTRADICTED),
        otherwise=UNVERIFIED,
    )
    why = sentences(
        (stands, pl.format("{} says {}.", _CHECK, number)),
        (
            pl.col("derived").list.contains(number),
            pl.format("No check says {}; it is the sum or difference of what several say.", number),
        ),
        (outcome == CONTRADICTED, pl.format("{} says {}, not {}.", _CHECK, pl.col("passed"), number)),
        otherwise=pl.format("{} does not say {}.", _CHECK, number),
    )
    return rulings(rows, "R8", outcome, why)


def r10_verdict_consistent(rows: pl.DataFrame) -> pl.DataFrame:
    """R10: the outcome of the evidence agrees with the claim.

    An outcome that is not known (a masked exit code, no output, a command in the background) neither supports nor
    contradicts. The counts of a summary may support a claim that states them: then R8 speaks.

    Args:
        rows: ``claim_id``, ``polarity``, ``verdict`` (``passed``, ``failed``, ``inconclusive``), ``reason``,
            ``is_hidden``, ``number_stands`` (whether R8 found the claimed number), ``is_doubtful`` (whether something
            else may have run the check since), ``command``, ``seen_at``.
    """
    positive = pl.col("polarity") == "positive"
    verdict = pl.col("verdict")
    agrees = pl.when(positive).then(verdict == "passed").otherwise(verdict == "failed")
    opposite = pl.when(positive).then(verdict == "failed").otherwise(verdict == "passed")
    outcome = cases(
        (agrees, SUPPORTED),
        (opposite & pl.col("is_doubtful"), UNVERIFIED),
        (opposite, CONTRADICTED),
        (pl.col("is_hidden") & pl.col("number_stands") & positive, SUPPORTED),
        otherwise=UNVERIFIED,
    )
    why = sentences(
        (outcome == SUPPORTED, pl.format("{}: {}.", _CHECK, verdict)),
        (
            opposite & pl.col("is_doubtful"),
            pl.format("{} {}, but something that may have run the check again came after it.", _CHECK, verdict),
        ),
        (opposite, pl.format("{} {}: {}.", _CHECK, verdict, pl.col("reason"))),
        otherwise=pl.format("{} proves nothing: {}.", _CHECK, pl.col("reason")),
    )
    return rulings(rows, "R10", outcome, why)


def r11_scope(rows: pl.DataFrame) -> pl.DataFrame:
    """R11: a claim about all needs a check that ran all.

    Args:
        rows: ``claim_id``, ``claim_scope``, ``number`` (a claim about *all 12 tests* is about these), ``reach`` of the
            check, ``check_scope``, ``may_have_run_again`` (whether something after it may have run all), ``command``,
            ``seen_at``.
    """
    claims_all = (pl.col("claim_scope") == "all") & pl.col("number").is_null()
    part, again = pl.col("reach") == "part", pl.col("may_have_run_again")
    outcome = cases(
        (~claims_all, None), (part & again, UNVERIFIED), (part, UNSUPPORTED), (pl.col("reach") == "all", SUPPORTED)
    )
    why = sentences(
        (
            part & again,
            pl.format("{} ran only a part: {}; what ran after it cannot be read.", _CHECK, pl.col("check_scope")),
        ),
        (pl.col("reach") == "part", pl.format("{} ran only a part: {}.", _CHECK, pl.col("check_scope"))),
        otherwise=pl.format("{} ran all.", _CHECK),
    )
    return rulings(rows, "R11", outcome, why)


def r12_not_stale(rows: pl.DataFrame) -> pl.DataFrame:
    """R12: nothing that the evidence depends on was changed after it.

    What a check depends on is not known, so any change counts, except of documents and files outside the project.

    Args:
        rows: ``claim_id``, ``changes_since`` (how many changes stand between the evidence and the claim),
            ``changed_path`` (the last of them), ``may_have_run_since`` (whether something after the last change may
            have been the same check), ``command``, ``seen_at``.
    """
    changed, again = pl.col("changes_since") > 0, pl.col("may_have_run_since")
    outcome = cases(
        (pl.col("changes_since").is_null(), None), (changed & again, UNVERIFIED), (changed, STALE), otherwise=SUPPORTED
    )
    last = pl.coalesce("changed_path", pl.lit("the working tree"))
    why = sentences(
        (
            changed & again,
            pl.format("{} was changed after {}; whether that was run again cannot be read.", last, _CHECK),
        ),
        (changed, pl.format("{} was changed after {}, and nothing was run again.", last, _CHECK)),
        otherwise=pl.format("Nothing was changed after {}.", _CHECK),
    )
    return rulings(rows, "R12", outcome, why)


def r13_not_superseded(rows: pl.DataFrame) -> pl.DataFrame:
    """R13: of two runs of the same check the later one counts.

    Args:
        rows: ``claim_id``, ``polarity``, ``verdict`` of the latest run, ``earlier_verdict`` (of the last run before it
            that says the opposite; null if none), ``is_doubtful``, ``command``, ``seen_at``.
    """
    positive = pl.col("polarity") == "positive"
    wanted = pl.when(positive).then(pl.lit("passed")).otherwise(pl.lit("failed"))
    opposite = pl.when(positive).then(pl.lit("failed")).otherwise(pl.lit("passed"))
    lost = (pl.col("verdict") == opposite) & (pl.col("earlier_verdict") == wanted) & ~pl.col("is_doubtful")
    why = pl.format("It {} before, but {} {} later.", wanted, _CHECK, opposite)
    return rulings(rows, "R13", cases((lost, CONTRADICTED)), why)


def r14_negative(rows: pl.DataFrame) -> pl.DataFrame:
    """R14: a claim that nothing is there needs a search that covers it, found nothing and was shown whole.

    Args:
        rows: ``claim_id``, ``has_search``, ``is_empty``, ``is_narrow`` (a part of the tree, or of what was found),
            ``says_other`` (the claim is about *other* uses, so that some may be there), ``changes_since``, ``pattern``,
            ``search_at``, ``may_exist`` (whether evidence may lie outside of the ledger).
    """
    searched = pl.col("has_search")
    empty, narrow = pl.col("is_empty"), pl.col("is_narrow")
    changed = pl.col("changes_since") > 0
    outcome = cases(
        (~searched & pl.col("may_exist"), UNVERIFIED),
        (~searched, UNSUPPORTED),
        (empty & ~narrow, SUPPORTED),
        (empty, UNVERIFIED),
        (pl.col("says_other"), UNVERIFIED),
        (changed, STALE),
        otherwise=CONTRADICTED,
    )
    place = pl.format("The search for '{}' (message {})", pl.col("pattern"), pl.col("search_at"))
    why = sentences(
        (~searched & pl.col("may_exist"), "No search for it is recorded in this run, which continues another."),
        (~searched, "Nothing in the run searched for it."),
        (empty & ~narrow, pl.format("{} found nothing.", place)),
        (empty, pl.format("{} found nothing, but looked only at a part.", place)),
        (pl.col("says_other"), pl.format("{} found something; whether it is another use cannot be told.", place)),
        (changed, pl.format("{} found something, and files were changed after it.", place)),
        otherwise=pl.format("{} found something.", place),
    )
    return rulings(rows, "R14", outcome, why)
