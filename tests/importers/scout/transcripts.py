"""Small writers of Scout's Parquet files, by the package's declaration of its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from tests.builders import uid

JSON: Final = ("messages", "events", "events_data", "agent_args", "model_options")
KINDS: Final[dict[str, Any]] = {
    "transcript_id": pa.large_string(), "source_type": pa.large_string(), "source_id": pa.large_string(),
    "date": pa.large_string(), "task_set": pa.large_string(), "task_id": pa.large_string(), "task_repeat": pa.int64(),
    "agent": pa.large_string(), "agent_args": pa.large_string(), "model": pa.large_string(),
    "score": pa.large_string(), "score_explanation": pa.large_string(), "success": pa.bool_(),
    "message_count": pa.int64(), "total_tokens": pa.int64(), "error": pa.large_string(), "limit": pa.large_string(),
    "messages": pa.large_string(), "events": pa.large_string(), "events_data": pa.large_string(),
}  # fmt: skip
MESSAGES: Final[list[dict[str, Any]]] = [
    {"id": "m1", "role": "system", "content": "Be brief."},
    {"id": "m2", "role": "user", "content": "Round the prices.", "source": "input"},
    {
        "id": "m3", "role": "assistant", "content": "Looking.", "source": "generate", "model": "gpt-4o",
        "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}],
    },
    {"id": "m4", "role": "tool", "content": "a.py", "tool_call_id": "c1", "function": "bash"},
    {"id": "m5", "role": "assistant", "content": "Done.", "source": "generate", "model": "gpt-4o"},
]  # fmt: skip


def transcript(name: str = "one", **columns: Any) -> dict[str, Any]:
    """A row; JSON columns are given as values."""
    return {"transcript_id": uid(name), "source_type": "eval_log", "messages": MESSAGES, **columns}


def model_event(number: int, refs: list[list[int]], message: dict[str, Any], **usage: Any) -> dict[str, Any]:
    """A call of a model, whose prompt stands in the pool."""
    used = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15} | usage
    at = f"2026-02-01T09:00:{number:02d}+00:00"
    return {
        "event": "model", "uuid": f"e{number}", "timestamp": at, "model": "openai/gpt-4o",
        "input": [], "input_refs": refs, "tools": [], "tool_choice": "auto", "config": {},
        "output": {"model": "gpt-4o", "choices": [{"message": message, "stop_reason": "stop"}], "usage": used},
    }  # fmt: skip


def write(path: Path, *rows: dict[str, Any], group: int = 25, **kinds: Any) -> Path:
    """Writes a file of transcripts."""
    schema = pa.schema(list((KINDS | kinds).items()))
    encoded = [
        {
            name: json.dumps(value) if name in JSON and not isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    cast(Any, pq).write_table(
        cast(Any, pa.Table).from_pylist(encoded, schema=schema), path, compression="zstd", row_group_size=group
    )
    return path
