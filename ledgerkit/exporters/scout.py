"""Inspect Scout's transcripts: Parquet files with one row a run, which the package inspect-scout reads as a database.

The columns are those of Scout's own declaration (``transcripts_db_schema()``), in its order and types; what the ledger
knows of a run beside them stands in further columns, which Scout shows as metadata. ``docs/export.md`` says what is
lost.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from ledgerkit.exporters.conversation import conversation
from ledgerkit.exporters.entries import Check, Entry
from ledgerkit.exporters.losses import Losses, lost_columns
from ledgerkit.exporters.material import Document, Material
from ledgerkit.exporters.scout_content import Content
from ledgerkit.importers.drafts import JsonObject
from ledgerkit.protocol.vocabulary import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX: Final = ".parquet"
SOURCE_TYPE: Final = "ledgerkit"
ROWS: Final = 25
"""Rows of a row group, as Scout writes them: a transcript is read by its group."""
FILE_BYTES: Final = 256 * 1024 * 1024
"""JSON of a file, uncompressed, after which another one begins."""
LOST: Final = lost_columns("metadata")
_TEXT, _INTEGER, _REAL, _FLAG = "large_string", "int64", "float64", "bool"
COLUMNS: Final[dict[str, str]] = {
    "transcript_id": _TEXT, "source_type": _TEXT, "source_id": _TEXT, "source_uri": _TEXT, "date": _TEXT,
    "task_set": _TEXT, "task_id": _TEXT, "task_repeat": _INTEGER, "agent": _TEXT, "agent_args": _TEXT, "model": _TEXT,
    "model_options": _TEXT, "score": _TEXT, "score_explanation": _TEXT, "success": _FLAG, "message_count": _INTEGER,
    "total_time": _REAL, "total_tokens": _INTEGER, "error": _TEXT, "limit": _TEXT, "trust_content": _FLAG,
    "messages": _TEXT, "events": _TEXT, "timelines": _TEXT, "events_data": _TEXT,
}  # fmt: skip
"""Scout's columns (inspect-scout 0.6), with the names of their Arrow types."""
FACTS: Final = (
    "session_id", "title", "repository", "branch", "working_directory", "agent_version", "parent_run_id", "forked_at",
    "relation", "source_format",
)  # fmt: skip
"""What further columns say of a run."""


def documents(materials: Iterable[Material], losses: Losses) -> Iterator[Document]:
    """Files of transcripts, each with many runs.

    Args:
        materials: The sessions, prepared for their audience.
        losses: Counts what is left out.
    """
    rows: list[JsonObject] = []
    size = messages = number = 0
    for material in materials:
        for row, said in _rows(material, losses):
            rows.append(row)
            messages += said
            size += sum(len(value) for value in row.values() if isinstance(value, str))
            if size >= FILE_BYTES:
                number += 1
                yield _document(rows, number, messages)
                rows, size, messages = [], 0, 0
    if rows:
        yield _document(rows, number + 1, messages)


def _rows(material: Material, losses: Losses) -> Iterator[tuple[JsonObject, int]]:
    """The rows of a session, each with the number of messages that it says."""
    usage = {(row["run_id"], row["call_id"]): row for row in material.calls.to_dicts()}
    for run in material.runs.to_dicts():
        calls = {call: row for (own, call), row in usage.items() if own == run["run_id"]}
        entries = conversation(material.rows_of(run["run_id"]), calls, losses)
        outcome = _outcome(entries)
        content = Content(run["started_at"], losses)
        for entry in entries:
            if entry is not outcome:
                content.take(entry)
        yield _row(run, content, outcome), content.said + (outcome is not None)


def _outcome(entries: list[Entry]) -> Check | None:
    """The verdict that counts: the last on the whole run by somebody who may judge."""
    return next((each for each in reversed(entries) if isinstance(each, Check) and each.is_outcome), None)


def _row(run: JsonObject, content: Content, outcome: Check | None) -> JsonObject:
    models = list(run["models"] or ())
    tokens = [run[name] for name in ("input_tokens", "output_tokens") if run[name] is not None]
    started = run["started_at"]
    row: JsonObject = dict.fromkeys(COLUMNS)
    row |= {
        "transcript_id": run["run_id"],
        "source_type": SOURCE_TYPE,
        "source_id": run["session_id"],
        "date": None if started is None else started.isoformat(),
        "task_id": run["task_id"],
        "agent": run["agent"],
        "model": models[0] if models else None,
        "message_count": len(content.messages),
        "total_time": run["duration_s"],
        "total_tokens": sum(tokens) if tokens else None,
        **content.columns(),
        **{name: run[name] for name in FACTS},
    }
    return row | ({} if outcome is None else _score(outcome))


def _score(outcome: Check) -> JsonObject:
    """The outcome as the source scored it; whether it is a success only where that is known."""
    success = {Verdict.PASSED: True, Verdict.FAILED: False}.get(Verdict(outcome.verdict))
    is_grade = isinstance(outcome.value, str | int | float)
    value = outcome.value if is_grade else outcome.verdict
    return {"success": success, "score": str(value), "score_explanation": outcome.text}


def _document(rows: list[JsonObject], number: int, messages: int) -> Document:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = COLUMNS | dict.fromkeys(FACTS, _TEXT)
    schema = pa.schema([(name, _arrow_type(kind)) for name, kind in columns.items()])
    sink = io.BytesIO()
    write: Any = cast(Any, pq).write_table  # its types are known in part only
    write(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd", row_group_size=ROWS)
    texts = [value for row in rows for value in row.values() if isinstance(value, str)]
    return Document(f"transcripts_{number:04d}", sink.getvalue(), texts, runs=len(rows), messages=messages)


def _arrow_type(name: str) -> pa.DataType:
    import pyarrow as pa

    kinds = {_TEXT: pa.large_string(), _INTEGER: pa.int64(), _REAL: pa.float64(), _FLAG: pa.bool_()}
    return kinds[name]
