"""What things cost: totals, and what each part cost over its life in the contexts of its run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.errors import UnknownNameError
from ledgerkit.protocol.moments import Moment, read_moment
from ledgerkit.store.storage import Storage
from ledgerkit.tables.money import DOLLARS

if TYPE_CHECKING:
    from ledgerkit.cost.attribution import Attribution
    from ledgerkit.strategies import RunFrames, Strategy

_RUN_FACTS: Final = (
    "session_id, run_id, repository, branch, agent, agent_version, task_id, title, relation, parent_run_id"
)
_CALLS: Final = "select * from model_calls order by session_id, run_id, step, call_id"
_FACTS: Final = f"""
    select {_RUN_FACTS}, source_format, if(relation = 'subagent', run_id, null) as subagent from latest_runs
"""  # noqa: S608
_WRITTEN: Final = """
    select session_id, run_id, call_id, message_id, part_index from current_history
    where call_id is not null and part_trust_level = 'MODEL_GENERATED' and list_contains($runs, run_id)
"""
_SEALED: Final = """
    select session_id, run_id, min(visible_from) as sealed_from from current_history
    where data is not null and list_contains($runs, run_id) and contains(data, '"sealed_bytes"')
        and try_cast(data->>'$.sealed_bytes' as bigint) > 0
        and (coalesce(byte_count, 0) = 0 or (data->>'$.note') = 'sealed compaction')
    group by session_id, run_id
"""
# Runs that others branched off from have their parts in the others' contexts, too.
_PART_FACTS: Final = """
    with recursive line as (
        select run_id, parent_run_id from latest_runs where list_contains($runs, run_id)
        union
        select r.run_id, r.parent_run_id from latest_runs r join line l on r.run_id = l.parent_run_id
    ), named as (
        select session_id, run_id, tool_call_id, any_value(path order by sequence_no, part_index) as path
        from current_history where path is not null and tool_call_id is not null
            and run_id in (select run_id from line)
        group by session_id, run_id, tool_call_id
    )
    select h.message_id, h.part_index, coalesce(h.path, n.path) as path, h.artifact_refs[1] as artifact
    from current_history h left join named n on h.session_id = n.session_id and h.run_id = n.run_id
        and h.tool_call_id = n.tool_call_id
    where h.run_id in (select run_id from line) and (h.path is not null or n.path is not null
        or len(h.artifact_refs) > 0)
