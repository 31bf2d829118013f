"""From an answer to a vote, and from votes to a judgement. Everything here is a pure function of what was recorded.

An answer either keeps the form, answers every question once, and cites only what was shown; or it is no vote, with a
reason that is counted. Nothing is guessed from sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import polars as pl
from pydantic import Field

from ledgerkit.errors import ProtocolError
from ledgerkit.judges.judge import RawAnswer
from ledgerkit.judges.judgement import CriterionResult, Judgement, Label, Outcome, Reason, Subject, score_of
from ledgerkit.judges.prompting import contract_of
from ledgerkit.judges.rubric import Rubric
from ledgerkit.protocol.model import Identifier, Model, Text
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.refusals import parse
from ledgerkit.providers import Answer, StopReason, contract_value, read_answer
from ledgerkit.safety.injection import audit_injection, authority_attempts

_LONGEST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Shown:
    """An exhibit as far as votes need to know it."""

    reference: str
    may_prove: bool


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote.

    Attributes:
        label: What it comes to; ``undecided`` where it is none.
        results: The answers to the questions.
        rationale: Why, in the model's words.
        reason: Why it is no vote.
        problem: What was wrong, for people.
    """

    label: Label
    results: tuple[CriterionResult, ...] = ()
    rationale: str = ""
    reason: Reason | None = None
    problem: str = ""


class _Said(Model):
    criterion: Identifier
    outcome: Outcome
    why: Text
    evidence: tuple[Identifier, ...]


class _Answered(Model):
    label: Label
    criteria: tuple[_Said, ...] = Field(min_length=1)
    rationale: Text


def read_vote(raw: RawAnswer, interface: str, rubric: Rubric, shown: Mapping[str, Shown]) -> Vote:
    """The vote of an answer.

    Args:
        raw: The answer.
        interface: The interface that gave it.
        rubric: The questions.
        shown: The exhibits by name (``E1``).
    """
    if raw.problem is not None:
        return _none(Reason.UNAVAILABLE, raw.problem)
    try:
        answer = read_answer(interface, raw.body)
    except ProtocolError as error:
        return _none(Reason.MALFORMED, str(error))
    if (refused := _refused(answer)) is not None:
        return refused
    try:
        said = parse(_Answered, contract_value(answer, contract_of(rubric)))
    except ProtocolError as error:
        return _none(Reason.MALFORMED, str(error))
    return _checked(said, rubric, shown)


def _refused(answer: Answer) -> Vote | None:
    """Why an answer is no vote whatever it says; ``None`` if it may be one."""
    if answer.refusal is not None or answer.stop in (StopReason.REFUSED, StopReason.FILTERED):
        return _none(Reason.REFUSED, answer.refusal or answer.stop.value)
    if answer.stop is StopReason.LENGTH:
        return _none(Reason.CUT_OFF, "The answer was cut off at its limit of tokens.")
    if answer.tool_calls:
        return _none(Reason.MALFORMED, "It asks for a tool call, and there are no tools.")
    return None


def _checked(said: _Answered, rubric: Rubric, shown: Mapping[str, Shown]) -> Vote:
    names = [one.criterion for one in said.criteria]
    wanted = [one.criterion_id for one in rubric.criteria]
    if sorted(names) != sorted(wanted):
        return _none(Reason.MALFORMED, "It does not answer every question exactly once.")
    by_reference = {one.reference: name for name, one in shown.items()}
    cited = {name for one in said.criteria for name in one.evidence}
    if missing := sorted(cited - shown.keys() - by_reference.keys()):
        return _none(Reason.CITES_UNSEEN, f"It cites {missing[0][:80]!r}, which it was not shown.")
    ordered = sorted(said.criteria, key=lambda one: wanted.index(one.criterion))
    results = tuple(
        CriterionResult(
            criterion=one.criterion,
            outcome=one.outcome,
            why=one.why[:_LONGEST],
            evidence=tuple(EvidenceRef.parse(_reference(name, shown)) for name in dict.fromkeys(one.evidence)),
        )
        for one in ordered
    )
    return _fitting(said, results, rubric, {by_reference.get(name, name) for name in cited}, shown)


