"""A run of many steps, made without a model: what paging and drawing are tried on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import ledgerkit as lk

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def long_ledger(folder: Path, steps: int) -> lk.Ledger:
    """A ledger with one run of so many model calls: each reads a file, every fortieth fails."""
    log = folder / "long.jsonl"
    with log.open("w", encoding="utf-8") as file:
        for record in _records(steps):
            file.write(json.dumps(record) + "\n")
    ledger = lk.open(folder / "long.ledger", key=bytes(32))
    ledger.import_logs(log, redact="off", jobs=1, now=_BEGAN)
    return ledger


def _records(steps: int) -> list[dict[str, object]]:
    records = [_record(0, "user", {"role": "user", "content": "Read all files and say what is in them."})]
    for step in range(steps):
        call = {"type": "tool_use", "id": f"t{step}", "name": "Read", "input": {"file_path": f"/w/file{step}.py"}}
        usage = {"input_tokens": 20, "cache_read_input_tokens": 30 * step, "output_tokens": 12}
        answer = {"id": f"m{step}", "model": "claude-sonnet-4-5", "content": [call], "usage": usage}
        body = f"file {step} " + "says what it says. " * (1 + step % 7)
        result = {"type": "tool_result", "tool_use_id": f"t{step}", "content": body, "is_error": step % 40 == 39}
        records.append(_record(2 * step + 1, "assistant", answer))
        records.append(_record(2 * step + 2, "user", {"role": "user", "content": [result]}))
    return records


def _record(number: int, kind: str, message: Mapping[str, object]) -> dict[str, object]:
    moment = (_BEGAN + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
    parent = f"u{number - 1}" if number else None
    envelope = {"sessionId": "long", "cwd": "/w", "version": "2.1.0", "timestamp": moment, "isSidechain": False}
    return {**envelope, "uuid": f"u{number}", "parentUuid": parent, "type": kind, "message": message}
