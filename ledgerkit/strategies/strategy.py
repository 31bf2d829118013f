"""A strategy takes placements and gives placements; several in a row are one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.placements import EXTRA_CALLS, PLACEMENTS, Projection, no_calls


class Strategy(ABC):
    """A rule that says which rendition of which part stands in the context of which step.

    Write your own as a frozen dataclass with a method ``place``; ``ledgerkit.strategies.conformance`` checks it.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class NoToolResults(Strategy):
        ...     def place(self, frames, placements):
        ...         results = frames.parts.filter("is_result").select("run", "unit")
        ...         units = placements.join(frames.parts.select("part", "unit"), on="part")
        ...         return units.join(results, on=["run", "unit"], how="anti").select(placements.columns)
        >>> (NoToolResults() | NoToolResults()).label
        'NoToolResults() | NoToolResults()'
    """

    @property
    def label(self) -> str:
        """What it is, with its settings."""
        return repr(self)

    @abstractmethod
    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame | Projection:
        """Changes what stands where.

        Args:
            frames: Steps and parts of many runs.
            placements: What stands there so far: every eligible part in full, if no other strategy came before.

        Returns:
            What stands there now. Rows of ``placements`` may end earlier, be split, change their rendition and tokens,
            or go; nothing may stand in a step before it was visible.
        """

    def excerpt(self, text: str) -> tuple[str, ...]:
        """How the rendition ``excerpt`` of a text looks, in blocks that are counted one by one.

        Raises:
            StrategyError: If it shows no excerpts.
        """
        del text
        raise StrategyError(f"{self.label} says nothing about excerpts: give it a method excerpt(text).")

    def __or__(self, other: Strategy) -> Chain:
        return Chain((*_links(self), *_links(other)))


@dataclass(frozen=True, repr=False)
class Chain(Strategy):
    """Strategies one after the other, each on what the one before left.

    Attributes:
        links: The strategies.
    """

    links: tuple[Strategy, ...]

    @property
    def label(self) -> str:
        """Its links, joined as they were written."""
        return " | ".join(link.label for link in self.links)

    def __repr__(self) -> str:
        return self.label

    def excerpt(self, text: str) -> tuple[str, ...]:
        """As its first link that shows excerpts: what it cut, later ones leave."""
        for link in self.links:
            if type(link).excerpt is not Strategy.excerpt:
                return link.excerpt(text)
        return super().excerpt(text)

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> Projection:
        """Applies each link to what the one before left."""
        calls = no_calls()
        for link in self.links:
            placements, made = _taken_apart(link.place(frames, placements))
            calls = pl.concat([calls, made]) if made.height else calls
        return Projection(self.label, placements, calls)


def project(frames: RunFrames, strategy: Strategy) -> Projection:
    """What a strategy puts into the context of every step of some runs.

    Args:
        frames: Steps and parts of the runs.
        strategy: The strategy.

    Returns:
        Its placements and the model calls that it makes itself.
    """
    placements, calls = _taken_apart(strategy.place(frames, frames.base))
    return Projection(strategy.label, placements.select(*PLACEMENTS).cast(PLACEMENTS), calls)


def _taken_apart(answer: pl.DataFrame | Projection) -> tuple[pl.DataFrame, pl.DataFrame]:
    if isinstance(answer, Projection):
        return answer.placements, answer.calls.select(*EXTRA_CALLS).cast(EXTRA_CALLS)
    return answer, no_calls()


def _links(strategy: Strategy) -> Iterable[Strategy]:
    return strategy.links if isinstance(strategy, Chain) else (strategy,)
