"""Messages as rows of history, and what is compared when a message is sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from ledgerkit import tables
from ledgerkit.protocol.columns import message_columns, part_columns
from ledgerkit.protocol.messages import AgentMessage, MessageBase
from ledgerkit.protocol.parts import Part
from ledgerkit.protocol.vocabulary import PartType
from ledgerkit.store.contents import Contents

_EMPTY: Final[dict[str, Any]] = dict.fromkeys(tables.HISTORY.names)
_SAID: Final = (
    "part_type", "content_type", "part_trust_level", "part_visibility", "text", "data", "summary", "artifact_refs",
    "tool_call_id", "tool_name", "status", "started_at", "finished_at", "path", "error_category", "evidence_refs",
)  # fmt: skip


class MessageRows:
    """Collects rows of messages that were appended live.

    Args:
        contents: Where long contents go.
        count_tokens: Token counts of many texts.
    """

    def __init__(self, contents: Contents, count_tokens: Callable[[list[str]], list[int]]) -> None:
        self.contents = contents
        self._count_tokens = count_tokens
        self._rows: list[dict[str, Any]] = []
        self._counted: list[str] = []
        self._counted_at: list[int] = []

    def add(self, message: AgentMessage, **standing: object) -> None:
        """Adds the rows of a message; ``standing`` is what the message itself does not say (run_date, revision)."""
        common = {**_EMPTY, **message_columns(message), **standing}
        for index, part in enumerate(message.parts):
            columns, whole = columns_of(part, self.contents)
            if whole is not None and columns["token_count"] is None:
                self._counted.append(whole)
                self._counted_at.append(len(self._rows))
            row = common | columns
            row |= {"part_index": index, "part_id": f"{message.message_id}.{index}"}
            if index:
                row["metadata"] = None
            self._rows.append({name: row[name] for name in tables.HISTORY.names})

    def frame(self) -> pl.DataFrame:
        """The rows so far, with the columns of ``history``."""
        for at, count in zip(self._counted_at, self._count_tokens(self._counted), strict=True):
            self._rows[at]["token_count"] = count
        self._counted, self._counted_at = [], []
        return tables.HISTORY.frame(self._rows)


def columns_of(part: Part, contents: Contents) -> tuple[dict[str, Any], str | None]:
    """The columns of a part, and the content that its tokens are counted of.

    A long content stands in an artifact, and in the row only its head.
    """
    columns = part_columns(part)
    text, data = columns["text"], columns["data"]
    whole = text if isinstance(text, str) else data if isinstance(data, str) else None
    refs = [str(ref) for ref in part.artifact_refs]
    columns["byte_count"] = columns["content_id"] = None
    if whole is not None:
        raw = whole.encode()
        columns |= {"byte_count": len(raw), "content_id": contents.content_id(raw)}
    elif part.type is PartType.ARTIFACT_REF and refs:
        columns["content_id"] = refs[0]
    columns["text"] = contents.inlined(text, part.content_type, refs) if isinstance(text, str) else None
    columns["data"] = contents.inlined_json(data, refs) if isinstance(data, str) else None
    columns["artifact_refs"] = refs or None
    return columns, whole


def said(message: MessageBase, contents: Contents) -> list[Mapping[str, object]]:
    """What a message says, without what the ledger adds: equal for a message and its retry.

    A message that was read from the ledger has its long contents in artifacts already; one that comes in gets them
    there first, so that both look alike.
    """
    return [
        {"kind": message.kind.value, **{name: columns[name] for name in _SAID}}
        for columns, _ in (columns_of(part, contents) for part in message.parts)
    ]
