"""A run as the replay widget looks at it: its parts, and which of them stand in the context of a step, and why not.

Frames in, frames out; what is sent to a page is in ``ledgerkit.notebook.pages``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from ledgerkit.projection.account import Left
from ledgerkit.protocol.vocabulary import Rendition
from ledgerkit.replay import Replay
from ledgerkit.strategies import (
    AsRecorded,
    Chain,
    ClearAt,
    FullHistory,
    LastObservations,
    Projection,
    Strategy,
    project,
)

STANDARD: Final[tuple[Strategy, ...]] = (AsRecorded(), FullHistory(), LastObservations(5), ClearAt(20_000))
"""Strategies to switch between where none are named."""

NOTES: Final = {
    Rendition.REFERENCE.value: "only a reference to message {no}",
    Rendition.EXCERPT.value: "beginning and end of it",
    Rendition.SUMMARY.value: "a summary that the strategy assumes",
}
"""What a part looks like in a rendition that is not the whole of it."""
_KEYS: Final = ("message_id", "part_index")
_NONE: Final = pl.DataFrame(
    schema={
        "part": pl.Int64(),
        "rendition": pl.String(),
        "section": pl.String(),
        "position": pl.Int32(),
        "tokens": pl.Int64(),
    }
)


@dataclass(frozen=True)
class Sight:
    """What a page shows of one step under one strategy.

    Attributes:
        history: One row per part of the run, in order: ``row`` (of ``Sights.parts``), ``part``, ``step``,
            ``inherited``, and ``state`` (``in``, ``new``,
            ``changed``, ``left``, ``out``, ``later``), ``rendition``, ``tokens_now`` and ``reason``.
        context: One row per placement of the step, in its order: ``row`` (of ``history``; null for a summary that the
            strategy assumes), ``part``, ``rendition``, ``section``, ``tokens``, ``state``.
    """

    history: pl.DataFrame
    context: pl.DataFrame

    @cached_property
    def moved(self) -> pl.DataFrame:
        """Rows of ``history`` that entered, changed or left since the step before."""
        return self.history.filter(pl.col("state").is_in(["new", "changed", "left"]))

    @cached_property
    def out(self) -> pl.DataFrame:
        """Rows of ``history`` that are known by then and not in the context."""
        return self.history.filter(pl.col("state").is_in(["out", "left"]))


class Sights:
    """All that can be seen of a run, step by step and strategy by strategy.

    Args:
        replay: The run.
        strategies: The strategies; those of the replay, or the standard ones, if none are given.
    """

    def __init__(self, replay: Replay, strategies: Sequence[Strategy] = ()) -> None:
        self.replay = replay
        self.strategies = tuple(strategies or replay.strategies or STANDARD)
        self._projections: dict[int, Projection] = {}
        self._sizes: dict[int, pl.DataFrame] = {}
        self._last: tuple[tuple[int, int], Sight] | None = None

    @cached_property
    def parts(self) -> pl.DataFrame:
        """The run's parts in order, with their numbers in its frames (``part``; null where these do not hold it)."""
        known = self.replay.frames.parts.select("part", *_KEYS, "absence", "ends_at", placed_from="visible_from")
        return (
            self.replay.parts.with_row_index("row")
            .with_columns(pl.col("row").cast(pl.Int64), pl.col("part_index").cast(pl.Int32))
            .join(known.unique(_KEYS, keep="last", maintain_order=True), on=_KEYS, how="left", maintain_order="left")
        )

    @cached_property
    def _places(self) -> pl.DataFrame:
        """What of the parts decides where they stand, without what they say."""
        return self.parts.select("row", "part", "step", "inherited", "visible_from", "absence", "ends_at")

    @cached_property
    def withheld(self) -> int:
        """Parts of the run that the audience may not see."""
        return max(self.replay.frames.parts.height - self.parts["part"].drop_nulls().len(), 0)

    @cached_property
    def run(self) -> int | None:
        """Number of the run in its frames; ``None`` if it has no step there."""
        runs, own = self.replay.frames.runs, self.replay.parts
        if not own.height:
            return None
        session, run = own.row(-1, named=True)["session_id"], own.row(-1, named=True)["run_id"]
        found = runs.filter(pl.col("session_id") == session, pl.col("run_id") == run)
        return int(found["run"][0]) if found.height else None

    def projection(self, strategy: int) -> Projection:
        """A strategy's answer, asked for once."""
        if strategy not in self._projections:
            self._projections[strategy] = project(self.replay.frames, self.strategies[strategy])
        return self._projections[strategy]

    def placements(self, strategy: int) -> pl.DataFrame:
        """Placements of the run under a strategy."""
        return self.projection(strategy).placements.filter(pl.col("run") == self.run)

    def tokens(self, strategy: int) -> pl.DataFrame:
        """Size of each step's context, and what moved: ``step``, ``tokens``, ``entered``, ``left``."""
        if strategy not in self._sizes:
            self._sizes[strategy] = self._tokens(strategy)
        return self._sizes[strategy]

    def _tokens(self, strategy: int) -> pl.DataFrame:
        rows = self.placements(strategy)
        steps = pl.DataFrame({"step": pl.int_range(len(self.replay), eager=True, dtype=pl.Int32)})
        plus = rows.group_by(step="from_step").agg(entered=pl.len().cast(pl.Int64), more=pl.col("tokens").sum())
        minus = rows.group_by(step="to_step").agg(left=pl.len().cast(pl.Int64), less=pl.col("tokens").sum())
        joined = steps.join(plus, on="step", how="left", maintain_order="left")
        joined = joined.join(minus, on="step", how="left", maintain_order="left")
        filled = joined.with_columns(pl.col("entered", "more", "left", "less").fill_null(0))
        return filled.select("step", "entered", "left", tokens=(pl.col("more") - pl.col("less")).cum_sum())

    def sight(self, strategy: int, step: int) -> Sight:
        """What stands in the context of a step, what moved since the step before, what is out and why."""
        if self._last is not None and self._last[0] == (strategy, step):
            return self._last[1]
        now, before = self._context(strategy, step), self._context(strategy, step - 1)
        was = before.unique("part").select("part", before="rendition")
        placed = now.unique("part", maintain_order=True).select("part", "rendition", tokens_now="tokens")
        joined = self._places.join(placed, on="part", how="left", maintain_order="left")
        joined = joined.join(was, on="part", how="left", maintain_order="left")
        history = joined.with_columns(state=_state(step)).with_columns(reason=self._reason(strategy, step))
        rows = history.filter(pl.col("part").is_not_null()).select("part", "row", "state")
        context = now.join(rows, on="part", how="left", maintain_order="left").with_columns(
            state=pl.coalesce("state", pl.lit("in"))
        )
        sight = Sight(history, context)
        self._last = ((strategy, step), sight)
        return sight

    def _context(self, strategy: int, step: int) -> pl.DataFrame:
        if self.run is None or step < 0:
            return _NONE
        there = self.replay.frames.context(self.projection(strategy).placements, self.run, step)
        return there.select(*_NONE.columns).with_columns(pl.col("rendition", "section").cast(pl.String))

    def follows_compactions(self, strategy: int) -> bool:
        """Whether a strategy takes out what a recorded compaction took out."""
        return any(isinstance(link, AsRecorded) for link in _links(self.strategies[strategy]))

    def _reason(self, strategy: int, step: int) -> pl.Expr:
        compacted = (pl.col("ends_at") <= step) & pl.lit(self.follows_compactions(strategy))
        is_out = pl.col("state").is_in(["out", "left"])
        named = pl.coalesce(
            "absence",
            pl.when(compacted.fill_null(value=False)).then(pl.lit(Left.COMPACTED.value)),
            pl.lit(Left.BY_STRATEGY.value),
        )
        return pl.when(is_out).then(named)


def _links(strategy: Strategy) -> Sequence[Strategy]:
    return strategy.links if isinstance(strategy, Chain) else (strategy,)


def _state(step: int) -> pl.Expr:
    is_in, was_in = pl.col("rendition").is_not_null(), pl.col("before").is_not_null()
    return (
        pl.when(is_in & ~was_in).then(pl.lit("new"))
        .when(is_in & (pl.col("rendition") != pl.col("before"))).then(pl.lit("changed"))
        .when(is_in).then(pl.lit("in"))
        .when(was_in).then(pl.lit("left"))
        .when(pl.col("visible_from").fill_null(0) > step).then(pl.lit("later"))
        .otherwise(pl.lit("out"))
    )  # fmt: skip


def rendition_note(rendition: str, sequence_no: int | None) -> str:
    """What a part in a rendition looks like, in words; nothing for the whole of it.

    Example:
        >>> rendition_note("reference", 12)
        'only a reference to message 12'
    """
    return NOTES.get(rendition, "").format(no=sequence_no)
