"""What a reading knows so far: the calls that were met, the model, and the texts."""

from __future__ import annotations

import msgspec

from ledgerkit.importers.codex.envelope import Thread
from ledgerkit.importers.codex.spoken import Repeats, Speaker
from ledgerkit.importers.codex.tools import Asked
from ledgerkit.protocol.vocabulary import MessageKind, TrustLevel


class Scene(msgspec.Struct):
    """The state of one reading.

    Attributes:
        typed: Texts that users typed, by events; empty where the version wrote none.
        answer: What the model said last.
        compacted: Place of the last compaction that no event has named yet.
    """

    thread: Thread
    typed: frozenset[str]
    keep_reasoning: bool
    repeats: Repeats = msgspec.field(default_factory=Repeats)
    calls: dict[str, Asked] = msgspec.field(default_factory=dict[str, Asked])
    model: str | None = None
    provider: str | None = None
    answer: str = ""
    compacted: int | None = None
    settings: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    instructions: set[str] = msgspec.field(default_factory=set[str])
    place: int = 0

    @property
    def actor(self) -> str:
        """Who answers."""
        return self.model or "assistant"

    def person(self, text: str | None = None) -> Speaker:
        """Who speaks in the user's place, where it is a person or an agent. A subagent's task is its parent's.

        Args:
            text: The text, where no event says that it was typed: the version may have put it there itself.
        """
        if self.thread.is_subagent:
            return MessageKind.USER_TASK, "parent agent", TrustLevel.MODEL_GENERATED
        if text and self.typed and not self._is_typed(text):
            return MessageKind.USER_TASK, "user", TrustLevel.UNKNOWN
        return MessageKind.USER_TASK, "user", TrustLevel.USER_TRUSTED

    def is_agents(self, text: str) -> bool:
        """Whether a text is what a parent agent wrote, however it begins."""
        return self.thread.is_subagent and self._is_typed(text)

    def _is_typed(self, text: str) -> bool:
        return "".join(text.split()) in self.typed
