"""Manifests of run sets: what pins runs down, and whether they still stand as they did."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from ledgerkit.comparison import COMPARISON_VERSION
from ledgerkit.errors import ComparisonError
from ledgerkit.run_sets import LINE, MANIFEST_VERSION
from ledgerkit.store.heads import last_checkpoint
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.store.integrity.checkpoints import Checkpoint

_PINS: Final = """
    with newest as (
        select session_id, run_id, max(revision) as revision from stored_history
        where list_contains($runs, run_id) group by all
    ), facts as (
        select session_id, run_id, lower(hex(arg_max(row_hash, (recorded_at, leaf_index)))) as facts from stored_runs
        where list_contains($runs, run_id) group by all
    )
    select h.run_id, h.session_id, h.revision, count(*) filter (h.part_index = 0) as messages,
        lower(hex(arg_max(h.leaf_hash, h.sequence_no) filter (h.leaf_hash is not null))) as head,
        count(*) filter (h.part_index = 0 and h.leaf_hash is null) as open, count(h.erased) as erased,
        any_value(f.facts) as facts
    from stored_history h join newest n using (session_id, run_id, revision)
        left join facts f using (session_id, run_id)
    group by all order by all
"""
_CHECKPOINT: Final = "select 1 from checkpoints where tree_size = $tree_size and root = $root"
_FIELDS: Final = ("version", "ledger", "checkpoint", "runs", "name", "selection")
_CHANGES: Final = {
    "revision": "it was corrected by a later import",
    "messages": "messages were added to it (a label or an outcome is one, too)",
    "head": "its last message is another",
    "erased": "content of it was erased",
    "facts": "what is known about it (task, repository, …) was written anew",
}


def pin(
    storage: Storage,
    ids: tuple[str, ...],
    *,
    seal: Callable[[list[str]], None],
    checkpoint: Callable[[], Checkpoint],
) -> dict[str, Any]:
    """The ledger's checkpoint and the state of each run, subagents included.

    Args:
        storage: The ledger.
        ids: Ids of runs.
        seal: Seals what journals hold of some sessions: labels, say, that came since.
        checkpoint: Makes a checkpoint, where the ledger keeps none of all that it holds.

    Raises:
        ComparisonError: If this is an earlier state of a ledger without a checkpoint.
    """
    rows = _pins(storage, ids)
    if unsealed := sorted({row["session_id"] for row in rows if row["open"]}):
        seal(unsealed)
        rows = _pins(storage, ids)
    head = last_checkpoint(storage)
    if (head is None or head.size < storage.store.size("history")) and not storage.is_past:
        head = checkpoint()
    if head is None:
        raise ComparisonError("This state of the ledger has no checkpoint: open the ledger as it is now to pin runs.")
    return {
        "rules": COMPARISON_VERSION,
        "ledger": storage.layout.origin,
        "checkpoint": {"tree_size": head.size, "root": head.root.hex(), "text": str(head)},
        "runs": [{name: value for name, value in row.items() if name != "open"} for row in rows],
    }


def read_manifest(given: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """A manifest, or a file that holds one as JSON.

    Raises:
        ComparisonError: If it is none.
    """
    if isinstance(given, str | Path):
        try:
            given = json.loads(Path(given).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ComparisonError(f"{given}: {error}. Give a file that holds what RunSet.manifest() gave.") from error
    if not isinstance(given, Mapping) or any(name not in given for name in _FIELDS):
        raise ComparisonError(f"This is no manifest of a run set: it needs {', '.join(_FIELDS)}.")
    if given["version"] != MANIFEST_VERSION:
        raise ComparisonError(f"The manifest has version {given['version']!r}; this code reads {MANIFEST_VERSION}.")
    return given


def check_manifest(storage: Storage, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The runs of a manifest, without subagents, if all of them are what they were.

    Raises:
        ComparisonError: If it is of another ledger, or a run is no longer what it was.
    """
    try:
        origin, pinned = manifest["ledger"], list(manifest["runs"])
        head = {name: manifest["checkpoint"][name] for name in ("tree_size", "root")}
        ids = tuple(sorted(row["run_id"] for row in pinned))
        chosen = tuple(sorted(row["run_id"] for row in pinned if not row["subagent_of"]))
        then = [{name: row[name] for name in ("run_id", *_CHANGES)} for row in pinned]
    except (KeyError, TypeError) as error:
        raise ComparisonError(f"This manifest is damaged: {error!r} is missing or of a wrong type.") from error
    if origin != storage.layout.origin:
        raise ComparisonError(f"This manifest is of the ledger {origin}, and this one is {storage.layout.origin}.")
    if storage.database.frame(_CHECKPOINT, head).is_empty():
        raise ComparisonError(
            f"The ledger keeps no checkpoint of {head['tree_size']} messages with the manifest's root: its history is "
            "another one. Run: ledgerkit verify"
        )
    now = {row["run_id"]: row for row in _pins(storage, ids)}
    for row in then:
        _compare(row, now.get(row["run_id"]))
    return chosen


def _compare(then: Mapping[str, Any], now: Mapping[str, Any] | None) -> None:
    """Whether a run is what it was."""
    run = then["run_id"]
    if now is None:
        raise ComparisonError(f"Run {run} of the manifest is not in the ledger any more.")
    for name, why in _CHANGES.items():
        if then[name] != now[name]:
            raise ComparisonError(
                f"Run {run} is not what it was: {why} ({name} was {then[name]}, is {now[name]}). Make a new manifest, "
                "or open the earlier state with as_of."
            )


def _pins(storage: Storage, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """The state of runs and of their subagents."""
    line = storage.database.frame(LINE, {"runs": list(ids)})
    parent = pl.when(pl.col("run_id") != pl.col("root")).then("root").alias("subagent_of")
    started = line.select("run_id", parent).group_by("run_id").agg(pl.col("subagent_of").drop_nulls().first())
    members = started["run_id"].sort().to_list()
    pins = storage.database.frame(_PINS, {"runs": members}).join(started, on="run_id", how="left")
    return pins.sort("run_id", "session_id").to_dicts()
