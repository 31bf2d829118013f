"""Small runs as frames of parts: who said what, in order."""

from __future__ import annotations

import json

import polars as pl

ROOT = "/home/dev/shop"
TEXT_COLUMNS = (
    "session_id",
    "run_id",
    "message_id",
    "kind",
    "part_type",
    "part_trust_level",
    "part_id",
    "path",
    "status",
    "text",
    "data",
    "summary",
    "tool_call_id",
    "tool_name",
)
SCHEMA = {**dict.fromkeys(TEXT_COLUMNS, pl.String), "sequence_no": pl.Int64, "part_index": pl.Int32}
Row = dict[str, object]


def said(trust: str, text: str, kind: str = "TOOL_CALL_RESULT", **more: object) -> Row:
    return {"kind": kind, "part_type": "text", "part_trust_level": trust, "text": text, **more}


def user(text: str) -> Row:
    return said("USER_TRUSTED", text, "USER_TASK")


def repository(text: str, path: str | None = None) -> Row:
    return said("REPOSITORY_UNTRUSTED", text, "FILE_OBSERVATION", path=path)


def model(text: str) -> Row:
    return said("MODEL_GENERATED", text, "ASSISTANT_RESPONSE")


def tool(text: str) -> Row:
    return said("TOOL_TRUSTED", text)


def call(name: str = "Bash", path: str | None = None, **arguments: object) -> Row:
    return {
        "kind": "TOOL_CALL_REQUEST",
        "part_type": "tool_call",
        "part_trust_level": "MODEL_GENERATED",
        "tool_name": name,
        "path": path,
        "data": json.dumps(arguments),
    }


def run(*rows: Row, run_id: str = "r") -> pl.DataFrame:
    """Parts of a run, a message each."""
    whole = [
        {
            **dict.fromkeys(TEXT_COLUMNS),
            "session_id": f"s-{run_id}",
            "run_id": run_id,
            "sequence_no": number,
            "part_index": 0,
            "message_id": f"{run_id}-m{number}",
            "part_id": f"{run_id}-p{number}",
            "tool_call_id": f"{run_id}-c{number}" if row["part_type"] == "tool_call" else None,
            **row,
        }
        for number, row in enumerate(rows)
    ]
    return pl.DataFrame(whole, schema=SCHEMA)


def workspaces(*run_ids: str) -> pl.DataFrame:
    names = run_ids or ("r",)
    return pl.DataFrame(
        {"session_id": [f"s-{one}" for one in names], "run_id": list(names), "working_directory": [ROOT] * len(names)}
    )
