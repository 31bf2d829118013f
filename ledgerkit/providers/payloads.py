"""A request in one interface's own form, with everything that is known about how it came to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pydantic import JsonValue

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.capabilities import ProviderCapabilities, ProviderInterface
from ledgerkit.providers.aliases import NO_ALIASES, ToolAliases
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import Origin, json_text


@dataclass(frozen=True, slots=True)
class ProviderPayload:
    """What goes to a provider. The body is to be read only."""

    interface: ProviderInterface
    """The interface."""
    model: str
    """The model; Gemini's address names it, not its body."""
    body: dict[str, JsonValue]
    """The request as the interface takes it."""
    capabilities: ProviderCapabilities
    """What it was made for, and is checked against."""
    aliases: ToolAliases = NO_ALIASES
    """Names of tools and what they are called in the body."""
    notes: tuple[Note, ...] = ()
    """What was changed, and why."""
    origins: tuple[Origin, ...] = ()
    """Where each block of the request stands in the body, and with which trust."""

    def __post_init__(self) -> None:
        if self.capabilities.interface is not self.interface:
            raise ProtocolError(
                f"Capabilities of {self.capabilities.interface} for a payload of {self.interface}. Give its own."
            )

    def to_json(self) -> bytes:
        """The body as UTF-8 JSON: compact, keys in the order of the body, the same bytes in any process."""
        return json_text(self.body).encode()

    def note_counts(self) -> dict[NoteKind, int]:
        """How often each kind of change was made, in the order of their names."""
        counts = Counter(note.kind for note in self.notes)
        return {kind: counts[kind] for kind in sorted(counts)}
