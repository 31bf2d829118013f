"""Writes docs/schemas/comparison.json from the declared columns; ``--check`` only says whether it is current."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from ledgerkit.comparison import METRICS, schema
from ledgerkit.comparison.gates import SLICE_COLUMNS
from ledgerkit.comparison.outcomes import STATES
from ledgerkit.comparison.result import COMPARISON_VERSION, EXIT_CODES
from ledgerkit.comparison.trials import PAIR_COLUMNS

FILE = Path(__file__).resolve().parent.parent / "docs" / "schemas" / "comparison.json"
_TABLES = {
    "sets": (schema.SETS, "A row per side: what was compared; shared counts runs that are on both sides."),
    "missing": (schema.MISSING, "A row per side: trials by how they ended."),
    "unmatched": (schema.UNMATCHED, "A row per task and side that has no pair, and why."),
    "gates": (schema.GATE_ROWS, "A row per gate."),
    "metrics": (schema.METRIC_ROWS, "A row per metric. effect: difference of shares, or ratio of geometric means."),
    "amounts": (schema.SPREAD, "A row per amount and side, over the trials of matched tasks."),
    "flips": (schema.FLIPS, "A row per task whose success changed, with a run of each side."),
    "pass_k": (schema.PASS_K, "A row per k: pass@k and pass^k, means over tasks with k trials a side."),
    "flakiness": (schema.FLAKINESS, "A row per side and task with two known outcomes or more."),
    "slices": (schema.SLICES, "A row per slice and metric, corrected together."),
    "tasks": (schema.TASKS, "A row per metric and matched task; of ratios, means of logarithms."),
    "trials": (schema.TRIALS, "A row per trial; metrics have a column each, null where not known."),
}
_CLOSED = {
    "metric": list(METRICS),
    "kind": ["share", "ratio"],
    "better": ["higher", "lower"],
    "family": ["gate", "exploratory"],
    "verdict": ["regressed", "improved", "equivalent", "inconclusive"],
    "status": ["passed", "failed", "inconclusive"],
    "side": ["baseline", "candidate"],
    "state": list(STATES),
    "direction": ["worse", "better"],
    "measure": ["pass@k", "pass^k"],
    "slice": list(SLICE_COLUMNS),
}
_TYPES = {"String": "string", "Int64": "integer", "Float64": "number", "Boolean": "boolean"}
_MANIFEST = {
    "type": ["object", "null"],
    "description": "What RunSet.manifest() gives; ledger.run_set opens it.",
    "required": ["version", "name", "selection", "rules", "ledger", "checkpoint", "runs"],
    "properties": {
        "checkpoint": {
            "type": "object",
            "required": ["tree_size", "root", "text"],
            "properties": {"tree_size": {"type": "integer"}, "root": {"type": "string"}, "text": {"type": "string"}},
        },
        "runs": {"type": "array", "items": {"type": "object", "required": ["run_id", "revision", "messages", "head"]}},
    },
}


def document() -> str:
    """The schema as JSON."""
    settings = {
        "alpha": {"type": "number"},
        "inconclusive": {"enum": ["pass", "fail"]},
        "pair_by": {"enum": list(PAIR_COLUMNS)},
        "seed": {"type": "integer"},
        "draws": {"type": "integer"},
        "slices": {"type": "array", "items": {"enum": list(SLICE_COLUMNS)}},
        "margins": {"type": "object", "propertyNames": {"enum": list(METRICS)}},
    }
    properties: dict[str, Any] = {
        "version": {"const": COMPARISON_VERSION},
        "status": {"enum": list(EXIT_CODES)},
        "exit_code": {"enum": list(EXIT_CODES.values())},
        "settings": _closed(settings),
        "caveats": {"type": "array", "items": {"type": "string"}},
        **{name: _table(columns, what) for name, (columns, what) in _TABLES.items()},
        "manifests": _closed({"baseline": _MANIFEST, "candidate": _MANIFEST}),
    }
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Comparison of two sets of runs",
        "description": "What `ledgerkit compare … --json` prints.",
        **_closed(properties),
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _table(columns: pl.Schema, what: str) -> dict[str, Any]:
    rows = {name: _column(name, kind) for name, kind in columns.items()}
    return {"type": "array", "description": what, "items": _closed(rows)}


def _column(name: str, kind: pl.DataType) -> dict[str, Any]:
    if name in _CLOSED and isinstance(kind, pl.String):
        return {"enum": _CLOSED[name]}
    return {"type": [_TYPES[str(kind)], "null"]}


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if FILE.is_file() and FILE.read_text("utf-8") == document() else f"{FILE.name} is not current")
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(document(), "utf-8")
