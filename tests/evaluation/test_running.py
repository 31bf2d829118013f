"""Work in buckets: the same bytes whoever does it and in which order, lost workers, going on, ending early."""

from __future__ import annotations

import html
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.errors import EvaluationCancelledError, EvaluationError, UnknownNameError
from ledgerkit.evaluation import CAVEATS, Evaluation
from ledgerkit.evaluation.running import Bucket, LocalWorkers, Shelf, run_buckets

CHOSEN = ["FullHistory", "LastObservations(2)"]
FAST = ("evidence_retention", "failure_visibility", "policy_retention", "validity")


class Backwards(Executor):
    """Does so many calls in this process once all of them are there, the last one first; everything is pickled."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.calls: list[tuple[Future[Any], bytes]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append((future, pickle.dumps((fn, args, kwargs))))
        if len(self.calls) == self.count:
            self.finish()
        return future

    def finish(self) -> None:
        while self.calls:
            future, call = self.calls.pop()
            fn, args, kwargs = pickle.loads(call)  # noqa: S301 - what it pickled itself
            future.set_result(fn(*args, **kwargs))


RUNS = 6


def evaluated(path: Path, strategies: list[str] = CHOSEN, **more: Any) -> Evaluation:
    with lk.open(path, create=False) as ledger:
        return ledger.evaluate(strategies, FAST, some_runs(ledger), steps=True, **more)


def some_runs(ledger: lk.Ledger) -> list[str]:
    query = (
        f"select run_id from parts where step is not null group by all having count(*) > 20 order by all limit {RUNS}"
    )
    return ledger.sql(query)["run_id"].to_list()


def same(one: Evaluation, other: Evaluation) -> bool:
    return all(getattr(one, name).equals(getattr(other, name)) for name in ("runs", "steps", "lost"))


@pytest.mark.long
def test_results_have_the_same_bytes_whoever_works_in_whatever_order(demo_path: Path, tmp_path: Path) -> None:
    alone = evaluated(demo_path, jobs=1, out=tmp_path / "alone")
    assert alone.runs.height == RUNS * len(CHOSEN)
    assert alone.steps.height > alone.runs.height
    with ThreadPoolExecutor(1) as thread:
        evaluated(demo_path, executor=thread, out=tmp_path / "thread", bucket_parts=100)
    with lk.open(demo_path, create=False) as ledger:
        ledger.evaluate(CHOSEN, FAST, some_runs(ledger), Backwards(RUNS), steps=True, out=tmp_path / "backwards",
                        bucket_parts=1)  # fmt: skip
    for name in ("runs", "steps", "lost"):
        wanted = (tmp_path / "alone" / f"{name}.parquet").read_bytes()
        assert (tmp_path / "thread" / f"{name}.parquet").read_bytes() == wanted
        assert (tmp_path / "backwards" / f"{name}.parquet").read_bytes() == wanted


@pytest.mark.slow
def test_finished_buckets_are_not_done_again(demo_path: Path, tmp_path: Path) -> None:
    first = evaluated(demo_path, jobs=1, out=tmp_path, bucket_parts=100)
    stamps = {file: file.stat().st_mtime_ns for file in (tmp_path / "buckets").rglob("*.parquet")}
    assert len(stamps) >= 6
    (lost, *_) = sorted((tmp_path / "buckets").iterdir())
    for file in lost.iterdir():
        file.unlink()
    lost.rmdir()
    again = evaluated(demo_path, jobs=1, out=tmp_path, bucket_parts=100)
    assert same(first, again)
    changed = {file for file, stamp in stamps.items() if file.stat().st_mtime_ns != stamp}
    assert {file.parent for file in changed} == {lost}


@pytest.mark.slow
def test_an_evaluation_can_be_ended_and_goes_on(demo_path: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    with pytest.raises(EvaluationCancelledError, match="goes on from there"):
        evaluated(demo_path, jobs=1, out=tmp_path, bucket_parts=100, cancel=lambda: bool(seen), progress=note)
    assert len(seen) == 1
    assert not (tmp_path / "runs.parquet").exists()
    whole = evaluated(demo_path, jobs=1, out=tmp_path, bucket_parts=100)
    assert whole.runs.height == RUNS * len(CHOSEN)


def _work(task: tuple[str, int]) -> dict[str, bytes]:
    """Kills its own process the first time that it is asked."""
    flag, number = task
    if flag and not Path(flag).exists():
        Path(flag).write_text("here I was")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"runs": bytes([number])}


def _die(task: object) -> dict[str, bytes]:
    del task
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


@pytest.mark.long
def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    buckets = [Bucket(f"b{n}", 1, (str(tmp_path / "flag") if n == 1 else "", n)) for n in range(5)]
    with LocalWorkers(2) as workers:
        done = run_buckets(_work, buckets, workers, shelf=Shelf(tmp_path / "out"))
    assert done == {f"b{n}": {"runs": bytes([n])} for n in range(5)}
    assert (tmp_path / "flag").exists()


@pytest.mark.slow
def test_a_bucket_that_kills_every_worker_ends_the_evaluation_with_a_reason(tmp_path: Path) -> None:
    buckets = [Bucket("good", 1, ("", 1)), Bucket("bad", 1, None)]
    with LocalWorkers(1) as workers, pytest.raises(EvaluationError, match="3 times to one bucket"):
        run_buckets(_work_or_die, buckets, workers, shelf=Shelf(tmp_path))
    assert Shelf(tmp_path).get(buckets[0]) == {"runs": b"\1"}


def _work_or_die(task: Any) -> dict[str, bytes]:
    return _work(task) if task else _die(task)


def test_an_executor_that_is_of_no_more_use_is_reported(tmp_path: Path) -> None:
    class Broken(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise BrokenExecutor("gone")

    with pytest.raises(EvaluationError, match="cannot be used any more"):
        run_buckets(_work, [Bucket("b", 1, ("", 1))], Broken(), shelf=Shelf(tmp_path))


@pytest.mark.slow
def test_worker_processes_give_what_this_process_gives(demo_path: Path) -> None:
    chosen = [*CHOSEN, "HeadTail(400, 200)"]
    assert same(evaluated(demo_path, chosen, jobs=2, bucket_parts=1), evaluated(demo_path, chosen, jobs=1))


@pytest.mark.long
def test_a_dask_cluster_gives_what_this_process_gives_and_survives_a_killed_worker(demo_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill(done: int, total: int) -> None:
            del done, total
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        found = evaluated(demo_path, executor=client.get_executor(), bucket_parts=1, progress=kill)
    assert killed
    assert same(found, evaluated(demo_path, jobs=1))


def test_caveats_and_what_results_rest_on_go_wherever_results_go(demo_path: Path, tmp_path: Path) -> None:
    found = evaluated(demo_path, jobs=1, out=tmp_path)
    shown = found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    written = [(tmp_path / name).read_text("utf-8") for name in ("evaluation.md", "evaluation.json")]
    texts = [repr(found), shown, *written, repr(found.recommend("repository", resamples=20))]
    for text in map(html.unescape, texts):
        assert all(caveat in text for caveat in CAVEATS)
    metadata = pl.read_parquet_metadata(tmp_path / "runs.parquet")["ledgerkit.evaluation"]
    assert all(part in metadata for part in (CAVEATS[0], "o200k_base", "genai-prices", found.runs["strategy_hash"][0]))


def test_what_cannot_be_evaluated_is_refused(ledger: lk.Ledger) -> None:
    with pytest.raises(UnknownNameError, match="metric"):
        ledger.evaluate(["FullHistory"], ["success"])
    with pytest.raises(UnknownNameError, match="No run 'x'"):
        ledger.evaluate(["FullHistory"], runs=["x"])
    with pytest.raises(EvaluationError, match="stands twice"):
        ledger.evaluate(["FullHistory", "FullHistory()"])
    with pytest.raises(EvaluationError, match="No strategy"):
        ledger.evaluate([])


def test_a_bucket_that_somebody_else_finished_first_stands(tmp_path: Path) -> None:
    bucket = Bucket("b", 1, None)
    shelf, folder = Shelf(tmp_path), tmp_path / "buckets"
    shelf.put(bucket, {"runs": b"first"})
    shelf.put(bucket, {"runs": b"second"})
    assert shelf.get(bucket) == {"runs": b"first"}
    assert [one.name for one in folder.iterdir()] == ["b"]
    (folder / "c").write_bytes(b"no folder")
    with pytest.raises(OSError, match="c"):
        shelf.put(Bucket("c", 1, None), {"runs": b"x"})
