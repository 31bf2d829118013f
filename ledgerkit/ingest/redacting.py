"""Redaction on the way in: all strings of a session's new records, in two passes, before anything is written.

A value that is recognised as a secret in one place is removed in every place of the session: in texts, in arguments
and results, in file contents that become artifacts, in metadata and in what is known about the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ledgerkit.importers.drafts import PartDraft, RecordDraft
from ledgerkit.ingest.evidence import RedactedText, moved_reference
from ledgerkit.ingest.slots import Slot, slots_of
from ledgerkit.protocol.vocabulary import ArtifactLabel, Visibility
from ledgerkit.safety.redaction import OffsetMap, SecretMemory


class RedactionMode(StrEnum):
    """What an import does about secrets."""

    ON = "on"
    """They are replaced; none reaches the ledger."""
    AUDIT = "audit"
    """They are counted and stay."""
    OFF = "off"
    """Nobody looks."""


class Found(Protocol):
    """A secret that was found."""

    @property
    def text_index(self) -> int:
        """The text that it stands in."""
        ...

    @property
    def type(self) -> str:
        """What it is."""
        ...


class Redacted(Protocol):
    """Texts without secrets."""

    @property
    def texts(self) -> Sequence[str]:
        """The texts, in their order."""
        ...

    @property
    def replacements(self) -> Sequence[Found]:
        """What was found."""
        ...

    def offsets(self, text_index: int) -> OffsetMap:
        """Where the places of one text stand now."""
        ...


class Redactor(Protocol):
    """Removes secrets from the texts of a session."""

    @property
    def key_id(self) -> str:
        """Which key the fingerprints were made with."""
        ...

    def redact(self, texts: Sequence[str], memory: SecretMemory | None = None) -> Redacted:
        """Removes secrets: a value that is recognised in one text, or is in the memory, is removed in all of them."""
        ...


@dataclass(slots=True)
class RedactionTally:
    """What was found in an import.

    Attributes:
        mode: What was done about it.
        key_id: Which key the fingerprints were made with; ``None`` if nothing was looked for.
        counts: Secrets by type.
        memories: What is known of the secrets of each session, as long as the import goes on.
        continued: Sessions of which the ledger had rows before.
    """

    mode: RedactionMode
    key_id: str | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    memories: dict[str, SecretMemory] = field(default_factory=dict[str, SecretMemory], repr=False)
    continued: set[str] = field(default_factory=set[str])


def redact_records(
    records: Iterable[RecordDraft],
    redactor: Redactor,
    tally: RedactionTally,
    memory: SecretMemory | None = None,
    *,
    measure: Callable[[bytes | str], str],
) -> None:
    """Redacts the records of a session in place.

    Args:
        records: Records that are new to the ledger, of one session.
        redactor: Removes secrets.
        tally: Counts what was found; in audit mode nothing is changed.
        memory: What is known of the session's secrets; what is found is added.
        measure: Gives the id of a content.
    """
    records = list(records)
    slots = [slot for record in records for slot in slots_of(record)]
    texts = [text for slot in slots for text in slot.strings]
    result = redactor.redact(texts, memory)
    for found in result.replacements:
        tally.counts[found.type] = tally.counts.get(found.type, 0) + 1
    touched = {found.text_index for found in result.replacements}
    moved: dict[tuple[str, str], RedactedText] = {}
    begin = 0
    for slot in slots:
        end = begin + len(slot.strings)
        is_hit = any(index in touched for index in range(begin, end))
        if (slot.is_blob and not is_hit) or (tally.mode is RedactionMode.ON and is_hit):
            slot.put(list(result.texts[begin:end]))
        if begin in touched and (slot.is_blob or slot.message_id) and tally.mode is RedactionMode.ON:
            moved.update([_moved(slot, result.texts[begin], result.offsets(begin), measure)])
        if slot.owner is not None:
            _label(slot.owner, is_hit=is_hit, mode=tally.mode)
        begin = end
    if moved:
        _move_references(records, moved)


def _moved(
    slot: Slot, after: str, offsets: OffsetMap, measure: Callable[[bytes | str], str]
) -> tuple[tuple[str, str], RedactedText]:
    before = slot.strings[0]
    if slot.is_blob:
        return ("artifact", measure(before)), RedactedText(before, after, offsets, measure(after))
    return ("message", slot.message_id or ""), RedactedText(before, after, offsets)


def _move_references(records: Iterable[RecordDraft], moved: Mapping[tuple[str, str], RedactedText]) -> None:
    """References to texts that lost secrets follow them."""
    for part in (part for record in records for message in record.messages for part in message.parts):
        if part.evidence_refs:
            part.evidence_refs = [moved_reference(reference, moved) for reference in part.evidence_refs]


def _label(part: PartDraft, *, is_hit: bool, mode: RedactionMode) -> None:
    """A part that was scanned is safe, one that lost a secret redacted, and seen in that form."""
    if is_hit:
        part.label = ArtifactLabel.REDACTED if mode is RedactionMode.ON else ArtifactLabel.RESTRICTED
        if mode is RedactionMode.ON and part.visibility is Visibility.MODEL_VISIBLE:
            part.visibility = Visibility.REDACTED
    elif part.label is None:
        part.label = ArtifactLabel.SAFE
