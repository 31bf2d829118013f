"""Recorded compactions held against what their runs knew: one call over any number of runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.contexts import COMPACTION, CONTEXT_TEXTS
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.memory.working import RunRecord

_COMPACTED: Final = "".join(
    (
        "select distinct session_id, run_id from current_history ",
        "where ($runs is null or list_contains($runs, run_id)) and ",
        COMPACTION,
        " is not null order by all",
    )
)


class LedgerCompactions:
    """The compaction check. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        def check_claims(self, *, runs: str | Sequence[str] = ()) -> pl.DataFrame: ...  # noqa: D102
        def _record_of(self, session_id: str, run_id: str) -> RunRecord: ...

    def check_compactions(self, runs: Collection[str] | None = None) -> pl.DataFrame:
        """What the summaries of recorded compactions lost, hid or invented of the contexts whose place they took.

        Args:
            runs: Ids of runs; all runs if not given.

        Returns:
            One row an item: ``session_id``, ``run_id``, ``message_id`` of the summary, ``sequence_no``, ``step``,
            ``verdict`` (``hidden``, ``invented``, ``lost``, ``unverified``, ``unknown``, ``kept``), ``kind``,
            ``subject``, the ``rule`` that asks for it, ``why``, and ``evidence`` as references; see docs/memory.md.

        Example:
            >>> import tempfile, ledgerkit as lk
            >>> ledger = lk.open(tempfile.mkdtemp() + "/runs.ledger")
            >>> ledger.check_compactions().height
            0
        """
        from ledgerkit.memory.compactions import COMPACTION_SCHEMA, check_run

        frame = self._storage.database.frame
        wanted = None if runs is None else sorted(set(runs))
        there = frame(_COMPACTED, {"runs": wanted}).rows()
        if not there:
            return pl.DataFrame(schema=COMPACTION_SCHEMA)
        claims = self.check_claims(runs=[run_id for _, run_id in there])
        tables = list[pl.DataFrame]()
        for session_id, run_id in there:
            contexts = frame(CONTEXT_TEXTS, {"runs": [run_id]}).filter(pl.col("session_id") == session_id)
            tables.append(check_run(session_id, self._record_of(session_id, run_id), contexts, claims))
        return pl.concat(tables)
