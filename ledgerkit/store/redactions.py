"""Placeholders of redacted secrets, found in rows and artifacts that are about to be written.

A placeholder says for itself what stood there: the type and a keyed fingerprint. What it stood for is not kept; the
source file and offset of its record say where the original is, if it still is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.store.contents import PLACEHOLDER_START
from ledgerkit.store.database import Database

PLACEHOLDER: Final = re.compile(r"\[REDACTED_SECRET:([A-Za-z0-9_.-]{1,64})#([0-9a-f]{12})\]")
_FIELDS: Final = ("text", "data", "metadata", "summary", "path")
_OF_MESSAGE: Final = (
    "session_id", "run_id", "sequence_no", "message_id", "source_file", "source_offset", "source_line", "import_id",
)  # fmt: skip


_FINGERPRINTS: Final = """
    select session_id, fingerprint, min(secret_type) as secret_type from sealed_redactions
    where list_contains($sessions, session_id) and key_id = $key group by all order by all
"""


def known_fingerprints(database: Database, sessions: Sequence[str], key_id: str | None) -> dict[str, dict[str, str]]:
    """Secret types by fingerprint, of what was replaced in sealed messages of each of some sessions with one key."""
    found: dict[str, dict[str, str]] = {}
    rows = database.sealed(_FINGERPRINTS, {"sessions": sorted(sessions), "key": key_id})
    for session_id, fingerprint, kind in rows.iter_rows():
        found.setdefault(session_id, {})[fingerprint] = kind
    return found


def journaled_fingerprints(path: Path) -> dict[str, str]:
    """Secret types by fingerprint, of what was replaced in the messages of a journal."""
    if not path.exists():
        return {}
    text = path.read_bytes().decode("utf-8", "replace")
    return {found[2]: found[1] for found in PLACEHOLDER.finditer(text)}


def redaction_rows(history: pl.DataFrame, artifacts: pl.DataFrame, key_id: str | None) -> pl.DataFrame:
    """Rows of ``redactions`` for rows of ``history`` and the artifacts that they refer to.

    Args:
        history: Rows that are about to be committed.
        artifacts: Artifacts of the same commit.
        key_id: Which key the fingerprints were made with.
    """
    rows = [*_in_rows(history), *_in_artifacts(history, artifacts)]
    return tables.REDACTIONS.frame({**row, "key_id": key_id} for row in rows)


def _in_rows(history: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for name in _FIELDS:
        hits = history.filter(pl.col(name).str.contains(PLACEHOLDER_START.decode(), literal=True))
        for row in hits.select(*_OF_MESSAGE, "part_id", name).iter_rows(named=True):
            part = None if name == "metadata" else row["part_id"]
            for found in _placeholders(row[name]):
                yield {**_of_message(row), "part_id": part, "artifact": None, "field": name, **found}


def _in_artifacts(history: pl.DataFrame, artifacts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    marked = artifacts.filter(pl.col("content").bin.contains(PLACEHOLDER_START))
    if marked.is_empty():
        return
    refs = history.select(*_OF_MESSAGE, "part_id", pl.col("artifact_refs").alias("content_id")).explode("content_id")
    joined = refs.join(marked.select("content_id", "content"), on="content_id", how="inner", maintain_order="left")
    for row in joined.iter_rows(named=True):
        for found in _placeholders(row["content"].decode("utf-8", "replace")):
            yield {
                **_of_message(row),
                "part_id": row["part_id"],
                "artifact": row["content_id"],
                "field": "content",
                **found,
            }


def _of_message(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _OF_MESSAGE}


def _placeholders(text: str) -> Iterator[dict[str, Any]]:
    for found in PLACEHOLDER.finditer(text):
        yield {
            "secret_type": found[1],
            "placeholder": found[0],
            "fingerprint": found[2],
            "start": found.start(),
        }
