"""Attribution: what the calls of some runs cost, shared among the parts of their contexts and named lines, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.cost.attribution.carrying import Carrying
from ledgerkit.cost.attribution.creating import created
from ledgerkit.cost.attribution.lines import LINES, Line
from ledgerkit.cost.attribution.slopes import CallCosts, nanos, slopes
from ledgerkit.errors import StrategyError, UnknownNameError
from ledgerkit.strategies import AsRecorded, Projection, RunFrames, project
from ledgerkit.strategies.grid import Ints, ints, tokens_by_step
from ledgerkit.strategies.standing import Standing

_NEEDED: Final = (
    "session_id", "run_id", "call_id", "step", "input_tokens", "output_tokens", "cost", "cost_input", "cost_output",
)  # fmt: skip
_RUN: Final = ["session_id", "run_id"]
_PER_NANO: Final = 1_000


@dataclass(frozen=True)
class Attribution:
    """What the calls of some runs cost, shared out. Made by :func:`attribute_calls`.

    Attributes:
        frames: Steps and parts of the runs.
        projection: What stood where.
        calls: The calls that have a cost, in the order of ``slots``: the given columns, and ``call`` (its number),
            ``run`` (null where the frames do not have it), ``context_tokens`` (of its parts, as counted),
            ``unseen_tokens``, ``uncounted_tokens``, ``is_scaled``, ``hidden_tokens``, ``is_output_scaled``.
        carrying: What contexts cost.
        creation: ``part``, ``call``, ``creation_pico``: what parts cost that a call wrote.
        lines: What belongs to no part: ``session_id``, ``run_id``, ``call_id``, ``step``, ``line``, ``cost_pico``.
    """

    frames: RunFrames
    projection: Projection
    calls: pl.DataFrame
    carrying: Carrying
    creation: pl.DataFrame
    lines: pl.DataFrame

    @cached_property
    def placed(self) -> Ints:
        """Numbers of the calls in whose contexts parts may stand, in the order of ``carrying.slots``."""
        return ints(self.calls.filter(pl.col("slot") >= 0)["call"])

    def carried(self) -> pl.DataFrame:
        """What each placement cost over its life: the placements with ``carrying_pico`` and ``carried_calls``."""
        counts = self.carrying.counts()
        standing = self.carrying.standing
        return self.projection.placements.with_columns(
            carrying_pico=pl.Series(self.carrying.costs(), dtype=pl.Int64),
            carried_calls=pl.Series(counts[standing.end] - counts[standing.start], dtype=pl.Int64),
        )

    def parts(self) -> pl.DataFrame:
        """What each part cost: ``part``, ``tokens``, ``carrying_pico``, ``carried_calls``, ``creation_pico``."""
        carried = (
            self.carried()
            .group_by("part")
            .agg(carrying_pico=pl.col("carrying_pico").sum(), carried_calls=pl.col("carried_calls").sum())
        )
        creation = self.creation.group_by("part").agg(creation_pico=pl.col("creation_pico").sum())
        costs = ("carrying_pico", "carried_calls", "creation_pico")
        return (
            self.frames.parts.select("part", "tokens")
            .join(carried, on="part", how="left", maintain_order="left")
            .join(creation, on="part", how="left", maintain_order="left")
            .with_columns(pl.col(costs).fill_null(0))
        )

    @property
    def total_pico(self) -> int:
        """What the calls cost together."""
        return int(self.calls.select(nanos("cost").sum()).item() or 0) * _PER_NANO


def attribute_calls(
    frames: RunFrames, calls: pl.DataFrame, written: pl.DataFrame, projection: Projection | None = None
) -> Attribution:
    """Shares what calls cost among the parts that stood in their contexts, the parts that they wrote, and named lines.

    Args:
        frames: Steps and parts of the runs of the calls.
        calls: Calls as ``cost.price_calls`` returns them, with ``session_id``, ``run_id``, ``call_id`` and ``step``
            (null: in no step's context). Those without a cost, and those that are not billed, are left out. A column
            ``is_opaque`` says whether the context holds sealed content.
        written: What calls wrote: ``session_id``, ``run_id``, ``call_id``, ``message_id``, ``part_index``.
        projection: What stood where; what the runs recorded (``AsRecorded``) if not given.

    Returns:
        The attribution. Parts and lines sum to what the calls cost, exactly, for every call; no amount is below 0.

    Raises:
        UnknownNameError: If a column is missing.
        StrategyError: If the calls cost more than four million dollars.
    """
    for name in _NEEDED:
        if name not in calls.columns:
            raise UnknownNameError.among("column", name, calls.columns)
    answer = projection or project(frames, AsRecorded())
    priced = _numbered(frames, calls)
    placed = priced.filter(pl.col("slot") >= 0)
    slots = ints(placed["slot"])
    context = tokens_by_step(frames.grid, answer.placements)[slots] if slots.size else np.zeros(0, np.int64)
    costs = CallCosts.of(placed)
    charged = slopes(costs, context, _unseen(placed, context))
    carrying = Carrying(Standing.of(frames.grid, answer.placements), slots, charged)
    creation, hidden = created(priced, _written(frames, priced, written))
    account = pl.DataFrame(
        {
            "call": placed["call"],
            "context_tokens": context,
            "unseen_tokens": charged.unseen_tokens,
            "uncounted_tokens": charged.uncounted_tokens,
            "is_scaled": charged.is_scaled,
            Line.UNSEEN: charged.unseen,
            "other": charged.uncounted,
            "whole": charged.whole,
        }
    )
    known = priced.join(account, on="call", how="left", maintain_order="left").join(
        hidden, on="call", how="left", maintain_order="left"
    )
    found = Attribution(frames, answer, known.drop(Line.UNSEEN, "other", "whole", "hidden_pico"), carrying, creation,
                        _lines(known))  # fmt: skip
    _close(found)
    return found


def _numbered(frames: RunFrames, calls: pl.DataFrame) -> pl.DataFrame:
    """Calls that have a cost, by slot; -1 where the frames do not have their step."""
    counts = pl.col("price_status") != "not_billed" if "price_status" in calls.columns else pl.lit(value=True)
    missing = [
        pl.lit(None, kind).alias(name)
        for name, kind in (
            *((f"{n}_tokens", pl.Int64()) for n in ("cache_read", "cache_write_5m", "cache_write_1h", "reasoning")),
            *(
                (f"cost_{n}", pl.Decimal(18, 9))
                for n in ("cache_read", "cache_write_5m", "cache_write_1h", "reasoning", "request")
            ),
            ("is_opaque", pl.Boolean()),
        )
        if name not in calls.columns
    ]
    runs = frames.runs.with_columns(first=pl.Series(frames.grid.first[:-1], dtype=pl.Int64))
    slot = pl.when(pl.col("step").is_between(0, pl.col("steps") - 1)).then(pl.col("first") + pl.col("step"))
    return (
        calls.filter(pl.col("cost").is_not_null(), counts)
        .with_columns(*missing)
        .with_columns(pl.col("^cost_.*$").fill_null(0), pl.col("is_opaque").fill_null(value=False))
        .join(runs, on=_RUN, how="left", maintain_order="left")
        .with_columns(slot=slot.fill_null(-1))
        .drop("first", "steps")
        .sort("slot", *_RUN, "call_id", nulls_last=True)
        .with_columns(call=pl.int_range(pl.len(), dtype=pl.Int64))
    )


def _unseen(placed: pl.DataFrame, context: Ints) -> Ints:
    """Tokens before the parts at the first call of each run that has a context; nothing can be unseen before that."""
    rest = placed.select(
        "run", rest=(pl.col("input_tokens").fill_null(0) - pl.Series(context)).clip(0), there=pl.Series(context) > 0
    )
    first = pl.col("rest").filter("there").first().over("run")
    return ints(rest.select(first=first.fill_null(0))["first"])


def _written(frames: RunFrames, priced: pl.DataFrame, written: pl.DataFrame) -> pl.DataFrame:
    """Parts of ``written`` with the number of the call and of the part, in order; one row per part."""
    numbers = frames.parts.join(frames.runs.select("run", *_RUN), on="run", maintain_order="left").select(
        *_RUN, "message_id", "part_index", "part", "kind", "tokens"
    )
    named = written.select(*_RUN, "call_id", "message_id", pl.col("part_index").cast(pl.Int32))
    calls = priced.select(*_RUN, "call_id", "call")
    return (
        named.join(calls, on=[*_RUN, "call_id"])
        .join(numbers, on=[*_RUN, "message_id", "part_index"])
        .unique("part")
        .sort("call", "part")
    )


def _lines(known: pl.DataFrame) -> pl.DataFrame:
    input_cost = pl.sum_horizontal(
        nanos(f"cost_{name}") for name in ("input", "cache_read", "cache_write_5m", "cache_write_1h")
    )
    amounts = {
        Line.UNSEEN: pl.col(Line.UNSEEN),
        Line.UNCOUNTED: pl.when(~pl.col("is_opaque")).then("other"),
        Line.OPAQUE: pl.when(pl.col("is_opaque")).then("other"),
        Line.NO_CONTEXT: pl.when(pl.col("slot") >= 0).then("whole").otherwise(input_cost * _PER_NANO),
        Line.HIDDEN_OUTPUT: pl.col("hidden_pico"),
        Line.FEE: nanos("cost_request") * _PER_NANO,
    }
    ids = ("session_id", "run_id", "call_id", "step")
    rows = [
        known.select(*ids, pl.lit(line.value).alias("line"), amount.alias("cost_pico")).filter(pl.col("cost_pico") != 0)
        for line, amount in amounts.items()
    ]
    return pl.concat(rows, how="vertical_relaxed").sort(*ids, "line", nulls_last=True).cast(LINES)


def _close(found: Attribution) -> None:
    """Refuses to say anything that does not add up."""
    parts = found.parts()
    said = sum(int(parts[name].sum()) for name in ("carrying_pico", "creation_pico")) + int(
        found.lines["cost_pico"].sum()
    )
    if said != found.total_pico:
        raise StrategyError(
            f"Attributed costs sum to {said} pico-dollars, the calls to {found.total_pico}. Please report this."
        )
