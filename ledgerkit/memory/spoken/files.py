"""Evidence for what is said about files: which were changed, how, and how many of something there are."""

from __future__ import annotations

import polars as pl

from ledgerkit.memory.rules.sets import r17_number_of_files
from ledgerkit.memory.rulings import CONTRADICTED, STALE, SUPPORTED, UNSUPPORTED, UNVERIFIED, cases, rulings, sentences
from ledgerkit.memory.spoken.joins import RUN, Evidence, before, marks


def rule_on_files(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``files``: a recorded change of that file, of that sort, that did not fail."""
    rows = claims.filter(pl.col("claim_class") == "files").with_columns(
        path=pl.col("paths").list.first().str.replace_all("\\", "/", literal=True).str.replace(r"^\./", "")
    )
    rows = rows.with_columns(name=pl.col("path").str.extract(r"([^/]+)/?$", 1))
    changes = evidence.changes.select(*RUN, "seen_at", "change", "is_ok", "reference", "name", changed_path="path")
    shorter = pl.min_horizontal(pl.col("path").str.len_chars(), pl.col("changed_path").str.len_chars())
    ends = (pl.lit("/") + pl.col("path").str.strip_chars_start("/")).str.tail(shorter) == (
        pl.lit("/") + pl.col("changed_path").str.strip_chars_start("/").str.replace(r"^\./", "")
    ).str.tail(shorter)
    pairs = rows.join(changes, on=[*RUN, "name"], how="inner", maintain_order="left_right").filter(ends)
    deletes = pl.col("change") == "delete"
    fits = pl.when(pl.col("subject") == "delete").then(deletes).otherwise(~deletes)
    earlier = pairs.filter(pl.col("seen_at") < pl.col("sequence_no")).with_columns(
        fits=fits, worked=pl.col("is_ok").fill_null(value=True)
    )
    found = (
        earlier.sort("claim_id", "seen_at")
        .with_columns(last_fits=pl.col("fits").filter(pl.col("worked")).last().over("claim_id", "changed_path"))
        .group_by("claim_id", maintain_order=True)
        .agg(
            done=(pl.col("fits") & pl.col("worked")).any(),
            failed=(pl.col("fits") & ~pl.col("worked")).any(),
            last_fits=pl.col("last_fits").filter(pl.col("fits") & pl.col("worked")).any(),
            seen_at=pl.col("seen_at").filter(pl.col("fits")).last(),
            evidence=pl.col("reference").filter(pl.col("fits")).unique(maintain_order=True),
        )
    )
    judged = rows.join(found, on="claim_id", how="left", maintain_order="left").with_columns(
        pl.col("done", "failed").fill_null(value=False), pl.col("evidence").fill_null([])
    )
    judged = marks(judged, pairs.filter(pl.col("seen_at") >= pl.col("sequence_no")), "has_later")
    judged = marks(judged, before(rows, unseen_writers(evidence)), "may_have_changed")
    return _rulings_on_files(judged)


def _rulings_on_files(judged: pl.DataFrame) -> pl.DataFrame:
    done, failed, maybe = pl.col("done"), pl.col("failed"), pl.col("may_have_changed")
    undone = done & ~pl.col("last_fits").fill_null(value=True)
    r13 = rulings(judged, "R13", cases((undone, STALE)), pl.format("{} was changed back after that.", pl.col("path")))
    r10 = rulings(
        judged.filter(~undone),
        "R10",
        cases((~done & failed & ~maybe, CONTRADICTED)),
        pl.format("Every recorded try to change {} failed.", pl.col("path")),
    )
    rest = judged.join(pl.concat([r13, r10]), on="claim_id", how="anti")
    outcome = cases(
        (done, SUPPORTED),
        (maybe, UNVERIFIED),
        (pl.col("has_past") | pl.col("has_later"), None),
        otherwise=UNSUPPORTED,
    )
    r6 = rulings(
        rest,
        "R6",
        outcome,
        sentences(
            (done, pl.format("{} was changed at message {}.", pl.col("path"), pl.col("seen_at"))),
            (maybe, pl.format("No recorded change of {}; something that ran may have changed it.", pl.col("path"))),
            otherwise=pl.format("No recorded change of {}.", pl.col("path")),
        ),
    )
    rest = rest.join(r6, on="claim_id", how="anti")
    past = pl.col("has_past")
    r1 = rulings(
        rest,
        "R1",
        cases((past, UNVERIFIED)),
        pl.format("No change of {} in this run, which continues an earlier one.", pl.col("path")),
    )
    r2 = rulings(
        rest.filter(~past),
        "R2",
        pl.lit(UNSUPPORTED),
        pl.format("{} was changed only after this was said.", pl.col("path")),
    )
    return pl.concat([r13, r10, r6, r1, r2])


def unseen_writers(evidence: Evidence) -> pl.DataFrame:
    """Calls that may have changed files that they do not name."""
    is_writer = pl.col("is_opaque") | (pl.col("action") == "delegate") | pl.col("changes_tree")
    return evidence.calls.filter(is_writer).select(*RUN, "seen_at")


def rule_on_counts(claims: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Rulings on claims of the class ``count``: of changed files R17, of anything else R8."""
    rows = claims.filter(pl.col("claim_class") == "count", pl.col("number").is_not_null())
    is_files = pl.col("subject").str.starts_with("files ")
    files = rows.filter(is_files).with_columns(verb=pl.col("subject").str.strip_prefix("files "))
    changed = before(
        files, evidence.changes.filter(pl.col("path").is_not_null(), pl.col("is_ok").fill_null(value=True))
    )
    numbers = changed.group_by("claim_id").agg(
        changed=pl.col("path").n_unique(),
        created=pl.col("path").filter(pl.col("change") == "create").n_unique(),
        evidence=pl.col("reference").unique(maintain_order=True),
    )
    judged = files.join(numbers, on="claim_id", how="left", maintain_order="left").with_columns(
        pl.col("changed", "created").fill_null(0), pl.col("evidence").fill_null([])
    )
    judged = marks(judged, before(files, unseen_writers(evidence)), "has_unseen")
    judged = judged.with_columns(is_complete=~pl.col("has_unseen") & ~pl.col("has_past"))
    stands = _said_in_outputs(files, evidence, pl.lit("files?"))
    r17 = r17_number_of_files(marks(judged, stands, "stands"))
    return pl.concat([r17, _rule_on_numbers(rows.filter(~is_files), evidence)])


def _rule_on_numbers(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """R8 for numbers of anything: an output before says the number of it, or a search printed as many lines."""
    noun = pl.col("subject").str.extract(r"(\w{3,})$", 1).str.replace(r"(?:ies|es|s)$", "")
    stands = marks(rows, _said_in_outputs(rows, evidence, noun), "stands")
    lists = (
        (pl.col("action") == "search")
        | (pl.col("shell_searches").list.len() > 0)
        | pl.col("command").str.contains(r"(?:^|[\s;&|])(?:ls|find)\s*(?:[^|]*)$")
    )
    printed = pl.col("text").str.replace(r"(?s)^.*?\nOutput:\n", "").str.strip_chars()
    searched = evidence.calls.filter(lists).select(
        *RUN, "seen_at", lines=printed.str.count_matches("\n", literal=True) + 1
    )
    last = before(rows, searched).sort("claim_id", "seen_at").unique("claim_id", keep="last", maintain_order=True)
    judged = marks(stands, last.filter(pl.col("lines") == pl.col("number")), "counts")
    judged = marks(judged, _listed_in_outputs(rows, evidence), "is_listed")
    supported = pl.col("stands") | pl.col("counts") | pl.col("is_listed")
    why = sentences(
        (pl.col("stands"), pl.format("An output says {} of them.", pl.col("number"))),
        (pl.col("counts"), pl.format("The last search or listing printed {} lines.", pl.col("number"))),
        (pl.col("is_listed"), pl.format("An output lists {} of them.", pl.col("number"))),
        otherwise=pl.format("No output says {} of them; it may have been counted.", pl.col("number")),
    )
    return rulings(judged, "R8", cases((supported, SUPPORTED), otherwise=UNVERIFIED), why)


def _said_in_outputs(rows: pl.DataFrame, evidence: Evidence, noun: pl.Expr) -> pl.DataFrame:
    """Claims whose number stands beside its noun in the output of a call before it."""
    wanted = rows.with_columns(
        pattern=pl.format(r"(?i)(?:^|[^\d.])(?:{})\s+(?:\w+\s+){{0,2}}?{}", pl.col("number"), noun)
    )
    texts = evidence.calls.filter(pl.col("action").is_in(["shell", "search", "other", "delegate"])).select(
        *RUN, "seen_at", output=pl.col("text").str.head(20_000)
    )
    return before(wanted, texts).filter(pl.col("output").str.contains(pl.col("pattern"))).select("claim_id")


def _listed_in_outputs(rows: pl.DataFrame, evidence: Evidence) -> pl.DataFrame:
    """Claims whose number is that of the items of a JSON list of that name in an output before it."""
    named = rows.with_columns(
        pattern=pl.format(r'"{}"\s*:\s*\[([^\[\]{{}}]*)\]', pl.col("subject").str.extract(r"(\w+)$", 1))
    )
    texts = evidence.calls.select(*RUN, "seen_at", output=pl.col("text").str.head(20_000))
    items = pl.col("output").str.extract(pl.col("pattern"), 1).str.strip_chars()
    found = before(named, texts).with_columns(items=items).filter(pl.col("items").is_not_null(), pl.col("items") != "")
    return found.filter(pl.col("items").str.count_matches(",", literal=True) + 1 == pl.col("number")).select("claim_id")
