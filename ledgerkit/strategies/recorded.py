"""What recorded compactions took out of the context: which parts of a run end at which step.

A message whose metadata has ``compaction`` says what the client did with all that stood before it. What it keeps is
one of: ``nothing``; ``records`` (those it lists); ``from_record`` (those from one on); ``user_messages`` (the newest
messages of the user that fit in some tokens); or all but those that it ``forgets``. Pinned parts stay in any case.
"""

from __future__ import annotations

import json
from typing import Any, Final

import polars as pl

from ledgerkit.protocol.vocabulary import MessageKind


def with_ends(parts: pl.DataFrame) -> pl.DataFrame:
    """Adds ``ends_at``: the step at which a compaction took each part out; null where none did.

    Args:
        parts: Rows of many runs with ``run``, ``position``, ``unit``, ``visible_from``, ``is_pinned``,
            ``source_record``, ``kind``, ``tokens`` and ``compaction`` (JSON; null where the message is none).
    """
    ended = parts.with_columns(ends_at=pl.lit(None, pl.Int32))
    found = _compactions(parts)
    for _, nth in found.group_by("round", maintain_order=True):
        ended = _apply(ended, nth)
    # A unit is never split: where part of it stays, or came later, all of it stays.
    stays = pl.col("ends_at").is_null().any().over("run", "unit")
    return ended.with_columns(ends_at=pl.when(~stays).then(pl.col("ends_at").max().over("run", "unit")))


def _compactions(parts: pl.DataFrame) -> pl.DataFrame:
    """One row per compaction: several records of one (a note and its summary) are taken together."""
    said = parts.filter(pl.col("compaction").is_not_null()).select("run", "position", "visible_from", "compaction")
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for row in said.sort("run", "visible_from", "position").iter_rows(named=True):
        key = (row["run"], row["visible_from"])
        known = rows.setdefault(key, {"run": row["run"], "at": row["visible_from"], **_NO_RULE})
        known["before"] = min(row["position"], known.get("before", row["position"]))
        known.update({name: value for name, value in _rule(row["compaction"]).items() if value is not None})
    frame = pl.DataFrame(list(rows.values()), schema=_COMPACTION)
    return frame.sort("run", "at").with_columns(round=pl.int_range(pl.len()).over("run")).sort("round", "run")


_COMPACTION: Final[dict[str, pl.DataType]] = {
    "run": pl.UInt32(),
    "at": pl.Int32(),
    "before": pl.Int32(),
    "kept": pl.List(pl.String()),
    "forgotten": pl.List(pl.String()),
    "kept_from": pl.String(),
    "user_tokens": pl.Int64(),
}
_NO_RULE: Final[dict[str, Any]] = {"kept": None, "forgotten": None, "kept_from": None, "user_tokens": None}


def _rule(text: str) -> dict[str, Any]:
    said = json.loads(text)
    keeps = said.get("keeps")
    return {
        "kept": said.get("records") if keeps == "records" else None,
        "forgotten": said.get("forgets"),
        "kept_from": said.get("record") if keeps == "from_record" else None,
        "user_tokens": said.get("tokens") if keeps == "user_messages" else None,
    }


def _apply(parts: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """One compaction of each run."""
    from_there = (
        found.select("run", source_record="kept_from")
        .drop_nulls()
        .join(parts.select("run", "source_record", "position"), on=["run", "source_record"])
        .group_by("run")
        .agg(first_kept=pl.col("position").min())
    )
    rows = parts.join(found.drop("round"), on="run", how="left", maintain_order="left")
    rows = rows.join(from_there, on="run", how="left", maintain_order="left")
    before = pl.col("position") < pl.col("before")
    listed = pl.col("kept").list.contains(pl.col("source_record"))
    forgotten = pl.col("forgotten").list.contains(pl.col("source_record"))
    is_users = (pl.col("kind") == MessageKind.USER_TASK.value) & before
    newer = pl.when(is_users).then(pl.col("tokens")).otherwise(0).cum_sum(reverse=True).over("run")
    keeps = pl.any_horizontal(
        pl.col("is_pinned"),
        listed.fill_null(value=False),
        (pl.col("position") >= pl.col("first_kept")).fill_null(value=False),
        (is_users & (newer <= pl.col("user_tokens"))).fill_null(value=False),
        pl.col("forgotten").is_not_null() & ~forgotten.fill_null(value=False),
    )
    ends = before & ~keeps & pl.col("ends_at").is_null() & (pl.col("visible_from") <= pl.col("at"))
    return rows.with_columns(ends_at=pl.when(ends).then("at").otherwise("ends_at")).select(parts.columns)
