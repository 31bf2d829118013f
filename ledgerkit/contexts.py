"""Contexts of many runs: the frames that strategies take, and what strategies would have cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.errors import UnknownNameError
from ledgerkit.store.storage import Storage
from ledgerkit.tables.money import dollars

if TYPE_CHECKING:
    from ledgerkit.strategies import CacheRules, RunFrames, Strategy

# What a run branched off from is part of its contexts, up to the branch.
_LINE: Final = """
    with recursive chosen as (
        select distinct session_id, run_id from current_history where list_contains($runs, run_id)
    ), line as (
        select c.session_id, c.run_id, r.parent_run_id as ancestor, r.forked_at, 1 as depth
        from chosen c join latest_runs r using (session_id, run_id)
        where r.relation in ('rewind', 'fork', 'retry') and r.parent_run_id is not null and r.forked_at is not null
        union all
        select l.session_id, l.run_id, r.parent_run_id, r.forked_at, l.depth + 1
        from line l join latest_runs r on r.run_id = l.ancestor
        where r.relation in ('rewind', 'fork', 'retry') and r.parent_run_id is not null and r.forked_at is not null
            and l.depth < 1000
    ), rows as (
        select 0 as inherited, c.session_id as of_session, c.run_id as of_run, p.* from chosen c join parts p
            on p.session_id = c.session_id and p.run_id = c.run_id
        union all
        select l.depth, l.session_id, l.run_id, p.* from line l
            join current_history f on f.message_id = l.forked_at and f.run_id = l.ancestor and f.part_index = 0
            join parts p on p.run_id = l.ancestor and p.session_id = f.session_id and p.sequence_no <= f.sequence_no
    ), long as (
        select part_id, max(try(decode(content))) filter (media_type like 'text/%') as whole,
            max(try(decode(content))) filter (media_type = 'application/json') as whole_data,
            bool_or(label = 'restricted') as is_restricted
        from (
            select distinct part_id, unnest(artifact_refs) as ref from rows where len(artifact_refs) > 0
        ) join (
            select content_id, label, media_type, if(label <> 'restricted'
                and (media_type like 'text/%' or media_type = 'application/json'), content, null) as content
            from stored_artifacts
        ) on content_id = ref group by part_id
    )
"""
COMPACTION: Final = """case when kind = 'RUN_SUMMARY' and part_index = 0 then case
            when metadata->>'$.compaction' is not null then metadata->>'$.compaction'
            when metadata->>'$.isCompactSummary' = 'true' then '{"keeps":"nothing"}'
            when data->>'$.note' = 'compaction' or metadata->>'$.reason' = 'compaction' then '{"keeps":"nothing"}'
        end end"""
"""What a row says of a compaction that it records; null for every other row."""
_OF_PARTS: Final = f"""
    of_session as session_id, of_run as run_id, inherited, message_id, part_index, sequence_no, source_record,
    kind, part_type, part_trust_level, part_visibility, tool_call_id, tool_name, step, visible_from, token_count,
    length(coalesce(whole, text)) as characters,
    length(coalesce(whole, text)) - length(replace(coalesce(whole, text), chr(10), '')) + 1 as lines,
    text is not null or data is not null or len(artifact_refs) > 0 as has_content,
    coalesce(is_restricted, false) as is_restricted, erased, {COMPACTION} as compaction
"""
_OF_TEXTS: Final = """
    coalesce(whole, text) as text, if(data->>'$.artifact' is not null, coalesce(whole_data, data), data) as data,
    status, path, content_type, artifact_refs
"""
_ROWS: Final = "from rows left join long using (part_id) order by inherited desc, sequence_no, part_index"
CONTEXT_PARTS: Final = f"{_LINE} select {_OF_PARTS} {_ROWS}"
"""Parts of the contexts of some runs (``$runs``), as ``strategies.run_frames`` takes them."""
CONTEXT_TEXTS: Final = f"{_LINE} select {_OF_PARTS}, {_OF_TEXTS} {_ROWS}"
"""The same, with what they say."""
_CALLS: Final = "select * from model_calls where list_contains($runs, run_id) and step is not null"
_SIZES: Final = """
    select run_id, count(*) as parts from current_history
    where $runs is null or list_contains($runs, run_id) group by run_id order by run_id
