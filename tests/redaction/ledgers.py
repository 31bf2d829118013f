"""Looks through everything that a ledger, or a folder, holds."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import polars as pl

import ledgerkit as lk


def everything_in(folder: Path) -> bytes:
    """All bytes of a folder: names, files as they are, and every cell of every Parquet file."""
    names = [str(path.relative_to(folder)).encode() for path in sorted(folder.rglob("*"))]
    raw = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    cells = [cell for path in sorted(folder.rglob("*.parquet")) for cell in _cells(pl.read_parquet(path, glob=False))]
    return b"\n".join([*names, *raw, *cells])


def _cells(frame: pl.DataFrame) -> Iterator[bytes]:
    for row in frame.iter_rows():
        for cell in row:
            yield cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "replace")


def everything_said(ledger: lk.Ledger) -> bytes:
    """What the views, the reports and a report of every run say."""
    views = [str(ledger.scan(name).collect().to_dicts()) for name in ledger.describe()["name"]]
    runs = ledger.runs()["run_id"].to_list()
    pages = [ledger.report(audience=lk.Audience.AUDIT), *(ledger.run(run).report() for run in runs)]
    return "\n".join([*views, *pages]).encode("utf-8", "replace")


def spellings(value: str) -> set[bytes]:
    """How a value may be written: raw, in JSON once and twice, in an address, in base64 wherever it begins."""
    once = json.dumps(value)[1:-1]
    forms = {value, once, json.dumps(once)[1:-1], quote(value, safe=""), quote(value)}
    for lead in range(3):
        code = base64.b64encode(b"x" * lead + value.encode()).decode()
        forms.add(code[4 if lead else 0 : -4])
    return {form.encode() for form in forms if len(form) >= 8}


def found_in(data: bytes, values: Iterable[str]) -> list[str]:
    """Values of which some spelling stands in some bytes."""
    return [value for value in values if any(form in data for form in spellings(value))]
