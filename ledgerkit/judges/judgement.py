"""What a judge says: a label, a score, an answer to each question, and the evidence it cites.

The rule: a judge cites what it was shown and nothing else. What cites more is no judgement, and becomes ``undecided``
with that as its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from ledgerkit.judges.rubric import Rubric, SubjectKind
from ledgerkit.protocol.model import Identifier, Model, Money, Ratio, Text
from ledgerkit.protocol.references import EvidenceRef


class Label(StrEnum):
    """What a judgement comes to."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    """Nothing failed, and nothing that may count proves success."""
    UNDECIDED = "undecided"
    """The judge gave no usable answer; ``reason`` says why."""


class Outcome(StrEnum):
    """The answer to one question."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RECORDED = "not_recorded"
    """What would be needed to say is not in the ledger."""
    NOT_APPLICABLE = "not_applicable"
    """There is nothing that the question could be about."""


class Reason(StrEnum):
    """Why a judgement is undecided."""

    MALFORMED = "malformed"
    REFUSED = "refused"
    CUT_OFF = "cut_off"
    UNAVAILABLE = "unavailable"
    CITES_UNSEEN = "cites_unseen"
    NO_TRUSTED_EVIDENCE = "no_trusted_evidence"
    INJECTED = "injected"
    VOTES_SPLIT = "votes_split"
    COST_CAP = "cost_cap"
    TOO_LONG = "too_long"


class Subject(Model):
    """What is judged, in the state that it was in."""

    kind: SubjectKind
    """A run, or something in one."""
    session_id: Identifier
    """The session of the run."""
    run_id: Identifier
    """The run."""
    reference: EvidenceRef | None = None
    """Where a claim, a summary or a diff stands; none for a run."""
    state: Identifier
    """Which messages the run had: a run that goes on is judged again."""

    @model_validator(mode="after")
    def _stands_somewhere(self) -> Subject:
        if (self.reference is None) != (self.kind is SubjectKind.RUN):
            raise ValueError("a claim, summary or diff has a reference; a run has none")
        return self

    @property
    def key(self) -> str:
        """Its name in an idempotency key."""
        place = "" if self.reference is None else f":{self.reference}"
        return f"{self.kind}:{self.run_id}{place}@{self.state}"


class CriterionResult(Model):
    """The answer to one question of the rubric."""

    criterion: Identifier
    """The question."""
    outcome: Outcome
    """The answer."""
    why: Text = ""
    """In a sentence."""
    evidence: tuple[EvidenceRef, ...] = ()
    """What it rests on."""


class Judgement(Model):
    """What a judge says of a subject."""

    judge_id: Identifier
    """The judge."""
    judge_version: Identifier
    """Its version; of a model judge also the model and how it was asked."""
    rubric_id: Identifier
    """The rubric."""
    rubric_version: Annotated[int, Field(strict=True, ge=1)]
    """Its version."""
    rubric_hash: Identifier
    """Hash of its canonical form."""
    subject: Subject
    """What was judged."""
    label: Label
    """What it comes to."""
    score: Annotated[Ratio, Field(le=1)] | None = None
    """Weighted share of questions answered with yes, of those answered; ``None`` if none was."""
    criteria: tuple[CriterionResult, ...] = ()
    """The answers."""
    rationale: Text = ""
    """Why, in the judge's words."""
    reason: Reason | None = None
    """Why it is undecided."""
    votes: tuple[Label, ...] = ()
    """What each vote came to, in order."""
    cost_usd: Money | None = None
    """What asking cost; ``None`` where it is not known."""

    @model_validator(mode="after")
    def _undecided_has_a_reason(self) -> Judgement:
        if (self.label is Label.UNDECIDED) != (self.reason is not None):
            raise ValueError("a judgement has a reason if and only if it is undecided")
        return self

    @property
    def evidence(self) -> tuple[EvidenceRef, ...]:
        """All that it cites, each once, in the order of its questions."""
        return tuple(dict.fromkeys(ref for one in self.criteria for ref in one.evidence))


def score_of(rubric: Rubric, results: Iterable[CriterionResult]) -> float | None:
    """Weighted share of *yes* among the questions that were answered; ``None`` if none was."""
    weights = {one.criterion_id: one.weight for one in rubric.criteria}
    answered = [one for one in results if one.outcome in (Outcome.PASSED, Outcome.FAILED)]
    whole = sum(weights.get(one.criterion, 0.0) for one in answered)
    good = sum(weights.get(one.criterion, 0.0) for one in answered if one.outcome is Outcome.PASSED)
    return round(good / whole, 6) if whole else None


def unseen(cited: Iterable[EvidenceRef], shown: Collection[str]) -> list[EvidenceRef]:
    """What is cited and was not shown. A range of something shown is shown.

    Example:
        >>> unseen([EvidenceRef.parse("message:m1#L2-L3"), EvidenceRef.parse("message:m2")], {"message:m1"})
        [EvidenceRef(kind=<EvidenceKind.MESSAGE: 'message'>, target='m2', range=None)]
    """
    return [ref for ref in cited if base_of(ref) not in shown]


def base_of(ref: EvidenceRef) -> str:
    """A reference without its range."""
    return str(ref.model_copy(update={"range": None}))


def held_to_what_was_shown(judgement: Judgement, shown: Collection[str]) -> Judgement:
    """The judgement, or an undecided one in its place if it cites what its judge was not shown."""
    missing = unseen(judgement.evidence, shown)
    if not missing:
        return judgement
    return judgement.model_copy(
        update={
            "label": Label.UNDECIDED,
            "reason": Reason.CITES_UNSEEN,
            "score": None,
            "criteria": (),
            "rationale": f"It cites {len(missing)} references that it was not shown.",
        }
    )
