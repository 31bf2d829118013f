"""What each token of a call's input cost: whole pico-dollars that sum to what the call was charged.

The recorded input of a call lies on a line: what was read from the cache first, then what was written to it for an
hour, then for five minutes, then fresh input. On the same line stands what the log knows of it: first the unseen
beginning (system prompt and tool declarations), then the parts in the order of the context. Where the parts were
counted as fewer tokens than there are, each stretch is shared between the parts and a named line in the proportion of
their tokens; where as more, their tokens are scaled down.

Within a stretch (read, written, fresh) all tokens cost the same but for one pico-dollar: the amount is cut to whole
pico-dollars per token, and what is left over goes, one each, to the first tokens: those of named lines, then of parts.
So every token has a whole price, any set of tokens has a whole cost, and all of them together cost what was charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from ledgerkit.cost.leaves import LEAVES
from ledgerkit.errors import StrategyError
from ledgerkit.strategies.grid import Ints, ints

STRETCHES: Final = ("cache_read", "cache_write_1h", "cache_write_5m", "input")
"""Leaves of the input in the order in which they lie on the line: what is kept longest stands first."""
MOST_TOKENS: Final = 1 << 31
"""Contexts of more tokens are damaged records: their calls are on a named line as a whole."""
_PER_NANO: Final = 1_000
_MOST_NANO: Final = (1 << 62) // _PER_NANO


@dataclass(frozen=True)
class CallCosts:
    """Recorded tokens and amounts of some calls.

    Attributes:
        tokens: Tokens of each stretch, shape (calls, 4).
        pico: What each stretch cost, in pico-dollars, shape (calls, 4).
    """

    tokens: Ints
    pico: Ints

    @classmethod
    def of(cls, calls: pl.DataFrame) -> CallCosts:
        """From priced calls, all of which have a cost.

        Raises:
            StrategyError: If they cost more than four million dollars, so that pico-dollars do not fit.
        """
        counts = {name: pl.col(f"{name}_tokens").fill_null(0) for name in STRETCHES[:3]}
        fresh = pl.col("input_tokens").fill_null(0) - pl.sum_horizontal(counts.values())
        tokens = calls.select(**counts, input=fresh)
        columns = {leaf.name: leaf.cost_column for leaf in LEAVES}
        nano = calls.select(nanos(columns[name]).alias(name) for name in STRETCHES)
        check_sum(calls)
        return cls(
            np.column_stack([ints(tokens[name]) for name in STRETCHES]),
            np.column_stack([ints(nano[name]) for name in STRETCHES]) * _PER_NANO,
        )


def nanos(column: str) -> pl.Expr:
    """A column of dollars as whole nano-dollars."""
    return (pl.col(column).cast(pl.Decimal(38, 9)) * 1_000_000_000).cast(pl.Int64)


def check_sum(calls: pl.DataFrame) -> None:
    """Refuses amounts that do not fit."""
    if calls.height and int(calls.select(nanos("cost").cast(pl.Int128).sum()).item()) > _MOST_NANO:
        raise StrategyError("Calls of more than four million dollars are too many for one batch; take fewer runs.")


@dataclass(frozen=True)
class Slopes:
    """What tokens of a context cost at each call; shape (calls,) where nothing else is said.

    Attributes:
        base: What each token of the context costs from the last edge on, in pico-dollars.
        edges: Numbers of tokens at which that changes, shape (calls, 8).
        steps: How much more each token before an edge costs (or less, if below 0), shape (calls, 8).
        unseen: What the unseen beginning cost.
        uncounted: What the other tokens cost that the parts do not account for.
        whole: What calls cost that have no context; those of the others are 0.
        unseen_tokens: Tokens of the unseen beginning.
        uncounted_tokens: Tokens beyond it and beyond the parts'.
        is_scaled: Whether the parts were counted as more tokens than there are, so that they were scaled down.
    """

    base: Ints
    edges: Ints
    steps: Ints
    unseen: Ints
    uncounted: Ints
    whole: Ints
    unseen_tokens: Ints
    uncounted_tokens: Ints
    is_scaled: npt.NDArray[np.bool_]


def slopes(costs: CallCosts, context: Ints, unseen: Ints) -> Slopes:
    """Shares the input of calls among their contexts and named lines.

    Args:
        costs: Recorded tokens and amounts.
        context: Tokens of the parts in each context, as counted, shape (calls,).
        unseen: Tokens of the unseen beginning at most, shape (calls,).
    """
    ends = np.cumsum(costs.tokens, axis=1)
    size = ends[:, -1]
    known = (context > 0) & (context < MOST_TOKENS) & (size > 0) & (size < MOST_TOKENS)
    context = np.where(known, context, 0)
    begins = np.where(known, np.minimum(unseen, np.maximum(size - context, 0)), 0)
    room = size - begins
    bounds = np.clip(ends - begins[:, None], 0, room[:, None])
    safe = np.where(known, room, 1)[:, None]
    mine = _widths(np.where(known[:, None], bounds, 0) * context[:, None] // safe)
    later = _widths(bounds)
    is_scaled = context > room
    amounts = np.where(known[:, None], costs.pico, 0)
    per_token, extra = _divided(amounts, np.where(is_scaled[:, None], mine, costs.tokens))
    first, extra = _charged(costs.tokens - later, per_token, extra)
    between = np.where(is_scaled[:, None], 0, later - mine) * known[:, None]
    second, extra = _charged(between, per_token, extra)
    base, edges, steps = _edges(mine, per_token, extra)
    return Slopes(
        base=base,
        edges=edges,
        steps=steps,
        unseen=first.sum(axis=1) * known,
        uncounted=second.sum(axis=1),
        whole=np.where(known, 0, costs.pico.sum(axis=1)),
        unseen_tokens=begins,
        uncounted_tokens=between.sum(axis=1),
        is_scaled=is_scaled & known,
    )


def _widths(bounds: Ints) -> Ints:
    return np.diff(bounds, axis=1, prepend=0)


def _divided(amounts: Ints, tokens: Ints) -> tuple[Ints, Ints]:
    safe = np.maximum(tokens, 1)
    return amounts // safe, amounts % safe


def _charged(tokens: Ints, per_token: Ints, extra: Ints) -> tuple[Ints, Ints]:
    """What some tokens of each stretch cost, and what is left over for those behind them."""
    taken = np.minimum(extra, tokens)
    return tokens * per_token + taken, extra - taken


def _edges(tokens: Ints, per_token: Ints, extra: Ints) -> tuple[Ints, Ints, Ints]:
    """Each stretch in two: the first tokens pay one more. Empty ones have no edge."""
    calls = tokens.shape[0]
    widths = np.stack((extra, tokens - extra), axis=2).reshape(calls, 2 * tokens.shape[1])
    slope = np.stack((per_token + 1, per_token), axis=2).reshape(calls, 2 * tokens.shape[1])
    edges, steps = np.cumsum(widths, axis=1), np.zeros_like(widths)
    base, behind = np.zeros(calls, np.int64), np.zeros(calls, np.int64)
    met = np.zeros(calls, np.bool_)
    for n in reversed(range(widths.shape[1])):
        here = widths[:, n] > 0
        steps[:, n] = np.where(here & met, slope[:, n] - behind, 0)
        base = np.where(here & ~met, slope[:, n], base)
        behind = np.where(here, slope[:, n], behind)
        met |= here
    return base, edges, steps
