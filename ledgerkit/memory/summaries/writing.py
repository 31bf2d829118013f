"""A summary made from the ledger alone: what is known, decided, open and changed, and what it leaves out."""

from __future__ import annotations

from typing import Protocol

import polars as pl

from ledgerkit.memory.working.intentions import sentence
from ledgerkit.memory.working.projector import working_memory
from ledgerkit.memory.working.proposals import accepted_items
from ledgerkit.memory.working.record import RunRecord, message_ref
from ledgerkit.protocol.memory import Decision, Summary
from ledgerkit.protocol.vocabulary import ClaimOutcome, MessageKind, TrustLevel

_LEFT_OUT = {
    MessageKind.TOOL_CALL_RESULT.value: "tool results in full",
    MessageKind.FILE_OBSERVATION.value: "contents of files that were read",
    MessageKind.DIFF_OBSERVATION.value: "diffs in full",
    MessageKind.ASSISTANT_RESPONSE.value: "answers of the model",
    MessageKind.AGENT_THOUGHT_SUMMARY.value: "summaries of the model's reasoning",
    MessageKind.USER_TASK.value: "messages of the user behind the first",
}


class Summarizer(Protocol):
    """What writes summaries: from the ledger, or a model. What a model writes is held against the record first."""

    def summarise(self, record: RunRecord, step: int | None = None) -> Summary:
        """A summary of a run up to a step."""
        ...


class EvidenceBoundSummarizer:
    """Makes summaries from what is recorded, without a model: the same record gives the same summary.

    It takes no requirement from anywhere but the record, tells every check that fails, and names what it leaves out.
    """

    def summarise(self, record: RunRecord, step: int | None = None) -> Summary:
        """A summary of a run up to a step; of the whole run if no step is given."""
        seen = record.up_to(step)
        memory = working_memory(record, step=step)
        return Summary(
            facts=memory.known_facts,
            decisions=(*_approvals(seen), *accepted_items(seen.parts).decisions),
            open_problems=memory.open_problems,
            changed_files=memory.changed_files,
            discarded_details=_left_out(seen),
        )


def _approvals(record: RunRecord) -> tuple[Decision, ...]:
    """What people decided on requests."""
    rows = record.parts.filter(pl.col("kind") == MessageKind.APPROVAL_DECISION.value).sort("sequence_no", "part_index")
    found = dict[str, Decision]()
    for row in rows.iter_rows(named=True):
        about = f" on a call of {row['tool_name']}" if row["tool_name"] else ""
        found.setdefault(
            row["message_id"],
            Decision(
                decision=sentence(row["text"] or f"a decision{about}"),
                reason=f"an approval decision{about}",
                evidence_refs=(message_ref(row["message_id"]),),
                trust_level=TrustLevel(row["part_trust_level"]),
                outcome=ClaimOutcome.SUPPORTED,
            ),
        )
    return tuple(found.values())


def _left_out(record: RunRecord) -> tuple[str, ...]:
    """What stands in the record and not in the summary, and where it is."""
    rows = (
        record.parts.filter(pl.col("kind").is_in(list(_LEFT_OUT)))
        .group_by("kind")
        .agg(
            count=pl.col("message_id").n_unique(),
            tokens=pl.col("token_count").sum(),
            first=pl.col("sequence_no").min(),
            last=pl.col("sequence_no").max(),
        )
        .sort("kind")
    )
    return tuple(
        f"{count} {_LEFT_OUT[kind]} ({tokens} tokens) are in messages {first} to {last} of the run."
        for kind, count, tokens, first, last in rows.iter_rows()
        if not (kind == MessageKind.USER_TASK.value and count == 1)
    )
