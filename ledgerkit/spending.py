"""Where money went within runs: by step and section, against a budget, and what was paid for without need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.errors import UnknownNameError
from ledgerkit.store.storage import Storage
from ledgerkit.tables.money import DOLLARS

if TYPE_CHECKING:
    from ledgerkit.cost.attribution import Attribution

_PARTS: Final = """
    select session_id, run_id, sequence_no, message_id, part_index, kind, part_type, tool_call_id, tool_name, path,
        arguments_hash, status, content_id, step, visible_from, coalesce(token_count, 0) as tokens
    from current_history where tool_call_id is not null and list_contains($runs, run_id)
"""
_TEXTS: Final = """
    select session_id, run_id, sequence_no, message_id, coalesce(text, data) as text,
        part_trust_level = 'MODEL_GENERATED' as is_written
    from current_history where list_contains($runs, run_id) and coalesce(text, data) is not null
        and part_visibility in ('MODEL_VISIBLE', 'REDACTED')
"""
_COMPACTED: Final = """
    select session_id, run_id, message_id, sequence_no, visible_from, call_id from current_history
    where kind = 'RUN_SUMMARY' and part_index = 0 and list_contains($runs, run_id)
        and (metadata->>'$.compaction' is not null or metadata->>'$.reason' = 'compaction'
            or metadata->>'$.isCompactSummary' = 'true' or (part_type = 'json' and data->>'$.note' = 'compaction')
            or (call_id is not null and part_trust_level = 'MODEL_GENERATED'))
"""
_OPEN_FORKS: Final = """
    select session_id, run_id, parent_run_id as origin_id from latest_runs
    where relation = 'fork' and parent_run_id is not null
        and parent_run_id not in (select run_id from latest_runs union all select session_id from latest_runs)
