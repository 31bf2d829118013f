"""What a run did up to a step, in the frames that its memory is projected from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from ledgerkit.memory.evidence import calls_frame, changes_frame
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import EvidenceKind, TrustLevel

TRUST_ORDER: Final = {level.value: rank for rank, level in enumerate(TrustLevel)}
"""Rank of each trust level, the highest trust first."""


@dataclass(frozen=True)
class RunRecord:
    """The rows of one run.

    Attributes:
        run_id: The run.
        parts: Its rows of the view ``parts``.
        tool_calls: Its rows of the view ``tool_calls``, with ``result_sequence_no`` (that of the first result).
        verifier_results: Its rows of the view ``verifier_results``.
        file_changes: Its rows of the view ``file_changes``.
    """

    run_id: str
    parts: pl.DataFrame
    tool_calls: pl.DataFrame
    verifier_results: pl.DataFrame
    file_changes: pl.DataFrame

    def up_to(self, step: int | None) -> RunRecord:
        """What a step could have seen: messages visible by then. Everything if no step is given."""
        if step is None:
            return self
        parts = self.parts.filter(pl.col("visible_from") <= step)
        seen = parts["message_id"].unique()
        calls = self.tool_calls.filter(pl.col("message_id").is_in(seen.implode()))
        unseen = ~pl.col("result_message_id").is_in(seen.implode()).fill_null(value=False)
        later = [
            pl.when(unseen).then(None).otherwise(pl.col(name)).alias(name)
            for name in (
                "result_message_id",
                "result_text",
                "result_sequence_no",
                "result_trust_level",
                "error_category",
            )
            if name in calls.columns
        ]
        status = pl.when(unseen).then(pl.lit("UNKNOWN")).otherwise("status").alias("status")
        return RunRecord(
            self.run_id,
            parts,
            calls.with_columns(status, *later),
            self.verifier_results.filter(pl.col("message_id").is_in(seen.implode())),
            self.file_changes.filter(pl.col("message_id").is_in(seen.implode())),
        )

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Its tool calls in one form (``memory.evidence``)."""
        return calls_frame(self.tool_calls).sort("seen_at", "asked_at", "tool_call_id")

    @cached_property
    def changes(self) -> pl.DataFrame:
        """Its changes of files, in order."""
        return changes_frame(self.calls, self.file_changes).sort("seen_at", "path", "change", nulls_last=True)


def message_ref(message_id: str) -> EvidenceRef:
    """A reference to a message."""
    return EvidenceRef.model_construct(kind=EvidenceKind.MESSAGE, target=message_id)


def call_ref(tool_call_id: str) -> EvidenceRef:
    """A reference to a tool call. Ids of logs may be what the protocol refuses elsewhere."""
    return EvidenceRef.model_construct(kind=EvidenceKind.TOOL_CALL, target=tool_call_id)


def lowest(levels: list[TrustLevel]) -> TrustLevel:
    """The lowest of some trust levels; UNKNOWN of none."""
    return max(levels, key=lambda level: TRUST_ORDER[level.value], default=TrustLevel.UNKNOWN)
