"""What is evaluated: the frames of some runs with what their parts say, and one strategy's placements on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.evaluation.lexemes import argument_text
from ledgerkit.evaluation.presence import Flags, Spans, matching
from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.strategies import Projection, RunFrames, Strategy
from ledgerkit.strategies.grid import Ints, ints
from ledgerkit.strategies.placements import RENDITIONS

_TEXT_COLUMNS: Final = {
    "run": pl.UInt32(),
    "part": pl.Int64(),
    "text": pl.String(),
    "data": pl.String(),
    "path": pl.String(),
    "root": pl.String(),
    "is_own": pl.Boolean(),
}
VERDICTS: Final = {
    "session_id": pl.String(),
    "run_id": pl.String(),
    "message_id": pl.String(),
    "part_index": pl.Int32(),
    "check": pl.String(),
    "verdict": pl.String(),
    "lines": pl.List(pl.String()),
}
"""Columns of verdicts: the part that says it, the key of the check, ``passed`` or ``failed``, its error lines."""
_IDS: Final = ("session_id", "run_id", "message_id", "part_index")


@dataclass(frozen=True)
class Material:
    """Runs to evaluate.

    Attributes:
        frames: Steps and parts.
        contents: What parts say: ``session_id``, ``run_id``, ``message_id``, ``part_index``, ``inherited``, ``text``,
            ``data``, ``path``; rows of parts that the frames do not know are left out.
        facts: ``session_id``, ``run_id``, ``working_directory``.
        verdicts: Verdicts on work (``VERDICTS``).
        usage: What providers recorded: ``session_id``, ``run_id``, ``step``, ``cache_read_tokens``.
        rates: Rates of each step, as ``strategies.measure`` takes them.
    """

    frames: RunFrames
    contents: pl.DataFrame
    facts: pl.DataFrame
    verdicts: pl.DataFrame
    usage: pl.DataFrame
    rates: pl.DataFrame

    @cached_property
    def texts(self) -> pl.DataFrame:
        """One row per part, by part: ``run``, ``part``, ``text``, ``data``, ``path``, ``root``, ``is_own``."""
        ids = self.frames.runs.select("run", "session_id", "run_id")
        facts = self.facts.select("session_id", "run_id", root="working_directory").unique(["session_id", "run_id"])
        said = self.contents.with_columns(pl.col("part_index").cast(pl.Int32), is_own=pl.col("inherited") == 0)
        joined = (
            self.frames.parts.select("run", "part", "message_id", "part_index")
            .join(ids, on="run", how="left", maintain_order="left")
            .join(said.unique(_IDS, keep="last"), on=_IDS, how="left", maintain_order="left")
            .join(facts, on=["session_id", "run_id"], how="left", maintain_order="left")
        )
        return joined.select(pl.col(n).cast(t) for n, t in _TEXT_COLUMNS.items())

    @cached_property
    def said(self) -> pl.DataFrame:
        """``run``, ``part``, ``root`` and ``text``: what each part says, its text or the values of its arguments."""
        types = self.frames.parts.select("part", is_call=pl.col("part_type") == "tool_call")
        texts = self.texts.join(types, on="part", maintain_order="left")
        calls = texts.filter("is_call").select("data").drop_nulls().unique(maintain_order=True)
        values = calls.with_columns(values=pl.Series([argument_text(data) for data in calls["data"]], dtype=pl.String))
        texts = texts.join(values, on="data", how="left", maintain_order="left")
        text = pl.when("is_call").then("values").otherwise(pl.coalesce("text", "data"))
        return texts.select("run", "part", "root", text=text).drop_nulls("text")

    @cached_property
    def part_of(self) -> pl.DataFrame:
        """``run`` and ``part`` of ids: ``session_id``, ``run_id``, ``message_id``, ``part_index``."""
        ids = self.frames.runs.select("run", "session_id", "run_id")
        named = self.frames.parts.select("run", "part", "message_id", "part_index").join(ids, on="run", how="left")
        return named.select("run", "part", *_IDS)


@dataclass(frozen=True)
class Placed:
    """A strategy's placements on some runs, as arrays, shape (placements,) each.

    Attributes:
        material: The runs.
        strategy: The strategy.
        projection: Its answer.
    """

    material: Material
    strategy: Strategy
    projection: Projection

    @property
    def table(self) -> pl.DataFrame:
        """The placements."""
        return self.projection.placements

    @cached_property
    def run(self) -> Ints:
        """Run of each."""
        return ints(self.table["run"])

    @cached_property
    def part(self) -> Ints:
        """Part of each; negative for a summary that the strategy makes."""
        return ints(self.table["part"])

    @cached_property
    def start(self) -> Ints:
        """First step of each."""
        return ints(self.table["from_step"])

    @cached_property
    def end(self) -> Ints:
        """The step after its last."""
        return ints(self.table["to_step"])

    @cached_property
    def tokens(self) -> Ints:
        """Tokens of each."""
        return ints(self.table["tokens"])

    def rendered_as(self, rendition: Rendition) -> Flags:
        """Whether each is shown in some rendition."""
        return (self.table["rendition"] == pl.Series([rendition.value], dtype=RENDITIONS)).to_numpy()

    @cached_property
    def is_full(self) -> Flags:
        """Whether each shows the whole of a part."""
        return self.rendered_as(Rendition.FULL) & (self.part >= 0)

    @cached_property
    def is_excerpt(self) -> Flags:
        """Whether each shows an excerpt of a part."""
        return self.rendered_as(Rendition.EXCERPT) & (self.part >= 0)

    def spans(self, rows: Flags) -> Spans:
        """The steps at which parts stand, by part."""
        return Spans(self.part[rows], self.start[rows], self.end[rows])

    @cached_property
    def full_until(self) -> Ints | None:
        """The step up to which each part stands in full, 0 for one that never does; shape (parts,).

        ``None`` where that does not say all: a part that comes later than it could, or comes back.
        """
        frames = self.material.frames
        part = self.part[self.is_full]
        until = np.zeros(frames.parts.height, np.int64)
        until[part] = self.end[self.is_full]
        is_usual = (self.start[self.is_full] == frames.column("visible_from")[part]).all()
        return until if is_usual and part.size == np.count_nonzero(until) else None

    def of_keys(self, rows: Flags, parts: Ints, keys: Ints) -> Spans:
        """The steps at which something that parts hold stands.

        Args:
            rows: Which placements show it.
            parts: Parts that hold it, rising.
            keys: What each of them holds.
        """
        chosen = np.flatnonzero(rows)
        asked, held = matching(parts, self.part[chosen])
        return Spans(keys[held], self.start[chosen][asked], self.end[chosen][asked])

    def excerpts(self, parts: Ints) -> pl.DataFrame:
        """Excerpts of some parts as the strategy shows them: ``run``, ``part``, ``root``, ``text``."""
        shown = np.intersect1d(self.part[self.is_excerpt], parts)
        said = self.material.said.filter(pl.col("part").is_in(pl.Series(shown).implode()))
        texts = ["\n".join(self.strategy.excerpt(text)) for text in said["text"]]
        return said.with_columns(text=pl.Series(texts, dtype=pl.String))
