"""What a verification finds, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import polars as pl


class Rule(StrEnum):
    """What is wrong."""

    ALTERED_CONTENT = "altered_content"
    """A content column of the message does not fit its commitment."""
    ALTERED_MESSAGE = "altered_message"
    """Another column of the message does not fit its leaf hash."""
    ALTERED_RUN = "altered_run"
    """A row of ``runs`` does not fit its hash."""
    BROKEN_CHAIN = "broken_chain"
    """The message does not follow the one before it in its run."""
    MISSING_MESSAGE = "missing_message"
    """A message of a run, or a leaf of the tree, is not there."""
    DUPLICATE_MESSAGE = "duplicate_message"
    """A place in a run, or in the tree, is taken twice."""
    MISSING_PART = "missing_part"
    """A message lacks a part, or has one twice, or its rows do not belong together."""
    MISSING_PROOF = "missing_proof"
    """A message without its hashes."""
    ROOT_MISMATCH = "root_mismatch"
    """The tree does not have the root that a checkpoint states."""
    CUT_TAIL = "cut_tail"
    """The ledger holds less than a checkpoint, or its own log, says that it held."""
    BROKEN_CHECKPOINT = "broken_checkpoint"
    """A checkpoint does not fit its id, or the one before it."""
    FOREIGN_CHECKPOINT = "foreign_checkpoint"
    """A checkpoint of another ledger."""
    UNREADABLE_FILE = "unreadable_file"
    """A Parquet file that cannot be read, or is not there."""
    DAMAGED_JOURNAL = "damaged_journal"
    """A journal with damaged records, or without its head."""
    MISSING_ARTIFACT = "missing_artifact"
    """An artifact that a part refers to is not there."""
    ALTERED_ARTIFACT = "altered_artifact"
    """The content of an artifact does not fit its id."""
    UNEXPLAINED_ERASURE = "unexplained_erasure"
    """A content is marked as erased, but no erasure record names the message."""
    INCOMPLETE_ERASURE = "incomplete_erasure"
    """An erasure is recorded, and the message still has its content."""
    NOT_APPEND_ONLY = "not_append_only"
    """The history was restored, or its append-only property switched off, behind the ledger's back."""


LIMITS: Final = (
    "Only a checkpoint that was kept outside the ledger shows that all of it was written anew, or that its tail was "
    "cut together with its own checkpoints."
)


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """One thing that is wrong.

    Attributes:
        rule: What.
        detail: In words.
        session_id: The session, where one can be named.
        run_id: The run.
        sequence_no: The message's place in its run.
        message_id: The message.
        file: The file, where the fault lies in one.
    """

    rule: Rule
    detail: str
    session_id: str | None = None
    run_id: str | None = None
    sequence_no: int | None = None
    message_id: str | None = None
    file: str | None = None


@dataclass(slots=True)
class VerificationReport:
    """What a verification looked at, and what it found.

    Attributes:
        findings: What is wrong, in order.
        messages: Messages that the history holds (all revisions).
        rehashed: Messages whose content was hashed again.
        runs: Rows of ``runs``.
        artifacts: Artifacts whose content was hashed again.
        erased: Messages whose content was erased; their hashes are proved, their content cannot be.
        journaled: Messages in journals, which have no leaf yet.
        checkpoints: Checkpoints that were compared, those of the ledger and those given.
        external: Whether a checkpoint from outside was among them.
        limits: What this verification cannot show.
    """

    findings: list[IntegrityFinding] = field(default_factory=list[IntegrityFinding])
    messages: int = 0
    rehashed: int = 0
    runs: int = 0
    artifacts: int = 0
    erased: int = 0
    journaled: int = 0
    checkpoints: int = 0
    external: bool = False
    limits: Sequence[str] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def frame(self) -> pl.DataFrame:
        """The findings, one a row: ``rule, detail, session_id, run_id, sequence_no, message_id, file``."""
        columns = ("rule", "detail", "session_id", "run_id", "sequence_no", "message_id", "file")
        rows = [tuple(getattr(finding, name) for name in columns) for finding in self.findings]
        schema = {name: pl.Int64 if name == "sequence_no" else pl.String for name in columns}
        return pl.DataFrame(rows, schema, orient="row")
