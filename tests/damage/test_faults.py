"""Each kind of fault by itself, in each format whose files are lines: what it costs, and that it costs no more."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pytest

import ledgerkit as lk
from ledgerkit.importers.reader import MAX_LINE_BYTES
from ledgerkit.importers.registry import FORMATS, recognise
from ledgerkit.protocol.model import MAX_JSON_DEPTH
from tests.conftest import NOW
from tests.damage.mutations import mutated
from tests.damage.reading import told
from tests.damage.samples import LINES, Sample

FORMAT: Final = {each.name: each for each in FORMATS}
BY_NAME: Final = {sample.name: sample for sample in LINES}


def lines_of(raw: bytes) -> list[bytes]:
    return raw.removesuffix(b"\n").split(b"\n")


def zstd(raw: bytes) -> bytes:
    return pa.compress(raw, codec="zstd", asbytes=True)


def with_windows_ends(raw: bytes) -> bytes:
    return raw.replace(b"\n", b"\r\n")


def with_blank_lines(raw: bytes) -> bytes:
    return b"\n \t\n" + raw.replace(b"\n", b"\n\n")


def with_zeros(raw: bytes) -> bytes:
    """A crash left zeros before each line."""
    return b"".join(b"\0" * 700 + line + b"\n" for line in lines_of(raw))


def glued(raw: bytes) -> bytes:
    """Every second newline was lost."""
    lines = lines_of(raw)
    return b"".join(line + (b"\n" if number % 2 else b"") for number, line in enumerate(lines)) + b"\n"


HARMLESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "windows line ends": with_windows_ends,
    "blank lines": with_blank_lines,
    "zeros between lines": with_zeros,
    "glued lines": glued,
    "no last newline": lambda raw: raw.removesuffix(b"\n"),
    "gzip": gzip.compress,
    "zstd": zstd,
}


@pytest.mark.parametrize("fault", HARMLESS)
@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_around_records_changes_none(name: str, fault: str, tmp_path: Path) -> None:
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    whole = told(FORMAT[sample.log_format], path)
    path.write_bytes(HARMLESS[fault](sample.content))
    found = recognise(path)
    assert found is not None
    assert found.name == sample.log_format
    now = told(found, path)
    assert sum(map(len, now.parts.values())) == sum(map(len, whole.parts.values()))
    assert now.contents == whole.contents
    assert not now.quarantined


def noise(rng: random.Random) -> bytes:
    return b"!" + rng.randbytes(40).replace(b"\n", b"?")


QUARANTINED: Final[dict[str, Callable[[random.Random], bytes]]] = {
    "noise": noise,
    "half an object": lambda _: b'{"type": "message", "content": "no en',
    "nested too deeply": lambda _: b"[" * (MAX_JSON_DEPTH + 9) + b"]" * (MAX_JSON_DEPTH + 9),
    "a number": lambda _: b"17",
    "a text": lambda _: b'"text"',
}


@pytest.mark.parametrize("fault", QUARANTINED)
@pytest.mark.parametrize("name", BY_NAME)
def test_one_rejected_line_costs_itself_and_is_reported_with_its_place(name: str, fault: str, tmp_path: Path) -> None:
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    log_format = FORMAT[sample.log_format]
    whole = told(log_format, path)
    lines = lines_of(sample.content)
    for at in (0, len(lines) // 2, len(lines)):
        bad = QUARANTINED[fault](random.Random(f"{name}/{at}"))
        path.write_bytes(b"".join(line + b"\n" for line in [*lines[:at], bad, *lines[at:]]))
        found = recognise(path)
        assert found is not None
        assert found.name == sample.log_format
        now = told(log_format, path)
        assert now.contents == whole.contents
        assert now.quarantined == {at + 1}
        damage = log_format.read(path, measure=lambda content: str(len(content))).quarantined
        offset = sum(len(line) + 1 for line in lines[:at])
        assert {(each.line, each.offset, each.bytes) for each in damage} == {(at + 1, offset, len(bad))}
        assert all(each.reason for each in damage)


STRANGE: Final = (
    (rb"\ud83d", "\ufffd"),
    ("\u2028\u2029\x85".encode(), "\u2028\u2029\x85"),
    (b"\xff\xc3", "\ufffd\ufffd"),
    (b"\\u0000\\n\\r", "\0\n\r"),
)


def _with_text(sample: Sample, inside: bytes) -> tuple[int, bytes]:
    """A copy in which every person's text holds something strange; the number of places."""
    said: dict[str, tuple[bytes, ...]] = {
        "claude-code": (b'"Run them, quickly.',), "codex": (b'"Test it.',), "codex-fork": (b'"Another way.',),
        "pi": (b'"C',), "pi-fork": (b'"as you like',), "gemini-lines": (b'"\\u00e9',), "otel-lines": (b"Rain.",),
        "openhands-events": ('"é 0'.encode(),), "openhands-rows": ('"é0'.encode(), b'"\\u00e90'),
        "chat-rows": (b'"task 3',), "atif-rows": (b'"Fix it.',), "ledgerkit-jsonl": (b'"Look closer.',),
    }  # fmt: skip
    raw, count = sample.content, 0
    for text in said[sample.name]:
        count += raw.count(text)
        raw = raw.replace(text, text + b"<" + inside + b">")
    return count, raw


