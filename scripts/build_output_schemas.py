"""Writes docs/schemas/*.json for the outputs of ``--json`` from the columns that ledgerkit's own answers have.

``--check`` only says whether they are current. ``comparison.json`` has its own program.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import ledgerkit as lk
from ledgerkit.cli.importing import account_json
from ledgerkit.protocol.vocabulary import ClaimOutcome

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MONEY = {"type": ["string", "null"], "pattern": "^-?[0-9]+(\\.[0-9]+)?(E[+-]?[0-9]+)?$"}
_TIME = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$"}
_NAMES = {
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt32", "UInt64"), "integer"),
    "Float64": "number",
    "Boolean": "boolean",
    "String": "string",
}
_CLOSED: dict[str, list[str]] = {
    "verdict": [one.value for one in ClaimOutcome],
    "fate": ["accepted", "duplicate", "skipped", "quarantined"],
}
_ALWAYS = ("run_id", "session_id", "message_id", "sequence_no", "path", "verdict", "rule", "fate", "count")
"""Columns that are never null where they identify a row."""


def documents() -> dict[str, str]:
    """The schemas as JSON, by the names of their files."""
    with tempfile.TemporaryDirectory() as folder, lk.open(Path(folder) / "empty.ledger", key=bytes(32)) as ledger:
        log = Path(folder) / "empty.jsonl"
        log.write_text("", "utf-8")
        account = ledger.import_logs(log)
        made = {
            "runs": _rows(ledger.runs().schema, "What `ledgerkit runs --json` prints: a row per run."),
            "claims": _rows(
                ledger.check_claims().schema, "What `ledgerkit claims --json` prints: a row per claim.", certain=_ALWAYS
            ),
            "cost": _cost(ledger),
            "verify": _verify(ledger),
            "import": _import(account),
        }
    return {f"{name}.json": json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in made.items()}


def _rows(columns: pl.Schema, what: str, certain: tuple[str, ...] = ("run_id", "session_id")) -> dict[str, Any]:
    return {"$schema": _DRAFT, "description": what, **_table(columns, certain)}


def _table(columns: pl.Schema, certain: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "array", "items": _closed({name: _column(name, kind, certain) for name, kind in columns.items()})}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _column(name: str, kind: pl.DataType, certain: tuple[str, ...]) -> dict[str, Any]:
    made = _value(kind)
    if name in _CLOSED:
        return {"enum": _CLOSED[name]}
    if name in certain:
        return {**made, "type": made["type"][0]}
    return made


def _value(kind: pl.DataType) -> dict[str, Any]:
    """How a value of a column's type is printed."""
    if isinstance(kind, pl.Decimal):
        return _MONEY
    if isinstance(kind, pl.Datetime):
        return _TIME
    if isinstance(kind, pl.List):
        return {"type": ["array", "null"], "items": _value(pl.Schema({"": kind.inner})[""])}
    return {"type": [_NAMES[kind.base_type().__name__], "null"]}


def _cost(ledger: lk.Ledger) -> dict[str, Any]:
    """Costs by labels of calls and runs; the labels that were asked for are further columns."""
    columns = ledger.cost(by="model").drop("model").schema
    leaves = ledger.cost(by="model", leaves=True).drop("model").schema
    known = {name: _column(name, kind, ()) for name, kind in {**columns, **leaves}.items()}
    row = {
        "type": "object",
        "properties": known,
        "required": list(columns),
        "additionalProperties": {"type": ["string", "null"], "description": "A label of --by."},
    }
    what = (
        "What `ledgerkit cost --json` prints with labels of calls and runs: a row per combination of labels. The "
        "columns cost_… are there with --leaves. Money is a text, in US dollars."
    )
    return {"$schema": _DRAFT, "description": what, "type": "array", "items": row}


def _verify(ledger: lk.Ledger) -> dict[str, Any]:
    counts = ("messages", "rehashed", "runs", "artifacts", "erased", "journaled", "checkpoints")
    properties: dict[str, Any] = {
        "ok": {"type": "boolean"},
        **{name: {"type": "integer", "minimum": 0} for name in counts},
        "limits": {"type": "array", "items": {"type": "string"}},
        "findings": _table(ledger.verify().frame().schema),
    }
    return {"$schema": _DRAFT, "description": "What `ledgerkit verify --json` prints.", **_closed(properties)}


def _import(account: lk.ImportAccount) -> dict[str, Any]:
    frames = {name: _table(getattr(account, name).schema) for name in ("details", "damage", "formats", "exposed")}
    labels = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in ("rows", "labelled", "messages")},
        "required": ["rows", "labelled", "messages"],
    }
    properties: dict[str, Any] = {}
    for name, value in account_json(account).items():
        properties[name] = frames.get(name) or _plain(name, value)
    made = _closed({**properties, "labels": {"type": "array", "items": labels}})
    what = "What `ledgerkit import --json` prints; without logs (only --labels) nothing but labels is there."
    return {"$schema": _DRAFT, "description": what, **made, "required": ["labels"], "dependentRequired": {
        "import_id": list(properties)}}  # fmt: skip


def _plain(name: str, value: object) -> dict[str, Any]:
    if name == "redaction":
        return {"enum": ["on", "audit", "off"]}
    if name == "closes":
        return {"type": "boolean", "description": "Whether the fates of the records add up to the records."}
    if isinstance(value, int):
        return {"type": "integer", "minimum": 0}
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, dict):
        return {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}
    if isinstance(value, (list, tuple)):
        return {"type": "array", "items": {"type": "string"}}
    raise TypeError(f"no schema for {name}")


def main(arguments: list[str]) -> int:
    """Writes the files, or says which are not current."""
    made = documents()
    if "--check" in arguments:
        stale = [name for name, text in made.items() if not _is_current(FOLDER / name, text)]
        if stale:
            print(f"Not current in docs/schemas: {', '.join(stale)}. Run scripts/build_output_schemas.py.")
        return int(bool(stale))
    FOLDER.mkdir(exist_ok=True)
    for name, text in made.items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


def _is_current(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
