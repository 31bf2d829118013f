"""The journal: what was written is read back in order, what a crash cut off is left out, and damage is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ledgerkit as lk
from ledgerkit.errors import JournalError, LedgerError
from ledgerkit.store.journal import (
    JournalContent,
    JournalHeader,
    JournalWriter,
    keep_damaged,
    read_journal,
    start_journal,
)

HEADER = JournalHeader("s1", "r1", first=7, facts={"agent": "mine"}, run_date="2026-05-01", revision=2)
JSON_LIKE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60).map(str.encode)
PAYLOADS = st.lists(st.binary(max_size=60) | JSON_LIKE, max_size=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal") / "run.journal"


def written(path: Path, *batches: Sequence[bytes]) -> list[int]:
    """Writes a journal of some batches; gives where its head ends and where each batch does."""
    content = start_journal(path, HEADER)
    writer = JournalWriter.opened(path, content)
    ends = [content.end]
    for batch in batches:
        ends.append(writer.write(batch))
        writer.sync(ends[-1])
    writer.close()
    return ends


def payloads(content: JournalContent) -> list[bytes]:
    return [payload for _, payload in content.records]


@given(batches=st.lists(PAYLOADS, max_size=4))
def test_records_are_read_back_in_order_with_their_numbers(path: Path, batches: list[list[bytes]]) -> None:
    ends = written(path, *batches)
    content = read_journal(path)
    said = [payload for batch in batches for payload in batch]
    assert content.header == HEADER
    assert content.records == list(enumerate(said, 7))
    assert (content.end, content.damaged) == (ends[-1], ())
    assert content.end == path.stat().st_size


@pytest.mark.long
@settings(max_examples=40)
@given(said=PAYLOADS)
def test_a_journal_that_was_cut_off_anywhere_holds_the_records_before_the_cut(path: Path, said: list[bytes]) -> None:
    ends = written(path, *([payload] for payload in said))
    raw = path.read_bytes()
    for cut in range(ends[0], len(raw) + 1):
        path.write_bytes(raw[:cut])
        content = read_journal(path)
        whole = sum(end <= cut for end in ends[1:])
        assert content.records == list(enumerate(said[:whole], 7))
        assert (content.end, content.damaged) == (ends[whole], ())


def test_a_journal_whose_head_was_cut_off_is_refused(path: Path) -> None:
    (head,) = written(path)
    raw = path.read_bytes()
    for cut in range(head):
        path.write_bytes(raw[:cut])
        with pytest.raises(JournalError, match="head is damaged"):
            read_journal(path)


@pytest.mark.slow
@settings(max_examples=300)
@given(said=st.lists(st.binary(max_size=40) | JSON_LIKE, min_size=1, max_size=8), data=st.data())
def test_a_flipped_byte_spoils_one_record_and_is_counted(path: Path, said: list[bytes], data: st.DataObject) -> None:
    ends = written(path, *([payload] for payload in said))
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(ends[0], len(raw) - 1), label="place")
    raw[place] ^= data.draw(st.integers(1, 255), label="flipped bits")
    path.write_bytes(raw)
    content = read_journal(path)
    hit = sum(end <= place for end in ends[1:])
    assert content.records == [(7 + n, payload) for n, payload in enumerate(said) if n != hit]
    if hit == len(said) - 1:  # nothing follows: it looks like a write that was cut off
        assert (content.end, content.damaged) == (ends[hit], ())
    else:
        assert (content.end, content.damaged) == (ends[-1], ((ends[hit], ends[hit + 1] - ends[hit]),))


@given(data=st.data())
def test_a_flipped_byte_in_the_head_is_refused(path: Path, data: st.DataObject) -> None:
    head, *_ = written(path, [b"one", b"two"])
    raw = bytearray(path.read_bytes())
    raw[data.draw(st.integers(0, head - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    with pytest.raises(JournalError):
        read_journal(path)


@pytest.mark.long
@settings(max_examples=200)
@given(
    said=st.lists(JSON_LIKE, min_size=3, max_size=10, unique=True),
    junk=st.binary(min_size=1, max_size=80),
    at=st.data(),
)
def test_overwritten_bytes_never_yield_what_was_not_written_nor_another_order(
    path: Path, said: list[bytes], junk: bytes, at: st.DataObject
) -> None:
    ends = written(path, *([payload] for payload in said))
    raw = path.read_bytes()
    place = at.draw(st.integers(ends[0], len(raw) - 1), label="place")
    spoiled = raw[:place] + junk + raw[place + len(junk) :]
    path.write_bytes(spoiled)
    content = read_journal(path)
    found = [said.index(payload) for payload in payloads(content)]  # a payload that nobody wrote is a ValueError
    assert found == sorted(set(found))
    before = sum(end <= place for end in ends[1:])
    after = sum(end <= place + len(junk) for end in ends[1:])
    assert found[:before] == list(range(before))
    if after <= len(said) - 3 and spoiled != raw:  # two whole records follow: reading goes on at the second
        assert found[-1] == len(said) - 1
        assert content.damaged
    if spoiled != raw:
        assert len(found) < len(said)


@given(said=st.lists(JSON_LIKE, min_size=2, max_size=6, unique=True), data=st.data())
def test_records_that_changed_places_are_not_read(path: Path, said: list[bytes], data: st.DataObject) -> None:
    ends = written(path, *([payload] for payload in said))
    raw = path.read_bytes()
    records = [raw[begin:end] for begin, end in pairwise(ends)]
    order = data.draw(st.permutations(range(len(records))))
    path.write_bytes(raw[: ends[0]] + b"".join(records[n] for n in order))
    found = [said.index(payload) for payload in payloads(read_journal(path))]
    unmoved = next((n for n, now in enumerate(order) if n != now), len(order))
    assert found[:unmoved] == list(range(unmoved))
    assert found == sorted(set(found))
    assert order == sorted(order) or len(found) < len(said)


@given(said=PAYLOADS.filter(bool), more=PAYLOADS, data=st.data())
def test_writing_goes_on_after_a_torn_tail(
    path: Path, said: list[bytes], more: list[bytes], data: st.DataObject
) -> None:
    ends = written(path, *([payload] for payload in said))
    raw = path.read_bytes()
    path.write_bytes(raw[: data.draw(st.integers(ends[0], len(raw)))] + data.draw(st.sampled_from([b"", bytes(30)])))
    torn = read_journal(path)
    writer = JournalWriter.opened(path, torn)
    assert writer.size == torn.end == path.stat().st_size
    writer.sync(writer.write(more))
    writer.close()
    again = read_journal(path)
    assert payloads(again) == payloads(torn) + more
    assert (again.end, again.damaged) == (path.stat().st_size, ())


def test_a_large_journal_with_a_damaged_length_is_read_to_its_end(path: Path) -> None:
    said = [f'{{"n":{n},"text":"{"x" * 1000}"}}'.encode() for n in range(2_000)]
    ends = written(path, said[:5], said[5:])
    raw = bytearray(path.read_bytes())
    raw[ends[1]] ^= 1
    path.write_bytes(raw)
    content = read_journal(path)
    assert payloads(content) == said[:5] + said[6:]
    assert len(content.damaged) == 1


def test_a_damaged_journal_is_kept_aside_once(path: Path) -> None:
    written(path, [b"one"])
    keep_damaged(path, 7)
    aside = path.with_name("run.journal.7.damaged")
    kept = aside.read_bytes()
    assert kept == path.read_bytes()
    start_journal(path, HEADER)
    keep_damaged(path, 7)
    assert aside.read_bytes() == kept


def test_a_new_journal_takes_the_place_of_the_old_one_whole(path: Path) -> None:
    written(path, [b"one"])
    with path.open("rb") as old:
        path.with_name("run.journal.1.new").write_bytes(b"")  # a writer died while it did the same
        start_journal(path, JournalHeader("s1", "r1", first=8))
        assert b"one" in old.read()
    assert read_journal(path).records == []
    assert list(path.parent.glob("*.new")) == []


# Many writers of one journal


def test_threads_that_write_at_once_lose_nothing_and_wait_for_the_disk_together(path: Path) -> None:
    content = start_journal(path, HEADER)
    writer = JournalWriter.opened(path, content)
    acknowledged: list[list[bytes]] = [[] for _ in range(8)]
    torn: list[bytes] = []
    begin = threading.Barrier(8)

    def write(thread: int) -> None:
        begin.wait()
        for number in range(50):
            said = [f"{thread}/{number}/{part}".encode() for part in range(1 + number % 3)]
            writer.sync(writer.write(said))
            acknowledged[thread] += said
            if number % 10 == 0:
                there = set(payloads(read_journal(path)))
                torn.extend(payload for payload in said if payload not in there)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert torn == []
    found = payloads(read_journal(path))
    assert len(found) == len(set(found)) == 8 * sum(1 + n % 3 for n in range(50))
    for thread in range(8):
        own = [payload for payload in found if payload.startswith(f"{thread}/".encode())]
        assert own == acknowledged[thread]
    places = {payload: place for place, payload in enumerate(found)}
    assert places[b"3/2/1"] == places[b"3/2/0"] + 1  # a batch stands together
    assert places[b"3/2/2"] == places[b"3/2/0"] + 2


def test_a_sync_of_what_is_on_disk_already_needs_no_file(path: Path) -> None:
    writer = JournalWriter.opened(path, start_journal(path, HEADER))
    early = writer.write([b"one"])
    late = writer.write([b"two"])
    writer.sync(late)
    writer.close()  # a sync would fail from here on
    writer.sync(early)
    writer.sync(late)


# A disk that fails

FULL_DISK = """
import resource, signal, sys
from itertools import pairwise
from pathlib import Path
from ledgerkit.errors import LedgerError
from ledgerkit.store.journal import JournalHeader, JournalWriter, start_journal
path = Path(sys.argv[1])
writer = JournalWriter.opened(path, start_journal(path, JournalHeader("s", "r")))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer.sync(writer.write([b"kept" * 100]))
resource.setrlimit(resource.RLIMIT_FSIZE, (writer.size + 500, resource.RLIM_INFINITY))
for payload in (b"x" * 1000, b"y"):
    try:
        writer.write([payload])
        sys.exit("it was written")
    except LedgerError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    writer.write([b"z"])
    sys.exit("it was written, though nobody knows what is on disk")
