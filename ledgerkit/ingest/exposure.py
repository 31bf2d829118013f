"""Secrets that stand in rows which are committed already: found too late, and named so that they can go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from ledgerkit.safety.redaction import SecretMemory
from ledgerkit.safety.redaction.forms import written_forms
from ledgerkit.safety.redaction.memory import Confirmed
from ledgerkit.store.contents import read_artifact
from ledgerkit.store.storage import Storage

EXPOSED: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "sequence_no": pl.Int64,
    "message_id": pl.String,
    "secret_types": pl.List(pl.String),
}
"""Columns of the messages that hold a secret."""

_FIELDS: Final = ("text", "data", "metadata", "summary", "path")
_ROWS: Final = """
    select session_id, run_id, sequence_no, message_id, text, data, metadata, summary, path, artifact_refs
    from stored_history where session_id = $session
"""


def exposed_messages(storage: Storage, memories: Mapping[str, SecretMemory]) -> pl.DataFrame:
    """Committed messages that hold a value which is known to be a secret now.

    Args:
        storage: The ledger.
        memories: What is known of the secrets of each session that is looked at.

    Returns:
        ``EXPOSED``, by session, run and number. The values themselves are not in it.
    """
    rows = [
        row
        for session_id, memory in sorted(memories.items())
        if memory.values
        for row in _exposed_in(storage, session_id, memory.values)
    ]
    return pl.DataFrame(rows, EXPOSED).sort("session_id", "run_id", "sequence_no")


def _exposed_in(storage: Storage, session_id: str, values: Mapping[str, Confirmed]) -> Iterable[dict[str, Any]]:
    needles = {form: known.type for value, known in values.items() for form in written_forms(value, known.type)}
    patterns = sorted(needles)
    rows = storage.database.frame(_ROWS, {"session": session_id})
    found: dict[tuple[str, int, str], set[str]] = {}
    for name in _FIELDS:
        hits = rows.filter(pl.col(name).str.contains_any(patterns))
        for row in hits.iter_rows(named=True):
            _note(found, row, row[name], needles)
    for row in rows.filter(pl.col("artifact_refs").list.len() > 0).iter_rows(named=True):
        for ref in row["artifact_refs"]:
            artifact = read_artifact(storage.database, ref)
            if artifact is not None:
                _note(found, row, artifact[0].decode("utf-8", "replace"), needles)
    for (run_id, number, message_id), kinds in found.items():
        yield {
            "session_id": session_id,
            "run_id": run_id,
            "sequence_no": number,
            "message_id": message_id,
            "secret_types": sorted(kinds),
        }


def _note(
    found: dict[tuple[str, int, str], set[str]], row: Mapping[str, Any], text: str, needles: dict[str, str]
) -> None:
    kinds = {kind for form, kind in needles.items() if form in text}
    if kinds:
        found.setdefault((row["run_id"], row["sequence_no"], row["message_id"]), set()).update(kinds)
