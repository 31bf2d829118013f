"""Memory holds nothing without evidence: facts, decisions and problems that rest on nothing are refused.

Working memory (one run), session summary and repository memory are projections of the ledger; a snapshot is a cache
of one, with the messages that it was computed from. Trust never rises on the way: an entry has the trust of what it
rests on, UNKNOWN unless the projector says better.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ledgerkit.protocol.contracts import SpendingLimits
from ledgerkit.protocol.messages import MessageRange
from ledgerkit.protocol.model import Count, Flag, Identifier, Model, Text, Time
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import ChangeType, ClaimOutcome, MemoryKind, TrustLevel

Sentence = Annotated[Text, Field(min_length=1)]


class Confidence(StrEnum):
    """How sure the proposer is; what the evidence says is the outcome."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class PlanStatus(StrEnum):
    """How an item of a plan stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    DROPPED = "dropped"


class EvidencedBase(Model):
    """What all entries of a memory have."""

    evidence_refs: tuple[EvidenceRef, ...] = Field(min_length=1)
    """What the entry rests on; at least one reference."""
    trust_level: TrustLevel = TrustLevel.UNKNOWN
    """Lowest trust of what it rests on."""


class Goal(EvidencedBase):
    """What the run is to reach."""

    goal: Sentence


class PlanItem(EvidencedBase):
    """A step of the current plan."""

    item: Sentence
    status: PlanStatus | None = None


class ChangedFile(EvidencedBase):
    """A file that was changed."""

    path: Sentence
    change: ChangeType | None = None


class Fact(EvidencedBase):
    """Something that is so."""

    fact: Sentence
    confidence: Confidence | None = None
    outcome: ClaimOutcome = ClaimOutcome.UNVERIFIED


class Decision(EvidencedBase):
    """Something that was decided, and why."""

    decision: Sentence
    reason: Text
    outcome: ClaimOutcome = ClaimOutcome.UNVERIFIED


class OpenProblem(EvidencedBase):
    """Something that is still to be solved."""

    problem: Sentence
    outcome: ClaimOutcome = ClaimOutcome.UNVERIFIED


class Blocker(EvidencedBase):
    """What the run waits for."""

    blocker: Sentence


class Failure(EvidencedBase):
    """Something that failed before, so that it is not tried again unawares."""

    check: Sentence
    """What failed."""
    first_failed_at: Count
    """Sequence number of the message that first said so."""
    last_failed_at: Count
    """Sequence number of the message that last said so."""
    is_resolved: Flag
    """Whether it has passed since."""

    @model_validator(mode="after")
    def _in_order(self) -> Failure:
        if self.last_failed_at < self.first_failed_at:
            raise ValueError(f"first_failed_at {self.first_failed_at} is behind last_failed_at {self.last_failed_at}")
        return self


class SourceRange(Model):
    """Messages of one run that a projection was computed from."""

    run_id: Identifier
    """The run."""
    messages: MessageRange
    """Its messages."""


class WorkingMemory(Model):
    """The state of a run at one step."""

    memory_kind: Literal[MemoryKind.RUN_WORKING_MEMORY] = MemoryKind.RUN_WORKING_MEMORY
    run_id: Identifier
    """The run."""
    task_goal: Goal | None = None
    """What it is to reach; ``None`` if that is not recorded."""
    current_plan: tuple[PlanItem, ...] = ()
    changed_files: tuple[ChangedFile, ...] = ()
    known_facts: tuple[Fact, ...] = ()
    open_problems: tuple[OpenProblem, ...] = ()
    blocked_by: tuple[Blocker, ...] = ()
    failure_history: tuple[Failure, ...] = ()
    budget_left: SpendingLimits | None = None
    """What may still be spent; ``None`` if no budget is recorded."""


class Summary(Model):
    """A summary of what happened, by the schema of specification §17."""

    memory_kind: Literal[MemoryKind.SESSION_SUMMARY] = MemoryKind.SESSION_SUMMARY
    summary_version: Annotated[str, Field(strict=True, pattern=r"^[0-9]{1,9}\.[0-9]{1,9}$")] = "1.0"
    """Version of the schema."""
    facts: tuple[Fact, ...] = ()
    decisions: tuple[Decision, ...] = ()
    open_problems: tuple[OpenProblem, ...] = ()
    changed_files: tuple[ChangedFile, ...] = ()
    discarded_details: tuple[Sentence, ...]
    """What was left out and where it is kept; required, so that leaving out is said."""


class RepositoryTopic(StrEnum):
    """What repository memory knows about."""

    CONVENTION = "convention"
    MODULE = "module"
    COMMAND = "command"


class RepositoryFact(Fact):
    """Something that is so in a repository."""

    topic: RepositoryTopic
    """What it is about."""
    last_seen_commit: Identifier | None = None
    """The commit at which it was last seen to be so."""


class RepositoryMemory(Model):
    """What runs have learnt about one repository."""

    memory_kind: Literal[MemoryKind.REPOSITORY_MEMORY] = MemoryKind.REPOSITORY_MEMORY
    repository: Identifier
    """The repository; its memory enters no context of another."""
    facts: tuple[RepositoryFact, ...] = ()


MemoryContent = Annotated[WorkingMemory | Summary | RepositoryMemory, Field(discriminator="memory_kind")]
"""Any of the three memories."""


def _kind_of(fields: dict[str, Any]) -> MemoryKind:
    content: MemoryContent = fields["content"]
    return content.memory_kind


class MemorySnapshot(Model):
    """A cached memory, with the messages that it was computed from (specification §19)."""

    snapshot_id: Identifier
    """The snapshot."""
    session_id: Identifier | None = None
    """The session; ``None`` for a repository's memory."""
    run_id: Identifier | None = None
    """The run; ``None`` for a session's or repository's memory."""
    repository: Identifier | None = None
    """The repository, for a repository's memory."""
    snapshot_version: Annotated[Count, Field(ge=1)]
    """Version, from 1; unique with the session, the run and the projection type."""
    content: MemoryContent
    """The memory."""
    projection_type: MemoryKind = Field(default_factory=_kind_of)
    """Which memory it is; follows from the content."""
    sources: tuple[SourceRange, ...] = Field(min_length=1)
    """The messages that it was computed from, at most one range per run."""
    created_at: Time
    """When it was computed."""

    @model_validator(mode="after")
    def _belongs_to_its_content(self) -> MemorySnapshot:
        if self.projection_type is not self.content.memory_kind:
            raise ValueError(f"projection_type {self.projection_type} of a {self.content.memory_kind}")
        runs = [source.run_id for source in self.sources]
        if len(set(runs)) != len(runs):
            raise ValueError("a run stands twice in the sources; give one range per run")
        content = self.content
        if isinstance(content, WorkingMemory) and (self.run_id, runs) != (content.run_id, [content.run_id]):
            raise ValueError(f"memory of run {content.run_id!r} in a snapshot of run {self.run_id!r}, from runs {runs}")
        if isinstance(content, Summary) and self.session_id is None:
            raise ValueError("a session summary needs a session_id")
        if isinstance(content, RepositoryMemory) and self.repository != content.repository:
            raise ValueError(f"memory of {content.repository!r} in a snapshot of {self.repository!r}")
        return self