"""
_TEXTS: Final = """
    select message_id, part_index, coalesce(whole, text) as text from current_history left join (
        select part_id, max(try(decode(content))) as whole from (
            select part_id, unnest(artifact_refs) as ref from current_history where list_contains($messages, message_id)
        ) join stored_artifacts on content_id = ref where media_type like 'text/%' group by part_id
    ) using (part_id) where list_contains($messages, message_id)
"""
_PER_PICO: Final = 10**12
"""Rates of the price book are 1e-24 US dollars per token, those of strategies 1e-12."""


class LedgerContexts:
    """What strategies need and give. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    prices: cost.PriceBook | None

    def frames(self, runs: Collection[str] | None = None) -> RunFrames:
        """Steps and parts of some runs, as strategies take them.

        Args:
            runs: Ids of runs; all runs if not given. For many runs take :meth:`frame_batches`.

        Raises:
            UnknownNameError: If there is no such run.
        """
        return self._frames([run for run, _ in self._run_sizes(runs)])

    def frame_batches(self, runs: Collection[str] | None = None, *, parts: int = 300_000) -> Iterator[RunFrames]:
        """The same in batches of whole runs, so that memory does not grow with their number.

        Args:
            runs: Ids of runs; all runs if not given.
            parts: Parts of a batch, at most; a run of more is a batch of its own.

        Raises:
            UnknownNameError: If there is no such run.
        """
        for batch in self._run_batches(runs, parts):
            yield self._frames(batch)

    def simulate(
        self,
        strategies: Sequence[Strategy],
        *,
        runs: Collection[str] | None = None,
        cache: CacheRules | None = None,
        context_window: int | None = None,
    ) -> pl.DataFrame:
        """What strategies would have put into the contexts of recorded runs, and what that would have cost.

        It replays what was recorded: under another context an agent would have acted otherwise, so this says nothing
        about success.

        Args:
            strategies: The strategies.
            runs: Ids of runs; all runs if not given.
            cache: Rules of the prompt cache; every beginning of 1,024 tokens or more, kept for ever, if not given.
            context_window: Tokens above which a context overflows.

        Returns:
            One row per run and strategy: the columns of ``Measures.runs``, with ``cost`` and ``extra_cost`` in US
            dollars at the prices of each step's model and day.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.simulate([lk.strategies.FullHistory()]).height
            0
        """
        from ledgerkit.strategies import CacheRules, measure, project

        rules = cache or CacheRules()
        tables = list[pl.DataFrame]()
        for frames in self.frame_batches(runs):
            rates = self.step_rates(frames)
            for strategy in strategies:
                projection = project(frames, strategy)
                measures = measure(frames, projection, cache=rules, rates=rates, context_window=context_window)
                tables.append(_in_dollars(measures.runs()))
        if not tables:
            return _in_dollars(_NO_RUNS)
        order = {strategy.label: number for number, strategy in enumerate(strategies)}
        rank = pl.col("strategy").replace_strict(order, return_dtype=pl.Int64)
        return pl.concat(tables).sort("session_id", "run_id", rank)

    def step_rates(self, frames: RunFrames) -> pl.DataFrame:
        """What tokens were charged at each step: prices of its model, provider, tier and day.

        Returns:
            ``run_id``, ``session_id``, ``step``, and ``rate_input``, ``rate_cache_read`` and ``rate_cache_write`` (kept
            for five minutes) in pico-dollars per token; null where the model has no known price. Higher prices of
            long contexts are not in it.
        """
        steps = frames.steps.join(frames.runs.select("run", "session_id", "run_id"), on="run", maintain_order="left")
        asked = steps.with_columns(input_tokens=pl.lit(0, pl.Int64))
        book = self.prices or cost.PriceBook()
        cells = book.rates(asked).locate(asked)
        pico = {"input": "rate_input", "cache_read": "rate_cache_read", "cache_write_5m": "rate_cache_write"}
        return pl.concat([steps.select("session_id", "run_id", "step"), cells], how="horizontal").select(
            "session_id",
            "run_id",
            "step",
            *(
                pl.when(pl.col(f"rate_{leaf}") % _PER_PICO == 0)
                .then(pl.col(f"rate_{leaf}") // _PER_PICO)
                .cast(pl.Int64)
                .alias(name)
                for leaf, name in pico.items()
            ),
        )

    def _run_sizes(self, runs: Collection[str] | None) -> list[tuple[str, int]]:
        wanted = None if runs is None else sorted(set(runs))
        sizes = self._storage.database.frame(_SIZES, {"runs": wanted}).rows()
        if missing := sorted(set(wanted or ()) - {run for run, _ in sizes}):
            raise UnknownNameError(f"No run {missing[0]!r}. List them with: ledgerkit runs", name=missing[0])
        return sizes

    def _run_batches(self, runs: Collection[str] | None, parts: int = 300_000) -> Iterator[list[str]]:
        batch, size = list[str](), 0
        for run, count in self._run_sizes(runs):
            if batch and size + count > parts:
                yield batch
                batch, size = [], 0
            batch.append(run)
            size += count
        if batch:
            yield batch

    def _frames(self, runs: list[str]) -> RunFrames:
        from ledgerkit.strategies import run_frames

        database = self._storage.database
        parts = database.frame(CONTEXT_PARTS, {"runs": runs})
        return run_frames(parts, database.frame(_CALLS, {"runs": runs}), self._count_excerpts)

    def _whole_run(self, run: str) -> tuple[RunFrames, pl.DataFrame]:
        """Frames of a run with the step that comes next, of which nothing is recorded yet, and what its parts say."""
        from ledgerkit.strategies import run_frames

        database = self._storage.database
        parts = database.frame(CONTEXT_TEXTS, {"runs": [run]})
        calls = database.frame(_CALLS, {"runs": [run]})
        last = calls["step"].max()
        coming = (
            parts.select("session_id", "run_id")
            .head(1)
            .with_columns(step=pl.lit(0 if last is None else int(str(last)) + 1, calls.schema["step"]))
        )
        frames = run_frames(parts, pl.concat([calls, coming], how="diagonal"), self._count_excerpts)
        return frames, parts

    def _count_excerpts(self, rows: pl.DataFrame, keep: int) -> pl.Series:
        from ledgerkit.strategies.excerpts import excerpt_blocks
        from ledgerkit.tokens import TokenCounter

        keys = ["message_id", "part_index"]
        texts = self._storage.database.frame(_TEXTS, {"messages": rows["message_id"].unique().to_list()})
        texts = texts.unique(keys).with_columns(pl.col("part_index").cast(pl.Int32))
        found = rows.join(texts, on=keys, how="left", maintain_order="left")["text"].fill_null("")
        blocks = [block for text in found for block in excerpt_blocks(text, keep)]
        counts = TokenCounter().count_many(blocks)
        return pl.Series([sum(counts[n : n + 3]) for n in range(0, len(counts), 3)], dtype=pl.Int64)


_NO_RUNS: Final = pl.DataFrame(
    schema={"session_id": pl.String(), "run_id": pl.String(), "strategy": pl.String(), "cost_pico": pl.Int64(),
            "extra_cost_pico": pl.Int64()}
)  # fmt: skip


def _in_dollars(table: pl.DataFrame) -> pl.DataFrame:
    names = {"cost_pico": "cost", "extra_cost_pico": "extra_cost"}
    return table.with_columns(dollars(pl.col(name)) for name in names if name in table.columns).rename(
        names, strict=False
    )
