"""Messages out of the ledger: rows of history as protocol objects, one run or one message at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from ledgerkit import errors
from ledgerkit.protocol.columns import message_from_columns, part_from_columns
from ledgerkit.protocol.messages import AgentMessage, MessageRange
from ledgerkit.store.database import Database

_ROWS = "select * from current_history where {} order by sequence_no, part_index"


def list_messages(
    database: Database, session_id: str, run_id: str, message_range: MessageRange | None = None
) -> list[AgentMessage]:
    """Messages of a run in order, all of them or a range by sequence number.

    Raises:
        UnknownNameError: If the session has no such run.
    """
    where = "session_id = $session_id and run_id = $run_id"
    parameters: dict[str, object] = {"session_id": session_id, "run_id": run_id}
    if message_range is not None:
        where += " and sequence_no between $first and $last"
        parameters |= {"first": message_range.first, "last": message_range.last}
    rows = database.frame(_ROWS.format(where), parameters).to_dicts()
    if not rows and not _has_run(database, session_id, run_id):
        raise errors.UnknownNameError(
            f"Session {session_id!r} has no run {run_id!r}. List runs with: select session_id, run_id from runs",
            name=run_id,
        )
    return _messages(rows)


def find_by_id(database: Database, message_id: str) -> AgentMessage | None:
    """A message by its id; ``None`` if there is none."""
    rows = database.frame(_ROWS.format("message_id = $message_id"), {"message_id": message_id}).to_dicts()
    return next(iter(_messages(rows)), None)


def _has_run(database: Database, session_id: str, run_id: str) -> bool:
    found = database.frame(
        "select 1 from current_history where session_id = $session_id and run_id = $run_id limit 1",
        {"session_id": session_id, "run_id": run_id},
    )
    return found.height > 0


def _messages(rows: Iterable[Mapping[str, object]]) -> list[AgentMessage]:
    out: list[AgentMessage] = []
    for _, group in groupby(rows, key=lambda row: row["message_id"]):
        parts = list(group)
        out.append(message_from_columns(parts[0], [part_from_columns(part) for part in parts]))
    return out
