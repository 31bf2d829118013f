"""A large true ledger, and the same rows as plain sorted Parquet, for the benchmarks that read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

import ledgerkit as lk
from ledgerkit import tables
from ledgerkit.protocol.identifiers import hash_uuid, uuid8
from ledgerkit.store.committing import Commit, write_commit
from ledgerkit.store.contents import Contents
from ledgerkit.store.layout import open_layout
from ledgerkit.store.locking import COMMIT_LOCK, exclusive
from ledgerkit.store.place import place_of
from ledgerkit.store.storage import Storage, open_storage

RUN_MESSAGES: Final = 1_000
SESSION_RUNS: Final = 2
COMMIT_MESSAGES: Final = 100_000
NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
KEY: Final = bytes(32)
"""Key of the content ids: the same rows on every build."""
LEDGER: Final = "runs.ledger"
PLAIN: Final = "plain.parquet"

_START_MS: Final = 1_767_225_600_000
_SECOND_PART_EVERY: Final = 32
_CHECK_EVERY: Final = 16
"""Of so many calls one runs the tests, about as in real runs."""
_CHECK: Final = '{"command":"make test"}'
_LOOK: Final = '{"command":"sed -n 1,80p src/shop.py"}'
_WORDS: Final = tuple(
    f"{root}{end}" for root in ("file", "test", "error", "value", "run", "step") for end in "abcdefghij"
)
# What repeats in a run: the model answers, calls a tool, gets its result, and sees a file.
_CYCLE: Final[tuple[dict[str, object], ...]] = (
    {
        "kind": "ASSISTANT_RESPONSE", "trust_level": "MODEL_GENERATED", "part_type": "text", "actor": "model",
        "model": "claude-sonnet-4-5", "provider": "anthropic",
    },
    {
        "kind": "TOOL_CALL_REQUEST", "trust_level": "MODEL_GENERATED", "part_type": "tool_call", "actor": "model",
        "tool_name": "bash", "status": "REQUESTED",
    },
    {
        "kind": "TOOL_CALL_RESULT", "trust_level": "REPOSITORY_UNTRUSTED", "part_type": "tool_result", "actor": "bash",
        "tool_name": "bash", "status": "SUCCEEDED",
    },
    {
        "kind": "FILE_OBSERVATION", "trust_level": "REPOSITORY_UNTRUSTED", "part_type": "file_snippet",
        "actor": "read", "tool_name": "read", "path": "src/shop.py",
    },
)  # fmt: skip


def build(folder: Path, messages: int) -> None:
    """Makes a ledger of so many messages in commits of a hundred thousand, as imports do, and the plain file."""
    storage = open_storage(
        place_of(folder / LEDGER), create=True, key=KEY, count_tokens=lambda texts: [len(text) // 4 for text in texts]
    )
    draw = random.Random(messages)  # noqa: S311 - the same rows on every build
    for begin in range(0, messages, COMMIT_MESSAGES):
        _commit(storage, range(begin, min(begin + COMMIT_MESSAGES, messages)), draw)
    storage.database.close()
    write_plain(folder)


def _commit(storage: Storage, numbers: range, draw: random.Random) -> None:
    contents = Contents(storage.layout)
    commit = Commit(history(numbers, contents, draw), runs(numbers), contents, "bench")
    with exclusive(storage.layout, COMMIT_LOCK):
        write_commit(storage, lambda: commit, {f"bench/{numbers.start}": 1}, now=NOW, random=draw.randbytes)


def history(numbers: range, contents: Contents, draw: random.Random) -> pl.DataFrame:
    """Rows of history as an agent's runs leave them: text of 150 to 450 bytes; of 32 messages one has two parts."""
    rows = [(n, part) for n in numbers for part in range(2 if n % _SECOND_PART_EVERY == 0 else 1)]
    texts = [" ".join(draw.choices(_WORDS, k=draw.randint(25, 75))) for _ in rows]
    runs = [n // RUN_MESSAGES for n, _ in rows]
    places = [n % RUN_MESSAGES for n, _ in rows]
    times = [_moment(n) for n, _ in rows]
    ids = {n: uuid8(_moment(n) // 1_000, str(n)) for n in numbers}
    cycle = [_CYCLE[n % len(_CYCLE)] for n, _ in rows]
    usage = [part == 0 and n % len(_CYCLE) == 0 for n, part in rows]
    columns: dict[str, Sequence[Any]] = {
        **{name: [row.get(name) for row in cycle] for name in tables.HISTORY.names},
        **_keys(runs),
        "part_trust_level": [row["trust_level"] for row in cycle],
        "data": [_data(n) for n, _ in rows],
        "visibility": ["MODEL_VISIBLE"] * len(rows),
        "part_visibility": ["MODEL_VISIBLE"] * len(rows),
        "content_type": ["text/plain"] * len(rows),
        "import_id": ["bench"] * len(rows),
        "revision": [0] * len(rows),
        "sequence_no": places,
        "source_line": [place + 1 for place in places],
        "source_record": [hash_uuid("record", str(n)) for n, _ in rows],
        "message_id": [ids[n] for n, _ in rows],
        "part_id": [f"{ids[n]}.{part}" for n, part in rows],
        "part_index": [part for _, part in rows],
        "created_at": times,
        "step": [place // len(_CYCLE) for place in places],
        "visible_from": [place // len(_CYCLE) + 1 for place in places],
        "tool_call_id": [f"call_{n // len(_CYCLE)}" if n % len(_CYCLE) else None for n, _ in rows],
        "text": texts,
        "token_count": [len(text) // 4 for text in texts],
        "byte_count": [len(text) for text in texts],
        "content_id": [contents.content_id(text.encode()) for text in texts],
        "call_id": [f"msg_{n}" if used else None for (n, _), used in zip(rows, usage, strict=True)],
        "input_tokens": [20_000 + n % 997 if used else None for (n, _), used in zip(rows, usage, strict=True)],
        "output_tokens": [300 + n % 97 if used else None for (n, _), used in zip(rows, usage, strict=True)],
    }
    return tables.HISTORY.frame_of(columns)


def _data(number: int) -> str | None:
    call, place = divmod(number, len(_CYCLE))
    if _CYCLE[place]["kind"] != "TOOL_CALL_REQUEST":
        return None
    return _LOOK if call % _CHECK_EVERY else _CHECK


def runs(numbers: range) -> pl.DataFrame:
    """The rows of ``runs`` of some messages."""
    these = list(range(numbers.start // RUN_MESSAGES, (numbers.stop - 1) // RUN_MESSAGES + 1))
    facts = {"agent": "bench", "repository": "shop", "branch": "main", "source_format": "bench", "import_id": "bench"}
    columns: dict[str, Sequence[Any]] = {
        **{name: [facts.get(name)] * len(these) for name in tables.RUNS.names},
        **_keys(these),
        "revision": [0] * len(these),
        "recorded_at": [NOW] * len(these),
    }
    return tables.RUNS.frame_of(columns)


def _keys(runs: Sequence[int]) -> Mapping[str, Sequence[Any]]:
    """What every row says of its run."""
    each = set(runs)
    sessions = {run: hash_uuid("session", str(run // SESSION_RUNS)) for run in each}
    ids = {run: hash_uuid("run", str(run)) for run in each}
    dates = {run: datetime.fromtimestamp(_moment(run * RUN_MESSAGES) / 1e6, UTC).date().isoformat() for run in each}
    return {
        "session_id": [sessions[run] for run in runs],
        "run_id": [ids[run] for run in runs],
        "run_date": [dates[run] for run in runs],
        "source_file": [f"/logs/{run}.jsonl" for run in runs],
    }


def _moment(number: int) -> int:
    """When a message was written, in microseconds: a second and a half after the one before."""
    return (_START_MS + number * 1_500) * 1_000


def write_plain(folder: Path) -> None:
    """The rows of history as one plain file, as somebody who knows the questions would write it by hand."""
    layout = open_layout(place_of(folder / LEDGER))
    source = f"read_parquet('{layout.table_path('history')}/run_date=*/*.parquet', hive_partitioning = true)"
    target = folder / PLAIN
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = false")
        connection.execute(
            f"copy (from {source} order by session_id, run_id, sequence_no, part_index) "
            f"to '{target}.new' (format parquet, compression zstd, row_group_size 16384)"
        )
    target.with_name(f"{PLAIN}.new").replace(target)


def open_plain(folder: Path) -> tuple[duckdb.DuckDBPyConnection, str]:
    """A connection, and what to select from."""
    return duckdb.connect(), f"read_parquet('{folder / PLAIN}')"


def open_ledger(folder: Path) -> lk.Ledger:
    """The ledger."""
    return lk.open(folder / LEDGER, create=False)
