"""Strategies about tool results: what came back long ago becomes a reference to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import Ints, ints
from ledgerkit.strategies.placements import RENDITIONS, change_at
from ledgerkit.strategies.strategy import Strategy

NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class LastObservations(Strategy):
    """Only the newest tool results stand in full; older ones are references.

    An observation is what came back for one tool call. With ``polling`` k the cut moves only at every k-th observation,
    so that between n and n + k - 1 newest ones stay and a prompt cache can be used meanwhile. The rule is that of
    SWE-agent's ``last_n_observations``, which counts the task as the first observation and never elides it.

    Attributes:
        n: Observations that stay in full.
        polling: At every how many observations the cut moves.
    """

    n: int = 10
    polling: int = 1

    def __post_init__(self) -> None:
        if self.n < 1 or self.polling < 1:
            raise StrategyError(f"n and polling are at least 1, not {self.n} and {self.polling}.")

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Refers to older results."""
        results = observations(frames, placements)
        # Counting the task: the i-th result (from 0) is observation i + 1, elided once c observations are there.
        number = results.number + 1
        count = -(-(self.n + number + 1) // self.polling) * self.polling
        at = np.full(number.size, NEVER, np.int64)
        there = count - 1 <= results.count[results.run]  # the task and count - 1 results
        at[there] = results.enters[results.first[results.run[there]] + count[there] - 2]
        return refer_at(frames, placements, results.of_part(frames, at))


@dataclass(frozen=True)
class Observations:
    """The tool results of some runs, one per unit, in the order in which they came.

    Attributes:
        run: Run of each, shape (n,).
        unit: Unit of each.
        enters: First step that sees each.
        number: Place of each among those of its run, from 0.
        first: Index of the first one of each run, shape (runs,).
        count: How many each run has, shape (runs,).
    """

    run: Ints
    unit: Ints
    enters: Ints
    number: Ints
    first: Ints
    count: Ints

    def of_part(self, frames: RunFrames, values: Ints) -> Ints:
        """A value per observation, for each result part of its unit; ``NEVER`` for all other parts."""
        spread = np.full(frames.parts.height + 1, NEVER, np.int64)
        by_unit = np.full(frames.parts.height, NEVER, np.int64)
        by_unit[frames.first_part[self.run] + self.unit] = values
        units = frames.first_part[frames.column("run")] + frames.column("unit")
        spread[:-1] = np.where(frames.column("is_result") == 1, by_unit[units], NEVER)
        return spread


def observations(frames: RunFrames, placements: pl.DataFrame) -> Observations:
    """The tool results among some placements."""
    rows = np.flatnonzero(frames.of_rows("is_result", placements, summary=0) == 1)
    owner = ints(placements["run"])[rows]
    key = frames.first_part[owner] + frames.of_rows("unit", placements)[rows]
    enters, first = np.full((2, frames.parts.height), NEVER, np.int64)
    np.minimum.at(enters, key, ints(placements["from_step"])[rows])
    np.minimum.at(first, key, ints(placements["position"])[rows])
    found = np.flatnonzero(enters != NEVER)  # by run and unit
    run = frames.column("run")[found]
    order = np.lexsort((first[found], enters[found], run))
    found, run = found[order], run[order]
    count = np.bincount(run, minlength=frames.runs.height).astype(np.int64)
    start = np.cumsum(count) - count
    number = np.arange(run.size, dtype=np.int64) - start[run]
    return Observations(run, found - frames.first_part[run], enters[found], number, start, count)


def refer_at(frames: RunFrames, placements: pl.DataFrame, at_part: Ints) -> pl.DataFrame:
    """Shows parts as references from a step on.

    Args:
        frames: Steps and parts.
        placements: What stands there.
        at_part: Step for each part, ``NEVER`` for none; one entry more at the end for summaries.
    """
    part = ints(placements["part"])
    at = np.where(part >= 0, at_part[part], NEVER)
    is_reference = (placements["rendition"] == pl.Series([Rendition.REFERENCE.value], dtype=RENDITIONS)).to_numpy()
    tokens = np.minimum(frames.of_rows("reference_tokens", placements), ints(placements["tokens"]))
    no_gain = tokens >= ints(placements["tokens"])
    return change_at(placements, np.where(is_reference | no_gain, NEVER, at), Rendition.REFERENCE, tokens)
