"""Which messages the memory of a run rests on, step by step: what a strategy should rather not drop."""

from __future__ import annotations

from typing import Final

import polars as pl

from ledgerkit.memory.working import outcomes
from ledgerkit.memory.working.proposals import accepted_items
from ledgerkit.memory.working.record import RunRecord
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import EvidenceKind, Verdict

SPAN_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "message_id": pl.String,
    "from_step": pl.Int32,
    "to_step": pl.Int32,
}
"""A message is needed from a step up to, not including, another; ``to_step`` is null where it is needed to the end."""


def evidence_spans(session_id: str, record: RunRecord) -> pl.DataFrame:
    """When each message carries an open problem, a passed check that still counts, or an accepted item.

    Args:
        session_id: The session of the run.
        record: The rows of the run.

    Returns:
        Columns of ``SPAN_SCHEMA``, sorted. A step needs only what it could know: a problem counts from the step that
        first saw it, and until the step that first saw it passed.
    """
    seen_at = dict(
        record.parts.group_by("message_id")
        .agg(pl.col("visible_from").min())
        .drop_nulls()
        .sort("message_id")
        .iter_rows()
    )
    spans = [*_of_checks(record, seen_at), *_of_items(record, seen_at)]
    rows = [
        (session_id, record.run_id, message, start, end) for message, start, end in spans if end is None or start < end
    ]
    return pl.DataFrame(rows, schema=SPAN_SCHEMA, orient="row").unique().sort(*SPAN_SCHEMA)


_Span = tuple[str, int, int | None]


def _of_checks(record: RunRecord, seen_at: dict[str, int]) -> list[_Span]:
    """A result counts from when it was seen until another one takes its place."""
    spans = list[_Span]()
    open_now = list[outcomes.Check]()
    for check in outcomes.checks(record):
        still = outcomes.standing([*open_now, check])
        at = seen_at.get(check.row["message_id"])
        for gone in (one for one in open_now if one not in still):
            start = seen_at.get(gone.row["message_id"])
            if start is not None and gone.verdict != Verdict.INCONCLUSIVE.value:
                spans.append((gone.row["message_id"], start, at))
        open_now = still
    for one in open_now:
        start = seen_at.get(one.row["message_id"])
        if start is not None and one.verdict != Verdict.INCONCLUSIVE.value:
            spans.append((one.row["message_id"], start, None))
    return spans


def _of_items(record: RunRecord, seen_at: dict[str, int]) -> list[_Span]:
    """What accepted items cite is needed from when they were accepted."""
    results = dict(record.tool_calls.select("tool_call_id", "result_message_id").drop_nulls().iter_rows())
    # What judged a proposal is no message of any context: it counts from what the run had come to by then.
    come_to = pl.col("visible_from").cum_max().forward_fill().fill_null(0)
    parts = record.parts.sort("sequence_no", "part_index").with_columns(accepted_at=come_to)
    notes = parts.filter(pl.col("data").str.json_path_match("$.note") == "memory proposal")
    spans = list[_Span]()
    for message_id, accepted_at in notes.select("message_id", "accepted_at").unique(maintain_order=True).iter_rows():
        items = accepted_items(notes.filter(pl.col("message_id") == message_id))
        for item in (*items.facts, *items.decisions, *items.open_problems):
            for cited in (_message_of(ref, results) for ref in item.evidence_refs):
                if cited is not None and cited in seen_at:
                    spans.append((cited, max(seen_at[cited], accepted_at), None))
    return spans


def _message_of(ref: EvidenceRef, results: dict[str, str]) -> str | None:
    if ref.kind is EvidenceKind.MESSAGE:
        return ref.target
    return results.get(ref.target) if ref.kind is EvidenceKind.TOOL_CALL else None
