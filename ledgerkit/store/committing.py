"""One commit to the history: artifacts and runs before it, the leaves of the messages with it, a checkpoint after.

History is the point at which everything of a commit becomes visible, at once. Whoever commits holds the ledger's
commit lock; where a lock does not reach (another machine on a network file system) the commit itself is refused if
the tree has grown in between, and is prepared anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from ledgerkit import errors
from ledgerkit.store.contents import Contents
from ledgerkit.store.deltacommits import StaleHeadError
from ledgerkit.store.heads import Appended, checkpoint
from ledgerkit.store.integrity.leaves import Heads, RunKey, with_message_leaves, with_run_leaves
from ledgerkit.store.redactions import redaction_rows
from ledgerkit.store.storage import Storage

_ATTEMPTS: Final = 20
_LAST: Final = """
    select session_id, run_id, revision, arg_max(leaf_hash, sequence_no) as leaf_hash
    from sealed_history where list_contains($dates, run_date) and part_index = 0
        and list_contains($runs, run_id) and list_contains($sessions, session_id)
    group by all
"""


@dataclass(frozen=True, slots=True)
class Commit:
    """What belongs together.

    Attributes:
        history: Rows of ``history``, without proof columns.
        runs: Rows of ``runs``, without proof columns.
        contents: Its artifacts.
        import_id: The import that brings it; ``None`` for a seal.
        key_id: Which key its placeholders were made with; ``None`` if nothing was redacted.
    """

    history: pl.DataFrame
    runs: pl.DataFrame
    contents: Contents
    import_id: str | None = None
    key_id: str | None = None


def write_commit(
    storage: Storage,
    prepare: Callable[[], Commit | None],
    transactions: Mapping[str, int],
    *,
    now: datetime,
    random: Callable[[int], bytes],
) -> Commit | None:
    """Writes what ``prepare`` makes, durably and once. The commit lock is held by the caller.

    Args:
        storage: The ledger.
        prepare: Looks at the newest state and makes the commit; ``None`` if there is nothing to write. It is called
            again if another writer came first.
        transactions: Identities of the batch, with versions.
        now: Time of the checkpoint.
        random: Gives so many random bytes (for salts).

    Returns:
        What was written.

    Raises:
        LedgerConflictError: If other writers kept committing.
    """
    for _ in range(_ATTEMPTS):
        commit = prepare()
        if commit is None:
            return None
        try:
            appended = _write(storage, commit, transactions, random)
        except StaleHeadError:
            continue
        checkpoint(storage, now=now, appended=appended)
        return commit
    raise errors.LedgerConflictError("Other writers kept committing to this ledger. Try again when they are done.")


def _write(
    storage: Storage, commit: Commit, transactions: Mapping[str, int], random: Callable[[int], bytes]
) -> dict[str, Appended]:
    """Writes a commit; the leaves that it put at the end of each tree."""
    store, database = storage.store, storage.database
    artifacts = commit.contents.frame(commit.import_id)
    store.append("artifacts", commit.contents.fresh(database, artifacts), transactions)
    store.append("redactions", redaction_rows(commit.history, artifacts, commit.key_id), transactions)
    appended: dict[str, Appended] = {}
    if commit.runs.height:
        begin = store.size("runs")
        rows = with_run_leaves(commit.runs, begin, random)
        if store.append("runs", rows, transactions):
            appended["runs"] = Appended(begin, rows["row_hash"])
    if commit.history.height:
        heads = Heads(store.size("history"), _last_hashes(storage, commit.history))
        rows = with_message_leaves(commit.history, heads, random)
        if store.append("history", rows, transactions):
            appended["history"] = Appended(heads.size, rows["leaf_hash"].drop_nulls())
    return appended


def _last_hashes(storage: Storage, history: pl.DataFrame) -> Mapping[RunKey, bytes]:
    """Leaf hashes that the rows of a commit go on from."""
    firsts = history.group_by("session_id", "run_id", "revision", "run_date").agg(pl.col("sequence_no").min())
    going_on = firsts.filter(pl.col("sequence_no") > 0)
    if going_on.is_empty():
        return {}
    parameters = {
        "runs": going_on["run_id"].to_list(),
        "sessions": going_on["session_id"].unique().to_list(),
        "dates": going_on["run_date"].unique().to_list(),
    }
    found = storage.database.sealed(_LAST, parameters)
    return {(session, run, revision): leaf for session, run, revision, leaf in found.iter_rows()}
