"""Needs: what the arguments of a recorded action took from what stood before it, and where that stands.

Reference: "evidence retention" of the project's scientific groundwork. A need is a typed token in the arguments of a
call that occurs in an earlier tool result or user message, and whose first occurrence in the run is in no text that the
model wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.lexemes import find_tokens
from ledgerkit.evaluation.mentions import find_mentions, normal_texts
from ledgerkit.evaluation.presence import STRIDE
from ledgerkit.protocol.vocabulary import MessageKind
from ledgerkit.strategies.grid import Ints, ints

_BY_MODEL: Final = tuple(
    kind.value
    for kind in (MessageKind.ASSISTANT_RESPONSE, MessageKind.AGENT_THOUGHT_SUMMARY, MessageKind.TOOL_CALL_REQUEST)
)
_SOURCES: Final = tuple(
    kind.value
    for kind in (
        MessageKind.TOOL_CALL_RESULT,
        MessageKind.FILE_OBSERVATION,
        MessageKind.DIFF_OBSERVATION,
        MessageKind.VERIFIER_RESULT,
        MessageKind.USER_TASK,
    )
)


@dataclass(frozen=True)
class Needs:
    """Needs of some runs and where they are met, all of it independent of any strategy.

    Attributes:
        keys: One row per token of a run: ``key`` (its number), ``run``, ``type``, ``value``, ``weight`` (by how few
            steps bring it: log(T / df)).
        needs: One row per need: ``run``, ``step``, ``key``, ``age`` (steps since its newest source became visible) and
            ``source`` (that part), by run, step and key.
        mentions: One row per text that mentions a token: ``key``, ``part`` and ``is_source`` (a tool result or user
            message), by part and key.
    """

    keys: pl.DataFrame
    needs: pl.DataFrame
    mentions: pl.DataFrame

    @cached_property
    def weight(self) -> Ints:
        """Weight of each need in billionths: sums of whole numbers do not depend on their order."""
        whole = ints((self.keys["weight"] * 1e9).round())
        return whole[ints(self.needs["key"])] if self.needs.height else np.zeros(0, np.int64)


def find_needs(parts: pl.DataFrame, runs: pl.DataFrame, texts: pl.DataFrame, said: pl.DataFrame) -> Needs:
    """The needs of every recorded action.

    Args:
        parts: ``RunFrames.parts``.
        runs: ``RunFrames.runs``.
        texts: One row per part: ``run``, ``part``, ``data`` as recorded, ``root`` (the run's working directory) and
            ``is_own`` (not inherited from the run that it branched off from).
        said: ``run``, ``part``, ``root`` and ``text``: what each part says to a model.
    """
    calls = texts.filter("is_own").join(
        parts.filter(pl.col("part_type") == "tool_call", pl.col("step").is_not_null()).select("part", "step"), on="part"
    )
    tokens = find_tokens(calls.select(pl.col("part").alias("call"), "data", "root"))
    asked = (
        tokens.join(calls.select("run", "step", call="part"), on="call")
        .select("run", "step", "type", "value")
        .unique()
        .sort("run", "step", "type", "value")
    )
    keys = asked.select("run", "type", "value").unique().sort("run", "type", "value").with_row_index("key")
    keys = keys.with_columns(pl.col("key").cast(pl.Int64))
    mentions = _placed(find_mentions(normal_texts(said), keys), parts)
    needs = asked.join(keys, on=["run", "type", "value"]).select("run", "step", "key").sort("run", "step", "key")
    return Needs(_weighted(keys, mentions, runs), _sourced(needs, mentions), mentions)


def _placed(mentions: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    about = parts.select(
        "part",
        "visible_from",
        is_source=pl.col("kind").is_in(_SOURCES) & (pl.col("part_type") != "tool_call") & pl.col("is_eligible"),
        is_by_model=pl.col("kind").is_in(_BY_MODEL) & ~pl.col("is_result"),
    )
    return mentions.join(about, on="part", how="left", maintain_order="left").sort("part", "key")


def _sourced(needs: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Needs that something gave: not first said by the model, and with a source that was visible by the step."""
    by_model = mentions.sort("key", "part").unique("key", keep="first", maintain_order=True).filter("is_by_model")
    needs = needs.join(by_model.select("key"), on="key", how="anti").sort("run", "step", "key")
    sources = mentions.filter("is_source").sort("key", "visible_from", "part")
    begins = ints(sources["key"]) * STRIDE + ints(sources["visible_from"])
    asked = ints(needs["key"]) * STRIDE + ints(needs["step"])
    found = np.searchsorted(begins, asked, side="right") - 1
    there = found >= 0
    if sources.height:
        there &= ints(sources["key"])[np.maximum(found, 0)] == ints(needs["key"])
    found = found[there]
    kept = needs.filter(pl.Series(there, dtype=pl.Boolean))
    age = ints(kept["step"]) - ints(sources["visible_from"])[found] if kept.height else np.zeros(0, np.int64)
    part: Ints = ints(sources["part"])[found] if kept.height else np.zeros(0, np.int64)
    return kept.with_columns(age=pl.Series(age, dtype=pl.Int64), source=pl.Series(part, dtype=pl.Int64))


def _weighted(keys: pl.DataFrame, mentions: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Adds ``weight``: log(T / df), of T steps df bring a text that mentions the token (1 at least, T at most)."""
    brought = mentions.group_by("key").agg(df=pl.col("visible_from").n_unique())
    joined = keys.join(brought, on="key", how="left", maintain_order="left")
    joined = joined.join(runs.select("run", "steps"), on="run", how="left", maintain_order="left")
    df = pl.col("df").fill_null(1).cast(pl.Int64).clip(1, pl.col("steps").cast(pl.Int64))
    return joined.select("key", "run", "type", "value", weight=(pl.col("steps") / df).log())
