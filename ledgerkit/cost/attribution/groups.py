"""Attributed costs by labels: those of parts (tool, file, section), of their runs, and of the calls that paid.

One rule: groups are disjoint and leave nothing out. What a part cost at calls of different models or days is counted
call by call, not guessed from its total; a named line is a group of its own within its run and call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from ledgerkit.cost.attribution.attributing import Attribution
from ledgerkit.errors import UnknownNameError
from ledgerkit.strategies.grid import ints
from ledgerkit.tables.money import DOLLARS, dollars

PART_LABELS: Final = (
    "message_id",
    "part_index",
    "kind",
    "part_type",
    "trust_level",
    "section",
    "tool_name",
    "step",
    "path",
    "artifact",
)
"""What a part is labelled with; ``step`` is the one that it was written or asked for at."""
RUN_LABELS: Final = (
    "session_id",
    "run_id",
    "subagent",
    "relation",
    "task_id",
    "repository",
    "branch",
    "agent",
    "agent_version",
    "source_format",
)
"""What a run is labelled with; ``subagent`` is null for a run that is none."""
CALL_LABELS: Final = ("model", "provider", "service_tier", "day", "week", "month")
"""What the call is labelled with that paid."""
LABELS: Final = (*PART_LABELS, *RUN_LABELS, *CALL_LABELS)
"""All labels that an amount can be grouped by."""
_COUNTS: Final = ("parts", "tokens", "carried_calls")
_MONEY: Final = ("carrying_cost", "creation_cost", "cost", "scaled_cost")
_AMOUNTS: Final = (*_COUNTS, "carrying_pico", "scaled_pico", "creation_pico", "line_pico")
_RUN: Final = ["session_id", "run_id"]
_PERIODS: Final = {"day": "1d", "week": "1w", "month": "1mo"}


def by_label(
    found: Attribution, by: Sequence[str], *, part_facts: pl.DataFrame | None = None, run_facts: pl.DataFrame
) -> pl.DataFrame:
    """Sums of attributed costs.

    Args:
        found: The attribution.
        by: Labels: of ``PART_LABELS``, ``RUN_LABELS`` and ``CALL_LABELS``.
        part_facts: ``message_id``, ``part_index``, ``path``, ``artifact``; needed for these two labels.
        run_facts: ``session_id``, ``run_id`` and the other labels of runs.

    Returns:
        The labels, ``line`` (null for parts), and

        - ``parts``: parts that stood in the context of a call, ``tokens``: theirs, each counted once.
        - ``carried_calls``: calls whose context held any of them.
        - ``carrying_cost``: US dollars for that; ``scaled_cost``: as much of it as was charged where the parts were
          counted as more tokens than the call had, and scaled down.
        - ``creation_cost``: US dollars for the output that wrote them; ``cost``: all of it.

        The dearest first. To sum up several of them take :func:`summed`.

    Raises:
        UnknownNameError: If there is no such label.
    """
    for name in by:
        if name not in LABELS:
            raise UnknownNameError.among("column to group by", name, LABELS)
    of_calls = [name for name in by if name in CALL_LABELS]
    labels = _part_labels(found, by, part_facts, run_facts)
    calls = _with_periods(found.calls).with_columns(
        code=(pl.struct(of_calls).rank("dense").over(_RUN).cast(pl.Int64) - 1) if of_calls else pl.lit(0, pl.Int64)
    )
    keys = [*by, "line"]
    rows = [_of_parts(labels, keys, of_calls, part) for part in _carried(found, calls, of_calls)]
    rows += [_of_creation(found, labels, calls, keys, of_calls), _of_lines(found, calls, keys, run_facts)]
    whole = pl.concat([row for row in rows if row.height] or rows[-1:], how="diagonal_relaxed")
    return summed([_in_dollars(whole.group_by(keys).agg(pl.col(_AMOUNTS).sum()), keys)], by)


def summed(tables: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """Adds up what :func:`by_label` says of runs that are not the same."""
    keys = [*by, "line"]
    rows = pl.concat([table for table in tables if table.height] or tables[:1], how="vertical_relaxed")
    sums = rows.group_by(keys).agg(pl.col(_COUNTS).sum(), pl.col(_MONEY).sum().cast(DOLLARS))
    return sums.sort("cost", *keys, descending=[True] + [False] * len(keys), nulls_last=True)


def _in_dollars(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    money = {
        "carrying_cost": pl.col("carrying_pico"),
        "creation_cost": pl.col("creation_pico"),
        "cost": pl.sum_horizontal("carrying_pico", "creation_pico", "line_pico"),
        "scaled_cost": pl.col("scaled_pico"),
    }
    return rows.select(
        *keys,
        *_COUNTS,
        *(dollars(pico).alias(name) for name, pico in money.items()),
    )


def _with_periods(calls: pl.DataFrame) -> pl.DataFrame:
    moment = pl.col("created_at").cast(pl.Datetime("us", "UTC"))
    return calls.with_columns(moment.dt.truncate(every).dt.date().alias(name) for name, every in _PERIODS.items())


def _part_labels(
    found: Attribution, by: Sequence[str], part_facts: pl.DataFrame | None, run_facts: pl.DataFrame
) -> pl.DataFrame:
    """``part`` and those of its labels that are asked for, but for those of placements and calls."""
    own = [name for name in PART_LABELS if name in by and name not in ("path", "artifact")]
    parts = found.frames.parts.select("run", "part", "tokens", *{*own, "message_id", "part_index", "section"})
    facts = [name for name in ("path", "artifact") if name in by]
    if facts and part_facts is not None:
        keys = ["message_id", "part_index"]
        known = part_facts.select(*keys, *facts).with_columns(pl.col("part_index").cast(pl.Int32))
        parts = parts.join(known.unique(keys), on=keys, how="left", maintain_order="left")
    of_run = [name for name in RUN_LABELS if name in by]
    if of_run:
        runs = found.frames.runs.select("run", *_RUN).join(run_facts, on=_RUN, how="left", maintain_order="left")
        parts = parts.join(runs.select("run", *of_run), on="run", how="left", maintain_order="left")
    return parts.select("part", "tokens", "section", *(name for name in by if name in parts.columns and
                                                        name != "section"), )  # fmt: skip


def _carried(
    found: Attribution, calls: pl.DataFrame, of_calls: list[str]
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame, np.ndarray]]:
    """Placements with what they cost at calls of the same label; one pass for each label that a run has."""
    placed = calls.filter(pl.col("slot") >= 0)
    codes = ints(placed["code"])
    scaled = placed["is_scaled"].fill_null(value=False).to_numpy()
    number = found.frames.runs.height
    most = np.full(number, -1, np.int64)
    np.maximum.at(most, ints(placed["run"]), codes)
    run, standing = found.carrying.standing.run, found.carrying.standing
    for code in range(int(codes.max()) + 1 if codes.size else 0):
        rows = np.flatnonzero(most[run] >= code)
        mask = codes == code
        is_all = rows.size == run.size and bool(mask.all())
        costs = found.carrying.costs() if is_all else found.carrying.costs(mask, rows)
        in_scaled = found.carrying.costs(mask & scaled, rows) if (mask & scaled).any() else np.zeros_like(costs)
        table = pl.DataFrame(
            {
                "run": run[rows],
                "part": found.projection.placements["part"].gather(pl.Series(rows)),
                "start": standing.start[rows],
                "end": standing.end[rows],
                "carrying_pico": costs,
                "scaled_pico": in_scaled,
            }
        )
        values = placed.filter(pl.col("code") == code).unique("run").select(pl.col("run").cast(pl.Int64), *of_calls)
        yield table, values, found.carrying.counts(mask)


def _of_parts(
    labels: pl.DataFrame, keys: list[str], of_calls: list[str], carried: tuple[pl.DataFrame, pl.DataFrame, np.ndarray]
) -> pl.DataFrame:
    table, values, counts = carried
    rows = table.join(labels, on="part", how="left", maintain_order="left").with_columns(line=pl.lit(None, pl.String))
    if of_calls:
        rows = rows.join(values, on="run", maintain_order="left")
    # A call counts once for a group, however many of its parts stood in its context.
    rows = rows.sort("start").with_columns(reach=pl.col("end").cum_max().shift().over(keys))
    begin, end = (ints(rows.select(e).to_series()) for e in (pl.max_horizontal("start", "reach"), pl.col("end")))
    calls = pl.Series("carried_calls", np.maximum(counts[end] - counts[np.minimum(begin, end)], 0), dtype=pl.Int64)
    stood = pl.Series("stood", counts[end] > counts[ints(rows["start"])])
    return (
        rows.with_columns(calls, stood)
        .filter("stood")
        .group_by(keys)
        .agg(
            parts=pl.col("part").n_unique().cast(pl.Int64),
            tokens=pl.col("tokens").sum(),
            carried_calls=pl.col("carried_calls").sum(),
            carrying_pico=pl.col("carrying_pico").sum(),
            scaled_pico=pl.col("scaled_pico").sum(),
            creation_pico=pl.lit(0, pl.Int64),
            line_pico=pl.lit(0, pl.Int64),
        )
    )


def _of_creation(
    found: Attribution, labels: pl.DataFrame, calls: pl.DataFrame, keys: list[str], of_calls: list[str]
) -> pl.DataFrame:
    rows = found.creation.join(labels, on="part", how="left").join(calls.select("call", *of_calls), on="call")
    return (
        rows.with_columns(line=pl.lit(None, pl.String))
        .group_by(keys)
        .agg(_nothing("parts", "tokens", "carried_calls", "carrying_pico", "scaled_pico"),
             creation_pico=pl.col("creation_pico").sum(), line_pico=pl.lit(0, pl.Int64))
    )  # fmt: skip


def _of_lines(found: Attribution, calls: pl.DataFrame, keys: list[str], run_facts: pl.DataFrame) -> pl.DataFrame:
    of_calls = [name for name in CALL_LABELS if name in keys]
    of_run = [name for name in RUN_LABELS if name in keys and name not in _RUN]
    ids = [*_RUN, "call_id"]
    rows = found.lines.join(calls.select(*{*ids, *of_calls}), on=ids, how="left", nulls_equal=True)
    if of_run:
        rows = rows.join(run_facts.select(*_RUN, *of_run).unique(_RUN), on=_RUN, how="left")
    none = {name: found.frames.parts.schema.get(name, pl.String()) for name in PART_LABELS if name in keys}
    rows = rows.drop("step").with_columns(pl.lit(None, kind).alias(name) for name, kind in none.items())
    return rows.group_by(keys).agg(
        _nothing("parts", "tokens", "carried_calls", "carrying_pico", "scaled_pico", "creation_pico"),
        line_pico=pl.col("cost_pico").sum(),
    )


def _nothing(*names: str) -> list[pl.Expr]:
    return [pl.lit(0, pl.Int64).alias(name) for name in names]
