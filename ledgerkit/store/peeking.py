"""The ids of a ledger's newest runs at a glance, for completion: nothing is opened, migrated, cached or written.

The files of ``history`` are read as they lie in the folder, so a file that a compaction replaced may be read too; an
id more or less is no harm where ids are only offered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

_NEWEST_FILES: Final = 32
_MOST_BYTES: Final = 64_000_000
"""Of files that are looked into; only two columns of them are read."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of runs and of their sessions."""

    runs: frozenset[str]
    sessions: frozenset[str]


def peek_ids(ledger: Path) -> Ids:
    """The ids in the newest files of a ledger in a folder; none where there is no ledger.

    Example:
        >>> peek_ids(Path("no-such.ledger"))
        Ids(runs=frozenset(), sessions=frozenset())
    """
    if not (ledger / "ledger.json").is_file():
        return Ids(frozenset(), frozenset())
    found = sorted(((path.stat().st_mtime_ns, path) for path in ledger.glob("history/*/*.parquet")), reverse=True)
    files: list[Path] = []
    size = 0
    for _, path in found[:_NEWEST_FILES]:
        size += path.stat().st_size
        if size > _MOST_BYTES and files:
            break
        files.append(path)
    if not files:
        return Ids(frozenset(), frozenset())
    ids = pl.scan_parquet(files, hive_partitioning=False).select("run_id", "session_id").unique().collect()
    return Ids(frozenset(ids["run_id"].drop_nulls()), frozenset(ids["session_id"].drop_nulls()))