"""
_NAMES: Final = {
    "tool": "tool_name",
    "file": "path",
    "run": "run_id",
    "session": "session_id",
    "task": "task_id",
    "trust": "trust_level",
    "format": "source_format",
}
"""Short names of labels."""
_OF_PARTS: Final = frozenset(
    ("message_id", "part_index", "kind", "part_type", "trust_level", "section", "tool_name", "path", "artifact",
     "subagent", "source_format")
)  # fmt: skip
"""Labels that only attribution knows."""


class LedgerCosts:
    """Costs. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    prices: cost.PriceBook | None

    if TYPE_CHECKING:  # what the ledger itself brings

        def _run_sizes(self, runs: Collection[str] | None) -> list[tuple[str, int]]: ...
        def _run_batches(self, runs: Collection[str] | None, parts: int = 300_000) -> Iterator[list[str]]: ...
        def _frames(self, runs: list[str]) -> RunFrames: ...

    def calls(
        self,
        *,
        runs: Collection[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        priced_as: str | None = None,
    ) -> pl.DataFrame:
        """All model calls, priced, with facts about their runs (repository, branch, agent, task_id, …).

        Args:
            runs: Ids of runs; all runs if not given. A subagent's calls are in its own run.
            since: Only calls from this moment on; a day means its beginning (UTC). Calls without a time are left out.
            until: Only calls before this moment.
            priced_as: What if this model had answered: see ``cost.price_calls``.

        Raises:
            UnknownNameError: If there is no such run.
        """
        calls = _within(self._recorded_calls(), since, until)
        if runs is not None:
            calls = calls.filter(pl.col("run_id").is_in([run for run, _ in self._run_sizes(runs)]))
        facts = self._storage.database.kept(f"select {_RUN_FACTS} from latest_runs")  # noqa: S608
        priced = cost.price_calls(calls, self.prices, priced_as=priced_as)
        return priced.join(facts, on=["session_id", "run_id"], how="left", maintain_order="left")

    def _recorded_calls(self) -> pl.DataFrame:
        """All model calls without prices, kept from one question to the next."""
        return self._storage.database.kept(_CALLS)

    def cost(
        self,
        by: str | Sequence[str] = "model",
        *,
        leaves: bool = False,
        runs: Collection[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        priced_as: str | None = None,
    ) -> pl.DataFrame:
        """Cost by one or more columns, at the prices of each call's day.

        Args:
            by: ``model``, ``run_id``, ``session_id``, ``repository``, ``branch``, ``day``, ``week``, ``month``,
                ``agent``, ``task_id``, ``provider`` or another column of :meth:`calls`. With a label of parts among
                them (``tool_name``, ``path``, ``kind``, ``section``, ``trust_level``, …) it is
                :meth:`attribute_cost`.
            leaves: Add the costs of fresh input, cache reads and writes, output.
            runs: Ids of runs; all runs if not given.
            since: Only calls from this moment on.
            until: Only calls before this moment.
            priced_as: What if this model had answered: see ``cost.price_calls``.

        Returns:
            One row a group, the dearest first; ``unpriced_calls`` counts the calls that ``cost`` leaves out.

        Raises:
            UnknownNameError: If there is no such column or run.
        """
        keys = full_names(by)
        if is_attributed(keys):
            return self.attribute_cost(keys, runs=runs, since=since, until=until, priced_as=priced_as)
        calls = self.calls(runs=runs, since=since, until=until, priced_as=priced_as)
        return cost.group_costs(calls, keys, leaves=leaves)

    def attribute_cost(
        self,
        by: str | Sequence[str] = "tool_name",
        *,
        runs: Collection[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        priced_as: str | None = None,
    ) -> pl.DataFrame:
        """What parts cost over their whole life in the contexts of their runs, and what no part can be charged with.

        At each call the recorded input is laid along the context: what was read from a cache first, then what was
        written to it, then fresh input, each at what was charged for it. See docs/cost.md.

        Args:
            by: Labels of parts (``tool_name``, ``path``, ``kind``, ``section``, ``trust_level``, ``artifact``,
                ``step``, ``message_id``, ``part_index``), of runs (``run_id``, ``subagent``, ``session_id``,
                ``task_id``, ``repository``, ``branch``, ``agent``, ``source_format``) and of the calls that paid
                (``model``, ``provider``, ``day``, ``week``, ``month``); none: parts and named lines.
            runs: Ids of runs; all runs if not given.
            since: Only what calls from this moment on were charged.
            until: Only what calls before this moment were charged.
            priced_as: What if this model had answered: see ``cost.price_calls``.

        Returns:
            The columns of ``cost.attribution.by_label``: parts in rows whose ``line`` is null, named lines in rows of
            their own. ``cost`` sums to the recorded costs, to the last digit, whatever the labels.

        Raises:
            UnknownNameError: If there is no such label or run.
        """
        from ledgerkit.cost.attribution import LABELS, by_label, summed

        keys = full_names(by)
        for name in keys:
            if name not in LABELS:
                raise UnknownNameError.among("column to group by", name, LABELS)
        calls = self.calls(runs=runs, since=since, until=until, priced_as=priced_as)
        facts = self._storage.database.kept(_FACTS)
        tables = list[pl.DataFrame]()
        for found in self._attributed(calls, runs):
            parts = self._part_facts(found) if {"path", "artifact"} & {*keys} else None
            tables.append(by_label(found, keys, part_facts=parts, run_facts=facts))
        return summed(tables, keys) if tables else _nothing(keys)

    def attributions(
        self, runs: Collection[str] | None = None, *, strategy: Strategy | None = None
    ) -> Iterator[Attribution]:
        """Attributed costs call by call and part by part, in batches of whole runs.

        Args:
            runs: Ids of runs; all runs if not given.
            strategy: What stood in the contexts; what was recorded (``AsRecorded``) if not given.

        Raises:
            UnknownNameError: If there is no such run.
        """
        return self._attributed(self.calls(), runs, strategy)

    def explain_usage(self, *, runs: Collection[str] | None = None) -> pl.DataFrame:
        """Every usage record of every source: whether it counts, why not, and which one counts instead.

        Args:
            runs: Ids of runs; all runs if not given.

        Returns:
            The rows of the view ``usage_explained`` by run, with ``why``: the reason in a sentence.
        """
        wanted = None if runs is None else sorted(set(runs))
        query = """
            select * from usage_explained where $runs is null or list_contains($runs, run_id)
            order by session_id, run_id, sequence_no, message_id
        """
        return cost.explained(self._storage.database.frame(query, {"runs": wanted}))

    def reconcile_costs(
        self, by: str | Sequence[str] = "model", *, runs: Collection[str] | None = None
    ) -> pl.DataFrame:
        """Costs that sources reported beside those computed from tokens, as ``cost.reconcile`` says them.

        Args:
            by: As :meth:`cost` takes them, but no label of parts.
            runs: Ids of runs; all runs if not given.

        Raises:
            UnknownNameError: If there is no such column or run.
        """
        return cost.reconcile(self.calls(runs=runs), full_names(by))

    def _attributed(
        self, calls: pl.DataFrame, runs: Collection[str] | None, strategy: Strategy | None = None
    ) -> Iterator[Attribution]:
        from ledgerkit.cost.attribution import attribute_calls
        from ledgerkit.strategies import project

        for batch in self._run_batches(runs):
            ids, frames = {"runs": batch}, self._frames(batch)
            written = self._storage.database.frame(_WRITTEN, ids)
            sealed = self._storage.database.frame(_SEALED, ids)
            mine = calls.filter(pl.col("run_id").is_in(batch)).join(
                sealed, on=["session_id", "run_id"], how="left", maintain_order="left"
            )
            opaque = (pl.col("step") >= pl.col("sealed_from")).fill_null(value=False)
            answer = project(frames, strategy) if strategy is not None else None
            yield attribute_calls(frames, mine.with_columns(is_opaque=opaque).drop("sealed_from"), written, answer)

    def _part_facts(self, found: Attribution) -> pl.DataFrame:
        runs = found.frames.runs["run_id"].to_list()
        return self._storage.database.frame(_PART_FACTS, {"runs": runs})


def full_names(by: str | Sequence[str]) -> list[str]:
    """Labels by their full names, each once: ``tool`` is ``tool_name``, ``file`` is ``path``."""
    names = [by] if isinstance(by, str) else by
    return list(dict.fromkeys(_NAMES.get(name, name) for name in names))


def is_attributed(keys: Sequence[str]) -> bool:
    """Whether costs by some labels need attribution: one of them says something of parts."""
    return bool({*keys} & _OF_PARTS)


def _within(calls: pl.DataFrame, since: Moment | None, until: Moment | None) -> pl.DataFrame:
    if since is not None:
        calls = calls.filter(pl.col("created_at") >= read_moment(since, "since"))
    return calls if until is None else calls.filter(pl.col("created_at") < read_moment(until, "until"))


def _nothing(keys: Sequence[str]) -> pl.DataFrame:
    texts = dict.fromkeys([*keys, "line"], pl.String())
    counts = dict.fromkeys(("parts", "tokens", "carried_calls"), pl.Int64())
    money = dict.fromkeys(("carrying_cost", "creation_cost", "cost", "scaled_cost"), DOLLARS)
    return pl.DataFrame(schema={**texts, **counts, **money})
