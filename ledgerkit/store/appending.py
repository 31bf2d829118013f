"""Appending one message: the next number of its run, once for an idempotency key, in one commit.

Two writers cannot take the same number: the commit's transaction names run and number, and the second one to come
takes the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ledgerkit import errors, tables
from ledgerkit.protocol.columns import message_columns, part_columns, part_from_columns
from ledgerkit.protocol.identifiers import hash_uuid
from ledgerkit.protocol.messages import AgentMessage, AppendMessageCommand
from ledgerkit.protocol.parts import Part
from ledgerkit.protocol.vocabulary import PartType
from ledgerkit.store import reading
from ledgerkit.store.contents import Contents
from ledgerkit.store.database import Database
from ledgerkit.store.layout import Layout

if TYPE_CHECKING:
    from ledgerkit.store.delta import DeltaStore

_ATTEMPTS: Final = 100
_HEAD: Final = """
    select max(sequence_no) as last, any_value(run_date) as run_date, max(h.revision) as revision
    from stored_history h where session_id = $session_id and run_id = $run_id and revision = (
        select max(revision) from stored_history where session_id = $session_id and run_id = $run_id)
"""

_WITH_KEY: Final = """
    select message_id from current_history
    where session_id = $session_id and run_id = $run_id and idempotency_key = $key limit 1
"""


class Appender:
    """Appends messages to a ledger.

    Args:
        layout, store, database: The ledger.
        count_tokens: Token count of a text.
    """

    def __init__(
        self, layout: Layout, store: DeltaStore, database: Database, count_tokens: Callable[[str], int]
    ) -> None:
        self._layout = layout
        self._store = store
        self._database = database
        self._count_tokens = count_tokens

    def append(self, command: AppendMessageCommand, *, message_id: str, now: datetime) -> AgentMessage:
        """Appends a message; for an idempotency key that the run has already, returns the message that is there.

        Raises:
            IdempotencyError: If the key was used with other content.
            LedgerConflictError: If other writers kept taking the next number.
        """
        contents = Contents(self._layout)
        columns = [self._columns(part, contents) for part in command.parts]
        kept = command.model_copy(update={"parts": tuple(part_from_columns(each) for each in columns)})
        for _ in range(_ATTEMPTS):
            # The head first: whoever appends between the two looks takes the number that was seen free.
            last, run_date, revision = self._head(command)
            if (there := self._already(kept)) is not None:
                return there
            message = kept.to_message(
                message_id=message_id, sequence_no=0 if last is None else last + 1, created_at=now
            )
            standing = {"run_date": run_date or _date(message), "revision": revision or 0}
            if self._commit(message, columns, standing, contents):
                return message
        raise errors.LedgerConflictError(f"Other writers kept appending to run {command.run_id}. Try again.")

    def _head(self, command: AppendMessageCommand) -> tuple[int | None, str | None, int | None]:
        keys = {"session_id": command.session_id, "run_id": command.run_id}
        return self._database.frame(_HEAD, keys).row(0)

    def _already(self, command: AppendMessageCommand) -> AgentMessage | None:
        if command.idempotency_key is None:
            return None
        keys = {"session_id": command.session_id, "run_id": command.run_id, "key": command.idempotency_key}
        found = self._database.frame(_WITH_KEY, keys)
        if not found.height:
            return None
        there = reading.find_by_id(self._database, found.item())
        if there is not None and (there.kind, _said(there)) != (command.kind, _said(command)):
            raise errors.IdempotencyError(
                f"Idempotency key {command.idempotency_key!r} stands on message {there.message_id} with other content. "
                "Use a new key for a new message."
            )
        return there

    def _commit(
        self,
        message: AgentMessage,
        parts: Sequence[Mapping[str, object]],
        standing: Mapping[str, object],
        contents: Contents,
    ) -> bool:
        common = {**message_columns(message), **standing}
        rows = [
            {**common, **part, "part_index": index, "part_id": f"{message.message_id}.{index}"}
            | ({} if index == 0 else {"metadata": None})
            for index, part in enumerate(parts)
        ]
        table = tables.HISTORY.frame([{name: row.get(name) for name in tables.HISTORY.names} for row in rows])
        run = hash_uuid(message.session_id, message.run_id)
        self._store.append(
            "artifacts", contents.rows(self._database, None), transaction=f"artifacts/{message.message_id}"
        )
        return self._store.append(
            "history", table, transaction=f"append/{run}/{standing['revision']}/{message.sequence_no}"
        )

    def _columns(self, part: Part, contents: Contents) -> dict[str, object]:
        """The columns of a part; a long content stands in an artifact, and in the row only its head."""
        columns = part_columns(part)
        text, data, whole = columns["text"], columns["data"], _whole(columns)
        refs = [str(ref) for ref in part.artifact_refs]
        if whole is not None:
            columns["byte_count"], columns["content_id"] = len(whole.encode()), contents.content_id(whole)
            columns["token_count"] = self._count_tokens(whole) if part.token_count is None else part.token_count
        columns["text"] = contents.inlined(text, part.content_type, refs) if isinstance(text, str) else None
        columns["data"] = contents.inlined_json(data, refs) if isinstance(data, str) else None
        columns["artifact_refs"] = refs or None
        if part.type is PartType.ARTIFACT_REF and whole is None and refs:
            columns["content_id"] = refs[0]
        return columns


def _whole(columns: Mapping[str, object]) -> str | None:
    """The content that is counted and hashed: the text, or else the data."""
    return next((value for name in ("text", "data") if isinstance(value := columns[name], str)), None)


def _said(message: AgentMessage | AppendMessageCommand) -> list[dict[str, object]]:
    """What a message says, leaving out what the ledger adds."""
    return [{k: v for k, v in part_columns(part).items() if k != "token_count"} for part in message.parts]


def _date(message: AgentMessage) -> str:
    return "1970-01-01" if message.created_at is None else message.created_at.astimezone(UTC).date().isoformat()
