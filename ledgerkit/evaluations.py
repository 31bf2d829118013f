"""Evaluation of strategies on the runs of a ledger, on one machine and on many.

The unit of work is a bucket of runs: a module-level function of the ledger's place, ids of runs, strategies and options
to a few small tables.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost, tables
from ledgerkit.contexts import CONTEXT_PARTS, CONTEXT_TEXTS, LedgerContexts
from ledgerkit.errors import EvaluationError, UnknownNameError
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage

if TYPE_CHECKING:
    from ledgerkit.evaluation import Evaluation, Progress
    from ledgerkit.evaluation.material import Material
    from ledgerkit.evaluation.running import Bucket, Tables
    from ledgerkit.evaluation.scoring import Options
    from ledgerkit.strategies import CacheRules, Strategy

BUCKET_PARTS: Final = 60_000
"""Parts of a bucket, about: a few hundred runs, and a few hundred megabytes with their texts."""
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
_STATES: Final = """
    select run_id, count(*)::bigint as parts,
        md5(string_agg(coalesce(hex(leaf_hash), message_id), '' order by session_id, sequence_no, part_index)) as state
    from current_history where $runs is null or list_contains($runs, run_id) group by run_id order by run_id
"""
_GIVEN: Final = "select session_id, run_id, task_id, repository, outcome from runs order by session_id, run_id"
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
    scores = score(_Reader(storage, task.prices).material(task), strategies, task.options)
    return {name: _parquet(getattr(scores, name)) for name in ("runs", "steps", "lost")}


class _Reader(LedgerContexts):
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


class LedgerEvaluations:
    """Evaluation of strategies. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage
    prices: cost.PriceBook | None

    if TYPE_CHECKING:  # what the ledger itself brings

        @property
        def path(self) -> Path: ...  # noqa: D102
        def check_compactions(self, runs: Collection[str] | None = None) -> pl.DataFrame: ...  # noqa: D102

    def evaluate(  # noqa: PLR0913 - keyword arguments, each of its own matter
        self,
        strategies: Iterable[Strategy | str],
        metrics: Sequence[str] | None = None,
        runs: Collection[str] | None = None,
        executor: Executor | None = None,
        *,
        jobs: int | None = None,
        steps: bool = False,
        cache: CacheRules | None = None,
        budget: int | None = None,
        control_seeds: Sequence[int] = (0,),
        progress: Progress | None = None,
        cancel: Callable[[], bool] | None = None,
        out: str | os.PathLike[str] | None = None,
        bucket_parts: int = BUCKET_PARTS,
    ) -> Evaluation:
        """Scores strategies on recorded runs: thirteen metrics, without rendering a context or asking a model.

        It replays what was recorded. Under another context an agent would have acted otherwise; the result says what
        that means for its figures (``caveats``), and so does all that is written from it.

        Args:
            strategies: Strategies, or their names as ``strategies.parse_strategy`` reads them.
            metrics: Names of metrics (``evaluation.METRICS``); all if not given. Tokens and cost are always there.
            runs: Ids of runs; all runs if not given.
            executor: Who does the work: any :class:`concurrent.futures.Executor` whose workers can open the ledger at
                its path (Dask: ``Client(...).get_executor()``). Child processes of this one if not given.
            jobs: How many of those; one for each usable core if not given, none for a single bucket.
            steps: Also a row for each step and strategy.
            cache: Rules of the prompt cache; every beginning of 1,024 tokens or more, kept for ever, if not given.
            budget: Tokens above which a context overflows.
            control_seeds: Seeds of the control that drops at random.
            progress: Called after each bucket of runs with the runs that are done, and all.
            cancel: Asked between buckets; once it says yes, the evaluation ends.
            out: Folder for the results as Parquet. Finished buckets are kept there: the same call again goes on.
            bucket_parts: Parts that are worked on together, about.

        Raises:
            UnknownNameError: If there is no such run, metric or strategy.
            EvaluationError: If a bucket lost its worker too often, or there is nothing to do with a strategy.
            EvaluationCancelledError: If ``cancel`` said yes.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.evaluate(["FullHistory", "LastObservations(5)"]).runs.height
            0
        """
        from ledgerkit.evaluation.assembling import assemble
        from ledgerkit.evaluation.running import Shelf, run_buckets
        from ledgerkit.evaluation.schema import METRICS
        from ledgerkit.evaluation.scoring import Options
        from ledgerkit.strategies import CacheRules

        chosen = _strategies(strategies)
        options = Options(
            tuple(name for name in METRICS if metrics is None or name in metrics) if _known(metrics) else METRICS,
            cache or CacheRules(),
            budget,
            tuple(control_seeds),
            steps=steps,
        )
        buckets = self._buckets(runs, chosen, options, bucket_parts)
        if options.wants("failure_visibility") and buckets:
            self._storage.database.frame("select 1 from derived_parsed_checks limit 1")  # read once, not by each worker
        shelf = None if out is None else Shelf(Path(out))
        with _hands(self._storage, executor, jobs, len(buckets)) as (work, hands):
            done = run_buckets(work, buckets, hands, shelf=shelf, progress=progress, cancel=cancel)
        given = self._storage.database.frame(_GIVEN)
        summaries = self.check_compactions(runs) if options.wants("summary_fidelity") else None
        result = assemble([done[bucket.name] for bucket in buckets], given, summaries, chosen, options, self._priced())
        if out is not None:
            result.write(out)
        return result

    def _buckets(
        self, runs: Collection[str] | None, strategies: list[Strategy], options: Options, parts: int
    ) -> list[Bucket]:
        """Runs in groups of about so many parts, in order of their ids."""
        from ledgerkit.evaluation.running import Bucket
        from ledgerkit.evaluation.scoring import EVALUATION_VERSION

        wanted = None if runs is None else sorted(set(runs))
        there = self._storage.database.frame(_STATES, {"runs": wanted})
        if missing := sorted(set(wanted or ()) - set(there["run_id"])):
            raise UnknownNameError(f"No run {missing[0]!r}. List them with: ledgerkit runs", name=missing[0])
        pickled = _pickled(strategies)
        about = repr((EVALUATION_VERSION, [one.label for one in strategies], options, self._priced(), self.prices))
        before = (pl.col("parts").cum_sum() - pl.col("parts")) // parts
        groups = there.with_columns(group=before).partition_by("group", maintain_order=True) if there.height else []
        made: list[Bucket] = []
        for group in groups:
            key = hashlib.sha256(about.encode() + pickled + repr(group.select("run_id", "state").rows()).encode())
            task = BucketTask(str(self.path), tuple(group["run_id"]), pickled, options, self.prices)
            made.append(Bucket(key.hexdigest()[:24], group.height, task))
        return made

    @staticmethod
    def _priced() -> str:
        """Name and version of the list of prices."""
        from ledgerkit.cost.bundled import list_name

        return list_name()


class _hands:
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


def _strategies(given: Iterable[Strategy | str]) -> list[Strategy]:
    from ledgerkit.strategies import parse_strategy

    made = [parse_strategy(one) if isinstance(one, str) else one for one in given]
    labels = [one.label for one in made]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise EvaluationError(f"{twice[0]} stands twice among the strategies. Name each once.")
    if not made:
        raise EvaluationError("No strategy to evaluate. Give one or more, such as FullHistory.")
    return made


def _known(metrics: Sequence[str] | None) -> bool:
    from ledgerkit.evaluation.schema import METRICS

    for name in metrics or ():
        if name not in METRICS:
            raise UnknownNameError.among("metric", name, METRICS)
    return True


def _pickled(strategies: list[Strategy]) -> bytes:
    try:
        return pickle.dumps(strategies, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise EvaluationError(
            f"A strategy cannot be sent to a worker ({error}). Define its class at the top level of a module."
        ) from error


def _parquet(table: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file, compression="zstd", compression_level=3, statistics=False)
    return file.getvalue()
