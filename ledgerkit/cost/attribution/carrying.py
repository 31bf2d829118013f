"""What placements cost over their life: their tokens at every call in whose context they stood, at what was charged.

No table of parts × steps is made. What the tokens behind a call's last edge cost is a prefix sum over calls; how much
more those before an edge cost is a sum over the calls whose edge lies behind the placement; only the one placement that
an edge goes through is charged for some of its tokens, at that call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ledgerkit.cost.attribution.locating import locate
from ledgerkit.cost.attribution.slopes import Slopes
from ledgerkit.strategies.grid import Ints, sums_before
from ledgerkit.strategies.ranges import sums_below
from ledgerkit.strategies.standing import Standing

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Edges:
    """Edges within contexts, by slot: shape (edges,) each.

    Attributes:
        call: The call.
        slot: Its slot.
        step: How much more each token before the edge costs.
        position: Position of the placement that the edge goes through, or begins.
        offset: Tokens of it that lie before the edge.
        row: Its row.
    """

    call: Ints
    slot: Ints
    step: Ints
    position: Ints
    offset: Ints
    row: Ints


@dataclass(frozen=True)
class Carrying:
    """What contexts cost, placement by placement.

    Attributes:
        standing: The placements.
        slots: Slot of each call, ascending, shape (calls,).
        charged: What tokens of their contexts cost.
    """

    standing: Standing
    slots: Ints
    charged: Slopes

    def costs(self, calls: Flags | None = None, rows: Ints | None = None) -> Ints:
        """What each placement cost in pico-dollars, shape (placements,) or (rows,).

        Args:
            calls: Which calls to look at; all if not given.
            rows: Which placements to look at, ascending; all if not given.
        """
        if calls is None and rows is None:
            return self._whole
        return self._costs(calls, rows)

    @cached_property
    def _whole(self) -> Ints:
        return self._costs(None, None)

    def _costs(self, calls: Flags | None, rows: Ints | None) -> Ints:
        standing = self.standing
        start, end, position, tokens = standing.start, standing.end, standing.position, standing.tokens
        if rows is not None:
            start, end, position, tokens = start[rows], end[rows], position[rows], tokens[rows]
        edges = self.edges
        taken = np.arange(edges.call.size) if calls is None else np.flatnonzero(calls[edges.call])
        slot, step, place = edges.slot[taken], edges.step[taken], edges.position[taken]
        left, right = (np.searchsorted(slot, at, side="left") for at in (start, end))
        totals = sums_before(step)
        per_token = totals[right] - totals[left]
        asks = np.flatnonzero(left < right)
        per_token[asks] -= sums_below(place, step, left[asks], right[asks], position[asks] + 1)
        rates = self._rates(calls)
        cost = tokens * (per_token + rates[end] - rates[start])
        row, within = edges.row[taken], step * edges.offset[taken]
        if rows is not None:
            at = np.minimum(np.searchsorted(rows, row), max(rows.size - 1, 0))
            mine = rows[at] == row if rows.size else np.zeros(row.size, np.bool_)
            row, within = at[mine], within[mine]
        np.add.at(cost, row, within)
        return cost

    def counts(self, calls: Flags | None = None) -> Ints:
        """How many calls there are before each slot, shape (slots + 1,)."""
        slots = self.slots if calls is None else self.slots[calls]
        return np.searchsorted(slots, np.arange(self.standing.grid.size + 1), side="left").astype(np.int64)

    def _rates(self, calls: Flags | None) -> Ints:
        base = self.charged.base if calls is None else np.where(calls, self.charged.base, 0)
        return sums_before(base)[np.searchsorted(self.slots, np.arange(self.standing.grid.size + 1), side="left")]

    @cached_property
    def edges(self) -> Edges:
        """Where what tokens cost changes within a context."""
        call, number = np.nonzero(self.charged.steps)
        slot, edge = self.slots[call], self.charged.edges[call, number]
        position, offset, row = locate(self.standing, slot, edge)
        return Edges(call, slot, self.charged.steps[call, number], position, offset, row)
