"""Messages out of the ledger: rows of history as protocol objects, one run or one message at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from ledgerkit import errors
from ledgerkit.protocol.columns import message_from_columns, part_from_columns
from ledgerkit.protocol.messages import AgentMessage, MessageRange
from ledgerkit.store.database import Database

_OF_RUN = """
    select * from current_history
    where session_id = $session_id and run_id = $run_id and sequence_no between $first and $last
    order by sequence_no, part_index
"""
_OF_MESSAGE = "select * from current_history where message_id = $message_id order by part_index"
_ANY = "select 1 from current_history where session_id = $session_id and run_id = $run_id limit 1"
_END = (1 << 63) - 1


def list_messages(
    database: Database, session_id: str, run_id: str, message_range: MessageRange | None = None
) -> list[AgentMessage]:
    """Messages of a run in order, all of them or a range by sequence number.

    Raises:
        UnknownNameError: If the session has no such run.
    """
    wanted = (0, _END) if message_range is None else (message_range.first, message_range.last)
    parameters = {"session_id": session_id, "run_id": run_id, "first": wanted[0], "last": wanted[1]}
    rows = database.frame(_OF_RUN, parameters).to_dicts()
    if not rows and not _has_run(database, session_id, run_id):
        raise errors.UnknownNameError(
            f"Session {session_id!r} has no run {run_id!r}. List them with: ledgerkit runs",
            name=run_id,
        )
    return _messages(rows)


def find_by_id(database: Database, message_id: str) -> AgentMessage | None:
    """A message by its id; ``None`` if there is none."""
    rows = database.frame(_OF_MESSAGE, {"message_id": message_id}).to_dicts()
    return next(iter(_messages(rows)), None)


def _has_run(database: Database, session_id: str, run_id: str) -> bool:
    return database.frame(_ANY, {"session_id": session_id, "run_id": run_id}).height > 0


def _messages(rows: Iterable[Mapping[str, object]]) -> list[AgentMessage]:
    out: list[AgentMessage] = []
    for _, group in groupby(rows, key=lambda row: row["message_id"]):
        parts = list(group)
        out.append(message_from_columns(parts[0], [part_from_columns(part) for part in parts]))
    return out
