"""The words of claims: what an assistant's text says happened, in a form that can be held against the record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import polars as pl

EXTRACTOR_VERSION: Final = 3
"""Raised whenever the same parts would give other rows."""
ANY_CHECK: Final = "any"
"""Subject of a verdict about checks of whatever kind (``All checks pass.``)."""
PREVIOUS_CHECK: Final = "previous"
"""Subject of a verdict that leaves out what it is about (``It passes.``): what ran just before."""


class ClaimClass(StrEnum):
    """What a claim is about, and so which rules decide it."""

    VERDICT = "verdict"
    """Tests, a build, a linter or a type checker passed or failed."""
    FIXED = "fixed"
    """Something that was broken works."""
    FILES = "files"
    """A named file was created, changed or deleted."""
    COUNT = "count"
    """How many of something there were, or were changed."""
    COMMAND = "command"
    """A command was run; commits and pushes too."""
    ABSENCE = "absence"
    """Nothing (else) uses something."""
    BASELINE = "baseline"
    """A failure was there before."""
    DONE = "done"
    """The work is finished."""


class Polarity(StrEnum):
    """Which way a claim goes."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    """It says that something failed."""


class Scope(StrEnum):
    """How much a claim is about."""

    ALL = "all"
    NAMED = "named"
    UNSAID = "unsaid"


CLAIM_SCHEMA: Final = {
    "session_id": pl.String,
    "run_id": pl.String,
    "message_id": pl.String,
    "sequence_no": pl.Int64,
    "part_index": pl.Int32,
    "tool_call_id": pl.String,
    "step": pl.Int32,
    "start": pl.Int64,
    "end": pl.Int64,
    "text": pl.String,
    "claim_class": pl.String,
    "subject": pl.String,
    "polarity": pl.String,
    "scope": pl.String,
    "numbers": pl.List(pl.Int64),
    "paths": pl.List(pl.String),
    "commands": pl.List(pl.String),
    "extractor_version": pl.Int32,
}
"""The columns of claims. ``start`` and ``end`` count characters of the part's text; ``text`` is what stands there.
Where the words stand in the arguments of a tool call, ``tool_call_id`` names it, and places count in these words."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim in a text."""

    start: int
    end: int
    claim_class: ClaimClass
    subject: str = ""
    """A verdict's, fix's or baseline's check (``test``, ``build``, ``lint``, ``types``, ``any``, ``previous``; empty
    for a fix of something else), a file's change (``create``, ``modify``, ``delete``), what is counted,
    what is absent."""
    polarity: Polarity = Polarity.POSITIVE
    scope: Scope = Scope.UNSAID
    numbers: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