def _reference(name: str, shown: Mapping[str, Shown]) -> str:
    return shown[name].reference if name in shown else name


def _fitting(
    said: _Answered, results: tuple[CriterionResult, ...], rubric: Rubric, cited: set[str], shown: Mapping[str, Shown]
) -> Vote:
    """The vote, if its label follows from its answers."""
    gates = {one.criterion_id for one in rubric.criteria if one.is_gate}
    gate_failed = any(one.outcome is Outcome.FAILED and one.criterion in gates for one in results)
    if said.label is Label.UNDECIDED or (gate_failed and said.label is not Label.FAILED):
        return _none(Reason.MALFORMED, f"Its label {said.label.value!r} does not follow from its answers.")
    if said.label is Label.FAILED and not any(one.outcome is Outcome.FAILED for one in results):
        return _none(Reason.MALFORMED, "It says failed, and answers no question with failed.")
    if said.label is Label.PASSED and not any(shown[name].may_prove for name in cited):
        return _none(Reason.NO_TRUSTED_EVIDENCE, "It says passed, and cites nothing that may show success.")
    words = "\n".join([said.rationale, *(one.why for one in said.criteria)])
    if said.label is Label.PASSED and _steers(words):
        return _none(Reason.INJECTED, "It says passed in words that carry a marker of injection.")
    return Vote(said.label, results, said.rationale[:_LONGEST])


def _steers(words: str) -> bool:
    """Whether words carry marks of text that steers. A judge that quotes them may say failed, not passed."""
    marked = audit_injection(pl.DataFrame({"part_id": ["answer"], "text": [words]}))
    return authority_attempts(marked).height > 0


def _none(reason: Reason, problem: str) -> Vote:
    return Vote(Label.UNDECIDED, reason=reason, problem=problem[:500])


@dataclass(frozen=True, slots=True)
class Panel:
    """Who voted on what.

    Attributes:
        judge_id: The judge.
        judge_version: Its version.
        rubric: The rubric.
        subject: The subject.
    """

    judge_id: str
    judge_version: str
    rubric: Rubric
    subject: Subject


def settled(
    panel: Panel, votes: Sequence[Vote], wanted: int, cost_usd: Decimal | None, stopped: Reason | None = None
) -> Judgement:
    """The judgement that votes come to: the label of more than half of the votes that were wanted, or none.

    Args:
        panel: Who voted on what.
        votes: The votes, in order.
        wanted: How many there were to be.
        cost_usd: What they cost.
        stopped: Why there are fewer.
    """
    counts = Counter(one.label for one in votes if one.reason is None)
    label, most = max(counts.items(), key=lambda item: (item[1], item[0].value)) if counts else (None, 0)
    chosen = next((one for one in votes if one.label is label and one.reason is None), None)
    common: dict[str, Any] = {
        "judge_id": panel.judge_id, "judge_version": panel.judge_version, "rubric_id": panel.rubric.rubric_id,
        "rubric_version": panel.rubric.version, "rubric_hash": panel.rubric.hash, "subject": panel.subject,
        "votes": tuple(one.label for one in votes), "cost_usd": cost_usd,
    }  # fmt: skip
    if chosen is not None and most * 2 > wanted:
        score = score_of(panel.rubric, chosen.results)
        return Judgement(**common, label=chosen.label, score=score, criteria=chosen.results, rationale=chosen.rationale)
    problems = "; ".join(f"vote {number}: {one.problem}" for number, one in enumerate(votes, start=1) if one.problem)
    return Judgement(**common, label=Label.UNDECIDED, reason=_why(votes, stopped), rationale=problems)


def _why(votes: Sequence[Vote], stopped: Reason | None) -> Reason:
    reasons = Counter(one.reason for one in votes if one.reason is not None)
    if stopped is not None:
        return stopped
    if len(votes) > sum(reasons.values()) or not reasons:
        return Reason.VOTES_SPLIT
    return max(reasons.items(), key=lambda item: (item[1], item[0].value))[0]
