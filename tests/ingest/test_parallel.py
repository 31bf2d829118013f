"""An import gives the same rows, ids and hashes wherever its work is done; a lost worker leaves nothing half done."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from itertools import count
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import ledgerkit as lk
from ledgerkit import tables
from ledgerkit.ingest import parallel, reading
from ledgerkit.ingest.account import ImportAccount
from ledgerkit.ingest.importing import ImportOptions, import_files
from ledgerkit.ingest.redacting import RedactionMode
from ledgerkit.ingest.workers import WorkerProcesses
from ledgerkit.safety.redaction import RedactionKey, standard_redactor
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage
from ledgerkit.tokens import TokenCounter
from tests.builders import Log, eventful_session, text, tool_use, working_session
from tests.conftest import NOW

SMALL_BATCH = 24_000
"""Bytes of a batch, so that sessions of several files are cut between batches."""


def storage_of(folder: Path) -> Storage:
    return open_storage(place_of(folder), create=True, key=bytes(32), count_tokens=TokenCounter().count_many)


def drawn() -> Callable[[int], bytes]:
    """Bytes that look random, and are the same in every import."""
    numbers = count()
    return lambda size: hashlib.shake_128(b"%d" % next(numbers)).digest(size)


def import_with(
    folder: Path, logs: Path, executor: Executor | None = None, *, redaction: RedactionMode = RedactionMode.ON
) -> ImportAccount:
    redactor = None if redaction is RedactionMode.OFF else standard_redactor(RedactionKey.public())
    options = ImportOptions(
        "import", NOW, drawn(), batch_bytes=SMALL_BATCH, redactor=redactor, redaction=redaction, executor=executor
    )
    return import_files(storage_of(folder), [logs], options)


def stored(folder: Path) -> dict[str, pl.DataFrame]:
    """Every row of every stored table, hashes and salts too."""
    database = storage_of(folder).database
    frames = {name: database.sealed(f"from sealed_{name}") for name in tables.TABLES}
    return {
        name: frame.sort([c for c, kind in frame.schema.items() if not kind.is_nested()], nulls_last=True)
        for name, frame in frames.items()
    }


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Sessions in one file and in several, with a secret that one file gives away and others only hold."""
    folder, secret = tmp_path / "logs", secrets.token_urlsafe(24)
    for number in range(2):
        working_session(f"w{number}", steps=4).write(folder / f"w{number}.jsonl")
    told = Log("told")
    told.asks(f"export DB_PASSWORD='{secret}'")
    told.answers(text("I see."), tool_use("huge", "Bash", command="x" * 70_000, number=2**70, real=0.1))
    told.returns("huge", f"now {secret} stands here")
    told.write(folder / "a_told.jsonl")
    again = Log("told", start=told.now())
    again.asks(f"Use {secret} again.")
    again.write(folder / "z_again.jsonl")
    eventful = eventful_session()
    for number in range(2):
        cut = Log("eventful")
        cut.records = eventful.records[: 4 + 6 * number]
        cut.write(folder / f"m{number}.jsonl", torn='{"type": "user", "mess')
    (folder / "notes.txt").write_text("no log")
    return folder


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerProcesses]:
    """Workers that several tests share: each takes a while to start."""
    with WorkerProcesses(2) as workers:
        yield workers


def assert_equal_ledgers(left: Path, right: Path) -> None:
    ours, theirs = stored(left), stored(right)
    for name, frame in ours.items():
        assert_frame_equal(frame, theirs[name])
    assert ours["history"].height > 0


@pytest.mark.parametrize(
    "redaction",
    [
        RedactionMode.ON,
        pytest.param(RedactionMode.AUDIT, marks=pytest.mark.slow),
        pytest.param(RedactionMode.OFF, marks=pytest.mark.slow),
    ],
)
def test_rows_ids_and_hashes_do_not_depend_on_who_does_the_work(
    tmp_path: Path, logs: Path, pool: WorkerProcesses, redaction: RedactionMode
) -> None:
    accounts = [import_with(tmp_path / "own", logs, redaction=redaction)]
    with ThreadPoolExecutor(3) as threads:
        accounts.append(import_with(tmp_path / "threads", logs, threads, redaction=redaction))
    accounts.append(import_with(tmp_path / "workers", logs, pool, redaction=redaction))
    assert pool.process_ids
    for other in ("threads", "workers"):
        assert_equal_ledgers(tmp_path / "own", tmp_path / other)
    plain = [account.model_dump(exclude={"details", "damage", "exposed", "formats"}) for account in accounts]
    assert plain[0] == plain[1] == plain[2]
    assert accounts[0].closes
    assert (accounts[0].secrets != {}) is (redaction is not RedactionMode.OFF)


@pytest.mark.slow
def test_a_value_that_one_file_gives_away_is_removed_from_a_later_batch(
    tmp_path: Path, logs: Path, pool: WorkerProcesses
) -> None:
    import_with(tmp_path / "ledger", logs, pool)
    said = stored(tmp_path / "ledger")["history"].filter(pl.col("source_file").str.ends_with("z_again.jsonl"))
    assert "[REDACTED_SECRET:" in said["text"].item()


