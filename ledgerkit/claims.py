"""What assistants said, held against what is recorded: one call over any number of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from ledgerkit.contexts import COMPACTION
from ledgerkit.store.storage import Storage

if TYPE_CHECKING:
    from ledgerkit.strategies import RunFrames

_PARTS: Final = "".join(
    (
        "select session_id, run_id, sequence_no, message_id, part_index, kind, part_trust_level, part_type, text, ",
        "tool_name, tool_call_id, if(part_type = 'tool_call', data, null) as data, ",
        # A compaction is written with all in sight that it then takes out: no step says what its writer saw.
        f"if({COMPACTION} is null, step, null) as step ",
        """
        from parts where ($runs is null or list_contains($runs, run_id)) and (
            kind in ('ASSISTANT_RESPONSE', 'AGENT_THOUGHT_SUMMARY', 'RUN_SUMMARY')
            or (part_type = 'tool_call' and (regexp_matches(tool_name, $tools) or regexp_matches(data, $lines)))
        )
        """,
    )
)
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
_LINKS: Final = """
    select c.parent_run_id as run_id, t.session_id, c.session_id as linked_session_id, c.run_id as linked_run_id,
        max(m.sequence_no) as came_back_at
    from runs c join tool_calls t on t.run_id = c.parent_run_id and t.message_id = c.forked_at
        join (select distinct run_id, message_id, sequence_no from messages) m
            on m.run_id = t.run_id and m.message_id = t.result_message_id
    where c.relation = 'subagent' group by all order by all
"""
"""Where the result of each subagent came back to the run that called it."""
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


_COMPACTED: Final = "".join(
    (
        "select distinct run_id from current_history ",
        "where ($runs is null or list_contains($runs, run_id)) and ",
        COMPACTION,
        " is not null order by all",
    )
)
_SEEN: Final = {
    "run_id": pl.String,
    "part_id": pl.String,
    "reference": pl.String,
    "from_step": pl.Int64,
    "to_step": pl.Int64,
}
_OF_CALLS: Final = """
    select message_id, part_index::int as part_index, part_id, tool_call_id from parts
    where list_contains($runs, run_id) and tool_call_id is not null
"""


class LedgerClaims:
    """The claim check. Part of :class:`ledgerkit.Ledger`."""

    _storage: Storage

    if TYPE_CHECKING:  # what the ledger itself brings

        def frame_batches(self, runs: Collection[str] | None = None) -> Iterator[RunFrames]: ...  # noqa: D102

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
        from ledgerkit.extract.claims import SPEAKING_LINES, SPEAKING_TOOLS, claims_frame
        from ledgerkit.memory import check_claims

        wanted = [runs] if isinstance(runs, str) else list(runs)
        frame = self._storage.database.frame
        parts = frame(_PARTS, {"runs": wanted or None, "tools": SPEAKING_TOOLS, "lines": SPEAKING_LINES})
        links = frame(_LINKS)
        with_linked = _reached(wanted, links) if wanted else None
        calls, changes = (frame(query, {"runs": with_linked}) for query in (_CALLS, _CHANGES))
        return check_claims(
            claims_frame(parts),
            calls,
            frame(_CHECKS),
            changes,
            texts=parts,
            continued=frame(_CONTINUED),
            placements=self._seen(wanted or None),
            links=links,
        )

    def _seen(self, runs: list[str] | None) -> pl.DataFrame:
        """What stood in the contexts of runs that were compacted. Any other run had seen all that stands above."""
        from ledgerkit.memory.evidence.calls import references
        from ledgerkit.strategies import AsRecorded, project

        frame = self._storage.database.frame
        compacted = frame(_COMPACTED, {"runs": runs})["run_id"].to_list()
        of_calls = frame(_OF_CALLS, {"runs": compacted})
        named = of_calls.join(references(of_calls["tool_call_id"]), on="tool_call_id", how="inner")
        seen = [pl.DataFrame(schema=_SEEN)]
        for frames in self.frame_batches(compacted):
            placed = frames.named(project(frames, AsRecorded()).placements)
            joined = named.join(placed, on=["message_id", "part_index"], how="inner")
            seen.append(joined.select(pl.col(name).cast(dtype) for name, dtype in _SEEN.items()))
        return pl.concat(seen)


def _reached(runs: list[str], links: pl.DataFrame) -> list[str]:
    """Runs, and those whose evidence counts in them."""
    reached, step = set(runs), set(runs)
    while step:
        step = set(links.filter(pl.col("run_id").is_in(step))["linked_run_id"]) - reached
        reached |= step
    return sorted(reached)
