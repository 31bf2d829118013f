"""What each call paid for each section of its context: the same amounts, the other way round.

For every label, what tokens behind the last edge cost is their number times one rate, and what those before an edge
cost more is a sum over the label's placements that begin before it. Labels × (placements + calls), never parts × steps.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from ledgerkit.cost.attribution.attributing import Attribution
from ledgerkit.cost.attribution.carrying import Carrying
from ledgerkit.cost.attribution.lines import Line
from ledgerkit.strategies.grid import Ints, sums_before
from ledgerkit.strategies.ranges import sums_below
from ledgerkit.tables.money import dollars

OUTPUT: Final = "output"
"""Name of the line for what a call wrote, seen or hidden."""
_IDS: Final = ("session_id", "run_id", "call_id", "step")


def by_step(found: Attribution, labels: pl.Series) -> pl.DataFrame:
    """What each call paid for what stood in its context, by a label of placements with few values.

    Args:
        found: The attribution.
        labels: A label for each placement (``found.projection.placements["section"]``).

    Returns:
        One row per call and label, and per call and line: ``session_id``, ``run_id``, ``call_id``, ``step``, ``label``
        (null in rows of lines), ``line`` (null in the others; ``output`` for what the call wrote), ``cost`` in US
        dollars. Rows of one call sum to its cost.
    """
    codes = labels.cast(pl.String).fill_null("")
    calls = found.calls.filter(pl.col("slot") >= 0).select(*_IDS)
    tables = list[pl.DataFrame]()
    for label in sorted(codes.unique()):
        pico = _of_rows(found.carrying, (codes == label).to_numpy())
        tables.append(calls.with_columns(label=pl.lit(label), line=pl.lit(None, pl.String), pico=pl.Series(pico)))
    created = found.creation.group_by("call").agg(pico=pl.col("creation_pico").sum())
    written = found.calls.select("call", *_IDS).join(created, on="call").drop("call")
    lines = found.lines.rename({"cost_pico": "pico"}).with_columns(
        line=pl.when(pl.col("line") == Line.HIDDEN_OUTPUT.value).then(pl.lit(OUTPUT)).otherwise("line")
    )
    for table in (written.with_columns(line=pl.lit(OUTPUT)), lines):
        tables.append(table.with_columns(label=pl.lit(None, pl.String)))
    rows = pl.concat(tables, how="diagonal").filter(pl.col("pico") != 0)
    keys = [*_IDS, "label", "line"]
    sums = rows.group_by(keys).agg(pl.col("pico").sum())
    return sums.select(*keys, cost=dollars(pl.col("pico"))).sort(
        "session_id", "run_id", "step", "call_id", "label", "line", nulls_last=True
    )


def _of_rows(carrying: Carrying, mine: np.ndarray) -> Ints:
    """What each call paid for some placements, shape (calls,)."""
    standing, slots, edges = carrying.standing, carrying.slots, carrying.edges
    rows = np.flatnonzero(mine)
    when = np.concatenate((standing.start[rows], standing.end[rows]))
    order = np.argsort(when, kind="stable")
    when = when[order]
    position = np.tile(standing.position[rows], 2)[order]
    signed = np.concatenate((standing.tokens[rows], -standing.tokens[rows]))[order]
    # All that began in runs before has ended: a run's own tokens are the sum from the beginning.
    tokens = sums_before(signed)[np.searchsorted(when, slots, side="right")]
    paid = carrying.charged.base * tokens
    left = np.searchsorted(when, standing.grid.first[standing.grid.run[edges.slot]], side="left")
    right = np.searchsorted(when, edges.slot, side="right")
    before = sums_below(position, signed, left, right, edges.position)
    before += np.where(mine[edges.row], edges.offset, 0)
    np.add.at(paid, edges.call, edges.step * before)
    return paid
