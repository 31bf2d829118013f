"""What judges look at: the rows of any number of runs, as frames that somebody else has read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import polars as pl

from ledgerkit.memory.evidence import calls_frame, changes_frame
from ledgerkit.memory.evidence.calls import references
from ledgerkit.memory.evidence.checks import reach
from ledgerkit.protocol.vocabulary import TrustLevel

RUN: Final = ["session_id", "run_id"]
"""What names a run in every frame."""
EXECUTED: Final = ("SUCCEEDED", "FAILED", "TIMED_OUT")
"""Statuses of calls that were carried out, as far as the record says."""

TRUSTED: Final = (
    TrustLevel.PLATFORM_TRUSTED.value,
    TrustLevel.ORG_TRUSTED.value,
    TrustLevel.USER_TRUSTED.value,
    TrustLevel.TOOL_TRUSTED.value,
)
"""Whose verdict counts."""


@dataclass(frozen=True)
class Material:
    """Rows of some runs, each frame read when it is first asked for: a judge pays for what it looks at.

    Columns are those of the views of the same name.

    Attributes:
        load: Reads a frame, by its name.
    """

    load: Callable[[str], pl.DataFrame] = field(repr=False)

    def where(self, condition: pl.Expr) -> Material:
        """The rows that fit a condition on the keys of runs."""
        return Material(lambda name: getattr(self, name).filter(condition))

    def of_run(self, run_id: str) -> Material:
        """The rows of one run."""
        return self.where(pl.col("run_id") == run_id)

    def of_session(self, session_id: str) -> Material:
        """The rows of one session: run ids are unique within a session only."""
        return self.where(pl.col("session_id") == session_id)

    def with_frames(self, **frames: Callable[[], pl.DataFrame]) -> Material:
        """The same with other frames in the place of some."""
        return Material(lambda name: frames[name]() if name in frames else getattr(self, name))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """Rows of ``runs``, with ``cost`` and ``unpriced_calls``."""
        return self.load("runs")

    @cached_property
    def parts(self) -> pl.DataFrame:
        """Rows of ``parts``, in order."""
        return self.load("parts")

    @cached_property
    def tool_calls(self) -> pl.DataFrame:
        """Rows of ``tool_calls``, with ``result_sequence_no``."""
        return self.load("tool_calls")

    @cached_property
    def verifier_results(self) -> pl.DataFrame:
        """Rows of ``verifier_results``."""
        return self.load("verifier_results")

    @cached_property
    def file_changes(self) -> pl.DataFrame:
        """Rows of ``file_changes``."""
        return self.load("file_changes")

    @cached_property
    def claims(self) -> pl.DataFrame:
        """As ``Ledger.check_claims`` gives them."""
        return self.load("claims")

    @cached_property
    def tainted(self) -> pl.DataFrame:
        """As ``Ledger.tainted_actions`` gives them."""
        return self.load("tainted")

    @cached_property
    def markers(self) -> pl.DataFrame:
        """As ``Ledger.injection_markers`` gives them."""
        return self.load("markers")

    @cached_property
    def compactions(self) -> pl.DataFrame:
        """As ``Ledger.check_compactions`` gives them."""
        return self.load("compactions")

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Tool calls in one form (``memory.evidence.CALL_SCHEMA``) with ``status`` and ``arguments_hash``."""
        more = self.tool_calls.select(*RUN, "tool_call_id", "status", "arguments_hash").unique(
            [*RUN, "tool_call_id"], keep="first", maintain_order=True
        )
        return calls_frame(self.tool_calls).join(more, on=[*RUN, "tool_call_id"], how="left", maintain_order="left")

    @cached_property
    def changes(self) -> pl.DataFrame:
        """Changes of files (``memory.evidence.changes_frame``) that did not fail."""
        found = changes_frame(calls_frame(self.tool_calls), self.file_changes)
        return found.filter(pl.col("is_ok").fill_null(value=True))

    @cached_property
    def checks(self) -> pl.DataFrame:
        """Results of checks that no record supersedes, in order, with ``reach`` and ``reference``."""
        rows = self.verifier_results.filter(
            pl.col("superseded_by").is_null(),
            pl.col("scope").ne_missing("run"),
            ~pl.col("is_copy").fill_null(value=False),
        )
        pairs = rows.select("tool", "targets").unique(maintain_order=True)
        reached = [reach(tool or "", targets or "") for tool, targets in pairs.iter_rows()]
        table = pairs.with_columns(pl.Series("reach", reached, dtype=pl.String))
        return (
            rows.join(table, on=["tool", "targets"], how="left", nulls_equal=True, maintain_order="left")
            .with_columns(
                reference=pl.coalesce(pl.col("evidence_refs").list.first(), pl.format("message:{}", "message_id"))
            )
            .sort(*RUN, "sequence_no", "check_no", nulls_last=False)
        )

    @cached_property
    def known_references(self) -> pl.DataFrame:
        """Every reference that resolves in a run: ``session_id``, ``run_id``, ``reference`` (without a range)."""
        ids = self.parts.select("message_id").unique()["message_id"]
        names = [_message(one) for one in ids]
        table = pl.DataFrame(
            {"message_id": ids, "reference": names}, schema={"message_id": pl.String, "reference": pl.String}
        )
        messages = self.parts.select(*RUN, "message_id").unique().join(table, on="message_id").drop("message_id")
        called = self.parts.drop_nulls("tool_call_id").select(*RUN, "tool_call_id").unique()
        calls = called.join(references(called["tool_call_id"]), on="tool_call_id").drop("tool_call_id")
        artifacts = self.parts.select(*RUN, pl.col("artifact_refs").explode()).drop_nulls().unique()
        kept = artifacts.select(*RUN, reference=pl.format("artifact:{}", "artifact_refs"))
        return pl.concat([messages, calls.select(*RUN, "reference"), kept]).sort(*RUN, "reference")


def _message(message_id: str) -> str:
    from ledgerkit.protocol.references import EvidenceRef
    from ledgerkit.protocol.vocabulary import EvidenceKind

    return str(EvidenceRef.model_construct(kind=EvidenceKind.MESSAGE, target=message_id))
