"""What every dialect is given."""

from __future__ import annotations

from dataclasses import dataclass

from ledgerkit.protocol.capabilities import ProviderCapabilities
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.providers.aliases import ToolAliases
from ledgerkit.providers.normalise import Conversation
from ledgerkit.providers.notes import Note
from ledgerkit.providers.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Parcel:
    """A request on its way into a dialect."""

    request: LlmRequest
    capabilities: ProviderCapabilities
    conversation: Conversation
    toolbox: Toolbox
    aliases: ToolAliases
    notes: list[Note]
    cache_breakpoints: bool
    max_output_tokens: int
    """For interfaces that require a limit, where the request has none."""
