"""Evidence retention: whether what the next recorded action used still stood in its context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.lexemes import TYPES
from ledgerkit.evaluation.material import Material, Placed
from ledgerkit.evaluation.mentions import find_mentions, normal_texts
from ledgerkit.evaluation.needs import Needs, find_needs
from ledgerkit.evaluation.presence import STRIDE, Flags, Floats, Spans, ratio
from ledgerkit.evaluation.refetching import refetchable
from ledgerkit.strategies.grid import Ints, StepGrid, ints

LOST_SCHEMA: Final = {
    "session_id": pl.String(),
    "run_id": pl.String(),
    "strategy": pl.String(),
    "step": pl.Int32(),
    "type": pl.String(),
    "value": pl.String(),
    "age": pl.Int64(),
    "message_id": pl.String(),
    "part_index": pl.Int32(),
    "refetch_tokens": pl.Int64(),
}
"""What was dropped and then needed: the step whose action used it, what it is, how many steps ago its newest source
came, that source, and the tokens of reading it again (null where no recorded read-only call gave it)."""
_QUANTILES: Final = {"missing_age_p50": 0.5, "missing_age_p90": 0.9, "missing_age_max": 1.0}


@dataclass(frozen=True)
class _Latest:
    """Mentions by token and by the step that brings them, and of each need the last one that could stand by its step.

    Where every part stands from when it could, up to some step, that order holds for every strategy: what a need can
    be met by is the run of mentions before it, and the one that stands longest decides.
    """

    part: Ints
    token: Ints
    last: Ints
    asked: Ints

    @classmethod
    def of(cls, needs: pl.DataFrame, mentions: pl.DataFrame) -> _Latest:
        ordered = mentions.select("key", "part", "visible_from").sort("key", "visible_from", "part")
        token = ints(ordered["key"]) * STRIDE
        asked = ints(needs["key"]) * STRIDE + ints(needs["step"])
        last = np.searchsorted(token + ints(ordered["visible_from"]), asked, side="right") - 1
        return cls(ints(ordered["part"]), token, last, asked)

    def held(self, until: Ints) -> Flags:
        """Whether each need is met, if each part stands up to (not including) some step."""
        if not self.part.size:
            return np.zeros(self.asked.size, np.bool_)
        ends = np.maximum.accumulate(self.token + until[self.part])
        return (self.last >= 0) & (ends[np.maximum(self.last, 0)] > self.asked)


@dataclass(frozen=True)
class Evidence:
    """Needs of some runs, ready to be held against strategies.

    Attributes:
        needs: The needs.
        refetch_tokens: Tokens of reading the newest source of each need again; -1 where that is not possible.
    """

    needs: Needs
    refetch_tokens: Ints

    @classmethod
    def of(cls, material: Material) -> Evidence:
        """Finds the needs of the recorded actions."""
        frames = material.frames
        needs = find_needs(frames.parts, frames.runs, material.texts, material.said)
        return cls(needs, refetchable(material, ints(needs.needs["source"]), ints(needs.needs["step"])))

    def held(self, placed: Placed) -> tuple[Flags, Flags]:
        """Whether each need is met by its context at all, and whether a source of it stands there."""
        mentions = self.needs.mentions
        sources = mentions.filter("is_source")
        asked = ints(self.needs.needs["key"]), ints(self.needs.needs["step"])
        excerpts = self._in_excerpts(placed)
        answers: list[Flags] = []
        for table, shown, quick in (
            (mentions, excerpts, self._anywhere),
            (sources, excerpts.filter("is_source"), self._in_sources),
        ):
            if placed.full_until is not None and not shown.height:
                answers.append(quick.held(placed.full_until))
                continue
            whole = placed.of_keys(placed.is_full, ints(table["part"]), ints(table["key"]))
            cut = placed.of_keys(placed.is_excerpt, ints(shown["part"]), ints(shown["key"]))
            both = Spans(*(np.concatenate(pair) for pair in zip(_fields(whole), _fields(cut), strict=True)))
            answers.append(both.cover(*asked))
        return answers[0], answers[1]

    @cached_property
    def _anywhere(self) -> _Latest:
        return _Latest.of(self.needs.needs, self.needs.mentions)

    @cached_property
    def _in_sources(self) -> _Latest:
        return _Latest.of(self.needs.needs, self.needs.mentions.filter("is_source"))

    def _in_excerpts(self, placed: Placed) -> pl.DataFrame:
        """Mentions in excerpts, as ``Needs.mentions``."""
        mentions = self.needs.mentions
        if not placed.is_excerpt.any():
            return mentions.clear()
        shown = placed.excerpts(ints(mentions["part"].unique()))
        found = find_mentions(normal_texts(shown), self.needs.keys)
        return found.join(mentions, on=["key", "part"], how="inner", maintain_order="left").sort("part", "key")

    def steps(self, grid: StepGrid, held: Flags, from_source: Flags) -> dict[str, Floats | Ints]:
        """By slot: ``needs``, ``needs_held``, ``evidence_retention`` and ``source_retention`` (NaN without needs)."""
        slots = grid.slots(ints(self.needs.needs["run"]), ints(self.needs.needs["step"]))
        wanted = np.bincount(slots, minlength=grid.size)
        kept = np.bincount(slots[held], minlength=grid.size)
        sourced = np.bincount(slots[from_source], minlength=grid.size)
        return {
            "needs": wanted.astype(np.int64),
            "needs_held": kept.astype(np.int64),
            "evidence_retention": ratio(kept, wanted),
            "source_retention": ratio(sourced, wanted),
        }

    def runs(self, held: Flags) -> pl.DataFrame:
        """By run with a need: micro and weighted retention, by type, and the ages of what is missing."""
        types = self.needs.keys["type"].gather(self.needs.needs["key"].cast(pl.UInt32))
        table = self.needs.needs.select("run", "age").with_columns(
            types.alias("type"),
            pl.Series("held", held),
            pl.Series("weight", self.needs.weight, dtype=pl.Int64),
            pl.Series("again", self.refetch_tokens, dtype=pl.Int64),
        )
        missing = ~pl.col("held")
        by_type = {f"evidence_retention_{name}": pl.col("held").filter(pl.col("type") == name).mean() for name in TYPES}
        weight = pl.col("weight").sum()
        return (
            table.group_by("run")
            .agg(
                evidence_retention_micro=pl.col("held").mean(),
                evidence_retention_idf=pl.when(weight > 0).then(pl.col("weight").filter("held").sum() / weight),
                **by_type,
                **{
                    name: pl.col("age").filter(missing).quantile(q, "higher").cast(pl.Int64)
                    for name, q in _QUANTILES.items()
                },
                refetch_exposure=(pl.col("again").filter(missing) >= 0).mean(),
                refetch_tokens=pl.col("again").filter(missing & (pl.col("again") >= 0)).sum(),
            )
            .sort("run")
        )

    def lost(self, placed: Placed, held: Flags) -> pl.DataFrame:
        """What was dropped and then needed (``LOST_SCHEMA``), by run and step."""
        again = pl.Series("again", self.refetch_tokens, dtype=pl.Int64)
        missing = self.needs.needs.with_columns(again).filter(pl.Series(~held, dtype=pl.Boolean))
        frames = placed.material.frames
        ids = frames.parts.select("message_id", "part_index", source="part")
        return (
            missing.join(self.needs.keys.select("key", "type", "value"), on="key", how="left")
            .join(frames.runs.select("run", "session_id", "run_id"), on="run", how="left")
            .join(ids, on="source", how="left")
            .with_columns(
                strategy=pl.lit(placed.strategy.label), refetch_tokens=pl.when(pl.col("again") >= 0).then("again")
            )
            .select(pl.col(n).cast(t) for n, t in LOST_SCHEMA.items())
            .sort("session_id", "run_id", "step", "type", "value")
        )


def _fields(spans: Spans) -> tuple[Ints, Ints, Ints]:
    return spans.key, spans.start, spans.end
