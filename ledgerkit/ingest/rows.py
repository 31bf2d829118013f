"""Drafts as rows of history. Each distinct text is counted once."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import msgspec
import polars as pl

from ledgerkit import tables
from ledgerkit.importers.drafts import MessageDraft, PartDraft, RecordDraft, UsageDraft
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility
from ledgerkit.store.contents import Contents

_EMPTY: Final[dict[str, Any]] = dict.fromkeys(tables.HISTORY.names)
_PART_FIELDS: Final = (
    "summary", "tool_call_id", "tool_name", "arguments_hash", "status", "started_at", "finished_at", "path",
    "error_category", "evidence_refs",
)  # fmt: skip
_USAGE_FIELDS: Final = tuple(field for field in UsageDraft.__struct_fields__ if field != "reported_cost")


class Standing(msgspec.Struct, gc=False):
    """Where a message stands in the ledger."""

    run_date: str
    session_id: str
    run_id: str
    revision: int
    sequence_no: int
    step: int
    visible_from: int
    parent_message_id: str | None


class RowBuilder:
    """Collects rows of one commit.

    Args:
        contents: Where artifacts go.
        count_tokens: Token counts of many texts.
        import_id: The import.
    """

    def __init__(self, contents: Contents, count_tokens: Callable[[list[str]], list[int]], import_id: str) -> None:
        self.contents = contents
        self._count_tokens = count_tokens
        self._import_id = import_id
        self._rows: list[dict[str, Any]] = []
        self._counted: list[str] = []
        self._counted_at: list[int] = []

    def add(
        self,
        record: RecordDraft,
        remembered: dict[str, Any],
        message_ids: list[str],
        standings: list[Standing],
        file: str,
    ) -> None:
        """Adds the messages of a record, each at its standing."""
        for number, message in enumerate(record.messages):
            metadata = dict(message.metadata)
            for name, blob in message.attached.items():
                metadata[name] = f"artifact:{self.contents.keep(blob.content, blob.media_type, blob.label)}"
            if number == 0:
                metadata["record"] = remembered
            common = self._message_columns(record, message, message_ids[number], standings[number], file)
            for index, part in enumerate(message.parts):
                row = _EMPTY | common | self._part_columns(part, message_ids[number], index)
                if index == 0:
                    row["metadata"] = _json(metadata) if metadata else None
                    if message.usage:
                        row |= _usage_columns(message.usage)
                self._rows.append(row)

    def _message_columns(
        self, record: RecordDraft, message: MessageDraft, message_id: str, standing: Standing, file: str
    ) -> dict[str, Any]:
        return {
            **msgspec.structs.asdict(standing),
            "message_id": message_id,
            "kind": message.kind.value,
            "trust_level": TrustLevel.lowest(part.trust for part in message.parts).value,
            "visibility": Visibility.widest(part.visibility for part in message.parts).value,
            "actor": message.actor,
            "created_at": record.created_at,
            "import_id": self._import_id,
            "source_file": file,
            "source_offset": record.offset,
            "source_line": record.line,
            "source_record": record.native_id,
            "trace_id": message.trace_id,
            "idempotency_key": message.idempotency_key,
            "call_id": record.call_id,
            "model": message.model,
            "provider": message.provider,
        }

    def _part_columns(self, part: PartDraft, message_id: str, index: int) -> dict[str, Any]:
        row: dict[str, Any] = {name: getattr(part, name) for name in _PART_FIELDS}
        data = _json(part.data) if part.data is not None else None
        content = part.text if part.text is not None else part.measured if part.measured is not None else data
        refs = [self.contents.keep(blob.content, blob.media_type, blob.label) for blob in part.blobs or ()]
        row |= {
            "part_index": index,
            "part_id": f"{message_id}.{index}",
            "part_type": part.part_type.value,
            "content_type": part.content_type,
            "part_trust_level": part.trust.value,
            "part_visibility": part.visibility.value,
        }
        if refs and part.text is None and part.measured is None:
            row |= {"content_id": refs[0], "byte_count": len((part.blobs or [])[0].content)}
        elif content is not None:
            raw = content.encode("utf-8", "surrogatepass")
            row |= {"content_id": self.contents.content_id(raw), "byte_count": len(raw)}
            self._counted.append(content)
            self._counted_at.append(len(self._rows))
        row["text"] = self.contents.inlined(part.text, part.content_type, refs, part.label)
        row["data"] = self.contents.inlined_json(data, refs, part.label)
        row["artifact_refs"] = refs or None
        return row

    def history(self) -> pl.DataFrame:
        """The rows so far, with the columns of ``history``."""
        counts = self._count_tokens(self._counted)
        for at, count in zip(self._counted_at, counts, strict=True):
            self._rows[at]["token_count"] = count
        return tables.HISTORY.frame(self._rows)


def _usage_columns(usage: UsageDraft) -> dict[str, Any]:
    columns = {name: getattr(usage, name) for name in _USAGE_FIELDS}
    columns["reported_cost"] = Decimal(usage.reported_cost) if usage.reported_cost else None
    return columns


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
