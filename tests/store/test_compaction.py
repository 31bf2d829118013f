"""Compaction keeps every row and every leaf, beside readers and writers, and refuses what does not fit its hashes."""

from __future__ import annotations

import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from tests.builders import assert_same, canonical, eventful_session, working_session
from tests.conftest import NOW
from tests.store.tampering import rewrite

PART = {"type": "text", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}


def command(said: str, run: str = "live") -> lk.AppendMessageCommand:
    fields = {"session_id": "live", "run_id": run, "kind": "USER_TASK", "actor": "user"}
    return lk.AppendMessageCommand.model_validate({**fields, "parts": [{**PART, "text": said}]})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of many small commits."""
    folder = tmp_path_factory.mktemp("compaction")
    with lk.open(folder / "l", key=bytes(32)) as ledger:
        for number, log in enumerate([eventful_session("a"), working_session("b"), working_session("c")]):
            ledger.import_logs(log.write(folder / f"{log.name}.jsonl"), now=NOW + timedelta(hours=number))
        for number in range(3):
            with ledger.record("live", "live") as recorder:
                recorder.append_many([command(f"{number}/{at}") for at in range(4)])
        ledger.append(command("journaled", "other"))
    return folder / "l"


@pytest.fixture
def ledger(built: Path, tmp_path: Path) -> lk.Ledger:
    return lk.open(shutil.copytree(built, tmp_path / "l"))


def leaves(ledger: lk.Ledger) -> pl.DataFrame:
    return ledger.sql("select leaf_index, leaf_hash, message_id from messages where leaf_index is not null order by 1")


@pytest.mark.long
@pytest.mark.parametrize("everything", [False, True])
def test_compaction_keeps_every_row_and_leaf(ledger: lk.Ledger, everything: bool) -> None:
    ledger.record("live", "other").close()  # else sealing it would close its session
    head, rows, before = ledger.checkpoint(), canonical(ledger), leaves(ledger)
    done = ledger.compact(everything=everything).filter(pl.col("table") == "history")
    assert set(done["files_after"]) == {1}
    assert_same(canonical(ledger), rows)
    assert leaves(ledger).head(before.height).equals(before)
    assert ledger.verify(checkpoints=[head]).ok
    files = ledger.info().filter(pl.col("table") == "history")
    assert files["files"].item() == files["partitions"].item()
    assert ledger.compact().is_empty()


def test_compaction_seals_what_a_dead_recorder_left(ledger: lk.Ledger) -> None:
    assert ledger.sql("select leaf_index from messages where run_id = 'other'").item() is None
    ledger.compact()
    assert ledger.sql("select leaf_index from messages where run_id = 'other'").item() is not None
    assert list((ledger.path / "journal").iterdir()) == []


def test_compaction_leaves_a_living_recorder_alone(ledger: lk.Ledger) -> None:
    with ledger.record("live", "live") as recorder:
        recorder.append(command("before"))
        lk.open(ledger.path).compact()
        recorder.append(command("after"))
    said = ledger.sql("select text from messages where run_id = 'live' order by sequence_no")["text"].to_list()
    assert said[-2:] == ["before", "after"]
    assert ledger.verify().ok


def test_a_row_that_does_not_fit_its_hash_stops_it_and_nothing_changes(ledger: lk.Ledger) -> None:
    hit = (pl.col("run_id") == "live") & (pl.col("sequence_no") == 1)
    text = pl.when(hit).then(pl.lit("forged")).otherwise(pl.col("text")).alias("text")
    ledger.close()
    rewrite(ledger.path, "history", lambda rows: rows.with_columns(text))
    with lk.open(ledger.path) as again:
        with again.record("live", "live") as recorder:
            recorder.append(command("one more"))
        with pytest.raises(lk.IntegrityError, match="Run ledgerkit verify"):
            again.compact()
        assert again.commits()["files_removed"].sum() == 0
        assert again.sql("select count(*) from messages where text = 'forged'").item() == 1


def _compact(path: Path) -> int:
    with lk.open(path) as ledger:
        return ledger.compact(everything=True).height


def _append(path: Path, writer: int) -> int:
    with lk.open(path) as ledger, ledger.record("live", f"writer {writer}") as recorder:
        for number in range(30):
            recorder.append(command(str(number), f"writer {writer}"))
            if number % 10 == 9:
                recorder.seal()
    return 30


def test_a_reader_in_the_same_process_goes_on_meanwhile(ledger: lk.Ledger) -> None:
    wanted = ledger.sql("select count(*) from messages").item()

    def read(_: int) -> int:
        return int(ledger.sql("select count(*) from messages").item())

    with ThreadPoolExecutor(3) as pool:
        compacting = pool.submit(_compact, ledger.path)
        counts = set(pool.map(read, range(20)))
        compacting.result()
    assert counts == {wanted}


@pytest.mark.slow
def test_several_compact_and_append_at_once_and_nothing_is_lost_or_doubled(ledger: lk.Ledger) -> None:
    before = ledger.sql("select count(*) from messages").item()
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        work = [pool.submit(_compact, ledger.path) for _ in range(2)]
        work += [pool.submit(_append, ledger.path, writer) for writer in range(2)]
        for one in work:
            one.result()
    counted = ledger.sql("select count(*), count(distinct message_id) from messages").row(0)
    assert counted == (before + 60, before + 60)
    assert ledger.verify().ok
