"""The canonical views are the same whatever the order and batching of imports, and after a crash in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import ledgerkit as lk
from ledgerkit.ingest.account import ImportAccount
from ledgerkit.ingest.importing import ImportOptions, import_files
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.store.database import Database
from ledgerkit.store.delta import DeltaStore
from ledgerkit.store.journaled import Journals
from ledgerkit.store.layout import Layout, create_layout, is_ledger, open_layout
from ledgerkit.store.storage import Storage
from ledgerkit.tokens import TokenCounter
from tests.builders import (
    START,
    Log,
    Record,
    assert_same,
    canonical,
    eventful_session,
    progress_of,
    text,
    thinking,
    tool_use,
    usage,
    working_session,
    write_lines,
)
from tests.conftest import NOW

Pieces = list[list[Record]]


def storage_of(folder: Path) -> Storage:
    layout = open_layout(folder) if is_ledger(folder) else create_layout(folder, key=bytes(32))
    store = DeltaStore(layout)
    store.prepare()
    return Storage(layout, store, Database(layout, store, Journals(layout, TokenCounter().count_many)))


def import_all(
    folder: Path, paths: Sequence[Path], *, number: int = 0, batch_bytes: int = 1 << 25, storage: Storage | None = None
) -> ImportAccount:
    """Imports some paths at once, with batches of a given size."""
    now = NOW + timedelta(hours=number)
    options = ImportOptions(hash_uuid("import", str(number)), now, batch_bytes=batch_bytes)
    return import_files(storage or storage_of(folder), paths, options)


def disjoint_pieces(log: Log) -> Pieces:
    """Six pieces of a session that follow each other."""
    size = -(-len(log.records) // 6)
    return [log.records[at : at + size] for at in range(0, len(log.records), size)]


def overlapping_snapshots(log: Log) -> Pieces:
    """Five snapshots of a growing session, the earlier ones with their heads cut off."""
    n = len(log.records)
    return [
        log.records[:8],
        log.records[4 : n // 2],
        log.records[: n // 2 + 3],
        log.records[n // 3 :],
        log.records[9 : n - 4],
    ]


def written(folder: Path, pieces: Pieces, order: Sequence[int]) -> list[Path]:
    """The pieces as files whose names sort in some order."""
    return [write_lines(folder / f"{place}.jsonl", pieces[number]) for place, number in enumerate(order)]


@pytest.mark.parametrize("cut", [disjoint_pieces, overlapping_snapshots])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_pieces_in_any_order_and_batching_give_the_same_views(
    tmp_path: Path, cut: Callable[[Log], Pieces], seed: int
) -> None:
    log = eventful_session()
    pieces = cut(log)
    order = random.Random(seed).sample(range(len(pieces)), len(pieces))
    paths = written(tmp_path / "sorted", pieces, range(len(pieces)))
    import_all(tmp_path / "once", paths)
    import_all(tmp_path / "file by file", written(tmp_path / "shuffled", pieces, order), batch_bytes=1)
    with lk.open(tmp_path / "once") as once, lk.open(tmp_path / "file by file") as other:
        views = canonical(once)
        assert_same(canonical(other), views)
        assert views["messages"].height == views["messages"]["message_id"].n_unique()
        for _, numbers in once.sql(
            "select run_id, list(sequence_no order by sequence_no) from messages group by 1"
        ).iter_rows():
            assert numbers == list(range(len(numbers)))


@pytest.mark.slow
def test_pieces_in_imports_of_their_own_give_the_same_views(tmp_path: Path) -> None:
    pieces = overlapping_snapshots(eventful_session())
    import_all(tmp_path / "once", written(tmp_path / "sorted", pieces, range(5)))
    for number, place in enumerate((3, 0, 4, 2, 1)):
        account = import_all(tmp_path / "apart", [tmp_path / "sorted" / f"{place}.jsonl"], number=number)
        assert account.closes
    with lk.open(tmp_path / "once") as once, lk.open(tmp_path / "apart") as apart:
        assert_same(canonical(apart), canonical(once))


@pytest.mark.slow
def test_snapshots_of_a_session_hold_nothing_that_the_session_does_not(tmp_path: Path) -> None:
    log = working_session(steps=6)
    import_all(tmp_path / "whole", [log.write(tmp_path / "whole.jsonl")])
    pieces = overlapping_snapshots(log)
    import_all(tmp_path / "pieces", written(tmp_path / "p", pieces, (4, 1, 3, 0, 2)), batch_bytes=1)
    with lk.open(tmp_path / "whole") as whole, lk.open(tmp_path / "pieces") as cut:
        assert_same(canonical(cut), canonical(whole))


@pytest.mark.slow
def test_a_file_that_only_says_the_order_of_known_records_orders_them_also_if_it_comes_last(tmp_path: Path) -> None:
    log = Log("order only")
    for word in ("one", "two", "three"):
        log.asks(word, parent=None, timestamp="2026-02-01T09:00:00Z")
    one, two, three = log.records
    pieces: Pieces = [[one], [two], [three], [three, one, two]]
    for name, order in (("first", (3, 0, 1, 2)), ("last", (0, 1, 2, 3)), ("middle", (1, 3, 0, 2))):
        import_all(tmp_path / name, written(tmp_path / f"{name} files", pieces, order), batch_bytes=1)
        with lk.open(tmp_path / name) as ledger:
            assert ledger.sql("select text from messages order by sequence_no")["text"].to_list() == [
                "three",
                "one",
                "two",
            ]


def fork_family() -> dict[str, list[Record]]:
    """A session, a fork of it, and a fork of the fork, each with records of its own."""
    first = working_session("family")
    second = Log("family second", start=START + timedelta(hours=1))
    second.records = [record | {"sessionId": second.session} for record in first.records[:9]]
    second.last = second.records[-1]["uuid"]
    second.asks("Another way.")
    second.answers(text("On it."), call="msg_second", used=usage(100, 100))
    third = Log("family third", start=START + timedelta(hours=2))
    third.records = [record | {"sessionId": third.session} for record in second.records]
    third.last = third.records[-1]["uuid"]
    third.asks("A third way.")
    third.answers(text("Again."), call="msg_third", used=usage(200, 200))
    return {"first": first.records, "second": second.records, "third": third.records}


@pytest.mark.long
@pytest.mark.parametrize("order", [("second", "third", "first"), ("third", "first", "second")])
def test_which_copy_is_the_original_does_not_depend_on_the_order_of_imports(
    tmp_path: Path, order: Sequence[str]
) -> None:
    family = fork_family()
    import_all(tmp_path / "once", written(tmp_path / "a", list(family.values()), range(3)))
    import_all(tmp_path / "other", written(tmp_path / "b", [family[name] for name in order], range(3)), batch_bytes=1)
    with lk.open(tmp_path / "once") as once, lk.open(tmp_path / "other") as other:
        assert_same(canonical(other), canonical(once))
        billed = once.sql("select call_id, count(*) as n from model_calls where billed group by 1")
        assert billed["n"].to_list() == [1] * billed.height
        assert once.sql("select sum(output_tokens)::bigint from model_calls where billed").item() == 28 + 100 + 200
        copies = once.sql("select source_record, count(*) filter (not is_copy) as n from messages group by 1")
        assert copies["n"].to_list() == [1] * copies.height
        where = once.sql(
            "select count(*) from model_calls c join messages m using (message_id) where c.billed and m.is_copy"
        )
        assert where.item() == 0


@pytest.mark.slow
def test_a_subagents_file_and_its_embedded_copies_give_the_same_in_any_order(tmp_path: Path) -> None:
    log = Log("embedding")
    log.asks("Review it.")
    log.answers(tool_use("t1", "Task", prompt="Find bugs."), call="msg_embedding")
    side = Log("embedding", agent="a99", session=log.session)
    side.asks("Find bugs.", parent=None)
    side.answers(thinking("hush"), call="msg_side", used=usage(7, 1))
    side.answers(tool_use("t2"), call="msg_side", used=usage(7, 5))
    for inner in side.records:
        progress_of(log, inner, agent="a99", call="t1")
    log.asks("[Request interrupted by user]")
    pieces: Pieces = [log.records[:4], log.records[4:], side.records[:1], side.records[1:]]
    import_all(tmp_path / "once", written(tmp_path / "a", pieces, range(4)))
    for name, order in (("b", (3, 1, 2, 0)), ("c", (2, 3, 0, 1)), ("d", (0, 2, 1, 3))):
        import_all(tmp_path / f"l{name}", written(tmp_path / name, pieces, order), batch_bytes=1)
        with lk.open(tmp_path / "once") as once, lk.open(tmp_path / f"l{name}") as other:
            left, right = canonical(other), canonical(once)
            for views in (left, right):  # the record that remembers the link may be another one
                for view in ("messages", "parts"):
                    views[view] = views[view].drop("metadata")
            assert_same(left, right)


# Crashes


class Killed(Exception):
    """Stands for a process that was killed."""


class StopsBefore(DeltaStore):
    """A store whose process is killed before it commits to one of the tables."""

    def __init__(self, layout: Layout, table: str) -> None:
        super().__init__(layout)
        self._table = table

    def append(self, name: str, rows: pl.DataFrame, transactions: Mapping[str, int]) -> bool:
        if name == self._table and not rows.is_empty():
            raise Killed(name)
        return super().append(name, rows, transactions)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["artifacts", "runs", "history", "imports"])
def test_after_a_crash_before_any_commit_the_next_import_doubles_nothing_and_loses_nothing(
    tmp_path: Path, table: str
) -> None:
    log = eventful_session()
    log.answers(tool_use("big", "Bash", command="cat log"))
    log.returns("big", "x" * 80_000)
    pieces = disjoint_pieces(log)
    paths = written(tmp_path / "files", pieces, (2, 0, 1, 5, 4, 3))
    import_all(tmp_path / "l", paths[:2], batch_bytes=1)
    storage = storage_of(tmp_path / "l")
    dying = replace(storage, store=StopsBefore(storage.layout, table))
    with pytest.raises(Killed):
        import_all(tmp_path / "l", paths, number=1, batch_bytes=1 << 25, storage=dying)
    account = import_all(tmp_path / "l", paths, number=2)
    assert account.closes
    assert import_all(tmp_path / "l", paths, number=3).unchanged == 6
    import_all(tmp_path / "once", paths)
    with lk.open(tmp_path / "l") as crashed, lk.open(tmp_path / "once") as once:
        assert_same(canonical(crashed), canonical(once))
        part_ids = crashed.sql("select count(*), count(distinct part_id) from parts").row(0)
        assert part_ids[0] == part_ids[1]
        whole = crashed.sql("select artifact_refs[1] from parts where byte_count = 80000").item()
        assert crashed.artifact(whole)[0] == b"x" * 80_000


@pytest.mark.slow
def test_a_crash_in_every_batch_doubles_nothing(tmp_path: Path) -> None:
    log = eventful_session()
    paths = written(tmp_path / "files", disjoint_pieces(log), (5, 1, 3, 0, 2, 4))
    for number in range(6):
        storage = storage_of(tmp_path / "l")
        dying = replace(storage, store=StopsBefore(storage.layout, "imports"))
        with pytest.raises(Killed):
            import_all(tmp_path / "l", paths[number:], number=number, batch_bytes=1, storage=dying)
    import_all(tmp_path / "l", paths, number=7)
    import_all(tmp_path / "once", paths)
    with lk.open(tmp_path / "l") as crashed, lk.open(tmp_path / "once") as once:
        assert_same(canonical(crashed), canonical(once))


# Real sessions


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("pieces", "count"),
    [
        (
            (
                "bc/b1ad8ffbac/0",
                "20/160c0576c0/0",
                "bc/cc3b2d7e10/0",
                "a6/e4c2a0fbd1/0",
                "33/210c2e180b/0",
                "35/3ab06abc46/0",
            ),
            6,
        ),
        (("ba/59c426c910/0", "bd/e5096363d6/0", "bd/e5096363d6/2", "2c/1a2a1e88ce/0", "8e/ce5fc12e98/0"), 5),
    ],
    ids=["198393f2", "cc432c40"],
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_real_session_in_pieces_is_the_same_in_any_order(
    corpus: Path, tmp_path: Path, pieces: Sequence[str], count: int, seed: int
) -> None:
    files = [corpus / "claude-code" / "entire-cli" / piece / "full.jsonl" for piece in pieces]
    assert sum(file.is_file() for file in files) == count
    import_all(tmp_path / "once", files)
    shuffled = random.Random(seed).sample(files, count)
    for number, file in enumerate(shuffled):
        import_all(tmp_path / "apart", [file], number=number, batch_bytes=1)
    with lk.open(tmp_path / "once") as once, lk.open(tmp_path / "apart") as apart:
        views = canonical(once)
        assert_same(canonical(apart), views)
        assert views["messages"].height == views["messages"]["message_id"].n_unique()
        assert once.sql("select count(*) from sessions").item() == 1
