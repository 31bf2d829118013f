"""What a judge is asked: a rubric has a version, and a hash that every judgement made with it carries.

The rule: whoever changes a word of a rubric has another rubric. Judgements and calibrations of one hash say nothing
about those of another.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, model_validator

from ledgerkit.protocol.model import Flag, Identifier, JsonObject, Model, Ratio, Text
from ledgerkit.protocol.toolcalls import canonical_json


class SubjectKind(StrEnum):
    """What can be judged."""

    RUN = "run"
    CLAIM = "claim"
    SUMMARY = "summary"
    DIFF = "diff"


class Criterion(Model):
    """One question of a rubric."""

    criterion_id: Annotated[Identifier, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
    """Its name in results."""
    question: Annotated[Text, Field(min_length=1)]
    """What is asked, so that *yes* is good."""
    weight: Annotated[Ratio, Field(gt=0)] = 1.0
    """How much it counts in the score."""
    is_gate: Flag = False
    """Whether a *no* decides the label alone."""


class Rubric(Model):
    """A versioned set of questions.

    Example:
        >>> tidy = Criterion(criterion_id="tidy", question="Does the change stay small?")
        >>> one = Rubric(rubric_id="house", version=1, kinds=(SubjectKind.RUN,), criteria=(tidy,))
        >>> one.hash == one.model_copy(update={"version": 2}).hash
        False
    """

    rubric_id: Identifier
    """The rubric."""
    version: Annotated[int, Field(strict=True, ge=1)]
    """Its version."""
    kinds: tuple[SubjectKind, ...] = Field(min_length=1)
    """What it is for."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """Its questions."""
    settings: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Numbers that questions refer to, such as a budget."""

    @model_validator(mode="after")
    def _questions_have_names_of_their_own(self) -> Rubric:
        names = [one.criterion_id for one in self.criteria]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"criterion {twice[0]!r} stands twice in rubric {self.rubric_id!r}")
        return self

    @property
    def hash(self) -> str:
        """SHA-256 of its canonical form, as ``sha256:`` and 64 hex digits."""
        return "sha256:" + hashlib.sha256(canonical_json(self.model_dump(mode="json")).encode()).hexdigest()

    def criterion(self, name: str) -> Criterion | None:
        """The question of that name."""
        return next((one for one in self.criteria if one.criterion_id == name), None)
