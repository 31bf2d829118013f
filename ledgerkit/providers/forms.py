"""What a conversation must look like for one interface, read off its capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ledgerkit.protocol.capabilities import ProviderCapabilities, ProviderInterface
from ledgerkit.protocol.vocabulary import LlmRole

_OPENAI: Final = frozenset({ProviderInterface.OPENAI_RESPONSES, ProviderInterface.OPENAI_CHAT})


class InstructionPlace(StrEnum):
    """Where messages of the system and developer roles may stand."""

    IN_PLACE = "in_place"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class Form:
    """The demands of one interface on a conversation."""

    instructions: InstructionPlace
    """Whether instructing messages keep their place or go to the head."""
    instructing_roles: tuple[LlmRole, ...]
    """Instructing roles that messages may have; none: the user says it."""
    has_tools: bool
    """Whether calls and results are more than text."""
    one_call_per_turn: bool
    """Whether calls of one turn are split."""
    keeps_empty_text: bool
    """Whether an empty text is accepted."""
    merges: bool
    """Whether neighbours of one role become one message."""
    results_with_user: bool
    """Whether results stand in the message of the user that follows them."""
    replies_between: bool
    """Whether the assistant says something between a result and the user, because results do not count as a turn."""
    begins_with_user: bool
    """Whether the first message is the user's."""
    ends_with_user: bool
    """Whether the last message is the user's or a tool's."""


def form_of(capabilities: ProviderCapabilities) -> Form:
    """The demands of an interface; what no source says is taken the stricter way.

    Example:
        >>> from ledgerkit.protocol.capabilities import PROVIDERS
        >>> form_of(PROVIDERS[ProviderInterface.LOCAL]).one_call_per_turn
        True
    """
    interface = capabilities.interface
    is_openai = interface in _OPENAI
    is_local = interface is ProviderInterface.LOCAL
    # A list of items has no turns to take.
    alternates = capabilities.roles_alternate is True and interface is not ProviderInterface.OPENAI_RESPONSES
    # An instruction between two of the user's messages would leave them neighbours where roles must take turns.
    in_place = is_openai and not alternates
    return Form(
        instructions=InstructionPlace.IN_PLACE if in_place else InstructionPlace.HEAD,
        instructing_roles=_instructing_roles(capabilities),
        has_tools=capabilities.supports(LlmRole.TOOL) and capabilities.tool_use is not False,
        one_call_per_turn=capabilities.parallel_tool_calls is False,
        keeps_empty_text=is_openai if capabilities.empty_text is None else capabilities.empty_text,
        merges=not is_openai or alternates,
        results_with_user=not is_openai and not is_local,
        replies_between=(is_openai or is_local) and alternates,
        begins_with_user=not is_openai or alternates,
        ends_with_user=not is_openai or capabilities.must_end_with_user is True,
    )


def _instructing_roles(capabilities: ProviderCapabilities) -> tuple[LlmRole, ...]:
    if capabilities.interface is ProviderInterface.OPENAI_RESPONSES:
        wanted = (LlmRole.SYSTEM, LlmRole.DEVELOPER)
    elif capabilities.interface is ProviderInterface.OPENAI_CHAT:
        # One of the two: the newer models read system as developer, and refuse a mixture.
        wanted = (LlmRole.DEVELOPER,) if capabilities.supports(LlmRole.DEVELOPER) else (LlmRole.SYSTEM,)
    else:
        wanted = (LlmRole.SYSTEM,)
    return tuple(role for role in wanted if capabilities.supports(role))
