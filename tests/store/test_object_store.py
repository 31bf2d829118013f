"""A ledger in an object store: the same, but for live runs. The store is moto's S3 server, a process of its own."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

import ledgerkit as lk
from ledgerkit.errors import LedgerConflictError
from tests.builders import assert_same, canonical, eventful_session, working_session
from tests.conftest import NOW

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("moto") is None, reason="moto, the S3 server, is not installed"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield _started(f"http://127.0.0.1:{port}")
        finally:
            process.kill()


def _started(address: str) -> str:
    for _ in range(100):
        try:
            connection = HTTPConnection(address.removeprefix("http://"), timeout=1)
            connection.request("PUT", "/bucket")
            connection.getresponse()
            connection.close()
        except OSError:
            time.sleep(0.2)
        else:
            return address
    raise AssertionError("the S3 server did not start")


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    settings = {
        "AWS_ENDPOINT_URL": server,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "LEDGERKIT_CACHE": str(tmp_path / "mirrors"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{tmp_path.name}/runs.ledger"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for log in (eventful_session("a"), working_session("b")):
        log.write(tmp_path / "logs" / f"{log.name}.jsonl")
    return tmp_path / "logs"


def test_a_ledger_in_an_object_store_says_what_one_on_a_disk_says(bucket: str, logs: Path, ledger: lk.Ledger) -> None:
    ledger.import_logs(logs, now=NOW)
    with lk.open(bucket, key=bytes(32)) as stored:
        assert stored.import_logs(logs, now=NOW).new_messages > 0
        assert_same(canonical(stored), canonical(ledger))
        assert stored.import_logs(logs, now=NOW).new_messages == 0
        assert stored.verify().ok
    with lk.open(bucket) as again:
        assert_same(canonical(again), canonical(ledger))
        assert repr(again) == f"Ledger({bucket!r})"


def test_another_machine_sees_the_same(
    bucket: str, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lk.open(bucket, key=bytes(32)) as one:
        one.import_logs(logs, now=NOW)
        head = one.checkpoint()
        monkeypatch.setenv("LEDGERKIT_CACHE", str(tmp_path / "another machine"))
        with lk.open(bucket) as other:
            assert_same(canonical(other), canonical(one))
            other.import_logs(working_session("c").write(tmp_path / "c.jsonl"), now=NOW)
            assert other.verify(checkpoints=[head]).ok
        assert one.sql("from sessions").height == other_sessions(bucket)


def other_sessions(bucket: str) -> int:
    with lk.open(bucket) as ledger:
        return ledger.sql("from sessions").height


def test_writers_whom_no_lock_reaches_double_nothing(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledgers: list[lk.Ledger] = []
    for number in range(2):
        monkeypatch.setenv("LEDGERKIT_CACHE", str(tmp_path / f"machine {number}"))
        ledgers.append(lk.open(bucket, key=bytes(32)))
    paths = [working_session(f"s{n}").write(tmp_path / f"s{n}.jsonl") for n in range(2)]

    def bring(number: int) -> None:
        for _ in range(20):
            try:
                ledgers[number].import_logs(paths[number], now=NOW)
            except LedgerConflictError:
                continue
            return
        raise AssertionError("the other machine always came first")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(bring, range(2)))
    assert ledgers[0].sql("select count(*), count(distinct message_id) from messages").row(0) == (28, 28)
    assert ledgers[0].verify().ok


def test_care_of_a_ledger_in_an_object_store(bucket: str, logs: Path) -> None:
    with lk.open(bucket, key=bytes(32)) as stored:
        for path in sorted(logs.iterdir()):
            stored.import_logs(path, now=NOW)
        before = canonical(stored)
        assert stored.compact().height > 0
        assert_same(canonical(stored), before)
        message = stored.sql("select message_id from messages where text is not null order by 1 limit 1").item()
        assert stored.erase(message, reason="it named somebody").messages == 1
        assert stored.sql("select text from messages where message_id = ?", [message]).item() is None
        assert stored.vacuum(hours=0).height > 0
        assert stored.verify().ok
        assert stored.commits()["version"].to_list()[-1] == 0
        with lk.open(bucket, as_of=0) as past:
            assert past.sql("from messages").height == 0


def test_a_live_run_is_refused(bucket: str) -> None:
    with lk.open(bucket, key=bytes(32)) as stored, pytest.raises(lk.LedgerkitError, match="import the run's log"):
        stored.record()


def test_what_is_not_there_or_of_no_known_store_is_an_error(bucket: str) -> None:
    with pytest.raises(lk.LedgerNotFoundError, match="No ledger at s3://"):
        lk.open(bucket, create=False)
    with pytest.raises(lk.LedgerFormatError, match="no object store"):
        lk.open("nowhere://bucket/ledger")


def test_a_damaged_object_is_found_though_its_mirror_is_whole(bucket: str, logs: Path, server: str) -> None:
    with lk.open(bucket, key=bytes(32)) as stored:
        stored.import_logs(logs, now=NOW)
        stored.sql("from messages")
        place = stored._storage.layout.place  # pyright: ignore[reportPrivateUsage]
        file = stored._storage.store.live_files("history")[0]  # pyright: ignore[reportPrivateUsage]
        place.write(f"history/{file.path}", place.read(f"history/{file.path}")[:-20])
        report = stored.verify()
        assert [finding.rule for finding in report.findings] == ["unreadable_file"]
        assert file.path in str(report.findings[0].file)
