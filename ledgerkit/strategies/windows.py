"""Strategies with a budget: whole units leave when it is full, and none comes back.

What a unit's key is, is all the difference: its place (a window on the newest), its place within a section
(budgets by section), or chance (the control that every other strategy has to beat). Pinned parts never leave; their
tokens count first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.protocol.budget import BudgetName, TokenBudget
from ledgerkit.strategies.eviction import Candidates, leaving_steps
from ledgerkit.strategies.frames import RunFrames, section_rank
from ledgerkit.strategies.grid import Ints, StepGrid, ints
from ledgerkit.strategies.placements import end_at
from ledgerkit.strategies.strategy import Strategy

_RANK_STRIDE = 1 << 24
_RANK_BITS = 40


@dataclass(frozen=True)
class TokenWindow(Strategy):
    """Pinned parts and the newest units that fit, without a gap.

    Attributes:
        budget: Tokens of the whole context.
    """

    budget: int

    def __post_init__(self) -> None:
        _refuse_empty(self.budget)

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Drops the oldest units when the budget is full."""
        return evict(frames, placements, frames.of_rows("unit", placements), self.budget)


@dataclass(frozen=True)
class RandomDrop(Strategy):
    """Pinned parts and units drawn at random that fit: the control at the budget of a ``TokenWindow``.

    Each unit has a random rank for good; when the budget is full, the lowest rank leaves.

    Attributes:
        budget: Tokens of the whole context.
        seed: Draws the ranks.
    """

    budget: int
    seed: int = 0

    def __post_init__(self) -> None:
        _refuse_empty(self.budget)

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Drops units by rank when the budget is full."""
        return drop_at_random(frames, placements, self.budget, self.seed)


@dataclass(frozen=True)
class SectionBudgets(Strategy):
    """Each section has its share of the context window and keeps its newest units; shares spill as declared.

    Sections stand in a fixed order, what changes least first (specification §13 and §14). Pinned parts stand whole and
    count first in their share.

    Attributes:
        budget: The shares and the window.
    """

    budget: TokenBudget

    @property
    def label(self) -> str:
        """Its window, if its shares are those of the specification; else all of them."""
        usual = TokenBudget(context_window=self.budget.context_window) == self.budget
        return f"SectionBudgets.of_window({self.budget.context_window})" if usual else repr(self)

    @classmethod
    def of_window(cls, tokens: int) -> SectionBudgets:
        """The shares of specification §13 of a context window."""
        return cls(TokenBudget(context_window=tokens))

    def place(self, frames: RunFrames, placements: pl.DataFrame) -> pl.DataFrame:
        """Drops the oldest units of sections that are full, and orders by section."""
        share_of = {
            section.value: number for number, share in enumerate(self.budget.shares) for section in share.sections
        }
        share = placements["section"].cast(pl.String).replace_strict(share_of, default=-1, return_dtype=pl.Int64)
        placed = placements.filter(share >= 0)
        group = ints(placed["run"]) * len(self.budget.shares) + ints(share.filter(share >= 0))
        grid = StepGrid(np.repeat(frames.grid.steps, len(self.budget.shares)))
        limits = self._limits(frames, placed, group, grid)
        left = _leave(frames, placed, group, grid, frames.of_rows("unit", placed), limits)
        rank = section_rank(pl.col("section"))
        return left.with_columns(position=(rank * _RANK_STRIDE + pl.col("position")).cast(pl.Int32))

    def _limits(self, frames: RunFrames, placements: pl.DataFrame, group: Ints, grid: StepGrid) -> Ints:
        """Tokens that each share may use for what is not pinned, at each slot."""
        names = [share.name for share in self.budget.shares]
        shape = (frames.runs.height, len(names))
        wanted = _by_share(grid, shape, _held(grid, group, placements))
        allotted = self.budget.allotment()
        granted = [np.minimum(wanted[n], allotted[name]) for n, name in enumerate(names)]
        # The most that a share may use: its own, and what the shares before it in the order leave of the rest.
        most = [np.full_like(one, allotted[name]) for one, name in zip(granted, names, strict=True)]
        if BudgetName.ANSWER in names:
            answer = names.index(BudgetName.ANSWER)
            granted[answer] = np.full_like(granted[answer], allotted[BudgetName.ANSWER])
        spare = self.budget.context_window - np.sum(granted, axis=0)
        for name in self.budget.spill_order:
            n = names.index(name)
            most[n] = np.maximum(most[n], granted[n] + spare)
            more = np.minimum(wanted[n] - granted[n], spare)
            spare = spare - more
        pinned = _pinned(frames, placements)
        taken = _by_share(grid, shape, _held(grid, group[pinned], placements.filter(pl.Series(pinned))))
        return _from_shares(grid, shape, [m - t for m, t in zip(most, taken, strict=True)])


def drop_at_random(frames: RunFrames, placements: pl.DataFrame, budget: int | Ints, seed: int) -> pl.DataFrame:
    """Takes out units at random when a budget is full; one budget, or one for each slot of the grid."""
    ranks = _random_ranks(frames, seed)
    part = ints(placements["part"])
    return evict(frames, placements, np.where(part >= 0, ranks[part], -part), budget)


def evict(frames: RunFrames, placements: pl.DataFrame, key: Ints, budget: int | Ints) -> pl.DataFrame:
    """Takes out units by falling key when a budget is full.

    Args:
        frames: Steps and parts.
        placements: What stands there.
        key: Key of each placement, equal for those of one unit; the lowest leaves first.
        budget: Tokens of the whole context; the same at every step, or by slot of the grid.
    """
    run = ints(placements["run"])
    pinned = _pinned(frames, placements)
    taken = _held(frames.grid, run[pinned], placements.filter(pl.Series(pinned)))
    return _leave(frames, placements, run, frames.grid, key, np.minimum(budget, budget - taken))


def _leave(
    frames: RunFrames, placements: pl.DataFrame, group: Ints, grid: StepGrid, key: Ints, limits: Ints
) -> pl.DataFrame:
    """Ends placements of units that have to leave."""
    free = np.flatnonzero(~_pinned(frames, placements))
    enters = ints(placements["from_step"])
    order = free[by_falling_key(group[free], key[free])]
    columns = (group, key, enters, ints(placements["to_step"]), ints(placements["tokens"]))
    at = np.full(placements.height, np.iinfo(np.int64).max, np.int64)
    at[order] = leaving_steps(Candidates(*(column[order] for column in columns)), grid, limits)
    return end_at(placements, at)


def by_falling_key(group: Ints, key: Ints) -> Ints:
    """The order of rows by group and falling key."""
    if not key.size:
        return np.zeros(0, np.int64)
    high = int(key.max())
    keys = high - int(key.min()) + 1
    if int(group.max() + 1) * keys < 1 << 62:  # one number per row sorts faster than two
        return np.argsort(group * keys + (high - key), kind="stable")
    return np.lexsort((-key, group))


def _held(grid: StepGrid, group: Ints, placements: pl.DataFrame) -> Ints:
    """Tokens of placements that stand at each slot."""
    tokens = ints(placements["tokens"])
    enters = grid.sums(grid.slots(group, ints(placements["from_step"])), tokens)
    return grid.running_sum(enters - grid.sums(grid.slots(group, ints(placements["to_step"])), tokens))


def _pinned(frames: RunFrames, placements: pl.DataFrame) -> npt.NDArray[np.bool_]:
    return frames.of_rows("is_pinned", placements, summary=0) == 1


def _by_share(grid: StepGrid, shape: tuple[int, int], amounts: Ints) -> list[Ints]:
    """Amounts per slot of the groups, as one array per share over the slots of the runs."""
    runs, shares = shape
    share = grid.run % shares
    return [amounts[share == n] for n in range(shares)] if runs else [amounts for _ in range(shares)]


def _from_shares(grid: StepGrid, shape: tuple[int, int], amounts: Sequence[Ints]) -> Ints:
    whole = np.zeros(grid.size, np.int64)
    share = grid.run % shape[1]
    for n, one in enumerate(amounts):
        whole[share == n] = one
    return whole


def _random_ranks(frames: RunFrames, seed: int) -> Ints:
    """A rank from 0 for every part, equal within a unit: a function of the seed, the run's id and the unit alone.

    Two units of a run share a rank, and leave together, once in 2**40 pairs.
    """
    salts = [
        int.from_bytes(hashlib.blake2b(f"{seed}:{run_id}".encode(), digest_size=8).digest(), "little")
        for run_id in frames.runs["run_id"]
    ]
    salt = np.array(salts, np.uint64)[frames.column("run")]
    mixed = _mix(salt + frames.column("unit").astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return np.append((mixed >> np.uint64(64 - _RANK_BITS)).astype(np.int64), 0)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): spreads whole numbers evenly."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _refuse_empty(budget: int) -> None:
    if budget < 1:
        raise StrategyError(f"A budget is at least 1 token, not {budget}.")
