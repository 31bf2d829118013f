"""What the replay widget is told: small answers to its messages, a page of rows at a time.

One rule: no answer grows with the run. Texts are inert before they leave; the page only shows them as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import polars as pl

from ledgerkit.errors import LedgerkitError, ProtocolError
from ledgerkit.formatting import format_money, format_time
from ledgerkit.notebook.cards import run_title
from ledgerkit.notebook.page_rows import (
    BAD,
    PAGE,
    TOLD,
    WORST,
    Answer,
    as_float,
    fields_of,
    inert_answer,
    page_range,
    part_detail,
    part_row,
    step_row,
    timeline_column,
    whole_number,
)
from ledgerkit.notebook.sights import Sights
from ledgerkit.protocol.vocabulary import ContextSection
from ledgerkit.replay import Replay
from ledgerkit.strategies import Strategy

BINS: Final = 400
"""Columns of the timeline, at most."""


class ReplayPages:
    """Answers what a page asks about a run.

    Args:
        replay: The run.
        strategies: Strategies to switch between; those of the replay, or the standard ones, if none are given.
    """

    def __init__(self, replay: Replay, strategies: Sequence[Strategy] = ()) -> None:
        self.replay = replay
        self.sights = Sights(replay, strategies)
        self._asked: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "timeline": self._timeline,
            "steps": self._steps,
            "look": self._look,
            "rows": self._rows,
            "part": self._part,
            "find": self._find,
        }

    @property
    def head(self) -> Answer:
        """What is known before anything is asked: the run, how long it is, the strategies."""
        facts = self.replay.facts
        models = ", ".join(facts.get("models") or ())
        return inert_answer(
            {
                "title": run_title(facts),
                "run_id": str(facts.get("run_id") or ""),
                "about": " · ".join(str(facts[key]) for key in ("agent", "repository", "branch") if facts.get(key)),
                "models": models,
                "started": format_time(facts.get("started_at")),
                "cost": format_money(facts.get("cost")),
                "steps": len(self.replay),
                "parts": self.replay.parts.height,
                "strategies": [strategy.label for strategy in self.sights.strategies],
                "page": PAGE,
            }
        )

    def answer(self, message: object) -> Answer:
        """Answers one message of the page: ``kind``, ``id`` and what the kind needs.

        What cannot be answered says why under ``error``; a page is never left without an answer.
        """
        asked = fields_of(message)
        try:
            handler = self._asked.get(str(asked.get("kind")))
            if handler is None:
                raise ProtocolError(f"The page asked for {asked.get('kind')!r}, which is nothing that is known.")
            said = handler(asked)
        except LedgerkitError as error:
            said = {"error": str(error)}
        return {**inert_answer(said), "kind": asked.get("kind"), "id": asked.get("id")}

    @cached_property
    def _calls(self) -> pl.DataFrame:
        """One row per step: what was done, how it ended, what it took."""
        calls = self.replay.calls
        names = ("input_tokens", "cache_read_tokens", "output_tokens")
        schema = {**dict.fromkeys(names, pl.Int64()), "cost": pl.Float64(), "model": pl.String()}
        rows = [
            {**{name: call.get(name) for name in names}, "model": call.get("model"), "cost": as_float(call.get("cost"))}
            for call in calls
        ]
        steps = pl.DataFrame(rows, schema=schema).with_row_index("step").with_columns(pl.col("step").cast(pl.Int32))
        own = self.replay.parts.filter(pl.col("inherited") == 1, pl.col("step").is_not_null())
        done = own.group_by("step").agg(
            tools=pl.col("tool_name")
            .filter(pl.col("part_type") == "tool_call")
            .drop_nulls()
            .unique(maintain_order=True)
            .head(4),
            failed=pl.col("status").is_in(BAD).sum().cast(pl.Int64),
            errors=(pl.col("kind") == "ERROR_EVENT").sum().cast(pl.Int64),
        )
        checked = self.replay.verdicts.filter(pl.col("step").is_not_null()).group_by("step").agg(
            worst=pl.col("verdict").replace_strict(WORST, default=0, return_dtype=pl.Int64).max()
        )  # fmt: skip
        joined = steps.join(done, on="step", how="left", maintain_order="left")
        joined = joined.join(checked.cast({"step": pl.Int32}), on="step", how="left", maintain_order="left")
        return joined.with_columns(
            pl.col("failed", "errors", "worst").fill_null(0),
            spent=pl.col("cost").fill_null(0).cum_sum(),
            unpriced=pl.col("cost").is_null().cum_sum().cast(pl.Int64),
        )

    def steps(self, strategy: int) -> pl.DataFrame:
        """One row per step: what was done, how it ended, what it took, and its context under a strategy."""
        tokens = self.sights.tokens(strategy)
        return self._calls.join(tokens, on="step", how="left", maintain_order="left")

    def _timeline(self, asked: Mapping[str, Any]) -> Answer:
        rows = self.steps(self._strategy(asked))
        width = max(-(-rows.height // BINS), 1)
        binned = rows.group_by(bin=pl.col("step") // width, maintain_order=True).agg(
            pl.col("step").first().alias("from_step"),
            (pl.col("step").last() + 1).alias("to_step"),
            pl.col("tokens", "input_tokens").max(),
            pl.col("cost").sum(),
            pl.col("failed", "errors").sum(),
            pl.col("worst").max(),
            is_checked=(pl.col("worst") > 0).any(),
            calls=pl.col("tools").list.len().fill_null(0).sum(),
        )
        return {"bins": [timeline_column(row) for row in binned.iter_rows(named=True)], "width": width}

    def _steps(self, asked: Mapping[str, Any]) -> Answer:
        start, count = page_range(asked)
        rows = self.steps(self._strategy(asked)).slice(start, count)
        return {"start": start, "rows": [step_row(row) for row in rows.iter_rows(named=True)]}

    def _look(self, asked: Mapping[str, Any]) -> Answer:
        """All that changes with the step: totals, and the pages that are in view."""
        strategy, step = self._strategy(asked), self._step(asked)
        sight = self.sights.sight(strategy, step)
        states = dict(sight.history["state"].value_counts().iter_rows())
        sections = sight.context.group_by("section").agg(pl.col("tokens").sum(), parts=pl.len())
        by_section = {row["section"]: row for row in sections.iter_rows(named=True)}
        known = [one.value for one in ContextSection if one.value in by_section]
        reasons = sight.out.group_by("reason").len().sort("len", "reason", descending=[True, False])
        row = self.steps(strategy).row(step, named=True) if len(self.replay) else None
        first = sight.history.filter(pl.col("step") == step, pl.col("inherited") == 1)["row"]
        return {
            "step": step,
            "strategy": strategy,
            "tokens": int(sight.context["tokens"].sum()),
            "states": {name: states.get(name, 0) for name in ("in", "new", "changed", "left", "out", "later")},
            "sections": [[name, by_section[name]["tokens"], by_section[name]["parts"]] for name in known],
            "reasons": [[reason, count] for reason, count in reasons.iter_rows()],
            "call": None if row is None else step_row(row),
            "time": format_time(self.replay.calls[step].get("created_at")) if row is not None else "",
            "at": int(first[0]) if first.len() else None,
            "withheld": self.sights.withheld,
            "lists": {
                name: self._list(name, strategy, step, *page_range(asked.get(name))) for name in ("history", "context")
            },
        }

    def _rows(self, asked: Mapping[str, Any]) -> Answer:
        name = str(asked.get("list"))
        return self._list(name, self._strategy(asked), self._step(asked), *page_range(asked))

    def _list(self, name: str, strategy: int, step: int, start: int, count: int) -> Answer:
        sight = self.sights.sight(strategy, step)
        lists = {"history": sight.history, "moved": sight.moved, "out": sight.out, "context": sight.context}
        if name not in lists:
            raise ProtocolError(f"The page asked for a list {name!r}; there are {', '.join(lists)}.")
        page = lists[name].slice(start, count)
        if name == "context":
            page = page.with_columns(tokens_now="tokens", reason=pl.lit(None, pl.String))
        told = self.sights.parts.select("row", *TOLD)[page["row"].drop_nulls().to_list()]
        page = page.drop("step", strict=False).join(told, on="row", how="left", maintain_order="left")
        rows = [part_row(row) for row in page.iter_rows(named=True)]
        return {"list": name, "start": start, "total": lists[name].height, "rows": rows}

    def _part(self, asked: Mapping[str, Any]) -> Answer:
        parts = self.sights.parts
        number, start = whole_number(asked.get("row")), max(whole_number(asked.get("start")), 0)
        if not 0 <= number < parts.height:
            raise ProtocolError(f"The page asked for part {number}; the run has {parts.height}.")
        return {**part_detail(parts.row(number, named=True), start), "start": start}

    def _find(self, asked: Mapping[str, Any]) -> Answer:
        """The next part that says some words, round the end, and the step to look at it."""
        words = str(asked.get("words") or "").lower()
        if not words:
            return {"row": None, "step": None, "found": 0}
        shown = pl.coalesce("text", "data").fill_null("")
        says = pl.concat_str([shown, pl.col("tool_name").fill_null("")], separator="\n")
        hits = self.sights.parts.filter(says.str.to_lowercase().str.contains(words, literal=True)).select(
            "row", "step", "visible_from"
        )
        if not hits.height:
            return {"row": None, "step": None, "found": 0}
        after = whole_number(asked.get("after"), -1)
        later = hits.filter(pl.col("row") > after)
        row = (later if later.height else hits).row(0, named=True)
        last = max(len(self.replay) - 1, 0)
        step = row["step"] if row["step"] is not None else row["visible_from"] or 0
        at = hits.filter(pl.col("row") <= row["row"]).height
        return {"row": row["row"], "step": min(max(step, 0), last), "found": hits.height, "number": at}

    def _strategy(self, asked: Mapping[str, Any]) -> int:
        number = whole_number(asked.get("strategy"))
        if not 0 <= number < len(self.sights.strategies):
            raise ProtocolError(f"There is no strategy {number}; there are {len(self.sights.strategies)}.")
        return number

    def _step(self, asked: Mapping[str, Any]) -> int:
        return min(max(whole_number(asked.get("step")), 0), max(len(self.replay) - 1, 0))
