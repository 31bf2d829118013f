"""A conversation between a request and a dialect: turns of texts, calls and results, each with its source.

All dialects are made from this form, so that order, pairing and roles are put right once and not five times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from pydantic import JsonValue

from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.requests import (
    LlmArtifactReferenceBlock,
    LlmContentBlock,
    LlmDiffBlock,
    LlmJsonBlock,
    LlmMessage,
    LlmTextBlock,
    LlmToolCallBlock,
    LlmToolResultBlock,
)
from ledgerkit.protocol.vocabulary import LlmRole, ToolStatus
from ledgerkit.providers.notes import Note, NoteKind
from ledgerkit.providers.told import Source, Told, json_text, told

STABLE_HEAD: Final = "ends_stable_head"
"""Key of a message's metadata: true on the last message that stays the same from step to step."""

Carried = tuple[dict[str, JsonValue], ...]
"""What a provider gave with an answer and wants back with it, before or on one piece of it."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text of a turn."""

    text: Told
    where: str
    carried: Carried = ()
    ends_head: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """A call that the assistant asked for."""

    call_id: str
    tool_name: str
    arguments: dict[str, JsonValue]
    source: Source
    where: str
    carried: Carried = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call gave."""

    call_id: str
    tool_name: str
    text: Told
    status: ToolStatus
    where: str

    @property
    def is_error(self) -> bool:
        """Whether the call is known not to have succeeded."""
        return self.status in (ToolStatus.FAILED, ToolStatus.CANCELLED, ToolStatus.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one role says: texts, then calls; results before texts where one message holds both."""

    role: LlmRole
    where: str
    texts: tuple[Said, ...] = ()
    calls: tuple[Called, ...] = ()
    results: tuple[Answered, ...] = ()


def spell(messages: Sequence[LlmMessage], interface: ProviderInterface, notes: list[Note]) -> list[Turn]:
    """One turn for each message, its blocks as text, calls and results.

    A block's text is taken as it is: whoever projects a context has rendered and neutralised it. What is added beside
    it is made of safe characters only.
    """
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        carried = _carried(message, interface, where, notes)
        texts: list[Said] = []
        calls: list[Called] = []
        results: list[Answered] = []
        for at, block in enumerate(message.content):
            place = f"{where}.content[{at}]"
            source = Source(block.trust_level, block.part_id)
            mine = carried.pop(at, ())
            if isinstance(block, LlmToolCallBlock):
                calls.append(Called(block.tool_call_id, block.tool_name, block.arguments, source, place, mine))
            elif isinstance(block, LlmToolResultBlock):
                results.append(Answered(block.tool_call_id, "", told(block.text, source), block.status, place))
            else:
                if calls:
                    notes.append(Note(NoteKind.MOVED_TEXT, place))
                texts.append(Said(told(_text_of(block, place, notes), source), place, mine))
        if texts and message.metadata.get(STABLE_HEAD) is True:
            texts[-1] = replace(texts[-1], ends_head=True)
        turns.append(Turn(message.role, where, tuple(texts), tuple(calls), tuple(results)))
    return turns


def _text_of(
    block: LlmTextBlock | LlmJsonBlock | LlmArtifactReferenceBlock | LlmDiffBlock, where: str, notes: list[Note]
) -> str:
    match block:
        case LlmTextBlock():
            return block.text
        case LlmJsonBlock():
            return json_text(block.data)
        case LlmDiffBlock():
            if block.path and block.path not in block.text:
                notes.append(Note(NoteKind.PATH_NOT_SHOWN, where, block.path))
            return block.text
        case LlmArtifactReferenceBlock():
            return _reference(block)


def _reference(block: LlmArtifactReferenceBlock) -> str:
    # A content id may be any text and parameters of a media type too: neither is shown where it could be a tag.
    name = "".join(character if character.isascii() and character.isalnum() else "-" for character in block.artifact)
    size = "" if block.byte_count is None else f", {block.byte_count} bytes"
    kind = block.media_type.partition(";")[0].strip()
    line = f"[artifact {name}, {kind}{size}]"
    return f"{line}\n{block.summary}" if block.summary else line


def _carried(
    message: LlmMessage, interface: ProviderInterface, where: str, notes: list[Note]
) -> dict[int, tuple[dict[str, JsonValue], ...]]:
    """What of a message's metadata goes back to this provider, by number of the block that it belongs to."""
    carried: dict[int, tuple[dict[str, JsonValue], ...]] = {}
    for key, value in sorted(message.metadata.items()):
        if key == STABLE_HEAD:
            continue
        items = list(_items(value, len(message.content))) if key == interface else []
        if key != interface or message.role is not LlmRole.ASSISTANT or not items:
            notes.append(Note(NoteKind.METADATA_LEFT_OUT, f"{where}.metadata", f"{key}: {json_text(value)}"))
            continue
        for at, item in items:
            carried[at] = (*carried.get(at, ()), item)
    return carried


def _items(value: JsonValue, blocks: int) -> Iterator[tuple[int, dict[str, JsonValue]]]:
    for entry in value if isinstance(value, list) else ():
        fields: Mapping[str, JsonValue] = entry if isinstance(entry, dict) else {}
        at, item = fields.get("at"), fields.get("item")
        if type(at) is int and isinstance(item, dict) and 0 <= at < blocks:
            yield at, cast("dict[str, JsonValue]", item)


def block_text(block: LlmContentBlock) -> str:
    """The text of a block as every interface shows it, for measures before mapping."""
    if isinstance(block, LlmToolCallBlock):
        return json_text(block.arguments)
    if isinstance(block, LlmToolResultBlock):
        return block.text
    return _text_of(block, "", [])
