"""Drafts as rows of history: one tuple a message and one a part, joined where they are columns already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import polars as pl

from ledgerkit import tables
from ledgerkit.importers.drafts import MessageDraft, PartDraft, RecordDraft, UsageDraft
from ledgerkit.protocol.vocabulary import TrustLevel, Visibility
from ledgerkit.store.contents import Contents

CountTokens = Callable[[list[str]], list[int]]
"""Token counts of many texts."""


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


_STANDING: Final = Standing.__struct_fields__
_MESSAGE: Final = (
    *_STANDING, "message_id", "kind", "trust_level", "visibility", "actor", "created_at", "source_file",
    "source_offset", "source_line", "source_record", "trace_id", "idempotency_key", "call_id", "model", "provider",
)  # fmt: skip
_USAGE: Final = UsageDraft.__struct_fields__
_FIRST_PART: Final = ("metadata", *_USAGE)
"""What stands on the first part of a message alone."""
_COST: Final = _USAGE.index("reported_cost")
_NO_USAGE: Final = (None,) * len(_USAGE)
_PART: Final = (
    "part_index", "part_id", "part_type", "content_type", "part_trust_level", "part_visibility", "summary",
    "tool_call_id", "tool_name", "arguments_hash", "status", "started_at", "finished_at", "path", "error_category",
    "evidence_refs", "text", "data", "artifact_refs", "byte_count", "content_id",
)  # fmt: skip


class RowBuilder:
    """Collects rows of one commit.

    Args:
        contents: Where artifacts go.
        count_tokens: Token counts of many texts; ``None`` leaves them unknown.
        import_id: The import.
    """

    def __init__(self, contents: Contents, count_tokens: CountTokens | None, import_id: str) -> None:
        self.contents = contents
        self._count_tokens = count_tokens
        self._import_id = import_id
        self._messages: list[tuple[Any, ...]] = []
        self._firsts: list[tuple[Any, ...]] = []
        self._parts: list[tuple[Any, ...]] = []
        self._message_of: list[int] = []
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
        of_record = (file, record.offset, record.line, record.native_id)
        for number, message in enumerate(record.messages):
            metadata = dict(message.metadata)
            for name, blob in message.attached.items():
                metadata[name] = f"artifact:{self.contents.keep(blob.content, blob.media_type, blob.label)}"
            if number == 0:
                metadata["record"] = remembered
            if message.compaction is not None:
                metadata["compaction"] = message.compaction
            message_id = message_ids[number]
            self._messages.append(
                (
                    *_fields_of(standings[number]), message_id, message.kind, *_labels(message), message.actor,
                    record.created_at, *of_record, message.trace_id, message.idempotency_key, record.call_id,
                    message.model, message.provider,
                )
            )  # fmt: skip
            self._firsts.append((_json(metadata) if metadata else None, *_usage(message.usage)))
            for index, part in enumerate(message.parts):
                self._message_of.append(len(self._messages) - 1)
                self._parts.append(self._part(part, message_id, index))

    def _part(self, part: PartDraft, message_id: str, index: int) -> tuple[Any, ...]:
        contents, text, label = self.contents, part.text, part.label
        data = _json(part.data) if part.data is not None else None
        content = text if text is not None else part.measured if part.measured is not None else data
        refs = [contents.keep(blob.content, blob.media_type, blob.label) for blob in part.blobs or ()]
        content_id: str | None = None
        size: int | None = None
        if refs and text is None and part.measured is None:
            content_id, size = refs[0], len((part.blobs or [])[0].content)
        elif content is not None:
            raw = content.encode("utf-8", "surrogatepass")
            content_id, size = contents.content_id(raw), len(raw)
            self._counted.append(content)
            self._counted_at.append(len(self._parts))
        kept_text = contents.inlined(text, part.content_type, refs, label)
        kept_data = contents.inlined_json(data, refs, label)
        return (
            index, f"{message_id}.{index}", part.part_type, part.content_type, part.trust, part.visibility,
            part.summary, part.tool_call_id, part.tool_name, part.arguments_hash, part.status, part.started_at,
            part.finished_at, part.path, part.error_category, part.evidence_refs, kept_text, kept_data, refs or None,
            size, content_id,
        )  # fmt: skip

    def history(self) -> pl.DataFrame:
        """The rows so far, with the columns of ``history``; those of the proof are null."""
        if not self._parts:
            return tables.HISTORY.empty()
        messages, firsts = _columns(_MESSAGE, self._messages), _columns(_FIRST_PART, self._firsts)
        parts = _columns(_PART, self._parts)
        at = pl.Series("at", self._message_of, pl.UInt32)
        first = pl.select(pl.when(parts["part_index"] == 0).then(at)).to_series()
        joined = parts.hstack(messages.select(pl.all().gather(at))).hstack(firsts.select(pl.all().gather(first)))
        counts: list[int | None] = [None] * len(self._parts)
        if self._count_tokens is not None:
            for place, count in zip(self._counted_at, self._count_tokens(self._counted), strict=True):
                counts[place] = count
        given = {*joined.columns, "import_id", "token_count"}
        missing = [name for name in tables.HISTORY.names if name not in given]
        types = tables.HISTORY.schema
        return joined.with_columns(
            *(pl.lit(None, types[name]).alias(name) for name in missing),
            import_id=pl.lit(self._import_id, types["import_id"]),
            token_count=pl.Series(counts, dtype=types["token_count"]),
        ).select(tables.HISTORY.names)


def _columns(names: Sequence[str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(
        [tables.HISTORY.series(name, values) for name, values in zip(names, zip(*rows, strict=True), strict=True)]
    )


_fields_of = msgspec.structs.astuple


def _labels(message: MessageDraft) -> tuple[TrustLevel, Visibility]:
    """Trust and visibility of a message: the lowest and the widest of its parts."""
    if len(message.parts) == 1:
        return message.parts[0].trust, message.parts[0].visibility
    return (
        TrustLevel.lowest(part.trust for part in message.parts),
        Visibility.widest(part.visibility for part in message.parts),
    )


def _usage(usage: UsageDraft | None) -> tuple[Any, ...]:
    if usage is None:
        return _NO_USAGE
    fields = msgspec.structs.astuple(usage)
    if usage.reported_cost is None:
        return fields
    cost = Decimal(usage.reported_cost) if usage.reported_cost else None
    return (*fields[:_COST], cost, *fields[_COST + 1 :])


def _json(value: object) -> str:
    return _ENCODER.encode(value).decode()


_ENCODER: Final = msgspec.json.Encoder()
