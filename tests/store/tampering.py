"""An attacker who may write the ledger's folder: rows of a table are changed and written back in place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
from deltalake import DeltaTable

from ledgerkit import tables
from ledgerkit.store.parquet import read_file, write_files

Change = Callable[[pl.DataFrame], pl.DataFrame]


def rewrite(ledger: Path, name: str, change: Change) -> None:
    """Changes all rows of a table and writes them as its one file for each partition, the log patched to match."""
    table, folder = tables.TABLES[name], ledger / name
    actions = pl.DataFrame(DeltaTable(str(folder)).get_add_actions(flatten=True)).to_dicts()
    frames = [
        read_file(folder, table, row["path"], {key: row[f"partition.{key}"] for key in table.partition_by})
        for row in actions
    ]
    rows = pl.concat(frames).sort(table.sort_by, maintain_order=True)
    written = write_files(folder, table, change(rows))
    log = sorted((folder / "_delta_log").glob("*.json"))
    kept: list[str] = []
    for path in log:
        lines = path.read_text("utf-8").splitlines()
        path.write_text("\n".join(line for line in lines if not line.startswith('{"add"')) + "\n", "utf-8")
    for file in written:
        add = {
            "path": file.path, "size": file.size, "partitionValues": file.partition, "modificationTime": 0,
            "dataChange": True, "stats": file.stats,
        }  # fmt: skip
        kept.append(json.dumps({"add": add}))
    with log[-1].open("a", encoding="utf-8") as last:
        last.write("\n".join(kept) + "\n")
    for row in actions:
        (folder / row["path"]).unlink()
