"""Criteria about how the work was done: read before edited, verified after the last edit, no failing call repeated."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.judges.material import RUN, Material
from ledgerkit.judges.rules.ruled import Ruled, failures, states

_ELSEWHERE: Final = r"^(?:/private)?/tmp/|^/var/folders/|^/dev/"
"""Where what is changed is no part of the work."""


def read_before_edit(material: Material) -> Ruled:
    """A file that was there is looked at before it is changed."""
    edits = _edits(material)
    keys = ["edit"]
    seen = pl.concat([_read(material, edits), _made(material, edits), _named(material, edits)]).unique()
    blind = edits.join(seen, on=keys, how="anti", maintain_order="left").filter(~pl.col("has_past"))
    rows = blind.with_columns(
        place=pl.col("reference"),
        why=pl.format("{} was changed without having been read, searched or made in this run.", "path"),
        sequence_no="seen_at",
        evidence=pl.concat_list("reference"),
    )
    judged = edits.filter(~pl.col("has_past"))
    said = "Every file that it changed had been looked at before."
    return Ruled(states(material.runs, judged, said, "It changed no file that was there before."), failures(rows))


def _edits(material: Material) -> pl.DataFrame:
    """First changes of files by an edit, numbered, with whether the run took up what its log does not hold."""
    continued = material.runs.select(
        *RUN,
        has_past=pl.col("relation").is_in(["fork", "rewind", "retry", "compaction"]).fill_null(value=False)
        | (pl.col("compactions").fill_null(0) > 0),
    )
    return (
        material.changes.filter(
            pl.col("change") == "modify", pl.col("name").is_not_null(), ~pl.col("path").str.contains(_ELSEWHERE)
        )
        .unique([*RUN, "path"], keep="first", maintain_order=True)
        .join(continued, on=RUN, how="left", maintain_order="left")
        .with_row_index("edit")
    )


def _read(material: Material, edits: pl.DataFrame) -> pl.DataFrame:
    """Edits of files that a call had named as its path before, whatever it did: a failed edit shows the file too."""
    looked = material.calls.filter(~pl.col("action").is_in(["modify", "patch"]), pl.col("is_ok").fill_null(value=True))
    path = pl.coalesce("path", pl.col("arguments").str.json_path_match("$.file_path"))
    named = looked.with_columns(name=path.str.replace_all("\\", "/", literal=True).str.extract(r"([^/]+)/?$", 1))
    return _before(edits, named.drop_nulls("name").select(*RUN, "name", at="seen_at"), "name")


def _made(material: Material, edits: pl.DataFrame) -> pl.DataFrame:
    """Edits of files that the run had made itself."""
    made = material.changes.filter(pl.col("change") == "create").select(*RUN, "name", at="seen_at")
    return _before(edits, made, "name")


def _named(material: Material, edits: pl.DataFrame) -> pl.DataFrame:
    """Edits of files that a shell line named, or that a search found."""
    is_search = pl.col("action") == "search"
    texts = material.calls.filter(is_search | (pl.col("action") == "shell")).select(
        *RUN, at="seen_at", words=pl.when(is_search).then("text").otherwise("command")
    )
    pairs = edits.join(texts.drop_nulls("words"), on=RUN).filter(
        pl.col("at") < pl.col("seen_at"), pl.col("words").str.contains(pl.col("name"), literal=True)
    )
    return pairs.select("edit").unique()


def _before(edits: pl.DataFrame, rows: pl.DataFrame, key: str) -> pl.DataFrame:
    pairs = edits.join(rows, on=[*RUN, key]).filter(pl.col("at") < pl.col("seen_at"))
    return pairs.select("edit").unique()


def verified_after_edit(material: Material) -> Ruled:
    """After the last change of a file that a check may depend on, a check ran."""
    last = last_changes(material)
    ran = material.checks.group_by(RUN).agg(
        checked_at=pl.col("sequence_no").last(), evidence=pl.concat_list(pl.col("reference").last())
    )
    both = last.join(ran, on=RUN, how="left", maintain_order="left")
    missing = both.filter(pl.col("checked_at").fill_null(-1) < pl.col("seen_at"))
    rows = missing.with_columns(
        place=pl.col("reference"),
        why=pl.format("No check ran after the last change ({}).", pl.col("path").fill_null("the working tree")),
        sequence_no="seen_at",
        evidence=pl.concat_list("reference"),
    )
    said = "A check ran after its last change."
    return Ruled(states(material.runs, both, said, "It changed no file that a check could depend on."), failures(rows))


def last_changes(material: Material) -> pl.DataFrame:
    """The last change of each run to a file that is no document."""
    changed = material.changes.filter(~pl.col("is_doc")).sort(*RUN, "seen_at", maintain_order=True)
    return changed.unique(RUN, keep="last", maintain_order=True)


def repeated_failures(material: Material, most: int) -> Ruled:
    """No call failed more than so many times with the same arguments while nothing was changed.

    Args:
        material: The runs.
        most: Failures of one call that are no finding: a second try may be reasonable.
    """
    failed = material.calls.filter(
        pl.col("status").is_in(["FAILED", "TIMED_OUT"]), pl.col("arguments_hash").is_not_null()
    )
    changed = (
        material.changes.select(*RUN, seen_at="seen_at")
        .sort("seen_at")
        .with_columns(changes=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(RUN))
    )
    placed = failed.sort("seen_at", maintain_order=True).join_asof(
        changed, on="seen_at", by=RUN, strategy="backward", check_sortedness=False
    )
    grouped = placed.group_by([*RUN, "tool_name", "arguments_hash", "changes"], maintain_order=True).agg(
        times=pl.len(), reference=pl.col("reference"), sequence_no=pl.col("seen_at").last()
    )
    rows = grouped.filter(pl.col("times") > most).with_columns(
        place=pl.col("reference").list.last(),
        why=pl.format("{} failed {} times with the same arguments, with no change in between.", "tool_name", "times"),
        evidence="reference",
    )
    said = f"No call failed more than {most} times alike."
    return Ruled(states(material.runs, failed, said, "No call failed."), failures(rows))
