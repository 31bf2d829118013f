"""Who judges: one method for a judge of your own, and two more for those that can do more at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pydantic import JsonValue

from ledgerkit.judges.case import Case
from ledgerkit.judges.judgement import Judgement, Subject
from ledgerkit.judges.material import Material
from ledgerkit.judges.rubric import Rubric
from ledgerkit.protocol.usage import ModelCall


class Judge(Protocol):
    """Assesses a run, a claim, a summary or a diff against a rubric."""

    @property
    def judge_id(self) -> str:
        """The judge."""
        ...

    @property
    def version(self) -> str:
        """Its version: equal versions judge alike."""
        ...

    @property
    def rubric(self) -> Rubric:
        """What it asks."""
        ...

    def assess(self, case: Case, /) -> Judgement:
        """The judgement of a case. It cites nothing but the case's exhibits."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge that goes by rows, and judges many subjects in one pass."""

    def assess_many(self, material: Material, subjects: Sequence[Subject], /) -> Iterator[Judgement]:
        """A judgement for each subject, in their order; it may cite everything of its run."""
        ...


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What a model answered, word for word, or that it did not.

    Attributes:
        vote: Which vote, from 0.
        attempt: Which attempt of it, from 0.
        body: The answer as it came; empty where none came.
        problem: Why none came.
        call: The model call, with its tokens, as far as the answer says.
    """

    vote: int
    attempt: int
    body: str
    problem: str | None = None
    call: ModelCall | None = None


@dataclass(frozen=True, slots=True)
class Assessment:
    """A judgement with all that it was made from.

    Attributes:
        judgement: The judgement.
        answers: What was answered, in order.
        brief: What, with the answers, is needed to come to the judgement again without asking anybody.
    """

    judgement: Judgement
    answers: tuple[RawAnswer, ...]
    brief: dict[str, JsonValue]


@runtime_checkable
class RecordingJudge(Protocol):
    """A judge that asks somebody, and keeps what was answered."""

    def assess_recorded(self, case: Case, /) -> Assessment:
        """The judgement of a case, with the answers that it was made from."""
        ...