@pytest.mark.parametrize(("inside", "meant"), STRANGE, ids=["surrogate", "separators", "bytes", "controls"])
@pytest.mark.parametrize("name", BY_NAME)
def test_strange_characters_in_a_text_cost_nothing_and_reach_the_ledger(
    name: str, inside: bytes, meant: str, tmp_path: Path
) -> None:
    sample = BY_NAME[name]
    count, raw = _with_text(sample, inside)
    assert count
    path = sample.write(tmp_path)
    whole = told(FORMAT[sample.log_format], path)
    path.write_bytes(raw)
    now = told(FORMAT[sample.log_format], path)
    assert not now.quarantined
    assert {line: len(parts) for line, parts in now.parts.items()} == {n: len(p) for n, p in whole.parts.items()}
    assert any(f"<{meant}>" in str(content[1]) for content in now.contents)


def test_strange_characters_of_all_formats_can_be_stored(tmp_path: Path, ledger: lk.Ledger) -> None:
    for sample in LINES:
        raw = sample.content
        for inside, _ in STRANGE:
            raw = _with_text(Sample(sample.name, sample.log_format, raw, is_lines=True), inside)[1]
        sample.write(tmp_path / "logs").write_bytes(raw)
    account = ledger.import_logs(tmp_path / "logs", redact="off", now=NOW)
    assert account.closes
    assert (account.quarantined, account.unsupported) == (0, ())
    assert ledger.sql("select count(distinct source_file) from parts where text like '%<\ufffd>%'").item() == len(LINES)


def _with_long_line(sample: Sample, at: int) -> bytes:
    long = b'{"type":"user","content":"' + b"x" * MAX_LINE_BYTES + b'"}'
    lines = lines_of(sample.content)
    return b"".join(line + b"\n" for line in [*lines[:at], long, *lines[at:]])


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("name", BY_NAME)
def test_a_line_beyond_64_mib_is_streamed_past(name: str, at: int, tmp_path: Path) -> None:
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    whole = told(FORMAT[sample.log_format], path)
    path.write_bytes(_with_long_line(sample, at))
    found = recognise(path)
    assert found is not None
    assert found.name == sample.log_format
    now = told(found, path)
    assert now.contents == whole.contents
    assert now.quarantined == {at + 1}


@pytest.mark.slow
def test_a_line_beyond_64_mib_is_reported_with_its_size(tmp_path: Path, ledger: lk.Ledger) -> None:
    path = BY_NAME["codex"].write(tmp_path)
    path.write_bytes(zstd(_with_long_line(BY_NAME["codex"], 2)))
    account = ledger.import_logs(path, redact="off", now=NOW)
    assert account.closes
    (row,) = account.damage.select("line", "bytes", "reason").rows()
    assert row == (3, MAX_LINE_BYTES + 28, f"line longer than {MAX_LINE_BYTES} bytes")


@pytest.mark.parametrize(
    "name",
    [name if name in ("claude-code", "codex") else pytest.param(name, marks=pytest.mark.slow) for name in BY_NAME],
)
def test_a_file_that_grows_while_it_is_read_is_read_to_where_it_ended(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written meanwhile is read the next time: the cursor never stands behind what was read."""
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    lines = lines_of(sample.content)
    path.write_bytes(b"".join(line + b"\n" for line in lines[:-2]))
    before = path.stat().st_size
    real = cast(Any, Path.open)

    def growing(self: Path, *args: Any, **options: Any) -> Any:
        opened = real(self, *args, **options)
        if self == path and path.stat().st_size == before:
            with real(path, "ab") as file:
                file.write(lines[-2] + b"\n" + lines[-1][:9])
        return opened

    with lk.open(tmp_path / "l", key=bytes(32)) as ledger:
        monkeypatch.setattr(Path, "open", growing)
        first = ledger.import_logs(path, redact="off", now=NOW)
        monkeypatch.setattr(Path, "open", real)
        assert first.closes
        path.write_bytes(sample.content)
        assert ledger.import_logs(path, redact="off", now=NOW).closes
        grown = ledger.sql("select part_type, content_id, data from parts").unique()
    with lk.open(tmp_path / "once", key=bytes(32)) as ledger:
        ledger.import_logs(path, redact="off", now=NOW)
        once = ledger.sql("select part_type, content_id, data from parts").unique()
    lost = once.join(grown, on=once.columns, how="anti", nulls_equal=True)
    assert lost.is_empty(), lost


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_damage_of_packed_files_costs_what_cannot_be_unpacked(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """What is unpacked before the damage is read, the rest is reported, and nothing fails.

    A zstd file may have no checksum (Codex writes none): then what is unpacked may be wrong, and nothing tells.
    """
    sample = BY_NAME[name]
    path = sample.write(tmp_path)
    log_format = FORMAT[sample.log_format]
    whole = told(log_format, path)
    packed = pack(sample.content)
    for number in range(120):
        done, damaged = mutated(packed, f"packed/{name}/{number}")
        path.write_bytes(damaged)
        recognise(path)
        now = told(log_format, path)
        if pack is gzip.compress and damaged.startswith(packed[:4]) and damaged != packed:
            assert now.quarantined or now.contents == whole.contents, f"{number}: {done}"
