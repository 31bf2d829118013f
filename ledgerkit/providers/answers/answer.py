"""An answer of a model: texts and calls in order, tokens, why it stopped, and what it wants back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import LlmContentBlock, LlmMessage, LlmTextBlock, LlmToolCallBlock
from ledgerkit.protocol.usage import ModelCall, Usage
from ledgerkit.protocol.vocabulary import LlmRole, TrustLevel
from ledgerkit.providers.aliases import NO_ALIASES, ToolAliases

UNREADABLE: Final = "unreadable_arguments"
"""Field that holds arguments which are no JSON object, where a call goes back into a history."""


class StopReason(StrEnum):
    """Why an answer ends."""

    FINISHED = "finished"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSED = "refused"
    FILTERED = "filtered"
    PAUSED = "paused"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AnsweredText:
    """A text of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call that an answer asks for."""

    tool_call_id: str
    """The provider's id, or one made of the call where it gives none."""
    tool_name: str
    """The tool's own name."""
    arguments: dict[str, JsonValue]
    """Its arguments; empty where they could not be read."""
    problem: str | None = None
    """Why the arguments could not be read."""
    written: str | None = None
    """The arguments as they were written, where they could not be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a provider answered."""

    interface: ProviderInterface
    """The interface."""
    blocks: tuple[AnsweredText | AnsweredCall, ...]
    """Texts and calls, in order."""
    call: ModelCall | None
    """Id, model and tokens, as far as the answer says."""
    stop: StopReason
    """Why it ends."""
    stop_word: str | None
    """The provider's own word for it."""
    refusal: str | None = None
    """What the model said instead of an answer."""
    carried: tuple[tuple[int, dict[str, JsonValue]], ...] = ()
    """What the provider wants back, with the number of the block that it belongs to."""
    usage_problem: str | None = None
    """Why the tokens of the answer were not taken."""
    aliases: ToolAliases = NO_ALIASES
    """The table with which names were read."""

    @property
    def text(self) -> str:
        """All texts, one beneath the other."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, AnsweredText))

    @property
    def last_text(self) -> str | None:
        """The last text: where a response contract was given, what keeps it."""
        return next((block.text for block in reversed(self.blocks) if isinstance(block, AnsweredText)), None)

    @property
    def tool_calls(self) -> tuple[AnsweredCall, ...]:
        """The calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, AnsweredCall))

    @property
    def usage(self) -> Usage:
        """Its tokens; unknown where the answer does not say."""
        return Usage() if self.call is None else self.call.usage

    def message(self) -> LlmMessage | None:
        """The answer as a message of the next request, with what its provider wants back; ``None`` if it is empty."""
        blocks = tuple(_block(block) for block in self.blocks)
        if not blocks:
            return None
        items: list[JsonValue] = [{"at": at, "item": item} for at, item in self.carried]
        metadata: dict[str, JsonValue] = {self.interface.value: items} if items else {}
        return LlmMessage(role=LlmRole.ASSISTANT, content=blocks, metadata=metadata)


def _block(block: AnsweredText | AnsweredCall) -> LlmContentBlock:
    trust = TrustLevel.MODEL_GENERATED
    if isinstance(block, AnsweredText):
        return LlmTextBlock(text=block.text, trust_level=trust)
    unreadable: dict[str, JsonValue] = {UNREADABLE: block.written}
    arguments = block.arguments if block.problem is None else unreadable
    return LlmToolCallBlock(
        tool_call_id=block.tool_call_id, tool_name=block.tool_name, arguments=arguments, trust_level=trust
    )
