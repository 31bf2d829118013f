"""What is told to an agent, by whom, about what: instructions, and statements that may turn out to be none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, model_validator

from ledgerkit.protocol.levels import STRONGEST_OF_TRUST, AuthorityLevel, authority_of
from ledgerkit.protocol.model import Identifier, Model, Text
from ledgerkit.protocol.references import EvidenceRef
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel

ANYTHING: Final = "*"
"""The subject that covers every other."""


class Stance(StrEnum):
    """What an instruction wants of its subject, strictest first."""

    FORBID = "forbid"
    REQUIRE = "require"
    ALLOW = "allow"


def checked_subject(text: str) -> str:
    """The subject itself, if it is one.

    Raises:
        ValueError: If it is no path of names.
    """
    segments = text.split("/")
    if "\\" in text or any(segment in ("", ".", "..") for segment in segments):
        raise ValueError(f"subject {text!r} has an empty, '.' or '..' segment or a backslash; write 'files/src/a.py'")
    return text


Subject = Annotated[Identifier, AfterValidator(checked_subject)]
"""What an instruction is about, as a path: ``tests``, ``network/push``, ``files/src/a.py``; ``*`` is everything."""


def covers(subject: str, asked: str) -> bool:
    """Whether what is said about one subject is said about another: itself, or something beneath it."""
    return subject in (ANYTHING, asked) or asked.startswith(subject + "/")


class Instruction(Model):
    """One instruction: its level, what it is about, and what it wants."""

    name: Identifier
    """How a report calls it."""
    level: AuthorityLevel
    """Where it stands."""
    trust_level: TrustLevel
    """Where it comes from; it bounds the level."""
    subject: Subject
    """What it is about."""
    stance: Stance
    """What it wants."""
    content: Text
    """Its words."""
    evidence: EvidenceRef | None = None
    """Where it was said."""

    @model_validator(mode="after")
    def _does_not_exceed_its_source(self) -> Instruction:
        strongest = STRONGEST_OF_TRUST.get(self.trust_level)
        if strongest is None:
            raise ValueError(f"{self.trust_level} content is data; it has no level and cannot instruct")
        if self.level < strongest:
            raise ValueError(f"{self.trust_level} content may not exceed level {strongest}; this is level {self.level}")
        if self.level is AuthorityLevel.APPROVAL_DECISION and self.subject == ANYTHING:
            raise ValueError("an approval names what it is for; '*' is no scope")
        return self


@dataclass(frozen=True, slots=True)
class Statement:
    """What a part of a message says about a subject, by whatever authority it has: perhaps none."""

    name: str
    """How a report calls it."""
    kind: MessageKind
    """What the message is."""
    trust_level: TrustLevel
    """Where the part comes from."""
    subject: str
    """What it is about."""
    stance: Stance
    """What it wants."""
    content: str = ""
    """Its words."""
    evidence: EvidenceRef | None = None
    """Where it was said."""

    def __post_init__(self) -> None:
        checked_subject(self.subject)

    def as_instruction(self) -> Instruction | None:
        """The instruction that it is; ``None`` if it is data.

        An approval for everything names no scope, so it approves nothing.
        """
        level = authority_of(self.kind, self.trust_level)
        if level is None or (level is AuthorityLevel.APPROVAL_DECISION and self.subject == ANYTHING):
            return None
        return Instruction(
            name=self.name,
            level=level,
            trust_level=self.trust_level,
            subject=self.subject,
            stance=self.stance,
            content=self.content,
            evidence=self.evidence,
        )
