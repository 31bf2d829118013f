"""Entries of a conversation: what a model was told, its answers with their calls, results, failures, verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ledgerkit.protocol.vocabulary import TrustLevel, Verdict

Row = dict[str, Any]

_JUDGES: Final = frozenset({
    TrustLevel.PLATFORM_TRUSTED, TrustLevel.ORG_TRUSTED, TrustLevel.USER_TRUSTED, TrustLevel.TOOL_TRUSTED,
})  # fmt: skip
SYNTHETIC: Final = "<synthetic>"
"""Stands for the model where a client wrote in its place."""


@dataclass(slots=True)
class Entry:
    """What all entries have: the message that they are, or begin with, and when it was."""

    message_id: str
    kind: str
    created_at: datetime | None
    trust: TrustLevel
    messages: int = 1


@dataclass(slots=True)
class Told(Entry):
    """What the model was told, by the system or in the user's place."""

    role: str = "user"
    texts: list[str] = field(default_factory=list[str])
    is_copied: bool = False


@dataclass(slots=True)
class Call:
    """A tool call as the model asked for it."""

    call_id: str
    name: str
    arguments: Any


@dataclass(slots=True)
class Answer(Entry):
    """An answer of a model; ``usage`` is the row of ``model_calls`` that counts for its call."""

    model: str | None = None
    call_id: str | None = None
    usage: Row | None = None
    is_copied: bool = False
    thoughts: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    calls: list[Call] = field(default_factory=list[Call])
    stage: int = 0

    @property
    def is_call(self) -> bool:
        """Whether a model was called for it."""
        return self.call_id is not None and self.model != SYNTHETIC


@dataclass(slots=True)
class Result(Entry):
    """What came of a call."""

    call_id: str | None = None
    tool_name: str | None = None
    status: str | None = None
    error_category: str | None = None
    texts: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Summary(Entry):
    """What stands for the context before it, from here on."""

    texts: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Failure(Entry):
    """An error of the agent, its client or a provider."""

    category: str | None = None
    text: str = ""


@dataclass(slots=True)
class Check(Entry):
    """A recorded verdict."""

    name: str = ""
    scope: str | None = None
    verdict: str = Verdict.INCONCLUSIVE.value
    value: Any = None
    text: str | None = None

    @property
    def is_outcome(self) -> bool:
        """Whether it is an outcome of the whole run, by somebody who may say so."""
        return self.scope == "run" and self.trust in _JUDGES
