"""Small logs of Inspect AI, as the writer makes them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import ledgerkit as lk
from tests.conftest import NOW

MODEL: Final = "openai/gpt-4o"


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(call_id: str, function: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "function": function, "arguments": arguments, "type": "function"}


def event(kind: str, **said: Any) -> dict[str, Any]:
    return {"event": kind, "timestamp": "2026-01-01T00:00:00+00:00", **said}


def usage(inputs: int, outputs: int, total: int | None = None, **more: Any) -> dict[str, Any]:
    return {"input_tokens": inputs, "output_tokens": outputs, "total_tokens": total or inputs + outputs, **more}


def asked(prompt: list[Any], *answers: dict[str, Any], used: Any = None, **more: Any) -> dict[str, Any]:
    output = {"model": "gpt-4o-2024", "choices": [{"message": each, "stop_reason": "stop"} for each in answers]}
    return event("model", **{
        "model": MODEL, "input": prompt, "tools": [], "config": {},
        "output": {**output, "usage": used or usage(10, 2)}, **more,
    })  # fmt: skip


def sample(events: list[Any], messages: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 1, "epoch": 1, "input": "Do it.", "target": "right", "messages": messages, "events": events,
        "scores": {"includes": {"value": "C", "answer": "right"}}, "attachments": {}, "uuid": "u1", **more,
    }  # fmt: skip


def header(**more: Any) -> dict[str, Any]:
    spec = {"eval_id": "e1", "run_id": "r1", "task_id": "t1", "created": "2026-01-01T00:00:00+00:00",
            "task": "ctf", "model": MODEL, "dataset": {"name": "d", "sample_ids": [1]},
            "packages": {"inspect_ai": "0.3.1"}}  # fmt: skip
    return {"version": 2, "status": "success", "eval": spec, "plan": {"name": "plan"}, **more}


def log(*samples: Any, **more: Any) -> dict[str, Any]:
    return header(samples=list(samples), **more)


def archive(path: Path, members: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in members.items():
            file.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def archive_with_zstd(path: Path, members: dict[str, Any]) -> Path:
    """As newer writers make it: members packed with method 93, which ``zipfile`` cannot write."""
    out, listed = io.BytesIO(), io.BytesIO()
    for name, value in members.items():
        content = json.dumps(value).encode()
        packed = pa.compress(content, codec="zstd", asbytes=True)
        common = (20, 0, 93, 0, 0x21, zlib.crc32(content), len(packed), len(content), len(name), 0)
        at = out.tell()
        out.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *common) + name.encode() + packed)
        entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *common, 0, 0, 0, 0, at)
        listed.write(entry + name.encode())
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), listed.tell(), out.tell(), 0)
    path.write_bytes(out.getvalue() + listed.getvalue() + end)
    return path


def taken(ledger: lk.Ledger, tmp_path: Path, *samples: Any, **more: Any) -> lk.ImportAccount:
    path = tmp_path / f"log-{len(list(tmp_path.iterdir()))}.json"
    path.write_text(json.dumps(log(*samples, **more), indent=2), "utf-8")
    account = ledger.import_logs(path, now=NOW)
    assert account.closes
    assert account.quarantined == 0
    return account


def shown(ledger: lk.Ledger, run: str = "relation is null") -> list[Any]:
    """Kind, trust and text of what models may see."""
    return ledger.sql(
        "select kind, part_trust_level, text from parts join (from runs select run_id, relation) using (run_id) "
        f"where part_visibility = 'MODEL_VISIBLE' and {run} order by run_id, sequence_no, part_index"
    ).rows()