"""
_TEXT_PARTS: Final = 20_000
"""Parts whose words are looked at together: bounds memory."""


class LedgerSpending:
    """Where money went. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    prices: cost.PriceBook | None

    if TYPE_CHECKING:  # what the ledger itself brings

        def _run_batches(self, runs: Collection[str] | None, parts: int = 300_000) -> Iterator[list[str]]: ...
        def _resolve(self, given: str) -> tuple[str, str]: ...
        def attributions(self, runs: Collection[str] | None = None) -> Iterator[Attribution]: ...  # noqa: D102
        def calls(self, *, runs: Collection[str] | None = None) -> pl.DataFrame: ...  # noqa: D102
        def _recorded_calls(self) -> pl.DataFrame: ...
        def attribute_cost(self, by: Sequence[str], *, runs: Collection[str] | None = None) -> pl.DataFrame: ...  # noqa: D102

    def cost_by_step(self, run: str, by: str = "section") -> pl.DataFrame:
        """What each call of a run paid for what stood in its context, and for what it wrote.

        Args:
            run: Its id, as :meth:`Ledger.run` takes it.
            by: ``section``, ``kind``, ``trust_level`` or ``tool_name``.

        Returns:
            The columns of ``cost.attribution.by_step``; rows of one call sum to its cost.

        Raises:
            UnknownNameError: If no run or more than one fits, or there is no such label.
        """
        from ledgerkit.cost.attribution import by_step

        if by not in _STEP_LABELS:
            raise UnknownNameError.among("label", by, _STEP_LABELS)
        session, run_id = self._resolve(run)
        tables = list[pl.DataFrame]()
        for found in self.attributions([run_id]):
            placed = found.projection.placements
            if by != "section":
                placed = placed.select("part").join(
                    found.frames.parts.select("part", by), on="part", how="left", maintain_order="left"
                )
            tables.append(by_step(found, placed[by]))
        rows = pl.concat(tables)
        return rows.filter(pl.col("session_id") == session)

    def open_forks(self) -> pl.DataFrame:
        """Forks whose origin the ledger does not hold, and what was counted for them that may be the origin's.

        A fork's log repeats calls of its origin. They count once in every total, for the origin if the ledger holds it.
        Where it does not, nothing tells the repeated calls from the fork's own: of what is counted for the fork,
        between nothing and all was spent by the origin. Importing the origin's log decides it.

        Returns:
            One row per fork, by session and run: ``origin_id`` (as the log names it), ``calls``, ``input_tokens``,
            ``output_tokens``, ``least_cost`` (0) and ``most_cost`` of the fork itself, ``unpriced_calls``.
        """
        forks = self._storage.database.kept(_OPEN_FORKS)
        calls = self._recorded_calls().filter("billed").join(forks, on=["session_id", "run_id"])
        calls = cost.price_calls(calls, self.prices)
        keys = ["session_id", "run_id", "origin_id"]
        rows = cost.group_costs(calls, keys).select(
            *keys, "calls", "input_tokens", "output_tokens", pl.lit(0).cast(DOLLARS).alias("least_cost"),
            pl.col("cost").alias("most_cost"), "unpriced_calls",
        )  # fmt: skip
        return rows.sort(keys)

    def burn_down(
        self, budget: Decimal | float | str, *, task: str | None = None, runs: Collection[str] | None = None
    ) -> pl.DataFrame:
        """What was left of a cost budget after each call.

        Args:
            budget: US dollars. A log does not say it; the task's contract does (``limits.cost_usd``).
            task: Only runs of this task.
            runs: Only these runs.

        Returns:
            The columns of ``cost.burn_down``.

        Raises:
            UnknownNameError: If there is no such task or run.
        """
        calls = self.calls(runs=runs)
        if task is not None:
            names = calls["task_id"].drop_nulls().unique().to_list()
            if task not in names:
                raise UnknownNameError.among("task", task, names)
            calls = calls.filter(pl.col("task_id") == task)
        return cost.burn_down(calls, budget)

    def waste(
        self,
        kinds: str | Sequence[str] | None = None,
        *,
        runs: Collection[str] | None = None,
        least_tokens: int = 200,
    ) -> pl.DataFrame:
        """What was paid for without need, or beside the work: one row each, with its cost and where to look.

        Args:
            kinds: Of ``repeated_read``, ``unused_output``, ``retry``, ``compaction``, ``cache_miss``, ``subagent``; all
                if not given. They overlap, so do not add them up.
            runs: Ids of runs; all runs if not given.
            least_tokens: Shorter contents are no repeated reads and no unused outputs.

        Returns:
            The columns of ``cost.waste.WASTE``, the dearest of each kind first.

        Raises:
            UnknownNameError: If there is no such kind or run.
        """
        from ledgerkit.cost.waste import WASTE, Waste

        wanted = [kinds] if isinstance(kinds, str) else list(kinds or Waste)
        for kind in wanted:
            if kind not in [*Waste]:
                raise UnknownNameError.among("kind of waste", kind, [*Waste])
        tables = [WASTE.to_frame()]
        whole = self.attribute_cost(["message_id", "part_index"], runs=runs) if {*wanted} & _OF_UNITS else None
        calls = self.calls()
        for batch in self._run_batches(runs, _TEXT_PARTS):
            if whole is not None:
                tables += self._waste_of_units(batch, whole, least_tokens, wanted)
            tables += self._waste_of_calls(batch, calls, wanted)
        found = pl.concat(tables).filter(pl.col("kind").is_in(wanted))
        return found.sort(
            "kind", "cost", "session_id", "run_id", "step", "refs", descending=[False, True, *[False] * 4],
            nulls_last=True,
        )  # fmt: skip

    def _waste_of_units(
        self, batch: list[str], whole: pl.DataFrame, least_tokens: int, wanted: Sequence[str]
    ) -> list[pl.DataFrame]:
        from ledgerkit.cost import waste

        ask, keys = self._storage.database.frame, ["message_id", "part_index"]
        costs = whole.filter(pl.col("line").is_null()).select(*keys, "carrying_cost", "creation_cost", "carried_calls")
        parts = ask(_PARTS, {"runs": batch}).join(costs, on=keys, how="left", maintain_order="left")
        amounts = ("carrying_cost", "creation_cost", "carried_calls")
        found = waste.units(parts.with_columns(pl.col(amounts).fill_null(0)))
        tables = [
            waste.repeated_reads(found, ask(_COMPACTED, {"runs": batch}), least_tokens=least_tokens),
            waste.retries(found),
        ]
        if waste.Waste.UNUSED_OUTPUT in wanted:
            texts = ask(_TEXTS, {"runs": batch})
            tables.append(waste.unused_outputs(found, texts, least_tokens=least_tokens))
        return tables

    def _waste_of_calls(self, batch: list[str], calls: pl.DataFrame, wanted: Sequence[str]) -> list[pl.DataFrame]:
        from ledgerkit.cost import waste

        mine = calls.filter(pl.col("run_id").is_in(batch))
        compacted = self._storage.database.frame(_COMPACTED, {"runs": batch})
        tables = list[pl.DataFrame]()
        if waste.Waste.CACHE_MISS in wanted:
            changes = compacted.rename({"visible_from": "step"})
            tables.append(waste.cache_misses(mine, changes, self.prices))
        if waste.Waste.COMPACTION in wanted:
            tables.append(waste.compactions(mine, compacted.filter(pl.col("call_id").is_not_null())))
        if waste.Waste.SUBAGENT in wanted:
            # Shares are those of whole sessions, runs of which may be in other batches.
            rows = waste.subagents(calls.join(mine.select("session_id").unique(), on="session_id", how="semi"))
            tables.append(rows.filter(pl.col("run_id").is_in(batch)))
        return tables


_OF_UNITS: Final = frozenset({"repeated_read", "unused_output", "retry"})
_STEP_LABELS: Final = ("section", "kind", "trust_level", "tool_name")
