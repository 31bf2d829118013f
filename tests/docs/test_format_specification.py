"""docs/ledger-format.md is enough to read and check a ledger: this does so by what stands there, without ledgerkit."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from deltalake import DeltaTable

import ledgerkit as lk
from tests.docs.reading import DOCS

Row = dict[str, Any]
PAGE = (DOCS / "ledger-format.md").read_text("utf-8")
ZEROS = bytes(32)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def named(pattern: str) -> set[str]:
    """Names of columns in a sentence of the page."""
    found = re.search(pattern, " ".join(PAGE.split()))
    assert found, pattern
    return set(re.findall(r"`(\w+)`", found[1]))


CONTENT = named(r"Content columns of a message: (.+?); of a row of `runs`")
RUN_CONTENT = named(r"of a row of `runs`: (.+?)\. All other")
NOT_HASHED = named(r"All other columns but (.+?) are fixed")


def text_of(value: object) -> str:
    if isinstance(value, datetime):
        since = value - EPOCH
        return str((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    if isinstance(value, Decimal):
        return str(int(value.scaleb(9)))
    if isinstance(value, list):
        return "".join(netstring(text_of(each)) for each in cast("list[object]", value))
    assert isinstance(value, str | int)
    return str(value)


def netstring(text: str) -> str:
    return f"{len(text.encode())}:{text},"


def form(row: Row, columns: set[str]) -> str:
    names = sorted(name for name in columns if row[name] is not None)
    return "".join(f"{name}={netstring(text_of(row[name]))}" for name in names)


def sha(*pieces: bytes) -> bytes:
    return hashlib.sha256(b"".join(pieces)).digest()


def root_of(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, of leaves that are hashed already."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\x01", root_of(leaves[:half]), root_of(leaves[half:]))


def rows_of(ledger: Path, table: str) -> list[Row]:
    return DeltaTable(str(ledger / table)).to_pyarrow_table().to_pylist()


@pytest.fixture(scope="module")
def messages(demo_path: Path) -> list[list[Row]]:
    """Messages in order of their leaves, each as its parts."""
    found = dict[tuple[object, ...], list[Row]]()
    for row in rows_of(demo_path, "history"):
        key = (row["session_id"], row["run_id"], row["revision"], row["sequence_no"])
        found.setdefault(key, []).append(row)
    parts = [sorted(each, key=lambda row: row["part_index"]) for each in found.values()]
    return sorted(parts, key=lambda each: each[0]["leaf_index"])


def test_every_hash_of_a_message_follows_from_the_page(messages: list[list[Row]]) -> None:
    assert len(messages) > 1000
    last = dict[tuple[object, ...], bytes]()
    for parts in messages:
        first = parts[0]
        fixed = set(first) - CONTENT - NOT_HASHED
        commit = sha(first["salt"], "".join(netstring(form(row, CONTENT)) for row in parts).encode())
        assert commit == first["content_commit"]
        run = (first["session_id"], first["run_id"], first["revision"])
        assert first["prev_hash"] == last.get(run, ZEROS)
        said = "".join(netstring(form(row, fixed)) for row in parts).encode()
        leaf = sha(b"\x00", b"ledgerkit/message/1\n", first["prev_hash"], commit, said)
        assert leaf == first["leaf_hash"]
        last[run] = leaf


def test_every_hash_of_a_run_follows_from_the_page(demo_path: Path) -> None:
    rows = rows_of(demo_path, "runs")
    assert len(rows) >= 55
    for row in rows:
        commit = sha(row["salt"], form(row, RUN_CONTENT).encode())
        fixed = form(row, set(row) - RUN_CONTENT - NOT_HASHED).encode()
        assert sha(b"\x00", b"ledgerkit/run/1\n", ZEROS, commit, fixed) == row["row_hash"]


def test_the_checkpoint_states_both_trees(demo_path: Path, messages: list[list[Row]]) -> None:
    runs = sorted(rows_of(demo_path, "runs"), key=lambda row: row["leaf_index"])
    assert [parts[0]["leaf_index"] for parts in messages] == list(range(len(messages)))
    with lk.open(demo_path, create=False) as ledger:  # only to have its text
        lines = str(ledger.checkpoint()).splitlines()
    assert lines[1] == str(len(messages))
    assert lines[2] == base64.b64encode(root_of([parts[0]["leaf_hash"] for parts in messages])).decode()
    root = base64.b64encode(root_of([row["row_hash"] for row in runs])).decode()
    assert lines[3] == f"runs {len(runs)} {root}"


def test_what_an_artifact_holds_has_its_content_id(demo_path: Path) -> None:
    key = bytes.fromhex(json.loads((demo_path / "ledger.json").read_text("utf-8"))["content_key"])
    rows = [row for row in rows_of(demo_path, "artifacts") if row["content"] is not None]
    assert rows
    for row in rows:
        assert hashlib.blake2b(row["content"], key=key, digest_size=16).hexdigest() == row["content_id"]


def test_a_journal_is_read_as_the_page_says(tmp_path: Path) -> None:
    part = {"type": "text", "text": "Round to cents.", "trust_level": "USER_TRUSTED", "visibility": "MODEL_VISIBLE"}
    with lk.open(tmp_path / "runs.ledger", key=bytes(32)) as ledger, ledger.record("s", "r", agent="mine") as recorder:
        for number in range(3):
            told = {"session_id": "s", "run_id": "r", "kind": "USER_TASK", "actor": f"user {number}", "parts": [part]}
            recorder.append(lk.AppendMessageCommand.model_validate(told))
        (file,) = (tmp_path / "runs.ledger" / "journal").glob("*.journal")
        raw = file.read_bytes()
    head = b"ledgerkit journal 1\n"
    assert raw.startswith(head)
    at, check, payloads = len(head), b"", list[Row]()
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "little")
        payload = raw[at + 12 : at + 12 + size]
        made = hashlib.blake2b(payload, digest_size=8, key=check, salt=at.to_bytes(8, "little")).digest()
        assert made == raw[at + 4 : at + 12]
        payloads.append(json.loads(payload))
        at, check = at + 12 + size, made
    header, *said = payloads
    assert set(header) == named(r"The first payload says whose journal it is: (.+?)\. Each other one")
    assert (header["session_id"], header["run_id"], header["first"]) == ("s", "r", 0)
    assert [each["actor"] for each in said] == ["user 0", "user 1", "user 2"]


@pytest.mark.parametrize("table", ["history", "artifacts", "runs", "redactions", "imports", "checkpoints", "snapshots"])
def test_columns_are_those_of_the_page_of_tables(demo_path: Path, table: str) -> None:
    stored = (DOCS / "tables.md").read_text("utf-8").split("## Stored tables")[1]
    section = stored.split(f"### {table}\n")[1].split("\n### ")[0]
    assert (
        re.findall(r"^\| `(\w+)` \|", section, re.M)
        == DeltaTable(str(demo_path / table)).to_pyarrow_table().column_names
    )
