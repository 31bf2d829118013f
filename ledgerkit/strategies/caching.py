"""A prompt cache, simulated: which beginning of each prompt is read, what is written, and what each token is charged.

Every prompt is compared with the one before it. That is a lower bound of what is read: a provider may still hold an
older prompt whose beginning is longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.errors import StrategyError
from ledgerkit.protocol.capabilities import PromptCacheRule
from ledgerkit.strategies.frames import RunFrames
from ledgerkit.strategies.grid import Ints, ints
from ledgerkit.strategies.prefixes import Prefixes


@dataclass(frozen=True)
class CacheRules:
    """When a prompt's beginning is read from a cache.

    Attributes:
        minimum_tokens: Shortest beginning that is cached.
        block_tokens: Cached beginnings are multiples of so many tokens.
        lifetime_s: Seconds after its last use for which a beginning is kept; ``None``: for ever.
        only_whole_prompts: Whether only whole prompts are cached, as where the client marks the end of each prompt and
            nothing else; otherwise every beginning is.
        is_on: Whether there is a cache at all.
    """

    minimum_tokens: int = 1024
    block_tokens: int = 1
    lifetime_s: int | None = None
    only_whole_prompts: bool = False
    is_on: bool = True

    def __post_init__(self) -> None:
        if self.minimum_tokens < 1 or self.block_tokens < 1 or (self.lifetime_s is not None and self.lifetime_s < 0):
            raise StrategyError("minimum_tokens and block_tokens are at least 1, lifetime_s at least 0.")

    @classmethod
    def of(cls, rule: PromptCacheRule, *, only_whole_prompts: bool | None = None) -> CacheRules:
        """What a provider's interface says (``protocol.capabilities``). Figures that it does not give bind nothing.

        Args:
            rule: The provider's rule.
            only_whole_prompts: As the attribute; where not given, true if beginnings have to be marked.
        """
        marked = rule.is_automatic is False
        return cls(
            minimum_tokens=rule.minimum_tokens or 1,
            block_tokens=rule.block_tokens or 1,
            lifetime_s=rule.lifetimes_s[0] if rule.lifetimes_s else None,
            only_whole_prompts=marked if only_whole_prompts is None else only_whole_prompts,
        )


NO_CACHE: Final = CacheRules(is_on=False)
"""The rules of a provider without a prompt cache: every token is fresh."""


@dataclass(frozen=True)
class Charges:
    """Of every slot of a grid, shape (slots,) each.

    Attributes:
        read: Tokens read from the cache.
        written: Tokens written to it.
        before: Position before which everything is read; 0 where nothing is.
        in_time: Whether the step before lies within the lifetime; unknown times count as within it.
        time_unknown: Whether a time that the lifetime needs is not recorded.
    """

    read: Ints
    written: Ints
    before: Ints
    in_time: npt.NDArray[np.bool_]
    time_unknown: npt.NDArray[np.bool_]


def simulate(frames: RunFrames, found: Prefixes, rules: CacheRules) -> Charges:
    """What is read from the cache and written to it at each step."""
    grid = frames.grid
    in_time, unknown = _within_lifetime(frames, rules.lifetime_s)
    cached = (found.tokens >= rules.minimum_tokens) & rules.is_on
    usable = found.shared
    if rules.only_whole_prompts:
        usable = np.where(found.appends, usable, 0)
    read = usable // rules.block_tokens * rules.block_tokens
    reads = cached & in_time & (read >= rules.minimum_tokens) & grid.is_step
    read = np.where(reads, read, 0)
    written = np.where(cached & grid.is_step, found.tokens - read, 0)
    return Charges(read, written, np.where(reads, found.change, 0), in_time, unknown & (rules.lifetime_s is not None))


def _within_lifetime(frames: RunFrames, lifetime_s: int | None) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    grid = frames.grid
    gap = frames.steps.select(
        gap=(pl.col("created_at") - pl.col("created_at").shift()).dt.total_microseconds(), first=pl.col("step") == 0
    )
    known = gap["gap"].is_not_null().to_numpy() | gap["first"].to_numpy()
    micros = ints(gap["gap"].fill_null(0))
    fits = np.ones(micros.size, np.bool_) if lifetime_s is None else ~known | (micros <= lifetime_s * 1_000_000)
    in_time, unknown = np.ones(grid.size, np.bool_), np.zeros(grid.size, np.bool_)
    in_time[grid.is_step], unknown[grid.is_step] = fits, ~known
    return in_time, unknown