@pytest.mark.slow
def test_a_large_import_has_workers_that_are_gone_when_it_ends(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[WorkerProcesses] = []

    class Noted(WorkerProcesses):
        def __init__(self, count: int) -> None:
            super().__init__(count)
            started.append(self)

    monkeypatch.setattr(parallel, "WorkerProcesses", Noted)
    with lk.open(tmp_path / "a.ledger", key=bytes(32)) as ledger:
        ledger.import_logs(logs, now=NOW, redact="off", jobs=2)
    assert started == []
    monkeypatch.setattr(parallel, "SMALL_BYTES", 0)
    with lk.open(tmp_path / "b.ledger", key=bytes(32)) as ledger:
        ledger.import_logs(logs, now=NOW, redact="off", jobs=1)
    assert started == []
    with lk.open(tmp_path / "c.ledger", key=bytes(32)) as ledger:
        assert ledger.import_logs(logs, now=NOW, redact="off", jobs=2).closes
    (workers,) = started
    assert 1 <= len(workers.process_ids) <= 2
    for process in workers.process_ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.slow
def test_a_killed_worker_is_an_error_and_the_next_import_completes_the_ledger(tmp_path: Path, logs: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    import_with(whole, logs, redaction=RedactionMode.OFF)

    def kill(done: int, total: int, path: str) -> None:
        del done, total
        if path.endswith("m0.jsonl"):  # the batch before is committed, this one is read
            os.kill(workers.process_ids[0], signal.SIGKILL)

    with WorkerProcesses(1) as workers:
        options = ImportOptions("import", NOW, drawn(), batch_bytes=SMALL_BATCH, executor=workers)
        with pytest.raises(lk.ImportWorkerError, match=r"was lost.*Import again"):
            import_files(storage_of(torn), [logs], options, kill)
    before = stored(torn)
    assert 0 < before["history"].height < stored(whole)["history"].height
    assert set(before["history"]["source_file"]) <= set(before["imports"]["path"])
    with lk.open(torn) as ledger:
        ledger.import_logs(logs, now=NOW, redact="off")
        assert ledger.verify().ok
        ids = ledger.sql("select message_id from messages order by all")
    with lk.open(whole) as ledger:
        assert_frame_equal(ids, ledger.sql("select message_id from messages order by all"))


def test_a_file_that_cannot_be_read_is_reported_and_read_anew_next_time(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recognise(path: Path) -> object:
        if path.name == "w1.jsonl":
            raise PermissionError(13, "Permission denied")
        return known(path)

    known = reading.recognise
    with lk.open(tmp_path / "a.ledger", key=bytes(32)) as ledger:
        monkeypatch.setattr(reading, "recognise", recognise)
        account = ledger.import_logs(logs, now=NOW, redact="off")
        (damage,) = account.damage.filter(pl.col("path").str.ends_with("w1.jsonl")).iter_rows(named=True)
        assert damage["reason"] == "the file could not be read: PermissionError: [Errno 13] Permission denied"
        assert account.closes
        assert str(logs / "w1.jsonl") not in account.unsupported
        monkeypatch.setattr(reading, "recognise", known)
        again = ledger.import_logs(logs / "w1.jsonl", now=NOW, redact="off")
        assert again.new_messages > 0
        assert again.quarantined == 0


def test_without_token_counts_they_are_unknown(tmp_path: Path, logs: Path) -> None:
    with lk.open(tmp_path / "a.ledger", key=bytes(32)) as ledger:
        account = ledger.import_logs(logs, now=NOW, redact="off", count_tokens=False)
        assert account.closes
        counts = ledger.sql(
            "select count(*) as parts, count(token_count) as counted, sum(byte_count) as bytes from parts"
        )
    assert counts["counted"].item() == 0
    assert counts["bytes"].item() > 0


@pytest.mark.slow
def test_a_script_without_a_guard_can_import_with_workers(tmp_path: Path, logs: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import ledgerkit as lk\n"
        "from ledgerkit.ingest import parallel\n"
        "parallel.SMALL_BYTES = 0\n"
        f"account = lk.open({str(tmp_path / 'a.ledger')!r}).import_logs({str(logs)!r}, redact='off', jobs=2)\n"
        "print(account.closes, account.new_messages > 0)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def loud(value: int) -> int:
    print("not among the answers")  # noqa: T201
    return value + 1


def failing(value: int) -> int:
    raise ValueError(f"no {value}")


class Stubborn(Exception):
    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("I do not travel")


def failing_stubbornly() -> None:
    raise Stubborn("as its text")


def dying() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
def test_workers_answer_calls_raise_what_they_raise_and_say_when_one_was_lost() -> None:
    with WorkerProcesses(1) as workers:
        assert workers.submit(loud, 1).result() == 2
        with pytest.raises(ValueError, match="no 5"):
            workers.submit(failing, 5).result()
        with pytest.raises(RuntimeError, match="Stubborn: as its text"):
            workers.submit(failing_stubbornly).result()
        assert list(workers.map(loud, range(3))) == [1, 2, 3]
        with pytest.raises(BrokenExecutor, match="signal 9"):
            workers.submit(dying).result()
        with pytest.raises(BrokenExecutor):
            workers.submit(loud, 1).result()


@pytest.mark.slow
def test_dask_can_do_the_work(tmp_path: Path, logs: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import_with(tmp_path / "own", logs)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        import_with(tmp_path / "dask", logs, client.get_executor(pure=False))
    assert_equal_ledgers(tmp_path / "own", tmp_path / "dask")


@pytest.mark.slow
@pytest.mark.corpus
def test_real_logs_give_the_same_ledger_with_workers(tmp_path: Path, corpus: Path) -> None:
    own, others = tmp_path / "own", tmp_path / "workers"
    import_with(own, corpus)
    with WorkerProcesses(2) as workers:
        import_with(others, corpus, workers)
    assert_equal_ledgers(own, others)
