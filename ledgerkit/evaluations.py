"""Evaluation of strategies on the runs of a ledger, on one machine and on many.

One rule: a bucket of runs is scored once. Its name follows from the runs' content, the strategies and the options.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit import cost
from ledgerkit.buckets import BucketTask, hands
from ledgerkit.errors import EvaluationError, UnknownNameError

if TYPE_CHECKING:
    from ledgerkit.evaluation import Evaluation, Progress
    from ledgerkit.evaluation.running import Bucket
    from ledgerkit.evaluation.scoring import Options
    from ledgerkit.store.storage import Storage
    from ledgerkit.strategies import CacheRules, Strategy

BUCKET_PARTS: Final = 60_000
"""Parts of a bucket, about: a few hundred runs, and a few hundred megabytes with their texts."""
_STATES: Final = """
    select run_id, count(*)::bigint as parts,
        md5(string_agg(coalesce(hex(leaf_hash), message_id), '' order by session_id, sequence_no, part_index)) as state
    from current_history where $runs is null or list_contains($runs, run_id) group by run_id order by run_id
"""
_GIVEN: Final = "select session_id, run_id, task_id, repository, outcome from runs order by session_id, run_id"


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
        with hands(self._storage, executor, jobs, len(buckets)) as (work, workers):
            done = run_buckets(work, buckets, workers, shelf=shelf, progress=progress, cancel=cancel)
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
