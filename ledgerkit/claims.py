"""What assistants said, held against what is recorded: one call over any number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from ledgerkit.store.storage import Storage

_PARTS: Final = """
    select session_id, run_id, sequence_no, message_id, part_index, step, kind, part_trust_level, text
    from parts
    where ($runs is null or list_contains($runs, run_id))
        and kind in ('ASSISTANT_RESPONSE', 'AGENT_THOUGHT_SUMMARY', 'RUN_SUMMARY')
"""
_CALLS: Final = """
    select c.*, m.sequence_no as result_sequence_no
    from tool_calls c left join (select distinct run_id, message_id, sequence_no from messages) m
        on c.run_id = m.run_id and c.result_message_id = m.message_id
    where $runs is null or list_contains($runs, c.run_id)
    union all by name
    select session_id, run_id, sequence_no, message_id, 'without-call:' || message_id as tool_call_id,
        'UNKNOWN' as status, message_id as result_message_id, text as result_text, sequence_no as result_sequence_no
    from parts
    where kind = 'TOOL_CALL_RESULT' and tool_call_id is null and text is not null
        and ($runs is null or list_contains($runs, run_id))
    order by all
"""
"""Calls, and results that came without one: of background tasks, of commands that a user ran, of logs without calls."""
_CHANGES: Final = "select * from file_changes where $runs is null or list_contains($runs, run_id)"
_CHECKS: Final = (
    "select * from derived_parsed_checks order by session_id, run_id, sequence_no, tool_call_id, kind, tool"
)
_CONTINUED: Final = """
    select session_id, run_id, 0 as sequence_no from runs where relation in ('fork', 'rewind', 'compaction', 'retry')
    union
    select session_id, run_id, sequence_no from messages
    where kind = 'RUN_SUMMARY' and trust_level = 'MODEL_GENERATED' and visibility = 'MODEL_VISIBLE'
    order by all
"""
"""Where a run takes up what its log does not hold: a branch of another run, or a summary of an earlier context."""


class LedgerClaims:
    """The claim check. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    def check_claims(self, *, runs: str | Sequence[str] = ()) -> pl.DataFrame:
        """Checkable claims in what models said, each with a verdict by the evidence rules (see docs/claims.md).

        Args:
            runs: Ids of runs to look at; all if not given.

        Returns:
            One row a claim: where it stands, its text, ``claim_class``, ``subject``, ``polarity``, ``scope``,
            ``numbers``, ``paths``, ``commands``; then ``verdict`` (``supported``, ``contradicted``, ``unsupported``,
            ``stale``, ``unverified``), the ``rule`` that decided, ``why`` in a sentence, and ``evidence`` as
            references. ``supported`` says that the record agrees with the claim, not that the code is right.
        """
        from ledgerkit.extract.claims import claims_frame
        from ledgerkit.memory import check_claims

        wanted = [runs] if isinstance(runs, str) else list(runs)
        frame = self._storage.database.frame
        parts, calls, changes = (frame(query, {"runs": wanted or None}) for query in (_PARTS, _CALLS, _CHANGES))
        return check_claims(
            claims_frame(parts), calls, frame(_CHECKS), changes, texts=parts, continued=frame(_CONTINUED)
        )
