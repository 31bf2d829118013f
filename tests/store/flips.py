"""Flips bytes of a ledger's Parquet files, one at a time, in a process of its own: a library may not survive it.

``python -m tests.store.flips LEDGER SEED COUNT`` prints one line of JSON a flip.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import duckdb

import ledgerkit as lk


def rows_of(path: Path) -> str:
    """A hash of all rows of a file, as a query reads them."""
    with duckdb.connect() as connection:
        frame = connection.sql(f"select * from read_parquet('{path}', hive_partitioning = false)").pl()
    return str(frame.hash_rows(seed=0).to_list()) + str(frame.columns)


def main() -> None:
    ledger, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    files = sorted(path for path in ledger.rglob("*.parquet") if "_delta_log" not in path.parts)
    before = {path: rows_of(path) for path in files}
    for _ in range(count):
        path = draw.choice(files)
        whole = path.read_bytes()
        at, mask = draw.randrange(len(whole)), 1 << draw.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        sys.stdout.write(json.dumps(outcome(ledger, path, at, before[path])) + "\n")
        sys.stdout.flush()
        path.write_bytes(whole)


def outcome(ledger: Path, path: Path, at: int, before: str) -> dict[str, object]:
    """What verification says of a flip, and whether a query reads the same rows."""
    said: dict[str, object] = {"file": str(path.relative_to(ledger)), "at": at}
    with lk.open(ledger) as opened:
        try:
            report = opened.verify()
        except lk.LedgerkitError as error:
            return {**said, "found": [type(error).__name__], "named": str(error)}
        found = [finding.rule.value for finding in report.findings]
        named = [finding.file or finding.message_id or finding.run_id or finding.detail for finding in report.findings]
    same = None
    if not found:
        try:
            same = rows_of(path) == before
        except duckdb.Error:
            same = False
    return {**said, "found": found, "named": named[:3], "same": same}


if __name__ == "__main__":
    main()
