"""Buckets of runs: what a worker is given when strategies are evaluated, what it does, and who the workers are.

A worker is a module-level function of the ledger's place, ids of runs, strategies and options to a few small tables.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost, tables
from ledgerkit.contexts import CONTEXT_PARTS, CONTEXT_TEXTS, LedgerContexts
from ledgerkit.errors import EvaluationError
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage

if TYPE_CHECKING:
    from ledgerkit.evaluation.material import Material
    from ledgerkit.evaluation.running import Tables
    from ledgerkit.evaluation.scoring import Options
    from ledgerkit.strategies import Strategy

_FACTS: Final = "select session_id, run_id, working_directory from latest_runs where list_contains($runs, run_id)"
_CALLS: Final = "select * from model_calls where list_contains($runs, run_id) and step is not null"
_USAGE: Final = """
    select session_id, run_id, step, cache_read_tokens from model_calls
    where list_contains($runs, run_id) and step is not null and cache_read_tokens is not null
"""
_VERDICTS: Final = """
    select v.session_id, v.run_id, v.message_id, h.part_index::int as part_index, v.scope as "check", v.verdict,
        list_transform(v.error_lines, lambda e: e.message) as lines
    from verifier_results v join current_history h
        on v.session_id = h.session_id and v.run_id = h.run_id and v.part_id = h.part_id
    where list_contains($runs, v.run_id) and v.scope is distinct from 'run' and v.superseded_by is null
        and v.verdict in ('passed', 'failed')
    order by all
"""
_TEXT_METRICS: Final = (
    "evidence_retention", "edit_support", "failure_visibility", "staleness", "recency_distance", "refetch_exposure",
)  # fmt: skip


@dataclass(frozen=True)
class BucketTask:
    """What a worker is given.

    Attributes:
        ledger: The ledger's place, as a path or URL that the worker can open.
        runs: Ids of runs.
        strategies: The strategies, pickled.
        options: What is measured.
        prices: Where prices come from, if not from the bundled list.
    """

    ledger: str
    runs: tuple[str, ...]
    strategies: bytes
    options: Options
    prices: cost.PriceBook | None


def evaluate_bucket(task: BucketTask) -> Tables:
    """Scores strategies on some runs of a ledger: what a worker does, wherever it runs.

    Returns:
        Parquet files ``runs``, ``steps`` and ``lost``; the same bytes for the same runs, strategies and options.
    """
    from ledgerkit.extract.verifiers import verifier_frame
    from ledgerkit.tokens import TokenCounter

    storage = open_storage(place_of(task.ledger), create=False, count_tokens=TokenCounter().count_many)
    try:
        storage.database.derived.serve({tables.PARSED_CHECKS.name: verifier_frame})
        return score_bucket(storage, task)
    finally:
        storage.database.close()


def score_bucket(storage: Storage, task: BucketTask) -> Tables:
    """The same on a ledger that is open."""
    from ledgerkit.evaluation.scoring import score

    strategies: list[Strategy] = pickle.loads(task.strategies)  # noqa: S301 - the caller's own objects
    scores = score(BucketReader(storage, task.prices).material(task), strategies, task.options)
    return {name: _parquet(getattr(scores, name)) for name in ("runs", "steps", "lost")}


class BucketReader(LedgerContexts):
    """Reads what is evaluated."""

    def __init__(self, storage: Storage, prices: cost.PriceBook | None) -> None:
        self._storage = storage
        self.prices = prices

    def material(self, task: BucketTask) -> Material:
        """Frames of some runs, with texts where a metric needs them."""
        from ledgerkit.evaluation.material import VERDICTS, Material
        from ledgerkit.strategies import run_frames

        runs = {"runs": list(task.runs)}
        frame = self._storage.database.frame
        reads = task.options.wants(*_TEXT_METRICS)
        contents = frame(CONTEXT_TEXTS if reads else CONTEXT_PARTS, runs)
        if not reads:
            contents = contents.with_columns(pl.lit(None, pl.String).alias(name) for name in ("text", "data", "path"))
        frames = run_frames(contents, frame(_CALLS, runs), self._count_excerpts)
        checks = task.options.wants("failure_visibility")
        verdicts = frame(_VERDICTS, runs) if checks else pl.DataFrame(schema=VERDICTS)
        return Material(
            frames,
            contents.select("session_id", "run_id", "message_id", "part_index", "inherited", "text", "data", "path"),
            frame(_FACTS, runs),
            verdicts.select(pl.col(n).cast(t) for n, t in VERDICTS.items()),
            frame(_USAGE, runs),
            self.step_rates(frames),
        )


class hands:
    """Who works: an executor of the caller's, child processes, or this process on the open ledger."""

    def __init__(self, storage: Storage, executor: Executor | None, jobs: int | None, buckets: int) -> None:
        from ledgerkit.evaluation.running import LocalWorkers
        from ledgerkit.ingest.parallel import usable_cores

        if executor is not None and storage.is_past:
            raise EvaluationError("An earlier state of a ledger is evaluated by this process alone: give no executor.")
        wanted = min(usable_cores() if jobs is None else jobs, buckets)
        self._storage = storage
        self._own = LocalWorkers(wanted) if executor is None and wanted > 1 and not storage.is_past else None
        self._executor = executor or self._own

    def __enter__(self) -> tuple[Callable[[BucketTask], Tables], Executor | None]:
        if self._executor is not None:
            return evaluate_bucket, self._executor
        return lambda task: score_bucket(self._storage, task), None

    def __exit__(self, *error: object) -> None:
        if self._own is not None:
            self._own.shutdown(cancel_futures=True)


def _parquet(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file, compression="zstd", compression_level=3, statistics=False)
    return file.getvalue()
