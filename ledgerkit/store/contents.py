"""Contents: what stands in a row, what becomes an artifact, and the id of either.

Text up to 64 KiB stands in its row; a longer one becomes an artifact, and the row keeps its head.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from ledgerkit import tables
from ledgerkit.protocol.vocabulary import ArtifactLabel
from ledgerkit.store.database import Database
from ledgerkit.store.layout import ContentKey, Layout

INLINE_BYTES: Final = 64 * 1024
HEAD_CHARS: Final = 4_096
PLACEHOLDER_START: Final = b"[REDACTED_SECRET:"
"""How what stands in the place of a secret begins."""
Kept = tuple[bytes, str, ArtifactLabel]
"""A content, its media type and its label."""


class Contents:
    """Collects the artifacts of one commit.

    Args:
        ids: Gives contents their ids: the ledger's layout, or its key alone.
        is_scanned: Contents whose label nobody gives were scanned for secrets: they are safe, or redacted if a
            placeholder stands in them.
    """

    def __init__(self, ids: Layout | ContentKey, *, is_scanned: bool = False) -> None:
        self._ids = ids
        self._is_scanned = is_scanned
        self._kept: dict[str, Kept] = {}

    def content_id(self, content: bytes | str) -> str:
        """Keyed hash of a content."""
        return self._ids.content_id(content)

    def keep(self, content: bytes, media_type: str, label: ArtifactLabel | None = None) -> str:
        """Keeps a content as an artifact.

        Content that nobody has scanned for secrets has no label, and is restricted: kept, never projected.

        Returns:
            Its content id.
        """
        content_id = self.content_id(content)
        self._kept.setdefault(content_id, (content, media_type, label or self._label_of(content)))
        return content_id

    @property
    def kept(self) -> Mapping[str, Kept]:
        """What was kept, by content id: content, media type and label."""
        return self._kept

    def take(self, kept: Mapping[str, Kept]) -> None:
        """Takes up what others have kept; of two of one id the first one counts."""
        for content_id, one in kept.items():
            self._kept.setdefault(content_id, one)

    def _label_of(self, content: bytes) -> ArtifactLabel:
        if not self._is_scanned:
            return ArtifactLabel.RESTRICTED
        return ArtifactLabel.REDACTED if PLACEHOLDER_START in content else ArtifactLabel.SAFE

    def inlined(
        self, text: str | None, content_type: str, refs: list[str], label: ArtifactLabel | None = None
    ) -> str | None:
        """The text for the row: all of it, or its head, and then ``refs`` gets the artifact of the whole."""
        if text is None or not _is_long(text):
            return text
        refs.append(self.keep(text.encode(), content_type, label))
        return text[:HEAD_CHARS]

    def inlined_json(self, data: str | None, refs: list[str], label: ArtifactLabel | None = None) -> str | None:
        """The JSON text for the row: all of it, or an object with the artifact of the whole and its head."""
        if data is None or not _is_long(data):
            return data
        refs.append(self.keep(data.encode(), "application/json", label))
        return json.dumps({"artifact": refs[-1], "head": data[:HEAD_CHARS]}, ensure_ascii=False)

    @staticmethod
    def fresh(database: Database, artifacts: pl.DataFrame) -> pl.DataFrame:
        """Those artifacts that the stored tables do not hold yet."""
        if artifacts.is_empty():
            return artifacts
        ids = artifacts["content_id"].to_list()
        held = database.sealed(
            "select distinct content_id from sealed_artifacts where list_contains($ids, content_id)", {"ids": ids}
        )
        return artifacts.join(held, on="content_id", how="anti", maintain_order="left")

    def frame(self, import_id: str | None) -> pl.DataFrame:
        """All artifacts that were kept, as rows of ``artifacts``."""
        kept = [(content_id, *self._kept[content_id]) for content_id in sorted(self._kept)]
        return tables.ARTIFACTS.frame_of(
            {
                "content_id": [content_id for content_id, *_ in kept],
                "media_type": [media_type for _, _, media_type, _ in kept],
                "label": [label.value for *_, label in kept],
                "byte_count": [len(content) for _, content, _, _ in kept],
                "content": [content for _, content, _, _ in kept],
                "import_id": [import_id for _ in kept],
            }
        )


def _is_long(text: str) -> bool:
    return len(text) * 4 > INLINE_BYTES and len(text.encode("utf-8", "surrogatepass")) > INLINE_BYTES


def read_artifact(database: Database, content_id: str) -> tuple[bytes, str, ArtifactLabel] | None:
    """Content, media type and label of an artifact; ``None`` if there is none of that id."""
    rows = database.frame(
        "select content, media_type, label from stored_artifacts where content_id = $id limit 1", {"id": content_id}
    ).rows()
    return (rows[0][0], rows[0][1], ArtifactLabel(rows[0][2])) if rows else None