except LedgerError as error:
    print(error)
writer.sync(0)
"""


def test_a_full_disk_stops_the_writer_and_the_journal_goes_on_after_it_was_mended(path: Path) -> None:
    program = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("The journal could not be written ([Errno 27] File too large)") == 3
    content = read_journal(path)
    assert payloads(content) == [b"kept" * 100]
    assert path.stat().st_size == content.end + 500  # the half of a record, acknowledged to nobody
    writer = JournalWriter.opened(path, content)
    writer.sync(writer.write([b"more"]))
    writer.close()
    assert payloads(read_journal(path)) == [b"kept" * 100, b"more"]


def test_a_sync_that_fails_stops_the_writer(path: Path) -> None:
    content = start_journal(path, HEADER)
    reading, writing = os.pipe()  # a pipe takes writes, but cannot be synced
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0) as pipe:
        writer = JournalWriter(pipe, content)
        end = writer.write([b"one"])
        for attempt in (lambda: writer.sync(end), lambda: writer.sync(end), lambda: writer.write([b"two"])):
            with pytest.raises(LedgerError, match="could not be written"):
                attempt()


def test_something_else_is_no_journal(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "x.journal"
    other.write_bytes(b"something else entirely\n" * 10)
    with pytest.raises(lk.LedgerkitError, match="is no journal"):
        read_journal(other)
    with pytest.raises(FileNotFoundError):
        read_journal(tmp_path / "nothing.journal")
