"""R16 to R18: rules about a whole memory or summary. No failure, no changed file and no range is left out."""

from __future__ import annotations

import polars as pl

from ledgerkit.memory.rulings import CONTRADICTED, STALE, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences


def r16_failure_completeness(failures: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """R16: every check that fails and was not passed since is told.

    Args:
        failures: ``claim_id`` (the memory or summary), ``check_key``, ``evidence``: checks that fail where it ends.
        told: ``claim_id``, ``check_key``: those that it names among its open problems, or among what it left out with
            a reason that a user gave.

    Returns:
        One ruling for each failure.
    """
    marked = failures.join(
        told.select("claim_id", "check_key").unique().with_columns(is_told=pl.lit(value=True)),
        on=["claim_id", "check_key"], how="left", maintain_order="left",
    )  # fmt: skip
    is_told = pl.col("is_told").fill_null(value=False)
    why = sentences(
        (is_told, pl.format("It tells that {} fails.", pl.col("check_key"))),
        otherwise=pl.format("It does not tell that {} fails.", pl.col("check_key")),
    )
    return rulings(marked, "R16", cases((is_told, SUPPORTED), otherwise=CONTRADICTED), why)


def r16_finished_without_failure(rows: pl.DataFrame) -> pl.DataFrame:
    """R16 for *done*: what is said to be finished hides no open task and no failing check.

    Args:
        rows: ``claim_id``, ``subject`` (``tasks`` where the claim is about all tasks), ``open_tasks`` (null where no
            plan is recorded), ``verdict`` of the last check (null if none), ``changes_since`` it, ``discloses``
            (whether the same text tells of a failure), ``kind``, ``command``, ``seen_at``.
    """
    has_open = (pl.col("subject") == "tasks") & (pl.col("open_tasks") > 0)
    failed = pl.col("verdict") == "failed"
    changed = pl.col("changes_since") > 0
    outcome = cases(
        (has_open, CONTRADICTED),
        (failed & pl.col("discloses"), UNVERIFIED),
        (failed & changed, STALE),
        (failed, CONTRADICTED),
        ((pl.col("verdict") == "passed") & ~changed & pl.col("kind").is_in(["test", "build", "types"]), SUPPORTED),
        otherwise=UNVERIFIED,
    )
    check = pl.format("'{}' (message {})", pl.col("command").str.slice(0, 80), pl.col("seen_at"))
    why = sentences(
        (has_open, pl.format("{} of the recorded tasks are open.", pl.col("open_tasks"))),
        (failed & pl.col("discloses"), pl.format("{} failed, and the same text tells of a failure.", check)),
        (failed & changed, pl.format("{} failed; files were changed after it, and nothing was run again.", check)),
        (failed, pl.format("{} failed, and nothing was changed after it.", check)),
        (outcome == SUPPORTED, pl.format("{} passed after the last change.", check)),
        otherwise="No check after the last change says so.",
    )
    return rulings(rows, "R16", outcome, why)


def r17_changed_files(told: pl.DataFrame, changed: pl.DataFrame) -> pl.DataFrame:
    """R17: the files that are told to have changed are those that did, no more and no less.

    Args:
        told: ``claim_id`` (the memory or summary), ``path``.
        changed: ``claim_id``, ``path``, ``evidence``: files with a net change in the range that it covers.

    Returns:
        One ruling for each path of either side.
    """
    both = (
        told.select("claim_id", "path").unique(maintain_order=True).with_columns(is_told=pl.lit(value=True))
        .join(
            changed.unique(["claim_id", "path"], keep="first", maintain_order=True).with_columns(
                is_changed=pl.lit(value=True)
            ),
            on=["claim_id", "path"], how="full", coalesce=True,
        )
        .sort("claim_id", "path")
        .with_columns(evidence=pl.col("evidence").fill_null([]))
    )  # fmt: skip
    is_told, is_changed = (pl.col(name).fill_null(value=False) for name in ("is_told", "is_changed"))
    outcome = cases((is_told & is_changed, SUPPORTED), (is_told, UNSUPPORTED), otherwise=CONTRADICTED)
    why = sentences(
        (is_told & is_changed, pl.format("{} was changed.", pl.col("path"))),
        (is_told, pl.format("No recorded change of {}.", pl.col("path"))),
        otherwise=pl.format("{} was changed, and is not told.", pl.col("path")),
    )
    return rulings(both, "R17", outcome, why)


def r17_number_of_files(rows: pl.DataFrame) -> pl.DataFrame:
    """R17 for a number of files: as many were changed.

    Args:
        rows: ``claim_id``, ``number``, ``changed`` (files that recorded calls changed), ``created`` (of these, new
            ones), ``verb`` (what the claim says was done), ``stands`` (whether an output says *N files*),
            ``is_complete`` (whether nothing that ran may have changed files unseen).
    """
    number = pl.col("number")
    equal = (number == pl.col("changed")) | ((pl.col("verb") == "created") & (number == pl.col("created")))
    outcome = cases(
        (equal | pl.col("stands"), SUPPORTED),
        ((number > pl.col("changed")) & pl.col("is_complete"), CONTRADICTED),
        otherwise=UNVERIFIED,
    )
    why = sentences(
        (equal, pl.format("{} files were changed.", number)),
        (pl.col("stands"), pl.format("An output says {} files.", number)),
        otherwise=pl.format("Recorded calls changed {} files.", pl.col("changed")),
    )
    return rulings(rows, "R17", outcome, why)


def r18_coverage(ranges: pl.DataFrame) -> pl.DataFrame:
    """R18: the ranges that the versions of a summary cover follow each other without a gap or an overlap.

    Args:
        ranges: ``claim_id`` (of a version), ``chain`` (what its versions have in common), ``run_id``, ``version``,
            ``from_sequence_no`` and ``to_sequence_no`` (both included).

    Returns:
        One ruling for each version and run.
    """
    previous = pl.col("to_sequence_no").shift(1).over("chain", "run_id")
    rows = ranges.sort("chain", "run_id", "version").with_columns(
        expected=pl.when(pl.int_range(pl.len()).over("chain", "run_id") == 0).then(0).otherwise(previous + 1)
    )
    backwards = pl.col("to_sequence_no") < pl.col("from_sequence_no")
    fits = (pl.col("from_sequence_no") == pl.col("expected")) & ~backwards
    why = sentences(
        (fits, pl.format("It covers messages {} to {}.", pl.col("from_sequence_no"), pl.col("to_sequence_no"))),
        (
            backwards,
            pl.format("Its range {} to {} runs backwards.", pl.col("from_sequence_no"), pl.col("to_sequence_no")),
        ),
        otherwise=pl.format(
            "It begins at message {}; what comes before ends so that {} is next.",
            pl.col("from_sequence_no"),
            pl.col("expected"),
        ),
    )
    return rulings(rows, "R18", cases((fits, SUPPORTED), otherwise=UNSUPPORTED), why)
